#!/bin/sh
# client: skopeo (image pull, as podman does)
# needs: skopeo
# host: pkg.example
# proxy: yes
# capture: yes
set -eu
mkdir "$OUT/certs" && cp "$CA" "$OUT/certs/ca.crt"
echo "{}" >"$OUT/auth.json"
echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$OUT/policy.json"
skopeo --policy "$OUT/policy.json" --tmpdir "$OUT" copy -q \
	--authfile "$OUT/auth.json" --src-cert-dir "$OUT/certs" \
	docker://pkg.example/hello:1 "dir:$OUT/image"
[ "$(sha256sum <"$OUT/image/$IMAGE_LAYER")" = "$IMAGE_LAYER  -" ]

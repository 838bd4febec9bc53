#!/bin/sh
# client: chromium, headless
# needs: chromium
# host: good.example
# options: --allow-unix-sockets
# proxy: yes, with `--allow-unix-sockets`
# capture: yes, with `--allow-unix-sockets`
# where: installed
set -eu
# no user namespaces inside, so not its own sandbox; its certificates live in a store of its own
export HOME="$OUT" XDG_CONFIG_HOME="$OUT"
chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
	--disable-background-networking --disable-component-update --user-data-dir="$OUT/profile" \
	--ignore-certificate-errors --timeout=20000 --dump-dom https://good.example/ >"$OUT/dom" 2>"$OUT/err" ||
	{ tail -5 "$OUT/err" >&2; exit 1; }
grep -q 'hello from net good.example' "$OUT/dom"

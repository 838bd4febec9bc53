#!/bin/sh
# client: pip
# needs: pip3
# host: pkg.example
# proxy: yes
# capture: yes
set -eu
PIP_CERT="$CA" PIP_CONFIG_FILE=/dev/null PIP_NO_CACHE_DIR=1 /usr/bin/python3 -m pip -q \
	--disable-pip-version-check download --no-deps --retries 0 --timeout 20 -d "$OUT" \
	--index-url https://pkg.example/tree/simple/ sbx-hello
[ -s "$OUT/sbx_hello-1.0-py3-none-any.whl" ]

#!/bin/sh
# client: npm
# needs: npm
# host: pkg.example
# proxy: yes
# capture: yes
# where: installed
set -eu
cd "$OUT" && echo '{"name": "t", "version": "1.0.0"}' >package.json
npm install --silent --no-audit --no-fund --cafile "$CA" --fetch-retries 0 \
	--registry https://pkg.example/tree/npm/ sbx-hello
[ "$(node -p 'require("sbx-hello")')" = hello ]

#!/bin/sh
# client: curl
# needs: curl
# host: good.example
# proxy: yes
# capture: yes
set -eu
[ "$(curl -sSf --cacert "$CA" https://good.example/big | sha256sum)" = "$BIG_SHA  -" ]
[ "$(curl -sSf http://good.example/big | sha256sum)" = "$BIG_SHA  -" ]

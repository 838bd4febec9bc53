#!/bin/sh
# client: wget
# needs: wget
# host: good.example
# proxy: yes
# capture: yes
set -eu
get="wget -q --tries=1 --timeout=20 -O -"
[ "$($get --ca-certificate="$CA" https://good.example/big | sha256sum)" = "$BIG_SHA  -" ]
[ "$($get http://good.example/big | sha256sum)" = "$BIG_SHA  -" ]

#!/bin/sh
# client: git over https
# needs: git
# host: www.example
# proxy: yes
# capture: yes
set -eu
git -c http.sslCAInfo="$CA" clone -q https://www.example/git/repo.git "$OUT/repo"
[ "$(git -C "$OUT/repo" rev-parse HEAD)" = "$COMMIT" ]

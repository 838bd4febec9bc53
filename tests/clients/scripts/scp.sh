#!/bin/sh
# client: scp
# needs: scp ssh
# host: ssh.example
# proxy: yes, by `ProxyCommand sbx-net connect %h %p`
# capture: yes
set -eu
set --
[ "$MODE" = capture ] || set -- -o "ProxyCommand=$SBX_BIN connect %h %p"
scp -q -F "$SSH_CONFIG" "$@" "ssh.example:$BIG_FILE" "$OUT/big"
[ "$(sha256sum <"$OUT/big")" = "$BIG_SHA  -" ]

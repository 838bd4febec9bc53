#!/bin/sh
# client: ssh
# needs: ssh
# host: ssh.example
# proxy: yes, by `ProxyCommand sbx-net connect %h %p`
# capture: yes
set -eu
set --
[ "$MODE" = capture ] || set -- -o "ProxyCommand=$SBX_BIN connect %h %p"
[ "$(echo ping | ssh -F "$SSH_CONFIG" "$@" ssh.example cat)" = ping ]

#!/bin/sh
# client: rsync over ssh
# needs: rsync ssh
# host: ssh.example
# proxy: yes, by `ProxyCommand sbx-net connect %h %p`
# capture: yes
set -eu
cat >"$OUT/rsh" <<'EOF'
#!/bin/sh
[ "$MODE" = capture ] || set -- -o "ProxyCommand=$SBX_BIN connect %h %p" "$@"
exec ssh -F "$SSH_CONFIG" "$@"
EOF
chmod +x "$OUT/rsh"
rsync -q -e "$OUT/rsh" "ssh.example:$BIG_FILE" "$OUT/big"
[ "$(sha256sum <"$OUT/big")" = "$BIG_SHA  -" ]

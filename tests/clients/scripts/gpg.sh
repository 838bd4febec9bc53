#!/bin/sh
# client: gpg and dirmngr
# needs: gpg dirmngr
# host: pkg.example
# options: --allow-unix-sockets
# proxy: no: dirmngr looks the host up itself, `honor-http-proxy` or not
# capture: yes, with `--allow-unix-sockets`
set -eu
export GNUPGHOME="$OUT/g"
mkdir -m 700 "$GNUPGHOME"
printf 'standard-resolver\nresolver-timeout 2\nconnect-timeout 5\nhkp-cacert %s\n' "$CA" >"$GNUPGHOME/dirmngr.conf"
[ "$MODE" = capture ] || echo honor-http-proxy >>"$GNUPGHOME/dirmngr.conf"
result=0
gpg -q --batch --keyserver hkps://pkg.example --recv-keys "$KEY" || result=$?
gpgconf --kill all
[ $result = 0 ] && gpg -q --batch --list-keys "$KEY" >/dev/null

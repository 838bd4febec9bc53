#!/bin/sh
# client: apt
# needs: apt-get
# host: pkg.example
# proxy: yes
# capture: yes
set -eu
mkdir -p "$OUT/state/lists/partial" "$OUT/cache/archives/partial" "$OUT/etc"
cat >"$OUT/apt.conf" <<EOF
Dir::State "$OUT/state";
Dir::State::status "$OUT/state/status";
Dir::Cache "$OUT/cache";
Dir::Etc "$OUT/etc";
APT::Sandbox::User "";
Acquire::https::CAInfo "$CA";
Acquire::Retries 0;
Debug::NoLocking true;
EOF
: >"$OUT/state/status"
echo "deb [trusted=yes] https://pkg.example/tree/apt ./" >"$OUT/etc/sources.list"
export APT_CONFIG="$OUT/apt.conf"
apt-get -q update >"$OUT/log" 2>&1 || { cat "$OUT/log" >&2; exit 1; }
apt-cache show sbx-hello | grep -q 'Version: 1.0'
cd "$OUT" && apt-get -q download sbx-hello >/dev/null
[ "$(cat sbx-hello_*.deb)" = "not really a package" ]

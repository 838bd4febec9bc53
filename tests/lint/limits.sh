#!/bin/bash
# Each number of proxy/limits.h is named by a test, and used by the code.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

cd "$root" || exit 1
mapfile -t names < <(sed -n 's/^#define \([A-Z0-9_]\+\)[[:space:]]\+[^[:space:]].*/\1/p' proxy/limits.h)
[ "${#names[@]}" -ge 40 ] || fail "found ${#names[@]} limits only: has the file another form now?"
for name in "${names[@]}"; do
	grep -qrw -- "$name" tests/unit tests/integration tests/fuzz || fail "no test names $name"
	grep -qrw --include='*.[ch]' --exclude=limits.h -- "$name" base dns proxy cli ||
		fail "no code uses $name"
done
finish

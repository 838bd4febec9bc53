#!/bin/bash
# No two public functions or variables of our libraries have one name: of two archives the linker
# takes the first that has it, and says nothing.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

command -v nm >/dev/null || skip 'nm (binutils) is not installed'
: "${SBX_NET:?the binary, beside whose directory the libraries are}"

# twice ARCHIVE...: names that are defined in more than one place
twice() {
	nm --defined-only --extern-only "$@" 2>/dev/null | awk 'NF == 3 && $2 ~ /[TDBRC]/ { print $3 }' |
		sort | uniq -d
}

libraries=("${SBX_NET%/*/*}"/{base,policy,dns,netns,launcher,proxy,cli}/lib*.a)
for a in "${libraries[@]}"; do
	[ -r "$a" ] || fail "no library $a"
done
for name in $(twice "${libraries[@]}"); do
	fail "$name is defined in more than one library"
done
# the twin: it does notice
[ -n "$(twice "${libraries[@]}" "${libraries[0]}")" ] || fail 'a library given twice is not noticed'
finish

#!/bin/bash
# What the flags of cmake/sbx_flags.cmake promise is read back from the binary that was built. The
# same questions asked of a binary built without them must all be answered with no.
# shellcheck disable=SC2317 # the questions are asked by name
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

command -v readelf >/dev/null || skip 'readelf (binutils) is not installed'
: "${SBX_NET:?the binary to look at}"

is_pie() {
	readelf -hW "$1" | grep -q 'Type: *DYN' && readelf -dW "$1" | grep -q 'FLAGS_1.*PIE'
}

has_relro() {
	readelf -lW "$1" | grep -q GNU_RELRO
}

binds_now() {
	readelf -dW "$1" | grep -qE 'BIND_NOW|FLAGS.*NOW'
}

has_plain_stack() {
	readelf -lW "$1" | grep GNU_STACK | grep -qv RWE
}

has_canaries() {
	readelf -sW --dyn-syms "$1" | grep -q __stack_chk_fail
}

is_fortified() {
	readelf -sW --dyn-syms "$1" | grep -v stack_chk | grep -q '__[a-z]*_chk@'
}

questions='is_pie has_relro binds_now has_plain_stack has_canaries is_fortified'

for q in $questions; do
	$q "$SBX_NET" || fail "$SBX_NET: not $q"
done
! readelf -dW "$SBX_NET" | grep -qE 'RPATH|RUNPATH|TEXTREL' || fail 'RPATH, RUNPATH or TEXTREL'
! readelf -lW "$SBX_NET" | grep -E '^ *LOAD' | grep -q 'RWE' || fail 'a segment is both W and X'

plain=$(mktemp)
trap 'rm -f "$plain"' EXIT
"${CC:-gcc}" -x c -O0 -no-pie -fno-pie -fno-stack-protector -fcf-protection=none \
	-U_FORTIFY_SOURCE -Wl,-z,norelro -Wl,-z,lazy -Wl,-z,execstack -o "$plain" - \
	<<<'int main(void) { return 0; }' 2>/dev/null || fail 'cannot build the counterpart'
for q in $questions; do
	# shellcheck disable=SC2015
	! $q "$plain" || fail "$q says yes to a binary without any hardening"
done
finish

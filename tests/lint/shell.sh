#!/bin/bash
# Every shell script passes shellcheck, and runs when it is called.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

command -v shellcheck >/dev/null || skip 'shellcheck is not installed'
checked=0
cd "$root" || exit 1
while IFS= read -rd '' file; do
	[ -f "$file" ] || continue
	IFS= read -r first <"$file" 2>/dev/null || true
	case $file:${first-} in
	*:'#!/bin/sh'* | *:'#!/bin/bash'* | *:'#!/usr/bin/env bash'*)
		[ -x "$file" ] || fail "$file is not executable"
		;;
	*.sh:*) ;;
	*) continue ;;
	esac
	shellcheck -x "$file" || fail "$file"
	checked=$((checked + 1))
done < <(sources)
[ "$checked" -gt 5 ] || fail "looked at $checked scripts only"
finish

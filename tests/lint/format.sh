#!/bin/bash
# .clang-format is law. Other versions of the tool lay out some lines differently: 14 decides.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

tool=
for name in clang-format-14 clang-format; do
	if command -v $name >/dev/null && $name --version | grep -q ' version 14\.'; then
		tool=$name
		break
	fi
done
[ "$tool" ] || skip 'clang-format 14 is not installed'

while IFS= read -rd '' file; do
	case $file in
	*.c | *.h) $tool --dry-run -Werror "$root/$file" 2>/dev/null ||
		fail "$file: run clang-format -i on it" ;;
	esac
done < <(sources)
finish

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

cd "$root" || exit 1
while IFS= read -r file; do
	fail "$file: run clang-format -i on it"
done < <(sources | grep -z '\.[ch]$' | xargs -0 $tool --dry-run 2>&1 |
	sed -nE 's/^([^: ]+):[0-9]+:[0-9]+: .*/\1/p' | sort -u)
finish

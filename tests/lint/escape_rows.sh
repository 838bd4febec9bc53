#!/bin/bash
# No row of the vectors about the sandbox is without a test, or a reason why there is none.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

command -v python3 >/dev/null || skip 'python3 is not installed'
while IFS= read -r line; do
	fail "$line"
done < <(/usr/bin/python3 -B "$root/tests/escape/ids.py" | grep -v ' rows, ')
finish

#!/bin/bash
# The README's table of clients is what the heads of tests/clients/scripts promise and the test holds.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

want=$(/usr/bin/python3 -B "$root/tests/clients/run.py" --table) || fail 'run.py --table failed'
have=$(sed -n '/^<!-- clients: /,/^<!-- clients end/{/^<!--/!p}' "$root/README.md")
[ "$(wc -l <<<"$want")" -gt 20 ] || fail "a table of $(wc -l <<<"$want") lines"
diff <(echo "$want") <(echo "$have") >&2 ||
	fail 'the table in README.md is another one: tests/clients/run.py --update'
finish

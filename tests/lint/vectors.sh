#!/bin/bash
# tests/vectors.txt: each row names tests that exist and say so, and no test names a row that is not.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || skip 'python3 is not installed'
python3 -B "$root/tests/support/vector_table.py" static || fail 'see above'
finish

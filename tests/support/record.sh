#!/bin/bash
# record.sh FILE COMMAND...: runs a test program and notes in FILE which of its tests passed: those
# that cmocka names, or "ok" for a program without any. See tests/vectors.txt.
set -uo pipefail
file=$1
shift
mkdir -p "${file%/*}"
rm -f "$file"
"$@" 2>&1 | tee "$file.out"
status=$?
sed -n 's/^\[       OK \] //p' "$file.out" >"$file"
[ $status != 0 ] || [ -s "$file" ] || echo ok >"$file"
exit $status

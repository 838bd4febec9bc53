# shellcheck shell=bash
# lib.sh - what the lint scripts share: sourced, never run

# skip REASON: loudly, and a failure where everything was installed for us
skip() {
	echo "SKIP: $*" >&2
	[ "${SBX_TESTS_MUST_RUN-}" = 1 ] && exit 1
	exit 77
}

failures=0

# fail TEXT: note it and go on, so that one run shows everything
fail() {
	echo "FAIL: $*" >&2
	failures=$((failures + 1))
}

# finish: the status of the script
finish() {
	[ "$failures" = 0 ] || echo "$failures failed" >&2
	exit $((failures > 0))
}

# sources: the files that belong to the project, NUL-terminated, from its root, whether or not
# they are committed; build output and editors' droppings are not looked at
sources() {
	if git -C "$root" rev-parse --git-dir >/dev/null 2>&1; then
		git -C "$root" -c safe.directory="$root" ls-files -z --cached --others \
			--exclude-standard
	else
		(cd "$root" && find . -path ./build -prune -o -path './build-*' -prune -o \
			-path ./.git -prune -o -type f -printf '%P\0')
	fi
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

#!/bin/bash
# The man pages are clean, and every relative link of the Markdown files leads somewhere.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

command -v mandoc >/dev/null || skip 'mandoc is not installed'
for page in "$root"/docs/*.[1-9]; do
	mandoc -T lint -W warning "$page" >&2 || fail "${page#"$root"/}: see above"
done

# anchors FILE: what a link behind '#' may name: the headings, as GitHub spells them
anchors() {
	sed -nE 's/^#+ +(.*)/\L\1/p' "$1" | sed -E 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# check_link FILE LINK
check_link() {
	local path=${2%%#*} anchor='' target

	case $2 in http://* | https://* | mailto:*) return ;; *'#'*) anchor=${2#*#} ;; esac
	target=$1
	[ -z "$path" ] || target=$(dirname "$1")/$path
	if [ ! -e "$root/$target" ]; then
		fail "$1: no such file: $2"
	elif [ "$anchor" ] && ! anchors "$root/$target" | grep -qxF -e "$anchor"; then
		fail "$1: no such heading: $2"
	fi
}

links=0
while IFS= read -rd '' file; do
	[[ $file == *.md ]] || continue
	while read -r link; do
		check_link "$file" "$link"
		links=$((links + 1))
	done < <(grep -oE '\]\([^) ]+\)' "$root/$file" | sed 's/^](//; s/)$//')
done < <(sources)
# Claims name the tests that show them: "`tests/x/test_y.py` test_one test_two; `tests/...`".
# check_claims FILE
check_claims() {
	local where path name n=0

	while IFS= read -r where; do
		# shellcheck disable=SC2016 # a backtick is a backtick
		path=$(sed -nE 's/^ *`(tests\/[^`]+)`.*/\1/p' <<<"$where")
		if [ -z "$path" ] || [ ! -e "$root/$path" ]; then
			fail "$1: no such test: $where"
			continue
		fi
		while read -r name; do
			grep -qE "\b$name\(" "$root/$path" || fail "$1: $path has no $name"
			n=$((n + 1))
		done < <(grep -oE '\btest_[a-z0-9_]+' <<<"${where##*\`}")
	done < <(sed -nE 's/^\| [A-Z][0-9]+ \|.*\| (.*) \|$/\1/p' "$root/$1" | tr ';' '\n')
	while read -r name; do
		fail "$1: two claims are $name"
	done < <(sed -nE 's/^\| ([A-Z][0-9]+) \|.*/\1/p' "$root/$1" | sort | uniq -d)
	[ $n -gt 20 ] || fail "$1 names $n tests only"
}
check_claims docs/threat-model.md
[ "$links" -gt 5 ] || fail "looked at $links links only"
finish

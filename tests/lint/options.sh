#!/bin/bash
# What --help offers, the man page and the README name; what they name, --help offers.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
: "${SBX_NET:?the program}"
command -v mandoc >/dev/null || skip 'mandoc is not installed'

# Options of other programs that our pages show.
foreign='--noproxy --output-on-failure --test-dir --preset --network --unshare-net --dev-bind --user --proxy --continue'

commands=$("$SBX_NET" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
[[ " $(tr '\n' ' ' <<<"$commands")" == *' run '* ]] || fail "--help does not list run: $commands"

# offered COMMAND: "-a, --allow PATTERN" and the like, a line each
offered() {
	"$SBX_NET" help "$1" | grep -E '^ +(-.,)? *--[a-z]' | sed -E 's/^ +//; s/  .*//'
}

page=$(mandoc -T utf8 -O width=100 "$root/docs/sbx-net.1" | sed 's/.\x08//g')
readme=$(cat "$root/README.md")
all=$(for c in $commands; do [ "$c" = help ] || offered "$c"; done | sort -u)
[ "$(wc -l <<<"$all")" -gt 8 ] || fail "--help offers too little: $all"

while IFS= read -r line; do
	long=$(grep -oE -e '--[a-z0-9-]+' <<<"$line" | head -n 1)
	# the man page: the tag of a list, letter and argument included
	grep -qF -e "     $line" <<<"$page" ||
		fail "docs/sbx-net.1 has no item '$line'"
	grep -qE -e "$long([^a-z0-9-]|\$)" <<<"$readme" || fail "README.md does not name $long"
done <<<"$all"

for c in $commands; do
	grep -q "sbx-net $c" <<<"$page" || fail "docs/sbx-net.1 does not show 'sbx-net $c'"
done

# no_strangers WHERE TEXT: every --option in the text is one of ours or one known as foreign
no_strangers() {
	local option
	while read -r option; do
		case " $foreign --help --version --completions " in *" $option "*) continue ;; esac
		grep -qE -e "$option( |\$)" <<<"$all" || fail "$1 names $option, which does not exist"
	done < <(grep -oE -e '(^|[^a-zA-Z0-9-])--[a-z][a-z0-9-]+' <<<"$2" | grep -oE -e '--.*' |
		sort -u)
}
for c in $commands; do
	long=$("$SBX_NET" help "$c" 2>/dev/null | awk 'length > 80')
	[ -z "$long" ] || fail "help $c has lines of more than 80 columns: $long"
done
no_strangers docs/sbx-net.1 "$page"
no_strangers README.md "$readme"
finish

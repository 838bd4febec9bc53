#!/bin/bash
# The completion scripts: bash's is tried, those of other shells are read by the shell if it is
# here, and all name every option that --help names.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
: "${SBX_NET:?the program}"

scripts=$(mktemp -d)
trap 'rm -rf "$scripts"' EXIT
for shell in bash zsh fish; do
	"$SBX_NET" --completions $shell >"$scripts/$shell" || fail "no script for $shell"
	if command -v $shell >/dev/null; then
		$shell -n "$scripts/$shell" || fail "$shell cannot read its script"
	else
		echo "note: no $shell here to read its script"
	fi
done

while read -r option; do
	grep -q -e "$option" "$scripts/bash" || fail "bash: no $option"
	grep -q -e "$option" "$scripts/zsh" || fail "zsh: no $option"
	grep -q -e "-l ${option#--}\b" "$scripts/fish" || fail "fish: no $option"
done < <("$SBX_NET" help run | grep -oE '^ +(-.,)? *--[a-z0-9-]+' | grep -oE -e '--.*')

# shellcheck source=/dev/null # made above
. "$scripts/bash"

# completes WANTED WORD... : whether the last word, as far as it is typed, may become WANTED
completes() {
	local wanted=$1 got
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_sbx_net
	printf -v got ' %s' "${COMPREPLY[@]}"
	[[ "$got " == *" $wanted "* ]]
}

cd "$scripts" || exit 1
mkdir a-directory
touch a-file
completes run sbx-net r || fail 'bash: run'
completes --version sbx-net --v || fail 'bash: --version'
completes --allow sbx-net run --a || fail 'bash: run --allow'
completes --allow sbx-net run -a example.com -q --a || fail 'bash: --allow again'
completes never sbx-net run --ask n || fail 'bash: --ask never'
completes a-directory sbx-net run -C a- || fail 'bash: -C, a directory'
! completes a-file sbx-net run -C a- || fail 'bash: -C, a file'
! completes --allow sbx-net run --env --a || fail 'bash: an option as the argument of --env'
completes cat sbx-net run -q ca || fail 'bash: the command'
completes cat sbx-net run -q -- ca || fail 'bash: the command behind --'
! completes --allow sbx-net run cat --a || fail 'bash: our option behind the command'
completes a-file sbx-net run -a example.com -- cat a- || fail 'bash: the word of a command'

# the words of commands that have no options of the table, and files only where one may stand
completes codex sbx-net import c || fail 'bash: import codex'
! completes a-file sbx-net import a || fail 'bash: import, a file for a word'
completes a-file sbx-net import codex a || fail 'bash: import codex, a file'
completes revoke sbx-net grants r || fail 'bash: grants revoke'
completes --all sbx-net grants revoke --a || fail 'bash: grants revoke --all'
! completes a-file sbx-net grants a || fail 'bash: grants, a file'
completes sarif sbx-net report s || fail 'bash: report sarif'
completes a-file sbx-net report a || fail 'bash: report, a file'
completes a-file sbx-net report sarif a || fail 'bash: report sarif, a file'
completes verify sbx-net audit v || fail 'bash: audit verify'
completes diff sbx-net policy d || fail 'bash: policy diff'
completes --json sbx-net doctor --j || fail 'bash: doctor --json'
completes import sbx-net help i || fail 'bash: help import'
! completes a-file sbx-net help a || fail 'bash: help, a file'
completes a-file sbx-net check a || fail 'bash: check, a file'
! completes a-file sbx-net why a || fail 'bash: why, a file'
for shell in zsh fish; do
	for word in codex revoke sarif verify diff; do
		grep -qE "(compadd --|-a ').*\b$word\b" "$scripts/$shell" || fail "$shell: no $word"
	done
done
grep -q "from help' -xa '.*import" "$scripts/fish" || fail 'fish: help import'
for text in "$root/README.md" "$root/docs/sbx-net.1"; do
	grep -qE -e '(--|Fl Fl )completions' "$text" || fail "$text: no --completions"
done
finish

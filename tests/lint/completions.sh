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
finish

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

# of COMMAND SHELL: the part of the script that is about the command
of() {
	case $2 in
	bash) grep -E "^	$1\) opts=" "$scripts/bash" ;;
	zsh) sed -n "/^$1)\$/,/^	;;/p" "$scripts/zsh" ;;
	fish) grep "from $1'" "$scripts/fish" ;;
	esac
}

# Each option that --help has, in the place of its command, in each shell.
options=0
for command in $("$SBX_NET" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p'); do
	while read -r option; do
		options=$((options + 1))
		grep -q -e "$option " <<<"$(of "$command" bash)" || fail "bash: $command: no $option"
		grep -qE -e "$option(=|\[|\})" <<<"$(of "$command" zsh)" ||
			fail "zsh: $command: no $option"
		grep -qE -e "-l ${option#--}( |\$)" <<<"$(of "$command" fish)" ||
			fail "fish: $command: no $option"
	done < <("$SBX_NET" help "$command" | grep -oE '^ +(-.,)? *--[a-z0-9-]+' |
		grep -oE -e '--.*')
done
((options > 100)) || fail "only $options options were looked for"

# The values of options that know a few, which are said in the sentence of --help.
while read -r option values; do
	for value in $values; do
		grep -E -e "^	${option}[)|]" "$scripts/bash" | grep -qE "[' ]${value}[' ]" ||
			fail "bash: $option: no $value"
		grep -E -e "--${option#--}=" "$scripts/zsh" | tr -d "\\\\" |
			grep -qE "compadd.* -- ${value}[;}]" || fail "zsh: $option: no $value"
		grep -E -e "-l ${option#--} " "$scripts/fish" | grep -qE "'(.* )?$value( .*)?' -d" ||
			fail "fish: $option: no $value"
	done
done <<'EOF'
--ask auto tty control never exec:
--fs workspace strict off
--allow-from npm apt pip cargo go git
--accept-weaker proc landlock-scopes spelling
--limit cpu= as= nofile= nproc= fsize=
--report text markdown json junit sarif
--audit journald fd:
--upstream-proxy none
EOF

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
completes --last sbx-net audit verify --l || fail 'bash: audit verify --last'
completes diff sbx-net policy d || fail 'bash: policy diff'
completes --json sbx-net doctor --j || fail 'bash: doctor --json'
completes --follow sbx-net approvals --f || fail 'bash: approvals --follow'
! completes a-file sbx-net approvals --session a || fail 'bash: approvals --session, a file'
completes a-file sbx-net top --socket a || fail 'bash: top --socket, a file'
completes journald sbx-net run --audit j || fail 'bash: --audit journald'
completes a-file sbx-net run --audit a- || fail 'bash: --audit, a file'
completes import sbx-net help i || fail 'bash: help import'
! completes a-file sbx-net help a || fail 'bash: help, a file'
completes a-file sbx-net check a || fail 'bash: check, a file'
! completes a-file sbx-net why a || fail 'bash: why, a file'
for shell in zsh fish; do
	for word in codex revoke sarif verify diff; do
		grep -qE "(compadd --|-a ').*\b$word\b" "$scripts/$shell" || fail "$shell: no $word"
	done
done

# The same of zsh and fish themselves, where they are installed: what they offer for a line.
# shellcheck disable=SC2317 # called by its shell's name
offer_zsh() {
	mkdir -p z
	cp "$scripts/zsh" z/_sbx-net
	timeout 120 zsh -f "$root/tests/lint/completions.zsh" z "$1" && cat z/offered
}
# shellcheck disable=SC2016,SC2317 # fish expands it
offer_fish() {
	fish -N -c 'source $argv[1]; complete -C "$argv[2]"' "$scripts/fish" "$1" | cut -f1
}
# in_shells LINE WORD... : each word is offered; one with a ! in front is not
in_shells() {
	local line=$1 shell word offered
	shift
	for shell in zsh fish; do
		command -v $shell >/dev/null || continue
		offered=$(offer_$shell "$line") || fail "$shell: '$line': no answer"
		for word; do
			if [ "${word#!}" = "$word" ]; then
				grep -qxE -e "$word/?" <<<"$offered" || fail "$shell: '$line': no $word"
			else
				! grep -qxE -e "${word#!}/?" <<<"$offered" || fail "$shell: '$line': ${word#!}"
			fi
		done
	done
}
if command -v fish >/dev/null; then # it has to find the program, and a home
	mkdir bin home
	ln -s "$SBX_NET" bin/sbx-net
	export PATH=$PWD/bin:$PATH HOME=$PWD/home
fi
if command -v zsh >/dev/null; then # as README.md says, without a place in fpath
	mkdir s
	cp "$scripts/zsh" s/sourced
	timeout 120 zsh -f "$root/tests/lint/completions.zsh" s 'sbx-net run --a' ||
		fail 'zsh: sourced: no answer'
	grep -qxE -e '--ask' s/offered || fail 'zsh: sourced: no --ask'
fi
in_shells 'sbx-net ' run approvals help
in_shells 'sbx-net run --a' --allow --ask --audit
in_shells 'sbx-net run --ask ' auto tty control never exec: !a-file
in_shells 'sbx-net run --audit ' journald fd: a-file
in_shells 'sbx-net run --limit ' cpu= nofile= !a-file
in_shells 'sbx-net run -C ' a-directory !a-file
in_shells 'sbx-net run -a example.com --deny-' --deny-list --deny-read !--allow
in_shells 'sbx-net run -a example.com -- cat a-' a-file
in_shells 'sbx-net approvals --' --follow --session !--allow
in_shells 'sbx-net grants ' list revoke !a-file
in_shells 'sbx-net grants revoke --' --all !--allow
in_shells 'sbx-net report ' text sarif a-file
in_shells 'sbx-net top --' --once --json --socket
in_shells 'sbx-net doctor --' --json
in_shells 'sbx-net help ' import !a-file
in_shells 'sbx-net why example.com --st' --strict
grep -q "from help' -xa '.*import" "$scripts/fish" || fail 'fish: help import'
for text in "$root/README.md" "$root/docs/sbx-net.1"; do
	grep -qE -e '(--|Fl Fl )completions' "$text" || fail "$text: no --completions"
done
finish

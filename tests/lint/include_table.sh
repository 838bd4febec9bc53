#!/bin/bash
# Who may include whom: the table of docs/architecture.md, and the rules for headers of
# docs/STYLE.md 2.1 and 2.3. Nothing includes upwards.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

declare -A ours=(
	[base]='base'
	[policy]='base policy'
	[netns]='base netns'
	[launcher]='base policy netns launcher'
	[dns]='base policy dns'
	[proxy]='base policy dns proxy'
	[cli]='base policy netns launcher dns proxy cli'
)
declare -A external=(
	[base]=''
	[policy]='jansson\.h'
	[netns]=''
	[launcher]='seccomp\.h|sys/capability\.h|openssl/.*'
	[dns]='event2/.*|ares\.h'
	[proxy]='event2/.*|openssl/.*'
	[cli]='event2/.*'
)
# What libc and the kernel's headers give to everybody. A header that is in neither list is asked
# about once, here.
libc='(assert|ctype|dirent|endian|errno|fcntl|fnmatch|getopt|glob|grp|ifaddrs|inttypes|limits|locale'
libc+='|mntent|netdb|poll|pty|pwd|sched|search|signal|spawn|stdarg|stdalign|stdatomic|stdbool|stddef'
libc+='|stdint|stdio|stdlib|stdnoreturn|string|strings|syslog|termios|time|unistd|utmp|elf|link'
libc+='|byteswap|arpa/[a-z]+|net/if|net/route|netinet/[a-z0-9_]+|linux/[a-z0-9_/]+|asm/[a-z_]+'
libc+='|sys/[a-z_]+)\.h'

# includes FILE: "LINE KIND HEADER", KIND being < or "
includes() {
	sed -nE '/^[[:space:]]*#[[:space:]]*include/{=;p}' "$1" | paste - - |
		sed -E 's/^([0-9]+)\t[[:space:]]*#[[:space:]]*include[[:space:]]*([<"])([^>"]*).*/\1 \2 \3/'
}

# check_ours WHERE DIR HEADER
check_ours() {
	case " ${ours[$2]} " in
	*" ${3%%/*} "*) [ -e "$root/$3" ] || fail "$1: there is no $3" ;;
	*) fail "$1: $2/ may not include $3 (only: ${ours[$2]})" ;;
	esac
	[[ $3 == */* ]] || fail "$1: \"$3\" is not written from the root"
}

# check_external WHERE DIR HEADER
check_external() {
	local own="^(${external[$2]:-none})\$"

	[[ $3 =~ $own ]] && return
	if [[ $3 == sys/capability.h || ! $3 =~ ^${libc}$ ]]; then
		fail "$1: $2/ may not include <$3>"
	fi
}

# check_own_header_first DIR STEM FIRST
check_own_header_first() {
	[ ! -e "$root/$1/$2.h" ] || [ "$3" = "$1/$2.h" ] ||
		fail "$1/$2.c: its own header does not come first"
}

# A list that is meant to be included again and again says so.
is_list() {
	grep -qx '/\* No include guard: .*' "$1"
}

check_guard() {
	local dir=$1 stem=$2 guard

	is_list "$root/$dir/$stem.h" && return
	guard=$(tr '[:lower:]-' '[:upper:]_' <<<"${dir}_${stem}_H")
	grep -qx "#ifndef $guard" "$root/$dir/$stem.h" || fail "$dir/$stem.h: no guard $guard"
}

check_file() {
	local file=$1 dir=${1%%/*} name=${1##*/} first='' line kind header

	while read -r line kind header; do
		first=${first:-$header}
		if [ "$kind" = '"' ]; then
			check_ours "$file:$line" "$dir" "$header"
		else
			check_external "$file:$line" "$dir" "$header"
		fi
	done < <(includes "$root/$file")
	case $name in
	*.c) check_own_header_first "$dir" "${name%.c}" "$first" ;;
	*.h) check_guard "$dir" "${name%.h}" ;;
	esac
}

# Two directories with one stem would fight over tests/unit/test_STEM.c.
check_stems() {
	(cd "$root" && ls -- */*.c) | grep -E "^($(tr ' ' '|' <<<"${!ours[*]}"))/" |
		sed 's,.*/,,' | sort | uniq -d | while read -r name; do
		echo "$name"
	done
}

checked=0
for dir in "${!ours[@]}"; do
	for path in "$root/$dir"/*.[ch]; do
		check_file "$dir/${path##*/}"
		checked=$((checked + 1))
	done
done
for name in $(check_stems); do
	fail "$name is in two directories"
done
[ "$checked" -gt 20 ] || fail "looked at $checked files only"
finish

#!/bin/bash
# Who may include whom: the table of docs/architecture.md, and the rules for headers of
# docs/STYLE.md 2.1 and 2.3. Nothing includes upwards.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# What libc and the kernel's headers give to everybody. A header that is in no list is asked about
# once, here.
libc='assert|ctype|dirent|endian|errno|fcntl|fnmatch|ftw|getopt|glob|grp|ifaddrs|inttypes|limits|locale'
libc+='|mntent|netdb|poll|pthread|pty|pwd|sched|search|signal|spawn|stdarg|stdalign|stdatomic|stdbool|stddef'
libc+='|stdint|stdio|stdlib|stdnoreturn|string|strings|syslog|termios|time|unistd|utmp|elf|link'
libc+='|byteswap|arpa/[a-z]+|net/if|net/route|netinet/[a-z0-9_]+|linux/[a-z0-9_/]+|asm/[a-z_]+'
libc+='|sys/[a-z_]+'

# Prints a line for each fault; the files are its arguments, "DIR/NAME.c" or "DIR/NAME.h".
check() {
	awk -v libc="^($libc)[.]h\$" '
	BEGIN {
		ours["base"] = "base"
		ours["policy"] = "base policy"
		ours["netns"] = "base netns"
		ours["launcher"] = "base policy netns launcher"
		ours["dns"] = "base policy dns"
		ours["proxy"] = "base policy dns proxy"
		ours["cli"] = "base policy netns launcher dns proxy cli"
		external["policy"] = "^jansson[.]h$"
		external["launcher"] = "^nettle/.*$"
		external["dns"] = "^(event2/.*|ares[.]h)$"
		external["proxy"] = "^(event2/.*|openssl/.*|dlfcn[.]h|nettle/.*)$"
		external["cli"] = "^(event2/.*|jansson[.]h)$"
		for (i = 1; i < ARGC; i++)
			exists[ARGV[i]] = 1
	}

	function fault(text) {
		printf "%s:%d: %s\n", FILENAME, FNR, text
	}

	function end_of_file() {
		if (file ~ /[.]h$/ && !guarded && !list)
			printf "%s: no guard %s\n", file, guard
	}

	FNR == 1 {
		end_of_file()
		file = FILENAME
		dir = stem = guard = file
		sub("/.*", "", dir)
		sub("[.][ch]$", "", stem)
		guard = toupper(stem) "_H"
		gsub("[/-]", "_", guard)
		guarded = list = included = 0
	}

	# a list that is meant to be included again and again says so
	/^\/\* No include guard: .*\*\/$/ { list = 1 }

	$0 == "#ifndef " guard { guarded = 1 }

	/^[ \t]*#[ \t]*include/ {
		kind = $0
		sub(/^[ \t]*#[ \t]*include[ \t]*/, "", kind)
		header = substr(kind, 2)
		sub(/[>"].*/, "", header)
		kind = substr(kind, 1, 1)
		if (!included++ && file ~ /[.]c$/ && (stem ".h" in exists) && header != stem ".h")
			fault("its own header does not come first")
		if (kind == "\"") {
			from = header
			sub("/.*", "", from)
			if (header !~ /\//)
				fault("\"" header "\" is not written from the root")
			else if (index(" " ours[dir] " ", " " from " ") == 0)
				fault(dir "/ may not include " header " (only: " ours[dir] ")")
			else if (!(header in exists))
				fault("there is no " header)
		} else if (!(dir in external && header ~ external[dir]) &&
			   (header == "sys/capability.h" || header !~ libc))
			fault(dir "/ may not include <" header ">")
	}

	END { end_of_file() }
	' "$@"
}

dirs='base policy netns launcher dns proxy cli'
cd "$root" || exit 1
# shellcheck disable=SC2086 # a list
files=$(for d in $dirs; do find "$d" -name "*.[ch]" | sort; done)
[ "$(wc -w <<<"$files")" -gt 20 ] || fail "found too few files: $files"

# shellcheck disable=SC2086
while IFS= read -r fault; do
	fail "$fault"
done < <(check $files)

# Two directories with one stem would fight over tests/unit/test_STEM.c.
while IFS= read -r name; do
	fail "$name is in two directories"
done < <(grep '\.c$' <<<"$files" | sed 's,.*/,,' | sort | uniq -d)

# The check itself: of two files that break every rule each fault is found, of a good one none.
cd "$(mktemp -d)" || exit 1
trap 'rm -rf "$PWD"' EXIT
mkdir base proxy
printf '%s\n' '#ifndef BASE_GOOD_H' '#define BASE_GOOD_H' '#include <stdint.h>' '#endif' >base/good.h
printf '%s\n' '#include "base/good.h"' >base/good.c
printf '%s\n' '#include <event2/event.h>' '#include "bad.h"' '#include "proxy/x.h"' \
	'#include "base/none.h"' '#include "base/bad.h"' >base/bad.c
printf '%s\n' '#include <sys/capability.h>' >base/bad.h
[ -z "$(check base/good.h base/good.c)" ] || fail "faults in a good file: $(check base/good.*)"
[ "$(check base/bad.h base/bad.c base/good.h | wc -l)" = 7 ] ||
	fail "not seven faults in bad files: $(check base/bad.h base/bad.c base/good.h)"
finish

#!/bin/bash
# Each header compiles on its own: it includes what its lines need.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

libs='libevent_core libcares openssl libseccomp libcap jansson'
# shellcheck disable=SC2086 # a list
read -ra cflags < <(pkg-config --cflags $libs)
for header in "$root"/{base,policy,netns,launcher,dns,proxy,cli}/*.h; do
	grep -qx '/\* No include guard: .*' "$header" && continue # a list, for others to spread out
	"${CC:-gcc}" -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -I"$root" \
		"${cflags[@]}" -x c -include "$header" /dev/null ||
		fail "${header#"$root"/} does not compile on its own"
done
finish

#!/bin/bash
# Each header compiles on its own: it includes what its lines need.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

libs='libevent_core libcares openssl nettle jansson'
# shellcheck disable=SC2086 # a list
read -ra cflags < <(pkg-config --cflags $libs)
cd "$root" || exit 1
# a list without a guard is for others to spread out
grep -LZ '^/\* No include guard: ' {base,policy,netns,launcher,launcher/files,dns,proxy,cli,cli/*}/*.h |
	xargs -0 -n 16 -P "$(nproc)" "${CC:-gcc}" -std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror \
		-fsyntax-only -I. "${cflags[@]}" -x c-header ||
	fail 'a header does not compile on its own: see above'
finish

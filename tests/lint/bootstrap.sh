#!/bin/bash
# bootstrap on machines that it cannot be tried on here: fakes of dpkg, apt, sudo, cmake and ninja
# in a PATH that holds nothing else but the usual small tools.
# shellcheck disable=SC2016 # the fakes expand their own variables
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

unset SBX_TESTS_MUST_RUN # what ran us may have set it; the tests look for it
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT

# fake NAME: a program from stdin
fake() {
	{
		echo '#!/bin/sh'
		cat
	} >"$world/bin/$1"
	chmod +x "$world/bin/$1"
}

# new_world: a checkout, and a Debian that has nothing installed and no package lists
new_world() {
	world=$(mktemp -d -p "$top")
	mkdir "$world/bin" "$world/tree"
	cp "$root/bootstrap" "$world/tree/"
	touch "$world/installed" "$world/lists" "$world/log"
	for tool in sh cat cp chmod dirname env flock grep mkdir printf rm sed sort touch tr; do
		ln -s "$(command -v $tool)" "$world/bin/$tool"
	done
	export WORLD=$world FAKE_UID=0
	fake id <<<'echo "$FAKE_UID"'
	fake sudo <<<'echo "sudo $*" >>"$WORLD/log"; exec "$@"'
	fake dpkg-query <<-'END'
		shift 3
		for p; do
			grep -qx "$p" "$WORLD/installed" && echo "ii $p"
		done
		echo "dpkg-query: no packages found" >&2
		exit 1
	END
	fake apt-cache <<<'[ "$1" = show ] && grep -qx "$2" "$WORLD/lists"'
	fake apt-get <<-'END'
		echo "apt-get $*" >>"$WORLD/log"
		cat >/dev/null
		echo 'noise on stdout'
		case $1 in
		update)
			"$WORLD/tree/bootstrap" packages test >"$WORLD/lists"
			sed -i 's/|.*//' "$WORLD/lists"
			;;
		install)
			[ ! -e "$WORLD/apt-is-broken" ] || exit 100
			for p; do
				case $p in install | -*) ;; *)
					grep -qx "$p" "$WORLD/lists" || exit 100
					echo "$p" >>"$WORLD/installed"
				esac
			done
			;;
		esac
	END
	fake cmake <<-'END'
		echo "cmake $*" >>"$WORLD/log"
		echo '-- Looking for a header'
		echo 'CMake Warning' >&2
		[ ! -e "$WORLD/cmake-is-broken" ] || exit 1
		mkdir -p "build/$2"
		touch "build/$2/build.ninja"
		printf '%s\n' "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "SBX_TESTS:BOOL=${3#*=}" \
			>"build/$2/CMakeCache.txt"
	END
	fake ninja <<-'END'
		echo "ninja $*" >>"$WORLD/log"
		[ ! -e "$WORLD/source-is-broken" ] || { echo 'error: x.c'; exit 1; }
		[ "$1" = -C ] || echo 'ninja: no work to do.'
		while [ "$1" != -C ]; do shift; done
		mkdir -p "$2/cli"
		printf '%s\n' '#!/bin/sh' 'printf "[%s]" "$@"' 'cat' 'exit 7' >"$2/cli/sbx-net"
		chmod +x "$2/cli/sbx-net"
	END
	fake ctest <<<'echo "ctest $* must_run=${SBX_TESTS_MUST_RUN-}" >>"$WORLD/log"'
}

# boot ARG...: run it in that world; $out, $err and $status are what came
boot() {
	out=$(cd "$world" && printf 'input' |
		PATH=$world/bin "$world/tree/bootstrap" "$@" 2>"$world/err")
	status=$?
	err=$(cat "$world/err")
}

# expect WHAT GOT WANTED-PATTERN
expect() {
	# shellcheck disable=SC2053 # a pattern is meant
	[[ $2 == $3 ]] || fail "$case_name: $1 is '$2', not '$3'"
}

logged() {
	grep -q "$1" "$world/log" || fail "$case_name: no '$1' in: $(cat "$world/log")"
}

not_logged() {
	! grep -q "$1" "$world/log" || fail "$case_name: '$1' in: $(cat "$world/log")"
}

install_everything() {
	"$root/bootstrap" packages test | sed 's/|.*//' >"$world/installed"
}

# expect_run: the command was reached, with its words, its input and nothing else on stdout
expect_run() {
	expect status "$status" 7
	expect stdout "$out" '\[run]\[--allow]\[a b]\[--]\[true]input'
}

case_name='fresh machine, root'
new_world
boot run --allow 'a b' -- true
expect_run
expect stderr "$err" '*missing Debian packages: cmake ninja-build gcc*libjansson-dev*'
logged 'apt-get update'
logged 'apt-get install .*--no-install-recommends cmake ninja-build'
not_logged sudo
not_logged cmocka
boot run --allow 'a b' -- true
expect_run
expect 'second stderr' "$err" ''
expect 'number of cmake calls' "$(grep -c ^cmake "$world/log")" 1
expect 'number of installs' "$(grep -c 'apt-get install' "$world/log")" 1

case_name='lists are there'
new_world
"$root/bootstrap" packages test | sed 's/|.*//' >"$world/lists"
boot run --allow 'a b' -- true
expect_run
not_logged 'apt-get update'

case_name='sudo'
new_world
FAKE_UID=1000
boot run --allow 'a b' -- true
expect_run
logged 'sudo env DEBIAN_FRONTEND=noninteractive apt-get install'

case_name='no root and no sudo'
new_world
FAKE_UID=1000
rm "$world/bin/sudo"
boot run true
expect status "$status" 125
expect stdout "$out" ''
expect stderr "$err" '*no sudo; as root, run: apt-get install cmake ninja-build*'
not_logged .

case_name='nothing missing, no root and no sudo'
new_world
install_everything
FAKE_UID=1000
rm "$world/bin/sudo"
boot run --allow 'a b' -- true
expect_run
expect stderr "$err" ''
not_logged apt-get

case_name='apt-get fails'
new_world
touch "$world/apt-is-broken"
boot run true
expect status "$status" 125
expect stderr "$err" '*could not install: cmake ninja-build*'
not_logged ^cmake

case_name='a terminal sees the steps, and not the checks of cmake'
new_world
install_everything
seen=$(cd "$world" && PATH=$world/bin:$PATH script -qec "'$world/tree/bootstrap' build" /dev/null </dev/null)
expect terminal "$seen" '*bootstrap: configuring *bootstrap: building in *bootstrap: built *'
[[ $seen != *'Looking for'* ]] || fail "$case_name: $seen"
grep -q 'Looking for' "$world/tree/build/cmake-release.log" || fail "$case_name: no log"

case_name='one package is missing'
new_world
install_everything
sed -i /libc-ares-dev/d "$world/installed"
boot run --allow 'a b' -- true
expect_run
logged 'install-recommends libc-ares-dev$'

case_name='no Debian'
new_world
rm "$world/bin/dpkg-query" "$world/bin/apt-get"
boot run --allow 'a b' -- true
expect_run
expect stderr "$err" '*no Debian*libevent-dev*'
boot test
logged 'ctest .*must_run=$'

case_name='no Debian and cmake fails'
new_world
rm "$world/bin/dpkg-query" "$world/bin/apt-get"
touch "$world/cmake-is-broken"
boot run true
expect status "$status" 125
expect stderr "$err" '*libevent-dev*-- Looking for a header*CMake Warning*cmake failed*'

case_name='the build fails'
new_world
install_everything
touch "$world/source-is-broken"
boot run true
expect status "$status" 125
expect stdout "$out" ''
expect stderr "$err" '*error: x.c*the build failed*'
rm "$world/source-is-broken"
boot run --allow 'a b' -- true
expect_run
touch "$world/source-is-broken"
boot run --allow 'a b' -- true
expect status "$status" 125
expect stderr "$err" '*error: x.c*the build failed*'

case_name='an alternative is installed'
new_world
install_everything
sed -i s/nginx-light/nginx-full/ "$world/installed"
boot test
expect status "$status" 0
not_logged apt-get

case_name='tests'
new_world
boot run true
logged 'SBX_TESTS=OFF'
boot test -L unit
logged 'SBX_TESTS=ON'
logged "ctest --test-dir $world/tree/build/release --output-on-failure -j 1 -L unit must_run=1"
boot run true
expect 'number of cmake calls' "$(grep -c ^cmake "$world/log")" 2

case_name='moved checkout'
new_world
boot run true
mv "$world/tree" "$world/elsewhere"
mkdir "$world/tree"
cp -r "$world/elsewhere/." "$world/tree"
sed -i s,/tree,/elsewhere, "$world/tree/build/release/CMakeCache.txt"
boot run true
expect 'number of cmake calls' "$(grep -c ^cmake "$world/log")" 2

case_name='usage'
new_world
boot
expect status "$status" 64
boot rnu
expect status "$status" 64
expect stderr "$err" "bootstrap: unknown command 'rnu'*Usage: ./bootstrap run*"
boot fuzz 5s
expect status "$status" 64
boot --help
expect status "$status" 0
expect stdout "$out" 'Usage: ./bootstrap run*'

finish

#!/bin/bash
# The keys of settings files: the manual page describes each that has an effect, and no other.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
command -v mandoc >/dev/null || skip 'mandoc is not installed'

table=$root/policy/settings_keys.c
page=$(mandoc -T utf8 -O width=200 "$root/docs/sbx-net-settings.5" | sed 's/.\x08//g')
# shellcheck disable=SC2016 # a dollar is a dollar
known=$(grep -E '^	(LIST|NAMED|FLAG|\{ \{) ?\(?' "$table" | grep -oE '"[$A-Za-z.]+"' |
	grep -E '^"([$]|enabled|[a-z]+\.)' | tr -d '"' | sort -u)
[ "$(wc -l <<<"$known")" -gt 15 ] || fail "found too few keys in policy/settings_keys.c: $known"

while read -r key; do
	grep -qE "(^|[^A-Za-z.])${key//[.$]/\\&}([^A-Za-z.]|\$)" <<<"$page" ||
		fail "docs/sbx-net-settings.5 does not describe $key"
done <<<"$known"
while read -r key; do
	grep -qxF "$key" <<<"$known" ||
		fail "docs/sbx-net-settings.5 describes $key, which has no effect"
done < <(grep -oE '\b(network|filesystem|credentials|environment)\.[A-Za-z]+' <<<"$page" | sort -u)
finish

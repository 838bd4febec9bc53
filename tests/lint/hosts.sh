#!/bin/bash
# No address of a real service stands in the tree: examples and tests use names that are reserved
# for them (RFC 2606, RFC 6761), so that nothing of ours ever calls a stranger. The exceptions are
# where people read more, and are never called by a program.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

allowed='(.*\.)?(example|ex|test|invalid|localhost|internal|lan|local|arpa)'
allowed+='|(.*\.)?example\.(com|org|net)'
allowed+='|github\.com|www\.rfc-editor\.org|(www|docs|git)\.kernel\.org|man7\.org|www\.apache\.org'
allowed+='|www\.w3\.org|json-schema\.org|docs\.oasis-open\.org|publicsuffix\.org|no-color\.org'

cd "$root" || exit 1
found=$(sources | xargs -0 grep -IoHniE 'https?://([^/@"'\'' ]*@)?[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]+' -- |
	while IFS=: read -r file line url; do
		host=${url#*://}
		host=${host##*@}
		[[ ${host,,} =~ ^($allowed)$ ]] || echo "$file:$line: $host"
	done)
while read -r where; do
	[ -z "$where" ] || fail "a host that is not reserved for examples: $where"
done <<<"$found"
finish

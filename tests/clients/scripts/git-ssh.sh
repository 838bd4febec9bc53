#!/bin/sh
# client: git over ssh
# needs: git ssh
# host: ssh.example
# proxy: yes, by `ProxyCommand sbx-net connect %h %p`
# capture: yes
set -eu
export GIT_SSH_COMMAND="ssh -F $SSH_CONFIG"
[ "$MODE" = capture ] ||
	GIT_SSH_COMMAND="$GIT_SSH_COMMAND -o ProxyCommand='$SBX_BIN connect %h %p'"
git clone -q "ssh://ssh.example$REPO" "$OUT/repo"
[ "$(git -C "$OUT/repo" rev-parse HEAD)" = "$COMMIT" ]

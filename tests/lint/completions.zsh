# What zsh would offer: completions.zsh DIRECTORY LINE, run by zsh -f. DIRECTORY holds the script,
# called _sbx-net, or "sourced" for one that ~/.zshrc has sourced, and receives the words, one a line,
# in "offered".
# A shell of its own is typed to over a terminal, since completion lives in the line editor; what
# reaches compadd with matches in it is what a user would be shown.
zmodload zsh/zpty || exit 77
dir=$1 line=$2
: >$dir/offered
cat >$dir/rc <<EOF
PS1='' fpath=($dir \$fpath)
autoload -Uz compinit && compinit -u -D
[[ ! -e $dir/sourced ]] || source $dir/sourced
compadd()
{
	local -a matches
	# only what is shown, not what a helper keeps in an array
	if [[ \${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
		builtin compadd -A matches "\$@"
		print -rl -- \$matches >>$dir/offered
	fi
	builtin compadd "\$@"
}
offer()
{
	BUFFER=\$LINE CURSOR=\$#LINE
	zle complete
	print done >>$dir/done
	exit
}
zle -C complete list-choices _main_complete
zle -N offer
bindkey '^A' offer
LINE=${(qq)line}
print ready >$dir/ready
EOF
rm -f $dir/ready $dir/done
zpty z zsh -f -i
zpty -w z "source $dir/rc"
# the shell's terminal has to be read, or it stops when that is full
for ((i = 0; i < 3000; i++)); do
	zpty -r -t z text
	[[ -e $dir/ready && ! -e $dir/sent ]] && zpty -w -n z $'\x01' && : >$dir/sent
	[[ -e $dir/done ]] && break
	sleep 0.02
done
zpty -d z
rm -f $dir/sent
[[ -e $dir/done ]]

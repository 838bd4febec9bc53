#!/bin/bash
# The first process of the emulated machine's system: what Debian's scripts would have done, as far
# as the tests need it; then the words that ./run was given, and off.
export PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8
mkdir -p /proc /sys /run /tmp /root
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t cgroup2 cgroup /sys/fs/cgroup
mkdir -p /dev/pts /dev/shm
mount -t devpts -o mode=620,ptmxmode=666 pts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
mount -t tmpfs run /run
mount -t tmpfs -o mode=1777 tmp /tmp
ln -sfn /proc/self/fd /dev/fd
chmod 1777 /var/tmp
read -r line </proc/cmdline
date -s "@${line##*sbx.date=}" >/dev/null
hostname arm
ulimit -Hn 524288 # as systemd has it
ip link set lo up

cp /usr/share/base-passwd/passwd.master /etc/passwd
cp /usr/share/base-passwd/group.master /etc/group
echo 'sshd:x:101:65534::/run/sshd:/usr/sbin/nologin' >>/etc/passwd
sed 's/:.*/:*:19000:0:99999:7:::/' /etc/passwd >/etc/shadow
sed 's/:.*/:*::/' /etc/group >/etc/gshadow
chmod 640 /etc/shadow /etc/gshadow
printf '127.0.0.1 localhost arm\n::1 localhost\n' >/etc/hosts
echo 'nameserver 127.0.0.1' >/etc/resolv.conf
cp /usr/share/libc-bin/nsswitch.conf /etc/nsswitch.conf
mkdir -p /run/sshd
[ -e /bin/sh ] || ln -s dash /bin/sh
for pair in awk:gawk nc:nc.openbsd; do
	[ -e "/usr/bin/${pair%:*}" ] || ln -s "${pair#*:}" "/usr/bin/${pair%:*}"
done

root=
# shellcheck source=/dev/null # which sets root, and the words
. /mnt/tests/build/aarch64/words
mkdir -p "$root"
mount --move /mnt/tests "$root"
cd "$root" || exit
# Ten times the patience.
find build/aarch64 -name CTestTestfile.cmake -exec sed -i 's/TIMEOUT "\([0-9]*\)"/TIMEOUT "\10"/' {} +
uname -a
setsid -w "$@"
echo "aarch64: exit status $?"
sync
echo o >/proc/sysrq-trigger
sleep 60

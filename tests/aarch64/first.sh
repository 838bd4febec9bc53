#!/busybox sh
# shellcheck shell=dash
# The first process of the emulated machine, from its initramfs: to the system's disk and on.
bb=/busybox
$bb mkdir -p /dev /new
$bb mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
$bb insmod /virtio_blk.ko
while [ ! -b /dev/vdb ]; do $bb sleep 0.1; done
$bb mount -t ext4 /dev/vda /new
$bb mkdir -p /new/mnt/tests
$bb mount -t ext4 /dev/vdb /new/mnt/tests
$bb mount --move /dev /new/dev
exec $bb switch_root /new /bin/bash /mnt/tests/tests/aarch64/guest.sh

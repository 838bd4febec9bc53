"""The table of probes: what each must do bare and inside. Ids are those of the test vectors.

Row(ids, probe and arguments, inside, bare): sets of outcomes. {name} is filled in by the driver.
Where the bare run does otherwise, the row is skipped loudly: a probe that fails bare proves nothing.
A row whose bare outcome does not depend on the machine is `must=True`: then it fails instead.
"""
import os
from collections import namedtuple

Row = namedtuple("Row", "id probe inside bare must")
ANY = None
EMPTY = {"ENODATA"}  # there is a file in its place, with nothing in it
READ_ONLY = {"EACCES", "EROFS", "EPERM"}
GONE = {"ENOENT", "EACCES", "EPERM", "EROFS", "ENXIO"}


def row(ident, probe, inside, bare="OK", must=False):
    def as_set(x):
        return {x} if isinstance(x, str) else x
    return Row(ident, probe, as_set(inside), as_set(bare), must)


def sure(*args, **kw):
    return row(*args, must=True, **kw)


SOCKETS = [
    sure("N-001", "socket 1 1 0", "EPERM"),
    sure("N-001", "socket 1 2 0", "EPERM"),
    sure("N-002", "socket 0x100000001 1 0", "EPERM"),
    sure("N-002", "socket 0xffffffff00000001 1 0", "EPERM"),
    sure("N-004", "pair-sendto 2 {dgram}", "EPERM"),
    sure("N-004", "pair-connect 2 {dgram}", "EPERM"),
    sure("N-005", "pair-sendto 3 {dgram}", "EPERM"),
    sure("N-006", "socketpair 0x80802", "EPERM"),
    sure("N-006", "socketpair 0x100000002", "EPERM"),
    sure("N-006", "socketpair 0xffffffff00000003", "EPERM"),
    sure("N-007", "socketpair 1", "OK"),
    sure("N-007", "socketpair 5", "OK"),
    sure("N-007", "pair-connect 1 {unix}", "EISCONN", "EISCONN"),
    sure("N-007", "pair-connect 5 {unix}", {"EISCONN", "EPROTOTYPE"}, {"EISCONN", "EPROTOTYPE"}),
    row("N-009", "i386-socket", "SIGSYS"),
    row("N-010", "x32-socket", "ENOSYS", {"OK", "ENOSYS"}),
    sure("N-011", "unix-connect 1 {unix}", "EPERM"),
    sure("N-012", "unix-connect 2 {dgram}", "EPERM"),
    sure("N-014", "unix-bind {work}/bound", "EPERM"),
    row("N-015", "socket 40 1 0", "EAFNOSUPPORT"),
    row("N-015", "socket 40 5 0", "EAFNOSUPPORT"),
    row("N-019", "odd-families", "EAFNOSUPPORT"),
    row("N-016", "socket 17 3 768", "EPERM"),
    row("N-016", "socket 0x100000011 3 768", "EPERM"),
    sure("N-017", "socket 16 3 0", "OK"),
    row("N-017", "socket 16 3 4", "EPERM"),
    row("N-017", "socket 16 3 12", "EPERM"),
    row("N-017", "socket 16 3 15", "EPERM"),
    row("N-020", "socket 2 3 1", "EPERM"),
    row("N-020", "socket 2 2 1", "EPERM", {"OK", "EACCES"}),
    row("N-020", "socket 10 3 58", "EPERM"),
    row("N-021", "socket 2 1 262", "EPROTONOSUPPORT"),
    row("N-021", "socket 2 1 256", "EPROTONOSUPPORT"),
    row("N-021", "socket 2 1 132", "EPROTONOSUPPORT"),
    row("N-021", "socket 2 2 136", "EPROTONOSUPPORT"),
    row("N-021", "socket 2 6 33", "EPERM"),
    # What stands there is the canary's greeting, and the driver counts who came.
    sure("N-022", "tcp-connect 127.0.0.1 {tcp}", ANY),
    sure("N-022", "tcp-connect {addr} {tcp}", ANY),
    sure("N-022", "tcp-fastopen {addr} {tcp}", ANY),
    sure("N-022", "udp-send 127.0.0.1 {udp}", ANY),
    sure("N-022", "udp-send {addr} {udp}", ANY),
    row("N-024", "tcp-ulp", "ENOPROTOOPT", {"OK", "ENOENT", "ENOTCONN"}),
    row("N-025", "sockopt 1 36", "EPERM"),
    row("N-025", "sockopt 6 19", "EPERM"),
    row("N-025", "sockopt 0 19", "EPERM"),
    row("N-025", "sockopt 1 33", "EPERM"),
    sure("N-026", "own-server", "OK"),
]

NAMESPACES = {"user": 0x10000000, "mount": 0x20000, "net": 0x40000000, "pid": 0x20000000,
              "ipc": 0x08000000, "uts": 0x04000000, "cgroup": 0x02000000}

PROCESSES = [
    sure("M-06", "status", "OK", "EPERM"),
    sure("K-20", "denied-calls", "OK", ANY),
    sure("X-002", "kill {canary} 0", "ESRCH"),
    sure("X-009", "ptrace", "EPERM"),
    sure("X-010", "vm-read", "EPERM"),
    sure("X-010", "vm-write", "EPERM"),
    row("X-010", "kcmp", "EPERM"),
    row("X-010", "pidfd", "EPERM"),
    sure("X-010", "robust-list", "EPERM"),
    row("X-010", "move-pages", "EPERM"),
    row("X-010", "migrate-pages", "EPERM"),
    row("X-010", "perf-event", "EPERM"),
    sure("X-011", "open 0 /proc/{canary}/status", "ENOENT"),
    sure("X-011", "proc-pids", "EPERM"),
    row("X-012", "init-environ", "EACCES", {"OK", "EACCES"}),
    row("X-012", "init-root", "EACCES", {"OK", "EACCES"}),
    row("X-014", "open 1 /proc/sys/kernel/core_pattern", GONE),
    row("X-014", "open 1 /proc/sys/kernel/modprobe", GONE),
    row("X-014", "open 1 /proc/sys/net/ipv4/ip_forward", GONE),
    row("X-014", "open 1 /proc/sysrq-trigger", GONE),
    row("X-014", "open 1 /sys/kernel/mm/transparent_hugepage/enabled", GONE),
    row("X-014", "open 1 /dev/kmsg", GONE),
    row("X-014", "open 0 /proc/kmsg", GONE),
    row("X-017", "clone 0x110000011", "EPERM"),
    sure("X-017", "clone 17", "OK"),
    row("C-01", "clone3", "ENOSYS"),
    row("X-019", "setns", "EPERM"),
    row("X-020", "open-tree 428", "ENOSYS"),
    row("X-020", "open-tree 467", "ENOSYS"),
    row("X-020", "call 457 0 0 0 0", "ENOSYS", {"EFAULT", "EINVAL"}),
    row("X-020", "call 458 0 0 0 0", "ENOSYS", {"EFAULT", "EINVAL"}),
    row("X-021", "keyring", "EPERM"),
    row("X-021", "key-add", "EPERM"),
    row("X-022", "uffd", "EPERM"),
    sure("X-022", "no-randomize", "EPERM"),
    row("C-02", "io-uring", "ENOSYS"),
    row("X-024", "memfd-exec 1", "EPERM"),
    row("X-025", "memfd-exec 9", "EACCES", "EACCES"),
    row("X-026", "file-exec /dev/shm/escape_probe_{uid}", "EACCES"),
    sure("X-026", "file-exec {work}/made-here", "OK"),
    sure("X-029", "seccomp-weaken", "EPERM"),
    sure("X-030", "call 444 0 0 1", "OK"),
    sure("X-031", "prctl 38 0 0", "EINVAL", "EINVAL"),
    row("X-031", "prctl 24 0 0", "EPERM"),
    row("X-031", "prctl 28 0 0", "EPERM"),
    row("X-031", "prctl 47 2 13", "EPERM", {"OK", "EPERM"}),
    sure("X-034", "shm see {key}", "ENOENT"),
    sure("X-035", "prlimit {canary}", "ESRCH"),
    row("X-036", "open 1 /sys/fs/cgroup/cgroup.procs", GONE),
    sure("X-042", "ioctl 0x5606", "EPERM", {"ENOTTY", "EINVAL"}),
    sure("X-045", "open 2 {pts}", GONE),
    sure("X-045", "open 0 {pts}", GONE),
] + [row("X-016", "unshare 0x%x" % flag, "EPERM") for flag in NAMESPACES.values()] \
  + [row("X-016", "unshare 0x80", "EPERM")] \
  + [row("X-017", "clone 0x%x" % (flag | 17), "EPERM") for flag in NAMESPACES.values()] \
  + [row("X-037", "open %d /dev/%s" % (flags, name), GONE) for flags in (0, 2) for name in (
      "kvm", "fuse", "net/tun", "vsock", "vhost-vsock", "vhost-net", "userfaultfd", "uinput",
      "loop-control", "mem", "port", "mapper/control", "sda", "vda", "nvme0n1", "snd/controlC0",
      "dri/card0", "dri/renderD128", "input/event0", "video0", "hpet", "rtc0", "uhid", "cuse")
     if os.path.exists("/dev/" + name)]

FILES = [
    sure("F-001", "open 0 {outside}/file", "OK"),
    sure("F-001", "open 1 {outside}/file", READ_ONLY),
    sure("F-001", "open 0x201 {outside}/file", READ_ONLY),
    sure("F-001", "open 0x41 {outside}/new", READ_ONLY),
    sure("F-001", "open 1 {work}/file", "OK"),
    sure("F-001", "open 0x41 {work}/new", "OK"),
    sure("F-001", "unlink {outside}/doomed", READ_ONLY),
    sure("F-001", "rename {outside}/moved {outside}/moved2", READ_ONLY),
    sure("F-001", "rename {work}/ours {outside}/theirs", READ_ONLY | {"EXDEV"}, {"OK", "EXDEV"}),
    sure("F-002", "link {outside}/file {work}/linked", READ_ONLY | {"EXDEV"}, {"OK", "EXDEV"}),
    sure("F-004", "chmod 777 {outside}/file", READ_ONLY),
    sure("F-004", "chmod 4755 {outside}/file", READ_ONLY),
    sure("F-004", "chmod 755 {work}/file", "OK"),
    sure("F-004", "chmod 4755 {work}/file", "EPERM"),
    sure("F-004", "create-mode 4755 {work}/suid", "EPERM"),
    sure("F-004", "create-mode 755 {work}/plain", "OK"),
    sure("F-004", "chown {outside}/file", READ_ONLY),
    sure("F-004", "utimes {outside}/file", READ_ONLY),
    row("F-004", "xattr {outside}/file", READ_ONLY),
    row("F-004", "flags {work}/file", "EPERM"),
    sure("F-007", "whiteout {work}/whiteout", READ_ONLY),
    sure("F-014", "open 0x41 {home}/.bashrc", READ_ONLY),
    sure("F-015", "read {outside}/file", "OK"),
    sure("F-015", "read {home}/.ssh/id_rsa", GONE | EMPTY),
    sure("F-015", "read {home}/.aws/credentials", GONE | EMPTY),
    sure("F-015", "read {home}/.netrc", GONE | EMPTY),
    row("F-015", "read /etc/shadow", GONE | EMPTY),
    # A snapshot of the subvolume would lay open what mounts hide: btrfs, bcachefs.
    sure("F-015", "ioctl 0x50009417", "EPERM", {"ENOTTY"}),
    sure("F-015", "ioctl 0x4020bc10", "EPERM", {"ENOTTY"}),
    # Each loads a module of the host's for whoever asks: bridge, 8021q.
    sure("K-09", "ioctl 0x8940", "EPERM", {"ENOTTY"}),
    sure("K-09", "ioctl 0x89a0", "EPERM", {"ENOTTY"}),
    sure("K-09", "ioctl 0x8982", "EPERM", {"ENOTTY"}),
    sure("F-024", "read /proc/self/root/{home}/.ssh/id_rsa", GONE | EMPTY),
    sure("F-024", "open 1 /proc/self/root/{outside}/file", READ_ONLY),
]

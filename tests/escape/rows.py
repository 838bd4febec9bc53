"""The table of probes: what each must do bare and inside. Ids are those of the test vectors.

Row(id, probe and arguments, inside, bare, plain): sets of outcomes. {name} is filled in by the
driver. `plain` is how the kernel stops a plain user in the bare run: root's run is the control
then. Where the bare run does otherwise, and ABSENT has no reason, the row is skipped loudly, which
is a failure under SBX_TESTS_MUST_RUN=1: a probe that fails bare proves nothing. A row whose bare
outcome does not depend on the machine is `sure`: then it always fails.
"""
import os
import re
from collections import namedtuple

Row = namedtuple("Row", "id probe inside bare plain must")
ANY = None
EMPTY = {"ENODATA"}  # there is a file in its place, with nothing in it
READ_ONLY = {"EACCES", "EROFS", "EPERM"}
GONE = {"ENOENT", "EACCES", "EPERM", "EROFS", "ENXIO"}
ROOT_ONLY = {"EPERM", "EACCES"}

# What a kernel or a machine may lack: probe, bare outcome, why the row cannot be shown there.
ABSENT = [
    (r"socket 40 .*", "EAFNOSUPPORT", "the kernel has no vsock"),
    (r"socket 2 1 (132|256|262)", "EPROTONOSUPPORT", "the kernel has no SCTP, SMC or MPTCP"),
    (r"socket 2 1 262", "ENOPROTOOPT", "MPTCP is switched off"),
    (r"socket 2 6 33", "ESOCKTNOSUPPORT", "the kernel has no DCCP"),
    (r"socket 2 2 136", "EPROTONOSUPPORT", "the kernel has no UDP-Lite"),
    (r"socket 16 3 \d+", "EPROTONOSUPPORT", "the kernel has not this netlink family"),
    (r"sockopt 6 (14|38)", "ENOPROTOOPT", "the kernel has no TCP-AO or TCP-MD5"),
    (r"odd-families", "EAFNOSUPPORT", "the kernel has no other families"),
    (r"i386 \d+", "SIGSEGV", "the kernel has no 32-bit emulation"),
    (r"open 1 /proc/(sys/kernel/modprobe|sysrq-trigger)", "ENOENT", "the kernel has no such file"),
    (r"open 1 /sys/.*", "ENOENT", "the kernel has no such file"),
    (r"open 1 /sys/.*", "EROFS", "/sys is read-only here"),
    (r"open 1 /proc/.*", "EROFS", "/proc is read-only here"),
    (r"open 1 {cgroup}", "ENOENT", "no cgroup file system is mounted"),
    (r"open \d /dev/.*", "EPERM", "a device cgroup keeps everybody from it"),
    (r"open \d /dev/.*", "ENXIO", "there is nothing behind the device node"),
    (r"open \d /dev/.*", "ENODEV", "there is nothing behind the device node"),
    (r"open \d /dev/.*", "EBUSY", "somebody else has the device open"),
    (r"open [02] /dev/kvm", "ENOENT", "the machine has no KVM"),
    (r"uffd|open-tree .*|call 4[456].*|perf-event|move-pages|migrate-pages|kcmp|io-uring|setns|key.*",
     "ENOSYS", "the kernel has no such call"),
    (r"perf-event", "EACCES", "perf events are for administrators here"),
    (r"io-uring", "EPERM", "io_uring is switched off"),
    (r"xattr .*", "EOPNOTSUPP", "the file system has no user attributes"),
    (r"handle .*", "EOPNOTSUPP", "the file system has no handles"),
    (r"flags .*", "SKIP", "the file system has no flags"),
    (r"tmpfile-exec .*", "EOPNOTSUPP", "the file system has no O_TMPFILE"),
    (r"ipc mq .*", "ENOSYS", "the kernel has no POSIX message queues"),
    (r"ioctl 0x(541c|541d|5423|4b4d|5606)", "ENOTTY", "only a console knows the request"),
    (r"file-exec /dev/shm/.*", "EACCES", "/dev/shm is mounted noexec"),
    (r"memfd-exec 1", "EACCES", "vm.memfd_noexec is set"),
    (r"(i386|x32) .*", "SKIP", "only x86 has it"),
]


def why_absent(row, bare):
    """The reason for a row that cannot be shown here; None if there is none."""
    return next((why for probe, outcome, why in ABSENT
                 if outcome == bare and re.fullmatch(probe, row.probe)), None)


def row(ident, probe, inside, bare="OK", plain=(), must=False):
    def as_set(x):
        return {x} if isinstance(x, str) else x
    return Row(ident, probe, as_set(inside), as_set(bare), as_set(plain), must)


def root(*args, **kw):
    return row(*args, plain=ROOT_ONLY, **kw)


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
    row("N-009", "i386 359", "SIGSYS"),
    row("N-009", "i386 360", "SIGSYS", {"EFAULT", "EOPNOTSUPP"}),
    row("N-009", "i386 102", "SIGSYS", {"EFAULT", "EINVAL"}),
] + [row("N-010", "x32 %d" % nr, "ENOSYS", {"OK", "ENOSYS", "EFAULT", "EPERM", "EBADF", "EINVAL"})
     for nr in (41, 53, 101, 272, 321, 425, 520, 539, 540)] + [
    sure("N-011", "unix-connect 1 {unix}", "EPERM"),
    sure("N-012", "unix-connect 2 {dgram}", "EPERM"),
    sure("N-014", "unix-bind {work}/bound", "EPERM"),
    row("N-015", "socket 40 1 0", "EAFNOSUPPORT"),
    row("N-015", "socket 40 5 0", "EAFNOSUPPORT"),
    row("N-019", "odd-families", "EAFNOSUPPORT"),
    root("N-016", "socket 17 3 768", "EPERM"),
    root("N-016", "socket 0x100000011 3 768", "EPERM"),
    sure("N-017", "socket 16 3 0", "OK"),
    row("N-017", "socket 16 3 4", "EPERM"),
    row("N-017", "socket 16 3 12", "EPERM"),
    row("N-017", "socket 16 3 15", "EPERM"),
    root("N-020", "socket 2 3 1", "EPERM"),
    row("N-020", "socket 2 2 1", "EPERM", {"OK", "EACCES"}),
    root("N-020", "socket 10 3 58", "EPERM"),
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
    # With one number and no structure: what the kernel looked at is EINVAL.
    row("N-024", "sockopt 6 38", "ENOPROTOOPT", {"EINVAL"}),
    row("N-024", "sockopt 6 14", "ENOPROTOOPT", {"EINVAL"}),
    root("N-025", "sockopt 1 36", "EPERM"),
    root("N-025", "sockopt 6 19", "EPERM"),
    root("N-025", "sockopt 0 19", "EPERM"),
    root("N-025", "sockopt 1 33", "EPERM"),
    sure("N-026", "own-server", "OK"),
    # 53 is the name server, 3128 the proxy, 3129 where captured connections go. Another port would lead to something of somebody's.
    sure("N-027", "loopback-ports 127.0.0.1 53 3128 3129", "ECONNREFUSED"),
    sure("N-029", "loopback-ports ::1 53 3128 3129", "ECONNREFUSED"),
    sure("N-029", "tcp-connect ::1 {tcp}", ANY),
    sure("N-029", "tcp-connect ::ffff:127.0.0.1 {tcp}", ANY),
    sure("N-029", "udp-send ::1 {udp}", ANY),
]

NAMESPACES = {"user": 0x10000000, "mount": 0x20000, "net": 0x40000000, "pid": 0x20000000,
              "ipc": 0x08000000, "uts": 0x04000000, "cgroup": 0x02000000}
USER = NAMESPACES["user"]  # opens all the others to a plain user

PROCESSES = [
    sure("M-06", "status", "OK", "EPERM"),
    sure("K-20", "denied-calls", "OK", ANY),
    sure("X-002", "kill {canary} 0", "ESRCH"),
    sure("X-009", "ptrace", "EPERM"),
    sure("X-009", "ptrace-child 16", "EPERM"),
    sure("X-009", "ptrace-child 0x4206", "EPERM"),
    sure("X-010", "vm-read", "EPERM"),
    sure("X-010", "vm-write", "EPERM"),
    row("X-010", "kcmp", "EPERM"),
    row("X-010", "pidfd", "EPERM"),
    row("X-010", "pidfd-getfd", "EPERM"),
    row("U-012", "pidfd-getfd", "EPERM"),
    row("X-010", "call 440 -1 0 0 0 0", "EPERM", "EBADF"),
    row("X-010", "call 448 -1 0", "EPERM", "EBADF"),
    sure("X-010", "robust-list", "EPERM"),
    row("X-010", "move-pages", "EPERM"),
    row("X-010", "migrate-pages", "EPERM"),
    row("X-010", "perf-event", "EPERM"),
    sure("X-011", "open 0 /proc/{canary}/status", "ENOENT"),
    sure("X-011", "proc-pids", "EPERM"),
] + [sure("X-011", "open 0 /proc/{canary}/" + name, "ENOENT")
     for name in ("environ", "maps", "fd", "cmdline", "ns/net")] + [
    row("X-012", "init-environ", "EACCES", {"OK", "EACCES"}),
    row("X-012", "init-root", "EACCES", {"OK", "EACCES"}),
    root("X-014", "open 1 /proc/sys/kernel/core_pattern", GONE),
    root("X-014", "open 1 /proc/sys/kernel/modprobe", GONE),
    root("X-014", "open 1 /proc/sys/net/ipv4/ip_forward", GONE),
    root("X-014", "open 1 /proc/sysrq-trigger", GONE),
    root("X-014", "open 1 /sys/kernel/mm/transparent_hugepage/enabled", GONE),
    root("X-014", "open 1 /dev/kmsg", GONE),
    root("X-014", "open 0 /proc/kmsg", GONE),
    row("X-017", "clone 0x110000011", "EPERM"),
    sure("X-017", "clone 17", "OK"),
    row("C-01", "clone3", "ENOSYS"),
    root("X-019", "setns", "EPERM"),
    root("X-020", "chroot {work}", "EPERM"),
    root("X-020", "mount-tmpfs {work}/dir", "EPERM"),
    root("X-020", "fsopen", "ENOSYS"),
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
    row("X-026", "tmpfile-exec /dev/shm", "EACCES"),
    # Reading is enough to run a program by the loader, and everything readable is executable.
    sure("X-027", "exec {ldso} /bin/true", "OK"),
    sure("X-029", "seccomp-weaken", "EPERM"),
    sure("X-030", "call 444 0 0 1", "OK"),
    sure("X-031", "prctl 38 0 0", "EINVAL", "EINVAL"),
    root("X-031", "prctl 24 0 0", "EPERM"),
    root("X-031", "prctl 28 0 0", "EPERM"),
    row("X-031", "prctl 47 2 13", "EPERM", {"OK", "EPERM"}),
    row("X-031", "prctl 35 15 0", "EPERM", {"OK", "EFAULT"}),
    sure("X-031", "prctl 36 1 0", "OK"),
    sure("X-034", "shm see {key}", "ENOENT"),
    sure("X-034", "ipc sem see {key}", "ENOENT"),
    sure("X-034", "ipc msg see {key}", "ENOENT"),
    row("X-034", "ipc mq see {key}", {"ENOENT", "EACCES"}),
    sure("X-015", "core-limit", "EPERM"),
    sure("X-015", "core-memory", "EPERM"),
    sure("X-035", "prlimit {canary}", "ESRCH"),
    sure("X-035", "affinity {canary}", "ESRCH"),
    root("X-036", "open 1 {cgroup}", GONE),
    root("X-039", "set-time", "EPERM"),
    sure("X-042", "ioctl 0x540c", "EPERM", {"ENOTTY", "EINVAL"}),
    sure("X-042", "ioctl 0x5606", "EPERM", {"ENOTTY", "EINVAL"}),
    sure("X-045", "open 2 {pts}", GONE),
    sure("X-045", "open 0 {pts}", GONE),
] + [root("X-016", "unshare 0x%x" % flag, "EPERM") for flag in NAMESPACES.values()] \
  + [row("X-016", "unshare 0x%x" % (flag | USER), "EPERM") for flag in NAMESPACES.values()] \
  + [root("X-016", "unshare 0x80", "EPERM"), row("X-016", "unshare 0x%x" % (USER | 0x80), "EPERM")] \
  + [root("X-017", "clone 0x%x" % (flag | 17), "EPERM") for flag in NAMESPACES.values()] \
  + [row("X-017", "clone 0x%x" % (flag | USER | 17), "EPERM") for flag in NAMESPACES.values()] \
  + [row("X-017", "clone 0x1%08x" % (flag | USER | 17), "EPERM") for flag in NAMESPACES.values()] \
  + [root("X-037", "open %d /dev/%s" % (flags, name), GONE) for flags in (0, 2) for name in (
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
    sure("F-005", "stat {outside}/file", "OK"),
    sure("F-005", "lock {outside}/file", "OK"),
    sure("F-006", "node 010000 0 0 {work}/fifo", "OK"),
    sure("F-006", "node 0140000 0 0 {work}/socket", "EACCES"),
    sure("F-007", "whiteout {work}/whiteout", READ_ONLY),
    root("F-007", "node 020000 1 3 {work}/null", {"EACCES", "EPERM"}),
    root("F-007", "node 060000 7 0 {work}/loop", {"EACCES", "EPERM"}),
    sure("F-014", "open 0x41 {home}/.bashrc", READ_ONLY),
] + [sure("F-014", "open 0x41 {home}/" + name, READ_ONLY | {"ENOENT"}) for name in (
    ".ssh/authorized_keys", ".config/autostart/x.desktop", ".config/systemd/user/x.service",
    ".local/bin/x", ".profile", ".zshrc", ".gitconfig")] + [
    sure("F-015", "read {outside}/file", "OK"),
    sure("F-015", "read {home}/.ssh/id_rsa", GONE | EMPTY),
    sure("F-015", "read {home}/.aws/credentials", GONE | EMPTY),
    sure("F-015", "read {home}/.netrc", GONE | EMPTY),
    root("F-015", "read /etc/shadow", GONE | EMPTY),
    sure("F-017", "read {tmp}", "ENOENT"),
    sure("F-020", "rename {work}/ours {work}/dir/theirs", "OK"),
    root("F-022", "handle {outside}/file", "EPERM"),
    # A snapshot of the subvolume would lay open what mounts hide: btrfs, bcachefs.
    sure("F-015", "ioctl 0x50009417", "EPERM", {"ENOTTY"}),
    sure("F-015", "ioctl 0x4020bc10", "EPERM", {"ENOTTY"}),
    # Each adds or takes a key of fscrypt, with which the user's files are closed to everybody.
    sure("F-015", "ioctl 0xc0506617", "EPERM", {"ENOTTY"}),
    sure("F-015", "ioctl 0xc0406618", "EPERM", {"ENOTTY"}),
    # Each loads a module of the host's for whoever asks: bridge, 8021q.
    sure("K-09", "ioctl 0x8940", "EPERM", {"ENOTTY"}),
    sure("K-09", "ioctl 0x89a0", "EPERM", {"ENOTTY"}),
    sure("K-09", "ioctl 0x8982", "EPERM", {"ENOTTY"}),
    sure("F-024", "read /proc/self/root/{home}/.ssh/id_rsa", GONE | EMPTY),
    sure("F-024", "open 1 /proc/self/root/{outside}/file", READ_ONLY),
    sure("F-024", "read /proc/thread-self/root/{home}/.ssh/id_rsa", GONE | EMPTY),
    sure("F-024", "read /proc/self/cwd/../../..{home}/.ssh/id_rsa", GONE | EMPTY),
]

# The same names as in the workspace's table of protected names: there and not, and by their parents.
PROTECTED = [sure("F-009", "open 1 {work}/.git/" + name, READ_ONLY) for name in ("config", "hooks/old")] + [
    sure("F-009", "open 0x41 {work}/.git/hooks/new", READ_ONLY | {"ENOENT"}),
    sure("F-009", "open 0x41 {work}/.git/COMMIT_EDITMSG", "OK"),
    sure("F-012", "rename {work}/.git {work}/.git2", {"EBUSY", "EACCES", "EPERM", "EROFS"}),
    sure("F-012", "rename {work}/.git/hooks {work}/.git/hooks2", {"EBUSY", "EACCES", "EPERM", "EROFS"}),
    sure("F-010", "open 1 {work}/.vscode/settings.json", READ_ONLY),
] + [sure("F-011", "open 0x41 {work}/" + name, READ_ONLY | {"EISDIR"}) for name in (
    ".mcp.json", ".envrc")] + [
    sure("F-011", "open 0x41 {work}/%s/new" % name, READ_ONLY | {"ENOENT"}) for name in (
        ".claude", ".idea", ".sbx-net")]

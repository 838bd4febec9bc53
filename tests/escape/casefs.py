#!/usr/bin/python3
"""casefs.py DIRECTORY UID COMMAND...: runs COMMAND with a file system that takes capitals for small letters.

A server of FUSE in as few lines as will do, in a mount namespace of the caller's. It is as shares of
Windows or a Mac are: the kernel takes two spellings for two names. Beforehand there are .git/config,
.envrc and plain; afterwards the contents of the three are printed. Exits with 77 without FUSE.
"""
import ctypes
import errno
import os
import stat
import struct
import subprocess
import sys

ATTR = struct.Struct("<6Q10I")


class Node:
    def __init__(self, mode, uid):
        self.mode, self.uid, self.gid, self.data, self.times = mode, uid, uid, bytearray(), [0, 0]
        self.names = {}  # in small letters: as it was spelled, its number


class Server:
    def __init__(self, fd, uid):
        self.fd, self.nodes = fd, {1: Node(stat.S_IFDIR | 0o755, uid)}
        git = self.make(1, ".git", stat.S_IFDIR | 0o755, uid)
        for name in ("objects", "refs"):
            self.make(git, name, stat.S_IFDIR | 0o755, uid)
        for where, name, text in ((git, "HEAD", b"ref: refs/heads/main\n"), (git, "config", b"#first\n"),
                                  (1, ".envrc", b"#first\n"), (1, "plain", b"#first\n")):
            self.nodes[self.make(where, name, stat.S_IFREG | 0o644, uid)].data += text

    def make(self, parent, name, mode, uid):
        names = self.nodes[parent].names
        if name.lower() in names:
            raise OSError(errno.EEXIST, name)
        number = max(self.nodes) + 1
        self.nodes[number] = Node(mode, uid)
        names[name.lower()] = (name, number)
        return number

    def attr(self, number):
        n = self.nodes[number]
        return ATTR.pack(number, len(n.data), 0, n.times[0], n.times[1], 0, 0, 0, 0, n.mode, 1, n.uid,
                         n.gid, 0, 4096, 0)

    def entry(self, number):
        return struct.pack("<4Q2I", number, 0, 0, 0, 0, 0) + self.attr(number)

    def remove(self, node, name, _):
        _, number = node.names[name.lower()]
        if self.nodes[number].names:
            raise OSError(errno.ENOTEMPTY, name)
        del node.names[name.lower()]
        return b""

    def change(self, number, body):
        valid, _, _, size, _, atime, mtime, _, _, _, _, mode, _, uid, gid, _ = \
            struct.unpack_from("<2I6Q8I", body)
        n = self.nodes[number]
        if valid & 1:
            n.mode = stat.S_IFMT(n.mode) | stat.S_IMODE(mode)
        n.uid, n.gid = uid if valid & 2 else n.uid, gid if valid & 4 else n.gid
        if valid & 8:
            n.data = n.data[:size].ljust(size, b"\0")
        n.times = [atime if valid & 16 else n.times[0], mtime if valid & 32 else n.times[1]]
        return struct.pack("<Q2I", 0, 0, 0) + self.attr(number)

    def list(self, number, offset):
        out, all_names = b"", list(self.nodes[number].names.values())
        for i, (name, n) in enumerate(all_names[offset:], offset + 1):
            raw = name.encode()
            out += struct.pack("<2Q2I", n, i, len(raw), stat.S_IFMT(self.nodes[n].mode) >> 12) + \
                raw.ljust((len(raw) + 7) & ~7, b"\0")
        return out

    def answer(self, op, number, body, uid):
        node = self.nodes.get(number)
        name = body.rstrip(b"\0").decode("latin-1")
        if op == 26:  # INIT
            return struct.pack("<4I2H2I2H8I", 7, 31, 4096, 0, 12, 9, 4096, 1, 1, 0, *[0] * 8)
        if op == 1:  # LOOKUP
            return self.entry(node.names[name.lower()][1])
        if op == 3:  # GETATTR
            return struct.pack("<Q2I", 0, 0, 0) + self.attr(number)
        if op == 4:
            return self.change(number, body)
        if op in (8, 9, 35):  # MKNOD, MKDIR, CREATE
            at = {8: 16, 9: 8, 35: 16}[op]
            mode = struct.unpack_from("<2I", body)[op == 35]
            kind = stat.S_IFDIR if op == 9 else stat.S_IFREG
            made = self.make(number, body[at:].rstrip(b"\0").decode("latin-1"),
                             kind | stat.S_IMODE(mode), uid)
            return self.entry(made) + (struct.pack("<Q2I", 0, 0, 0) if op == 35 else b"")
        if op in (10, 11):
            return self.remove(node, name, op)
        if op in (14, 27):  # OPEN, OPENDIR
            return struct.pack("<Q2I", 0, 0, 0)
        if op in (15, 28):  # READ, READDIR
            _, offset, size = struct.unpack_from("<2QI", body)
            return bytes(node.data[offset:offset + size]) if op == 15 else self.list(number, offset)[:size]
        if op == 16:  # WRITE
            _, offset, size = struct.unpack_from("<2QI", body)
            node.data[offset:offset + size] = body[40:40 + size]
            return struct.pack("<2I", size, 0)
        if op == 17:  # STATFS
            return struct.pack("<5Q10I", 0, 0, 0, 0, 0, 4096, 255, 4096, *[0] * 7)
        if op in (18, 20, 25, 29, 30):  # RELEASE, FSYNC, FLUSH and their like
            return b""
        raise OSError(errno.ENOSYS, op)

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 17)
            except OSError as e:
                if e.errno == errno.ENODEV:
                    return
                continue
            _, op, unique, number, uid = struct.unpack_from("<2I2QI", request)
            if op in (2, 36, 42):  # FORGET, INTERRUPT, BATCH_FORGET
                continue
            try:
                error, out = 0, self.answer(op, number, request[40:], uid)
            except KeyError:
                error, out = -errno.ENOENT, b""
            except OSError as e:
                error, out = -e.errno, b""
            os.write(self.fd, struct.pack("<IiQ", 16 + len(out), error, unique) + out)


def main():
    where, uid, argv = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        fd = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        sys.exit(77)
    options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions" % fd
    if libc.mount(b"casefs", where.encode(), b"fuse", 0, options.encode()):
        sys.exit(77)
    if os.fork() == 0:  # another process, or the one that looks would wait for itself
        Server(fd, uid).serve()
        os._exit(0)
    os.close(fd)
    identity = dict(user=uid, group=uid, extra_groups=[]) if uid else {}
    done = subprocess.run(argv, cwd=where, stdin=subprocess.DEVNULL, check=False, **identity)
    said = [str(done.returncode)]
    for name in (".git/config", ".envrc", "plain"):
        with open(os.path.join(where, name), encoding="ascii") as f:
            said.append(f.read().strip())
    print(*said)
    libc.umount2(where.encode(), 2)


main()

#!/usr/bin/python3
"""An automounter that finds nothing: automounter.py DIRECTORY UID COMMAND...

Mounts an indirect map at DIRECTORY, with a file system at "known" in it, runs COMMAND as the user, and
prints each name that the kernel asks for, behind what COMMAND prints. To be run in a mount namespace of
its own; exits with 77 where the kernel has no autofs.
"""
import ctypes
import fcntl
import os
import struct
import subprocess
import sys
import threading

AUTOFS_IOC_FAIL = 0x9361
NAME = struct.Struct("=iiIIQIIIII")  # struct autofs_v5_packet up to its name; the number is the 3rd


def main():
    where, uid, argv = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    libc = ctypes.CDLL(None, use_errno=True)
    requests, kernel = os.pipe()
    os.setpgid(0, 0)  # whom the kernel does not ask
    options = "fd=%d,pgrp=%d,minproto=5,maxproto=5,indirect" % (kernel, os.getpgrp())
    if libc.mount(b"test", where.encode(), b"autofs", 0, options.encode()):
        print("autofs: " + os.strerror(ctypes.get_errno()), file=sys.stderr)
        sys.exit(77)
    os.mkdir(where + "/known")
    libc.mount(b"test", (where + "/known").encode(), b"tmpfs", 0, b"mode=755")
    with open(where + "/known/file", "w") as f:
        f.write("known\n")
    top, asked = os.open(where, os.O_RDONLY), []

    def answer():
        while True:
            packet = os.read(requests, 4096)
            fields = NAME.unpack_from(packet)
            asked.append(packet[NAME.size:NAME.size + fields[-1]].decode())
            fcntl.ioctl(top, AUTOFS_IOC_FAIL, fields[2])
    threading.Thread(target=answer, daemon=True).start()
    done = subprocess.run(argv, user=uid, group=uid, extra_groups=[], start_new_session=True, check=False)
    for name in asked:
        print("asked for " + name)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()

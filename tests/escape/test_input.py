#!/usr/bin/python3
"""Standard input: a pipe from which somebody outside reads, too, and a file that is locked."""
import os
import shlex
import stat
import subprocess
import sys
import time

from escapeworld import LIMIT, NOBODY, World, main, users

# Both ends of a pipe are one file, and so are a file and what it is opened as again.
WRITER = """
import os, sys
try:
    os.write(os.open("/proc/self/fd/0", os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK), sys.argv[1].encode())
except OSError as e:
    print(e)
"""


class Input(World):
    def through(self, uid, argv, data, shell="sh", opened=""):
        """What a shell prints that reads its script by the pipe by which the command gets its input."""
        p = subprocess.run(["sh", "-c", 'printf "%s" "$1" | "$2"' + opened, "sh", data % shlex.join(argv), shell],
                           cwd=self.work, env=self.env(), capture_output=True, text=True, timeout=LIMIT,
                           check=False, **self.identity(uid))
        return p.stdout

    def test_a_shell_that_reads_the_same_pipe(self):
        """U-009: what the command writes there would be run outside"""
        for uid in users():
            self.fill(uid)
            for shell in ("sh", "bash"):
                argv = [sys.executable, "-c", WRITER, "echo obeyed\n"]
                self.assertIn("obeyed", self.through(uid, argv, "%s\necho rest\n", shell))
                got = self.through(uid, self.inside(argv), "%s\necho rest\n", shell)
                with self.subTest(uid=uid, shell=shell):
                    self.assertNotIn("obeyed", got)
                    self.assertIn("rest", got)

    def test_a_pipe_that_can_be_written_too(self):
        """U-009: opened by its name for both, which has no end then"""
        argv, script = [sys.executable, "-c", WRITER, "obeyed\n"], "%s\nread -t 1 a; echo rest $a; exit\n"
        for uid in users():
            self.fill(uid)
            for line, got in ((argv, "rest obeyed\n"), (self.inside(argv), "rest\n")):
                with self.subTest(uid=uid, line=line):
                    out = self.through(uid, line, script, "bash", " 0<>/proc/self/fd/0")
                    self.assertEqual(out.splitlines(True)[-1:], [got])

    def test_what_is_not_read_is_the_callers(self):
        """Of a pipe that the caller reads as well, a command takes what it reads and no more."""
        lines = "".join("%d\n" % i for i in range(20000))
        for uid in users():
            self.fill(uid)
            for inner, got, left in (("true", "", lines), ("read x; echo $x", "0\n", lines[2:]),
                                     ("cat", lines, "")):
                for argv in (["sh", "-c", inner], self.inside(["sh", "-c", inner])):
                    p = subprocess.run(["sh", "-c", '"$@" >&2; cat', "sh", *argv],
                                       input=lines, cwd=self.work, env=self.env(),
                                       capture_output=True, text=True, timeout=LIMIT, check=False,
                                       **self.identity(uid))
                    with self.subTest(inner, uid=uid):
                        self.assertEqual((p.stderr, p.stdout), (got, left))

    HIDDEN = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE: as of ssh-agent and others
while line := os.read(0, 2):
    print("item", line.decode().strip(), flush=True)
    subprocess.call(sys.argv[1:])
"""
    LOOP = 'while read -r x; do echo item $x; "$@"; done'

    def test_what_is_not_read_is_the_callers_whoever_that_is(self):
        """A loop of a shell of another user's, as with sudo -u; or of one that lets nobody look at it."""
        cases = [(users()[-1], [sys.executable, "-c", self.HIDDEN])]
        if os.geteuid() == 0:
            cases.append((0, ["sh", "-c", self.LOOP, "sh", "setpriv", "--reuid", str(NOBODY), "--regid",
                              str(NOBODY), "--clear-groups"]))
        for uid, loop in cases:
            self.fill(users()[-1])
            for argv in (["true"], self.inside(["true"])):
                p = subprocess.run([*loop, *argv], input="a\nb\nc\n", cwd=self.work, env=self.env(),
                                   capture_output=True, text=True, timeout=LIMIT, check=False,
                                   **self.identity(uid))
                with self.subTest(argv=argv, loop=loop):
                    self.assertEqual((p.stdout, p.stderr), ("item a\nitem b\nitem c\n", ""))

    def test_input_of_a_shell_that_does_not_read_it_is_moved_ahead(self):
        """Twin: init is another user's, too, and above everybody; more than two pipes would hold by turns"""
        for uid in users():
            self.fill(uid)
            inner = self.inside(["sh", "-c", "sleep 2; echo slept >&2; wc -c"])
            p = subprocess.run(["sh", "-c", '(head -c 100000 /dev/zero; echo written >&2) | "$@"', "sh", *inner],
                               stdin=subprocess.DEVNULL, cwd=self.work, env=self.env(), capture_output=True,
                               text=True, timeout=LIMIT, check=False, **self.identity(uid))
            with self.subTest(uid=uid):
                self.assertEqual((p.stderr, p.stdout), ("written\nslept\n", "100000\n"))

    def test_input_that_nobody_shares_is_whole(self):
        data = os.urandom(3 << 20)
        for uid in users():
            self.fill(uid)
            p = subprocess.run(self.inside(["cat"]), input=data, cwd=self.work, env=self.env(),
                               capture_output=True, timeout=LIMIT, check=False, **self.identity(uid))
            self.assertEqual((p.returncode, p.stdout == data), (0, True), p.stderr)

    FILLER = """
import os
os.symlink("/etc/passwd", ".git/FETCH_HEAD")
os.set_blocking(2, False)
for size in (4096, 1):
    try:
        while True:
            os.write(2, b"x" * size)
    except BlockingIOError:
        pass
open("full", "w").close()
"""

    def test_what_is_told_at_the_end_waits_for_its_reader(self):
        """F-010: a pipe that the command has filled, and made such that nobody waits at it"""
        for uid in users():
            self.fill(uid)
            subprocess.run(["git", "init", "-q", self.work], check=True)
            subprocess.run(["chown", "-R", str(uid), self.work], check=True)
            p = subprocess.Popen(self.inside([sys.executable, "-c", self.FILLER]), cwd=self.work,
                                 env=self.env(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, **self.identity(uid))
            while not os.path.exists(self.work + "/full") and p.poll() is None:
                time.sleep(0.01)
            time.sleep(1)  # so that the run has ended, where it does not wait
            _, told = p.communicate(timeout=LIMIT)
            os.unlink(self.work + "/full")
            with self.subTest(uid=uid):
                self.assertIn(b"FETCH_HEAD: a symbolic link", told.replace(b"x", b"")[-500:])
                self.assertFalse(os.path.lexists(self.work + "/.git/FETCH_HEAD"))

    def test_a_device_that_everybody_needs(self):
        """F-010: its mode is everybody's, and where root runs the command, it is the owner"""
        node = self.work + "/null"
        for uid in users():
            self.fill(uid)
            os.mknod(node, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
            os.chown(node, uid, -1)
            script = "; ".join("chmod %o /proc/self/fd/%d" % (0o640 + fd, fd) for fd in range(3))
            for argv, mode in ((["sh", "-c", script], 0o642),
                               (self.inside(["sh", "-c", script]), 0o666)):
                os.chmod(node, 0o666)
                with open(node, "r+b", buffering=0) as f:
                    subprocess.run(argv, stdin=f, stdout=f, stderr=f, cwd=self.work, env=self.env(),
                                   timeout=LIMIT, check=False, **self.identity(uid))
                with self.subTest(uid=uid, argv=argv):
                    self.assertEqual(stat.S_IMODE(os.stat(node).st_mode), mode)
                with open(node, "rb") as f:
                    p = subprocess.run(self.inside(["sh", "-c", "cat; echo read >&2; exec >/dev/stdin"]),
                                       stdin=f, cwd=self.work, env=self.env(), capture_output=True,
                                       timeout=LIMIT, check=False, **self.identity(uid))
                self.assertEqual((p.stdout, p.stderr.split(b"\n")[0]), (b"", b"read"))
            os.unlink(node)

    def test_a_locked_file(self):
        """F-010: the mount by which it was opened is writable; one that is not locked can be written"""
        names = {self.work + "/.envrc": False, self.work + "/.git/config": False,
                 self.work + "/plain": True}
        for uid in users():
            self.fill(uid)
            subprocess.run(["git", "init", "-q", self.work], check=True)
            subprocess.run(["chown", "-R", str(uid), self.work], check=True)
            for name, written in names.items():
                for bare in (True, False):
                    with open(name, "w") as f:
                        f.write("first\nsecond\n")
                    os.chown(name, uid, -1)
                    argv = ["sh", "-c", "read x; echo $x; exec \"$@\"", "sh",
                            sys.executable, "-c", WRITER, "more\n"]
                    with open(name) as f:
                        p = subprocess.run(argv if bare else self.inside(argv), stdin=f,
                                           cwd=self.work, env=self.env(), capture_output=True,
                                           text=True, timeout=LIMIT, check=False, **self.identity(uid))
                    with self.subTest(name, uid=uid, bare=bare), open(name) as f:
                        self.assertEqual(p.stdout.split("\n")[0], "first", p.stderr)
                        self.assertEqual(f.read(), "first\nsecond\n" + "more\n" * (bare or written))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Try to get out: every probe of rows.py bare and inside, and what takes more than one process."""
import fcntl
import os
import pty
import signal
import socket
import subprocess
import termios
import time

from escapeworld import LIMIT, World, main, skipped, users
from rows import EMPTY, FILES, GONE, PROCESSES, READ_ONLY, SOCKETS


class Escape(World):
    """The rows, and what takes more than one process."""

    def check(self, row, uid):
        argv = [self.probe] + self.words(row.probe, uid)
        if row.bare is not None:
            self.fill(uid)
            bare = self.outcome(uid, argv)
            if bare not in row.bare:
                if row.must:
                    self.fail("bare: %s" % bare)
                skipped.append("%s uid %d %s: bare %s" % (row.id, uid, row.probe, bare))
        self.fill(uid)
        before = self.settle()
        got = self.outcome(uid, self.inside(argv))
        self.assertEqual(self.settle(), before, "a canary was reached")
        if row.inside is not None:
            self.assertIn(got, row.inside)

    def check_all(self, rows):
        for uid in users():
            shm = [self.probe, "shm", "make", str(self.key + uid)]
            self.key = self.key + uid
            self.fill(uid)
            self.assertEqual(self.outcome(uid, shm), "OK")
            for row in rows:
                with self.subTest(id=row.id, probe=row.probe, uid=uid):
                    self.check(row, uid)
            self.outcome(uid, [self.probe, "shm", "remove", str(self.key)])

    def test_sockets(self):
        self.check_all(SOCKETS)

    def test_processes(self):
        self.check_all(PROCESSES)

    def test_files(self):
        self.check_all(FILES)
        with open(os.path.join(self.outside, "file")) as f:
            self.assertEqual(f.read(), "canary\n")

    def test_descriptors_of_the_caller_are_closed(self):
        """U-001, U-002, U-004 to U-006"""
        a, b = socket.socketpair()
        kept = [os.open(self.outside, os.O_RDONLY), os.open(self.outside + "/leak", os.O_RDWR |
                                                            os.O_CREAT), a.fileno(), b.fileno(),
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach(),
                os.open("/proc/self/ns/net", os.O_RDONLY), os.pidfd_open(os.getpid()),
                os.memfd_create("leak")]
        kept.append(fcntl.fcntl(kept[0], fcntl.F_DUPFD, 1000))
        for uid in users():
            self.fill(uid)
            for argv, want in (([self.probe, "fds"], "OK"),
                               (self.inside([self.probe, "fds"]), "EBADF")):
                with self.subTest(uid=uid, argv=argv):
                    p = self.run_as(uid, argv, capture_output=True, pass_fds=kept)
                    self.assertEqual(p.stdout.strip(), want, p.stderr)
        for fd in kept:
            if fd not in (a.fileno(), b.fileno()):
                os.close(fd)
        a.close()
        b.close()

    def test_closed_stdio_becomes_null(self):
        """U-007"""
        for uid in users():
            self.fill(uid)
            for argv, want in (([self.probe, "stdio-null"], 10),
                               (self.inside([self.probe, "stdio-null"]), 0)):
                p = self.run_as(uid, ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"] + argv)
                self.assertEqual(p.returncode, want)

    def test_stdout_cannot_be_opened_anew(self):
        """U-014"""
        for uid in users():
            self.fill(uid)
            for argv, want in (([self.probe, "reopen-stdout"], {"OK"}),
                               (self.inside([self.probe, "reopen-stdout"]), {"EACCES", "EROFS"})):
                with open(self.outside + "/file", "r+") as out:
                    p = self.run_as(uid, argv, stdout=out, stderr=subprocess.PIPE)
                self.assertIn(p.stderr.strip(), want)

    def signalled(self, uid, argv):
        """How often a process in the same process group is hit."""
        code = ("import os, signal, subprocess, sys\n"
                "n = []\n"
                "signal.signal(signal.SIGUSR1, lambda *a: n.append(1))\n"
                "p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL,"
                " restore_signals=True)\n"
                "p.wait()\n"
                "print(len(n))\n")
        p = self.run_as(uid, ["python3", "-c", code] + argv, capture_output=True,
                        start_new_session=True)
        return int(p.stdout)

    def test_signals_stay_inside(self):
        """X-001"""
        for uid in users():
            self.fill(uid)
            kill = [self.probe, "kill", "0", str(int(signal.SIGUSR1))]
            self.assertGreater(self.signalled(uid, kill), 0)
            self.assertEqual(self.signalled(uid, self.inside(kill)), 0)

    def on_terminal(self, uid, argv):
        """Run with a controlling terminal of its own as standard input."""
        master, slave = pty.openpty()
        os.chown(os.ttyname(slave), uid, -1)

        def take():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        try:
            p = subprocess.run(argv, cwd=self.work, env=self.env(), stdin=slave, capture_output=True,
                               text=True, timeout=LIMIT, preexec_fn=take, check=False,
                               **self.identity(uid))
            return p.stdout.strip() or p.stderr
        finally:
            os.close(master)
            os.close(slave)

    def test_terminal_takes_no_input_from_inside(self):
        """X-040, X-041, X-042"""
        for uid in users():
            for request in ("0x5412", "0x100005412", "0xffffffff00005412", "0x541c"):
                self.fill(uid)
                argv = [self.probe, "ioctl", request]
                with self.subTest(uid=uid, request=request):
                    bare = self.on_terminal(uid, argv)
                    if bare != "OK":
                        skipped.append("X-040 uid %d %s: bare %s" % (uid, request, bare))
                    self.assertEqual(self.on_terminal(uid, self.inside(argv)), "EPERM")

    def beats(self, path):
        try:
            return os.path.getsize(path)
        except FileNotFoundError:
            return 0

    def test_daemons_end_with_the_command(self):
        """X-005, X-006"""
        for uid in users():
            self.fill(uid)
            path = os.path.join(self.work, "beat.%d" % uid)
            script = '"$1" heartbeat "$2"; while ! [ -s "$2" ]; do sleep 0.02; done; exit 7'
            p = self.run_as(uid, self.inside(["sh", "-c", script, "sh", self.probe, path]))
            self.assertEqual(p.returncode, 7)
            self.assert_still(path)

    def assert_still(self, path):
        size = self.beats(path)
        self.assertGreater(size, 0)
        time.sleep(0.5)
        self.assertEqual(self.beats(path), size)

    def test_killing_the_supervisor_ends_the_run(self):
        """X-004"""
        for uid in users():
            self.fill(uid)
            path = os.path.join(self.work, "beat4.%d" % uid)
            argv = self.inside(["sh", "-c", '"$1" heartbeat "$2"; exec sleep 600', "sh",
                                self.probe, path])
            p = subprocess.Popen(argv, cwd=self.work, env=self.env(), stdin=subprocess.DEVNULL,
                                 **self.identity(uid))
            self.wait_for(lambda path=path: self.beats(path) > 0)
            p.kill()
            p.wait()
            time.sleep(0.3)
            self.assert_still(path)

    def test_options_open_what_they_say(self):
        """The positive twins of --allow-unix-sockets, --write, --read, --fs"""
        file = self.outside + "/file"
        rows = [
            (["--allow-unix-sockets"], ["socket", "1", "1", "0"], {"OK"}),
            (["--allow-unix-sockets"], ["socketpair", "2"], {"OK"}),
            (["--allow-unix-sockets"], ["socket", "17", "3", "0"], {"EPERM"}),
            (["--write", self.outside], ["open", "1", file], {"OK"}),
            (["--write", self.outside, "--deny-write", file], ["open", "1", file],
             {"EACCES", "EROFS", "EPERM"}),
            (["--deny-read", file], ["read", file], GONE | EMPTY),
            (["--deny-read", file, "--read", file], ["read", file], GONE | EMPTY),
            (["--write", self.outside, "--deny-write", self.outside + "/new"],
             ["open", "0x41", self.outside + "/new"], READ_ONLY | {"EISDIR"}),
            (["--write", self.outside], ["open", "0x41", self.outside + "/new"], {"OK"}),
            (["--fs", "off"], ["open", "1", file], {"OK"}),
            (["--fs", "strict", "--read", self.work, "--exec", self.work], ["open", "0", file],
             {"EACCES", "ENOENT"}),
            (["--fs", "strict", "--read", self.work, "--exec", self.work, "--read", self.outside],
             ["open", "0", file], {"OK"}),
        ]
        for uid in users():
            for options, probe, want in rows:
                self.fill(uid)
                with self.subTest(uid=uid, options=options, probe=probe):
                    got = self.outcome(uid, self.inside([self.probe] + probe, *options))
                    self.assertIn(got, want)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Try to get out: every probe of rows.py bare and inside, and what takes more than one process."""
import fcntl
import os
import pty
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

from rows import EMPTY, FILES, GONE, PROCESSES, READ_ONLY, SOCKETS

SBX_NET = os.environ.get("SBX_NET", "sbx-net")
PROBE = os.environ.get("ESCAPE_PROBE", "escape_probe")
NOBODY = 65534
LIMIT = 30
skipped = []


def users():
    return [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]


class Canary:
    """Listeners of the host; each thing that reaches one is counted."""

    def __init__(self, where):
        self.count, self.lock = 0, threading.Lock()
        self.unix, self.dgram = os.path.join(where, "stream"), os.path.join(where, "dgram")
        stream = self.listen(socket.AF_UNIX, socket.SOCK_STREAM, self.unix)
        dgram = self.listen(socket.AF_UNIX, socket.SOCK_DGRAM, self.dgram)
        tcp = self.listen(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0))
        udp = self.listen(socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 0))
        self.tcp, self.udp = tcp.getsockname()[1], udp.getsockname()[1]
        os.chmod(self.unix, 0o777)
        os.chmod(self.dgram, 0o777)
        for target, sock in ((self.accept, stream), (self.accept, tcp), (self.receive, dgram),
                             (self.receive, udp)):
            threading.Thread(target=target, args=(sock,), daemon=True).start()

    @staticmethod
    def listen(family, kind, address):
        sock = socket.socket(family, kind)
        sock.bind(address)
        if kind == socket.SOCK_STREAM:
            sock.listen(64)
        return sock

    def accept(self, sock):
        while True:
            conn, _ = sock.accept()
            self.reached()
            try:
                conn.sendall(b"canary")
            except OSError:
                pass
            conn.close()

    def receive(self, sock):
        while True:
            sock.recv(64)
            self.reached()

    def reached(self):
        with self.lock:
            self.count += 1


def own_address():
    """An address of this machine's own; loopback's second if it has no other."""
    out = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout
    return next((a for a in out.split() if "." in a), "127.0.0.2")


def outside_base():
    """A directory that the sandbox shows and does not let write: /tmp and /var/tmp are its own."""
    for base in ("/srv", "/opt", os.path.expanduser("~")):
        if os.access(base, os.W_OK):
            return base
    return None


class Escape(unittest.TestCase):
    """A world for one user: a workspace, files outside, canaries."""

    def setUp(self):
        base = outside_base()
        if not base:
            self.skipTest("no writable directory outside /tmp")
        self.work = tempfile.mkdtemp(prefix="escape-work.", dir="/var/tmp")
        self.outside = tempfile.mkdtemp(prefix="escape-outside.", dir=base)
        self.home = os.path.join(self.outside, "home")
        self.addCleanup(shutil.rmtree, self.outside, True)
        self.addCleanup(shutil.rmtree, self.work, True)
        self.probe = os.path.join(self.work, "probe")
        shutil.copy(PROBE, self.probe)
        self.canary, self.own = Canary(self.work), 0
        self.sleeper = {uid: self.start_sleeper(uid) for uid in users()}
        self.master, slave = pty.openpty()
        self.addCleanup(os.close, self.master)
        self.addCleanup(os.close, slave)
        self.pts = os.ttyname(slave)
        self.key = random.randrange(1, 0x7fffffff)

    def start_sleeper(self, uid):
        """Something of the user's own to be killed."""
        p = subprocess.Popen(["sleep", "600"], **self.identity(uid))
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        return p.pid

    @staticmethod
    def identity(uid):
        if os.geteuid() == 0 and uid != 0:
            return dict(user=uid, group=uid, extra_groups=[])
        return {}

    def fill(self, uid):
        """Fresh files, owned by the user who will try."""
        for d in (self.home, self.home + "/.ssh", self.home + "/.aws"):
            os.makedirs(d, exist_ok=True)
        for name in ("outside/file", "outside/doomed", "outside/moved", "work/file", "work/ours",
                     "home/.ssh/id_rsa", "home/.aws/credentials", "home/.netrc"):
            where, rest = name.split("/", 1)
            with open(os.path.join(getattr(self, where), rest), "w") as f:
                f.write("canary\n")
        for top in (self.work, self.outside):
            for d, _, files in os.walk(top):
                for path in [d] + [os.path.join(d, f) for f in files]:
                    os.chown(path, uid, uid)
        os.chown(self.pts, uid, -1)
        for leftover in ("work/bound", "work/new", "outside/new", "work/linked", "work/whiteout",
                         "outside/theirs", "outside/moved2"):
            where, rest = leftover.split("/")
            path = os.path.join(getattr(self, where), rest)
            if os.path.lexists(path):
                os.unlink(path)

    def words(self, text, uid):
        names = dict(unix=self.canary.unix, dgram=self.canary.dgram, tcp=self.canary.tcp,
                     udp=self.canary.udp, addr=own_address(), work=self.work, home=self.home,
                     outside=self.outside, canary=self.sleeper[uid], pts=self.pts, key=self.key,
                     uid=uid)
        return text.format(**names).split()

    def env(self):
        return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.home}

    def run_as(self, uid, argv, **kw):
        kw.update(self.identity(uid))
        kw.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(argv, cwd=self.work, env=self.env(), timeout=LIMIT, text=True, check=False,
                              **kw)

    @staticmethod
    def inside(argv, *options):
        return [SBX_NET, "run", "--no-config", "--ask", "never", "-q", *options, "--", *argv]

    def outcome(self, uid, argv):
        p = self.run_as(uid, argv, capture_output=True)
        code = p.returncode - 128 if p.returncode > 128 else -p.returncode
        if code > 0:
            return signal.Signals(code).name
        if p.returncode:
            return "exit %d: %s" % (p.returncode, p.stderr.strip())
        return (p.stdout.strip() or "nothing") + (" " + p.stderr if p.stderr else "")

    def settle(self):
        """Whatever was sent has arrived when something sent later has."""
        before = self.canary.count
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.sendto(b"x", self.canary.dgram)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.sendto(b"x", ("127.0.0.1", self.canary.udp))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.connect(self.canary.unix)
            s.recv(1)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as s:
            s.connect(("127.0.0.1", self.canary.tcp))
            s.recv(1)
        self.own += 4
        self.wait_for(lambda: self.canary.count >= before + 4)
        return self.canary.count - self.own

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

    def wait_for(self, condition):
        deadline = time.monotonic() + 10
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(condition())

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


def main():
    program = unittest.main(verbosity=2, exit=False)
    for line in sorted(set(skipped)):
        print("SKIP:", line, file=sys.stderr)
    if program.result.wasSuccessful() and program.result.skipped:
        sys.exit(1 if os.environ.get("SBX_TESTS_MUST_RUN") == "1" else 77)
    sys.exit(not program.result.wasSuccessful())


if __name__ == "__main__":
    main()

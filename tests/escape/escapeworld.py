"""A world to get out of: a workspace, files outside, canaries that count who reached them."""
import fcntl
import functools
import glob
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

SBX_NET = os.environ.get("SBX_NET", "sbx-net")
PROBE = os.environ.get("ESCAPE_PROBE", "escape_probe")
NOBODY = 65534
LIMIT = 120  # a run that hangs, on however slow a machine
skipped = []  # a control that failed for no reason of ours: a failure where all must run
excused = []  # the same, with a reason
ran = set()  # the ids of vectors that were tried
declared = set()


def users():
    return [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]


def shows(*idents):
    """A test that shows what these vectors ask for; counted unless it is skipped or stopped."""
    declared.update(idents)

    def wrap(test):
        @functools.wraps(test)
        def run(self):
            test(self)
            ran.update(idents)
        run.idents = idents
        return run
    return wrap


class Canary:
    """Listeners of the host; each thing that reaches one is counted."""

    def __init__(self, where):
        self.count, self.lock = 0, threading.Lock()
        self.mark, self.marks = os.urandom(16), threading.Semaphore(0)
        self.unix, self.dgram = os.path.join(where, "stream"), os.path.join(where, "dgram")
        stream = self.listen(socket.AF_UNIX, socket.SOCK_STREAM, self.unix)
        dgram = self.listen(socket.AF_UNIX, socket.SOCK_DGRAM, self.dgram)
        tcp = self.listen(socket.AF_INET6, socket.SOCK_STREAM, ("::", 0))  # and IPv4
        udp = self.listen(socket.AF_INET6, socket.SOCK_DGRAM, ("::", 0))
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
            if sock.recv(64) == self.mark:
                self.marks.release()
            else:
                self.reached()

    def settle(self):
        """Whatever was sent has been counted when what was sent later on the same socket has."""
        for family, to in ((socket.AF_UNIX, self.dgram), (socket.AF_INET, ("127.0.0.1", self.udp))):
            with socket.socket(family, socket.SOCK_DGRAM) as s:
                s.sendto(self.mark, to)
            if not self.marks.acquire(timeout=10):
                raise TimeoutError(to)
        for family, to in ((socket.AF_UNIX, self.unix), (socket.AF_INET, ("127.0.0.1", self.tcp))):
            with socket.socket(family, socket.SOCK_STREAM) as s:
                s.connect(to)
                s.recv(1)  # sent once it is counted

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


def cgroup_file():
    """What moves processes from one group to another, wherever it is mounted."""
    found = sorted(glob.glob("/sys/fs/cgroup/cgroup.procs") +
                   glob.glob("/sys/fs/cgroup/*/cgroup.procs"))
    return found[0] if found else "/sys/fs/cgroup/cgroup.procs"


def loader():
    return (glob.glob("/lib64/ld-linux*") + glob.glob("/lib/ld-linux*"))[0]


class World(unittest.TestCase):
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
        fd, self.tmp = tempfile.mkstemp(prefix="escape-tmp.", dir="/tmp")
        self.addCleanup(os.unlink, self.tmp)
        os.write(fd, b"canary\n")
        os.fchmod(fd, 0o644)
        os.close(fd)

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
        for d in (self.home + "/.ssh", self.home + "/.aws", self.home + "/.config/autostart",
                  self.home + "/.config/systemd/user", self.home + "/.local/bin",
                  self.work + "/dir"):
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
        for leftover in ("work/bound", "work/dir/theirs", "home/.ssh/authorized_keys",
                         "work/new", "outside/new", "work/linked", "work/whiteout",
                         "outside/theirs", "outside/moved2"):
            where, rest = leftover.split("/", 1)
            path = os.path.join(getattr(self, where), rest)
            if os.path.lexists(path):
                os.unlink(path)

    def words(self, text, uid):
        names = dict(unix=self.canary.unix, dgram=self.canary.dgram, tcp=self.canary.tcp,
                     udp=self.canary.udp, addr=own_address(), work=self.work, home=self.home,
                     outside=self.outside, canary=self.sleeper[uid], pts=self.pts, key=self.key,
                     uid=uid, tmp=self.tmp, cgroup=cgroup_file(), ldso=loader())
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

    def on_terminal(self, uid, argv, whole=False, **kw):
        """Run with a controlling terminal of its own as standard input; output too, if `whole`."""
        master, slave = pty.openpty()
        os.chown(os.ttyname(slave), uid, -1)
        before = termios.tcgetattr(slave)

        def take():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        try:
            p = self.run_as(uid, argv, stdin=slave, stdout=slave if whole else subprocess.PIPE,
                            stderr=subprocess.PIPE, preexec_fn=take, **kw)
            p.restored = termios.tcgetattr(slave) == before
            if whole:
                os.set_blocking(master, False)
                try:
                    p.stdout = os.read(master, 4096).decode().replace("\r\n", "\n")
                except BlockingIOError:
                    p.stdout = ""
            return p
        finally:
            os.close(master)
            os.close(slave)

    def outcome(self, uid, argv):
        p = self.run_as(uid, argv, capture_output=True)
        code = p.returncode - 128 if p.returncode > 128 else -p.returncode
        if code > 0:
            return signal.Signals(code).name
        if p.returncode:
            return "exit %d: %s" % (p.returncode, p.stderr.strip())
        return (p.stdout.strip() or "nothing") + (" " + p.stderr if p.stderr else "")

    def settle(self):
        self.canary.settle()
        self.own += 2
        return self.canary.count - self.own

    def wait_for(self, condition):
        deadline = time.monotonic() + 10
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(condition())


def main():
    program = unittest.main(verbosity=2, exit=False)
    for line in sorted(set(excused)):
        print("NOT SHOWN:", line, file=sys.stderr)
    for line in sorted(set(skipped)):
        print("SKIP:", line, file=sys.stderr)
    silent = sorted(declared - ran) if len(sys.argv) == 1 else []
    if silent:
        print("DID NOT RUN:", " ".join(silent), file=sys.stderr)
    must = os.environ.get("SBX_TESTS_MUST_RUN") == "1"
    if not program.result.wasSuccessful() or (must and (silent or skipped)):
        sys.exit(1)
    if program.result.skipped:
        sys.exit(1 if must else 77)

#!/usr/bin/python3
"""The robustness vectors against the whole program: floods, dead peers, too little of anything."""
import contextlib
import os
import re
import resource
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from origins import CLOSE, ECHO  # noqa: E402
from raw import Pieces, RawCase, connect, http, socks4a, socks5, socks5_addr  # noqa: E402
from world import main, v4, v6  # noqa: E402

GOOD = ["-a", "good.example"]
WAYS = {"connect": connect, "http": http, "socks5": socks5, "socks4a": socks4a}
TICK = os.sysconf("SC_CLK_TCK")

# What the scripts inside share.
INSIDE = r"""
import os, socket, struct, sys, time
def dial():
    return socket.create_connection(("127.0.0.1", 3128), 20)
def get(host=b"good.example"):
    with dial() as s:
        s.sendall(b"GET http://%s/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % host)
        out = b""
        while True:
            d = s.recv(65536)
            if not d:
                return out[9:12].decode()
            out += d
def connect(host, port, more=b""):
    s = dial()
    s.sendall(b"CONNECT %s:%d HTTP/1.1\r\n\r\n" % (host, port) + more)
    return s
def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()
def tell(*words):
    print(*words, flush=True)
def wait():
    sys.stdin.readline()
"""


class LoadCase(RawCase):
    """A run that is spoken with by lines, and looked at from outside."""

    def start(self, options, script, **kw):
        kw.setdefault("stderr", subprocess.PIPE)
        self.proc = self.w.popen(
            self.w.sbx_argv(options, ["/usr/bin/python3", "-c", INSIDE + script]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **kw)
        self.addCleanup(self.stop)

    def stop(self):
        if self.proc.poll() is None:
            self.proc.kill()
        for f in (self.proc.stdin, self.proc.stdout, self.proc.stderr):
            if f:
                f.close()
        self.proc.wait()

    def line(self):
        return self.proc.stdout.readline().strip()

    def go(self):
        self.proc.stdin.write("\n")
        self.proc.stdin.flush()

    def cpu(self):
        """Seconds of processor time of the supervisor."""
        with open("/proc/%d/stat" % self.proc.pid, encoding="ascii") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def fds(self):
        return len(os.listdir("/proc/%d/fd" % self.proc.pid))

    def rss(self):
        with open("/proc/%d/statm" % self.proc.pid, encoding="ascii") as f:
            return int(f.read().split()[1]) * resource.getpagesize()

    def sanitized(self):
        """A sanitizer's allocator keeps what was freed: memory says nothing then."""
        return "asan" in os.path.realpath(self.w.product)

    def assertSettled(self, fds):
        """As many descriptors as before, apart from pipes that are kept for the next burst."""
        end = time.monotonic() + 10
        while self.fds() > fds and time.monotonic() < end:
            time.sleep(0.05)
        self.assertLessEqual(self.fds(), fds + 8)


class Slow(LoadCase):
    def test_500_slow_heads(self):
        """A byte a second keeps nobody's connection beyond the time of a head, and holds up none."""
        self.start(GOOD, r"""
import select
slow = [dial() for _ in range(500)]
start = time.monotonic()
head = b"GET http://good.example/ HTTP/1.1\r\nHost: " + b"x" * 200
tell("open", get())
waits, closed, i = [], set(), 0
while len(closed) < len(slow) and time.monotonic() - start < 25:
    for s in slow:
        if s not in closed:
            try:
                s.sendall(head[i:i + 1])
            except OSError:
                closed.add(s)
    i += 1
    t = time.monotonic()
    assert get() == "200"
    waits.append(time.monotonic() - t)
    while time.monotonic() - t < 1:
        for s in select.select([x for x in slow if x not in closed], [], [], 0.1)[0]:
            try:
                s.recv(4096)
            except OSError:
                pass
            closed.add(s)
tell(len(closed), "%.1f" % (time.monotonic() - start), "%.1f" % max(waits))
""")
        self.assertEqual(self.line(), "open 200")
        closed, seconds, longest = self.line().split()
        self.assertEqual(closed, "500")
        self.assertLess(float(seconds), 20)
        self.assertGreater(float(seconds), 8)  # the time is not shorter than it is said to be
        self.assertLess(float(longest), 5)


class Floods(LoadCase):
    def test_10000_resets(self):  # S-031
        """At every stage: after the greeting, the request, an answer nobody reads, half-closed."""
        self.start(GOOD, r"""
def storm(n):
    for i in range(n):
        kind = i %% 5
        if kind == 0:
            s = dial()
            s.sendall(b"\5\1\0")
        elif kind == 1:
            s = connect(b"evil.example", 443)     # a refusal is on its way
        elif kind == 2:
            s = connect(b"good.example", %d, b"x" * 1000)
        elif kind == 3:
            s = connect(b"dead.example", 80)      # still connecting
        else:
            s = connect(b"good.example", %d)
            s.shutdown(socket.SHUT_WR)
        reset(s)
storm(500)
tell(get())
wait()
storm(10000)
tell(get())
wait()
""" % (ECHO, CLOSE), stderr=subprocess.DEVNULL)
        self.assertEqual(self.line(), "200")
        time.sleep(1)
        fds, rss = self.fds(), self.rss()
        self.go()
        self.assertEqual(self.line(), "200")
        self.assertSettled(fds)
        if not self.sanitized():
            self.assertLess(self.rss() - rss, 8 << 20)

    def test_10000_tunnels_one_after_another(self):
        self.start(GOOD, r"""
def many(n):
    for i in range(n):
        s = connect(b"good.example", %d, b"hello")
        out = b""
        while not out.endswith(b"hello"):
            d = s.recv(4096)
            assert d, out
            out += d
        s.close()
many(500)
tell("warm")
wait()
many(10000)
tell("done")
wait()
""" % ECHO)
        self.assertEqual(self.line(), "warm")
        time.sleep(0.5)
        fds, rss = self.fds(), self.rss()
        self.go()
        self.assertEqual(self.line(), "done")
        self.assertSettled(fds)
        if not self.sanitized():
            self.assertLess(self.rss() - rss, 4 << 20)

    def test_bulk_both_ways(self):
        """Ten seconds as fast as it goes, both ways: nothing grows, nothing is lost."""
        self.start(GOOD, r"""
import threading
def bulk(seconds):
    s = connect(b"good.example", %d)
    assert s.recv(4096).startswith(b"HTTP/1.1 200")
    sent = [0]
    data = os.urandom(1 << 20)
    end = time.monotonic() + seconds
    def send():
        while time.monotonic() < end:
            s.sendall(data)
            sent[0] += len(data)
        s.shutdown(socket.SHUT_WR)
    t = threading.Thread(target=send)
    t.start()
    got = 0
    while True:
        d = s.recv(1 << 20)
        if not d:
            break
        assert d == (data + data)[got %% len(data):][:len(d)]
        got += len(d)
    t.join()
    assert got == sent[0] and got > 50 << 20, (got, sent)
bulk(1)
tell("warm")
wait()
bulk(10)
tell("done")
wait()
""" % ECHO)
        self.assertEqual(self.line(), "warm")
        fds, rss = self.fds(), self.rss()
        self.go()
        self.assertEqual(self.line(), "done")
        self.assertSettled(fds)
        if not self.sanitized():
            self.assertLess(self.rss() - rss, 8 << 20)

    def test_many_refusals_are_few_lines(self):
        """20,000 refusals of 5,000 hosts: stderr, memory and what is told at the end stay small."""
        script = r"""
def refused(n):
    s = connect(b"h%d.evil.test" % (n % 5000), 443)
    s.recv(4096)
    s.close()
for n in range(20000):
    refused(n)
tell(get())
"""
        done = self.w.sbx_run(GOOD, ["/usr/bin/python3", "-c", INSIDE + script], timeout=200)
        self.assertEqual(done.stdout, "200\n")
        self.assertLess(len(done.stderr), 64 << 10)
        self.assertIn("20000 refusals", done.stderr)
        self.assertLess(done.stderr.count("\n"), 120)


class Holder:
    """A server that accepts whatever comes and keeps it."""

    def __init__(self, world, addr, port):
        self.listener = world.in_net(world.internet, lambda: self.listen(addr, port))
        self.held = []
        threading.Thread(target=self.accept, daemon=True).start()

    @staticmethod
    def listen(addr, port):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((addr, port))
        s.listen(4096)
        return s

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                self.held.append(self.listener.accept()[0])

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for s in self.held:
            s.close()


class AllAtOnce(LoadCase):
    MANY = 10000
    BOUND = 9900  # LONE_CONNECTIONS_MAX of proxy/limits.h
    PORT = 9000

    def test_10000_at_once(self):
        """None ends before all are asked for: so many tunnels stand, the others hear why not."""
        need = 2 * self.MANY  # for the run that carries them; its bound leaves it a few
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= hard < need:  # ours to raise, unless a container took that from root, too
            resource.setrlimit(resource.RLIMIT_NOFILE, (need, need))
            hard = need
        else:
            resource.setrlimit(resource.RLIMIT_NOFILE, (need, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        holder = Holder(self.w, v4(3), self.PORT)
        self.addCleanup(holder.close)
        self.start(["-a", "v4only.example:%d" % self.PORT, "-a", "good.example", "-q"], r"""
import resource
n, port = %d, %d
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
socket.setdefaulttimeout(120)
tell("warm", get())
wait()
all = [connect(b"v4only.example", port) for _ in range(n)]
said = {}
for s in all:
    head = b""
    while b"\r\n\r\n" not in head:
        data = s.recv(4096)
        if not data:
            break
        head += data
    word = head[9:12] + (b" limit" if b"Sbx-Net-Code: limit" in head else b"")
    said[word] = said.get(word, 0) + 1
tell(said.get(b"200", 0), said.get(b"503 limit", 0), len(said))
wait()
for s in all:
    reset(s)  # the other end never ends by itself
while get() != "200":
    time.sleep(0.1)
tell("done")
wait()
""" % (self.MANY, self.PORT))
        self.assertEqual(self.line(), "warm 200")
        fds = self.fds()
        self.go()
        stand, told, words = map(int, self.line().split())
        self.assertEqual((stand, told, words), (self.BOUND, self.MANY - self.BOUND, 2))
        end = time.monotonic() + 60  # a connection stands before it is accepted
        while len(holder.held) < self.BOUND and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(len(holder.held), self.BOUND)
        self.assertGreaterEqual(self.fds(), 2 * self.BOUND)
        if not self.sanitized():
            self.assertLess(self.rss(), 64 << 20)
        self.go()
        self.assertEqual(self.line(), "done")
        self.assertSettled(fds)


class TooLittle(LoadCase):
    def test_few_descriptors(self):
        """100 clients where 64 descriptors are: no spin, no flood of lines, and it recovers."""
        argv = self.w.sbx_argv(GOOD, ["/usr/bin/python3", "-c", INSIDE + r"""
kids = []
for _ in range(4):
    pid = os.fork()
    if not pid:
        held = []
        for _ in range(25):
            try:
                held.append(connect(b"good.example", %d))
            except OSError:
                pass
        time.sleep(5)
        os._exit(0)
    kids.append(pid)
time.sleep(2)
tell("held")
for pid in kids:
    os.waitpid(pid, 0)
time.sleep(1)
tell(get())
""" % ECHO])
        self.proc = self.w.popen(["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *argv],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        self.assertEqual(self.line(), "held")
        cpu = self.cpu()
        time.sleep(2)
        self.assertLess(self.cpu() - cpu, 0.5)
        self.assertEqual(self.line(), "200")
        stderr = self.proc.communicate(timeout=20)[1]
        self.assertLess(stderr.count("\n"), 40, stderr)

    def test_little_memory(self):
        """Where the supervisor cannot have its memory, nothing is reached that was not allowed."""
        if self.sanitized():
            return  # a sanitizer wants terabytes of addresses
        argv = self.w.sbx_argv(GOOD, self.w.curl_argv(
            "-o", "/dev/null", "-w", "%{http_code}", "http://evil.example/",
            "-x", "http://127.0.0.1:3128"))
        ended = 0
        for kib in (4096, 8192, 12288, 16384, 24576, 32768, 65536):
            with self.subTest(kib):
                o = self.w.oracle()
                done = self.w.run(["sh", "-c", 'ulimit -v %d; exec "$@"' % kib, "sh", *argv])
                ended += done.returncode != 0
                self.assertIn(done.stdout, ("", "000", "403"))
                self.assertQuiet(o)
        self.assertGreater(ended, 1)  # it was too little, at first
        done = self.w.run(argv)
        self.assertEqual(done.stdout, "403")

    def test_processes_without_end(self):
        """A fork bomb meets its limit, and what is left of it ends with the run."""
        mark = "bomb-%d" % os.getpid()
        bomb = ("import os, sys, time\n"
                "n = 0\n"
                "while True:\n"
                "    try:\n        os.fork()\n"
                "    except OSError:\n        time.sleep(0.05)\n  # " + mark)
        for options, status in ((["--timeout", "15"], 124), (["--timeout", "60"], -9)):
            with self.subTest(status):
                start = time.monotonic()
                proc = self.w.popen(self.w.sbx_argv(
                    [*options, "--limit", "nproc=150"], ["/usr/bin/python3", "-S", "-c", bomb]),
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                n = 0
                while n <= 100 and time.monotonic() - start < 14:
                    time.sleep(0.2)
                    n = len(self.w.processes_with(mark))
                if status < 0:
                    proc.kill()
                self.assertEqual(proc.wait(40), status)
                self.assertGreater(n, 100)
                self.assertLess(n, 160)
                self.assertLess(time.monotonic() - start, 40)
                end = time.monotonic() + 10
                while self.w.processes_with(mark) and time.monotonic() < end:
                    time.sleep(0.05)
                self.assertEqual(self.w.processes_with(mark), {})


class Peers(LoadCase):
    def test_idle_connections_are_probed(self):
        """Both ends of an idle tunnel have their keep-alive timers, so a vanished peer is found."""
        self.start(GOOD, r"""
s = connect(b"good.example", %d, b"x")
while not s.recv(4096).endswith(b"x"):
    pass
tell("open")
wait()
""" % ECHO)
        self.assertEqual(self.line(), "open")
        time.sleep(0.5)
        out = self.w.run(["ss", "-tnoH", "state", "established", "dport", "=", ":%d" % ECHO],
                         uid=0).stdout
        self.assertRegex(out, r"timer:\(keepalive,(?:1min|[1-5]?\dsec|59\.?\d*sec)")
        inside = self.w.run(["nsenter", "-t", str(self.child()), "-n", "ss", "-tnoH", "state",
                             "established", "sport", "=", ":3128"], uid=0).stdout
        self.assertRegex(inside, r"timer:\(keepalive,")

    def child(self):
        """Pid 1 of the run, whose network namespace is the command's."""
        with open("/proc/%d/task/%d/children" % (self.proc.pid, self.proc.pid),
                  encoding="ascii") as f:
            for pid in f.read().split():
                if os.stat("/proc/%s/ns/net" % pid).st_ino != os.stat(
                        "/proc/%d/ns/net" % self.proc.pid).st_ino:
                    return int(pid)
        raise AssertionError("no child in a namespace of its own")

    def test_no_is_said_at_once(self):  # S-034
        """A refusal takes no time, whether or not there is such a host; a dead host takes its own."""
        hosts = ["evil.example", "dead.example", "gone.example", "nosuch.example",
                 "silent-s34.odd.example"]
        cases = {"%s %s" % (way, h): make(h, 80) for way, make in WAYS.items() for h in hosts}
        for a in (v4(66), v6(0x66), "10.1.2.3", "51.15.99.1"):
            cases["atyp " + a] = socks5_addr(a, 80)
        for mode in ("whole", "bytes"):
            o = self.w.oracle()
            for key, r in self.raw(GOOD, cases, mode).items():
                with self.subTest(key, mode=mode):
                    self.assertDenied(r, {"not-listed", "private"})
                    self.assertLess(r["seconds"], 2)
            self.assertQuiet(o)
        r = self.raw(["-a", "dead.example"], {"x": connect("dead.example", 80, timeout=30)})["x"]
        self.assertEqual(self.kind(r)[:2], ("http", 504))
        self.assertGreater(r["seconds"], 5)

    def test_pipelined_behind_a_refused_upgrade(self):
        """No 101 came, so the bytes behind the request are a request, and judged."""
        ws = (b"GET http://good.example/refuse-ws HTTP/1.1\r\nHost: good.example\r\n"
              b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
              b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        p = Pieces([ws + b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"])
        for mode in ("whole", "bytes"):
            with self.subTest(mode):
                o = self.w.oracle()
                r = self.raw(GOOD, {"x": p}, mode)["x"]
                self.assertNotIn(b"hello from", r["recv"])
                self.assertEqual([x["target"] for x in o.requests()], ["/refuse-ws"])
                self.assertEqual(re.findall(rb"HTTP/1\.1 (\d+)", r["recv"])[-1:], [b"403"])


if __name__ == "__main__":
    main()

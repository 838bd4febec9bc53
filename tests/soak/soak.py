#!/usr/bin/python3
"""Load and faults, with the whole program: sbx-net run, a client in its namespace, loopback.

The short form (a minute) is ctest's `soak`; SBX_SOAK=long, or ./bootstrap soak, is the long one.
Arguments are unittest's. Faults are made by tests/soak/faults.c, preloaded into the supervisor.
"""
import hashlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.dirname(os.path.dirname(HERE)) + "/build/release"
SBX = os.environ.get("SBX_NET", BUILD + "/cli/sbx-net")
BENCH = os.environ.get("SBX_BENCH", BUILD + "/tests/bench")
FAULTS = os.environ.get("SBX_FAULTS_SO", BUILD + "/tests/soak/soak-faults.so")
LONG = os.environ.get("SBX_SOAK") == "long"
PROXY = "127.0.0.1:3128"
NAME = "origin.test"
PIPE_POOL_MAX = 32  # idle pipes that the proxy keeps (proxy/limits.h), two descriptors each


def size(short, long):
    return long if LONG else short


class Dns(threading.Thread):
    """Answers A questions with 127.0.0.1, as @how says."""

    def __init__(self, how="well"):
        super().__init__(daemon=True)
        self.how, self.asked = how, 0
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.sock.getsockname()[1]
        self.start()

    def run(self):
        while True:
            query, who = self.sock.recvfrom(512)
            self.asked += 1
            if self.how == "silent":
                continue
            if self.how == "slow":
                time.sleep(0.3)
            end = query.index(b"\0", 12) + 5
            is_a = query[end - 4:end - 2] == b"\0\1"
            tag, question = query[:2], query[12:end]
            if self.how == "lying":  # another question's answer, and one that nobody asked for
                tag = bytes([tag[0] ^ 1, tag[1]])
            head = tag + struct.pack(">HHHHH", 0x8180, 1, int(is_a), 0, 0)
            answer = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 300, 4) + b"\x7f\0\0\1"
            self.sock.sendto(head + question + (answer if is_a else b""), who)


def pattern(n):
    """n bytes by the chunk, no two chunks alike."""
    done = 0
    while done < n:
        chunk = struct.pack("<Q", done) * 8192
        yield chunk[:n - done]
        done += len(chunk)


class Both(threading.Thread):
    """To each client: @n bytes, while it reads as many; then the digest of what it read."""

    def __init__(self, n):
        super().__init__(daemon=True)
        self.n, self.pause = n, 0
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.port = self.sock.getsockname()[1]
        self.start()

    def talk(self, c):
        try:
            self.exchange(c)
        except OSError:
            pass  # the other end was killed

    def exchange(self, c):
        def send():
            try:
                for chunk in pattern(self.n):
                    c.sendall(chunk)
            except OSError:
                pass
        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        time.sleep(self.pause)
        digest, left = hashlib.sha256(), self.n
        while left:
            data = c.recv(min(left, 1 << 18))
            if not data:
                return
            digest.update(data)
            left -= len(data)
        sender.join()
        c.sendall(digest.hexdigest().encode())
        c.close()

    def run(self):
        while True:
            c = self.sock.accept()[0]
            threading.Thread(target=self.talk, args=(c,), daemon=True).start()


#: the client of Both: prints "whole" or what it missed
CLIENT = r"""
import hashlib, socket, struct, sys, threading, time
port, n, pause = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
def pattern(n):
    done = 0
    while done < n:
        chunk = struct.pack("<Q", done) * 8192
        yield chunk[:n - done]
        done += len(chunk)
want = hashlib.sha256()
for chunk in pattern(n):
    want.update(chunk)
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n" % port)
head = b""
while b"\r\n\r\n" not in head:
    head += s.recv(1)
print("open", flush=True)
def send():
    for chunk in pattern(n):
        s.sendall(chunk)
t = threading.Thread(target=send)
t.start()
time.sleep(pause)
got, left = hashlib.sha256(), n
while left:
    data = s.recv(min(left, 1 << 18))
    if not data:
        sys.exit(print("an end, %d bytes early" % left))
    got.update(data)
    left -= len(data)
t.join()
theirs = b""
while len(theirs) < 64:
    theirs += s.recv(64) or sys.exit(print("no digest"))
print("whole" if got.hexdigest() == theirs.decode() == want.hexdigest() else "digests differ")
"""


class Sandbox:
    """One run with a shell inside, which does what it is told."""

    def __init__(self, test, *options, dns=None, fault_file=None, pass_fds=()):
        self.dir = tempfile.mkdtemp(prefix="soak-", dir="/var/tmp")
        test.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.stderr = open(self.dir + "/stderr", "w+b")
        test.addCleanup(self.stderr.close)
        os.mkdir(self.dir + "/ws")
        with open(self.dir + "/ws/client.py", "w", encoding="ascii") as f:
            f.write(CLIENT)
        env = dict(os.environ)
        if fault_file:
            env.update(LD_PRELOAD=FAULTS, SBX_FAULTS=fault_file)
        self.dns = dns or Dns()
        argv = [SBX, "run", "--no-config", "--ask", "never", "-a", NAME, "-a", "127.0.0.1",
                "--resolver", self.dns.address, "--exec", BENCH, *options, "--", "sh"]
        self.process = subprocess.Popen(argv, cwd=self.dir + "/ws", env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=self.stderr, pass_fds=pass_fds)
        test.addCleanup(self.end)
        if self.ask("echo up") != "up\n":
            raise AssertionError("the run does not start: " + self.said())

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def ask(self, line):
        self.tell(line)
        return self.process.stdout.readline()

    def load(self, mode, target, **options):
        words = [BENCH + "/bench-load", mode, "-t", target, "-p", PROXY]
        for key, value in options.items():
            words += ["-" + key, str(value)]
        return json.loads(self.ask(" ".join(words)))

    def transfer(self, both, pause=0):
        self.ask("/usr/bin/python3 client.py %d %d %s" % (both.port, both.n, pause))

    def verdict(self):
        return self.process.stdout.readline().strip()

    def said(self):
        self.stderr.flush()
        with open(self.dir + "/stderr", encoding="utf-8", errors="replace") as f:
            return f.read()

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def rss(self):
        with open("/proc/%d/statm" % self.process.pid, encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def settle(self, descriptors):
        """Waits until no more than so many descriptors are open, for a minute at most."""
        for _ in range(1200):
            if self.descriptors() <= descriptors:
                return
            time.sleep(0.05)


def by_socks5(path, target):
    """An answer's first bytes, through the proxy's unix socket."""
    address, port = target.rsplit(":", 1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as c:
        c.connect(path)
        c.sendall(b"\5\1\0\5\1\0\1" + socket.inet_aton(address) +
                  struct.pack(">H", int(port)) + b"GET /100 HTTP/1.1\r\nHost: x\r\n\r\n")
        got = b""
        while b"200 OK" not in got:
            data = c.recv(4096)
            if not data:
                break
            got += data
    return got


class Soak(unittest.TestCase):
    origin = None

    @classmethod
    def setUpClass(cls):
        probe = socket.create_server(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        cls.target = "%s:%d" % (NAME, port)
        cls.literal = "127.0.0.1:%d" % port
        cls.origin = subprocess.Popen([BENCH + "/bench-origin", cls.literal, "1"])
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.02)

    @classmethod
    def tearDownClass(cls):
        cls.origin.kill()
        cls.origin.wait()

    def assert_well(self, result, ops=1):
        self.assertEqual((result["errors"], result["first_error"]), (0, ""), result)
        self.assertGreaterEqual(result["ops"], ops)

    # -- load

    def test_idle_tunnels(self):
        s = Sandbox(self)
        before = s.descriptors()
        n = size(2000, 9900)  # LONE_CONNECTIONS_MAX
        s.tell("%s/bench-load idle -t %s -p %s -c 32 -n %d -s 2" % (BENCH, self.target, PROXY, n))
        self.assertEqual(s.process.stdout.readline(), "ready %d\n" % n)
        self.assert_well(json.loads(s.process.stdout.readline()), n)
        s.settle(before)
        self.assertLessEqual(s.descriptors(), before)

    def test_burst(self):
        s = Sandbox(self)
        self.assert_well(s.load("get", self.target, c=512, n=size(2048, 20480), s=60), 2048)

    def test_many_tunnels_leave_nothing(self):
        s = Sandbox(self, "--audit", "audit.log")
        self.assert_well(s.load("get", self.target, c=8, n=1000, s=60), 1000)
        rss, descriptors = s.rss(), s.descriptors()
        n = size(4000, 100000)
        self.assert_well(s.load("get", self.target, c=8, n=n, s=600), n)
        self.assertLess(s.rss() - rss, 512 * 1024)
        s.settle(descriptors)
        self.assertLessEqual(s.descriptors(), descriptors)
        for _ in range(100):  # lines are written at the end of the loop's turn
            with open(s.dir + "/ws/audit.log", encoding="ascii") as f:
                closes = sum('"event":"close"' in line for line in f)
            if closes >= n + 1000:
                break
            time.sleep(0.05)
        self.assertEqual(closes, n + 1000)

    def test_many_refusals_bound_the_log(self):
        s = Sandbox(self)
        self.assert_well(s.load("refuse", "denied.test:443", c=32, n=1000, s=60), 1000)
        rss = s.rss()
        n = size(20000, 1000000)
        self.assert_well(s.load("refuse", "denied.test:443", c=32, n=n, s=600), n)
        self.assertLess(s.rss() - rss, 512 * 1024)
        self.assertLess(len(s.said()), 16 * 1024)

    def test_transfer_both_ways(self):
        s, both = Sandbox(self), Both(size(64, 1024) << 20)
        s.transfer(both)
        self.assertEqual(s.verdict(), "whole")

    @unittest.skipUnless(shutil.which("valgrind"), "no valgrind here")
    def test_memory_by_valgrind(self):
        """serve: valgrind cannot follow into namespaces; without Landlock, unknown to it."""
        where = tempfile.mkdtemp(prefix="soak-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, where, ignore_errors=True)
        with open(where + "/stderr", "wb") as err:
            p = subprocess.Popen(["valgrind", "-q", "--leak-check=full", "--error-exitcode=99",
                                  "--errors-for-leak-kinds=definite", SBX, "serve", "--no-config",
                                  "-q", "-a", "127.0.0.1", "--dir", where + "/d"], stderr=err,
                                 env=dict(os.environ, LD_PRELOAD=FAULTS, SBX_UNLOCKED="1"))
        self.addCleanup(p.kill)
        for _ in range(600):
            if os.path.exists(where + "/d/proxy.sock"):
                break
            time.sleep(0.1)
        for mode, target, more in (("get", self.literal, ["-n", "200"]),
                                   ("get", self.literal, ["-n", "30", "-b", "3000000"]),
                                   ("refuse", "denied.test:443", ["-n", "200"]),
                                   ("forward", self.literal, [])):
            subprocess.run([BENCH + "/bench-load", mode, "-t", target, "-c", "8", "-s", "3", "-p",
                            "unix:" + where + "/d/proxy.sock", *more], check=True,
                           stdout=subprocess.DEVNULL)
        for _ in range(20):
            self.assertIn(b"200 OK", by_socks5(where + "/d/proxy.sock", self.literal))
        p.terminate()
        with open(where + "/stderr", encoding="utf-8", errors="replace") as f:
            self.assertEqual(p.wait(), 0, f.read())

    # -- others that misbehave

    def test_slow_reader(self):
        s, both = Sandbox(self), Both(size(32, 256) << 20)
        rss = s.rss()
        s.transfer(both, pause=2)
        both.pause = 2
        time.sleep(1.5)
        self.assertLess(s.rss() - rss, 4 << 20)
        self.assertEqual(s.verdict(), "whole")

    def test_slow_loris(self):
        s = Sandbox(self)
        before = s.descriptors()
        s.tell("/usr/bin/python3 - <<'E'\n" + """
import socket, time
v = [socket.create_connection(("127.0.0.1", 3128)) for _ in range(300)]
print("open", flush=True)
ended = 0
begun = time.monotonic()
while time.monotonic() - begun < 14 and ended < len(v):
    time.sleep(0.5)
    for c in v:
        try:
            c.send(b"C")
        except OSError:
            pass
    ended = 0
    for c in v:
        c.setblocking(False)
        try:
            ended += b"408" in c.recv(99, socket.MSG_PEEK)
        except BlockingIOError:
            pass
        except OSError:
            ended += 1
        c.setblocking(True)
print(ended, flush=True)
E
""")
        self.assertEqual(s.process.stdout.readline(), "open\n")
        with_others = Sandbox(self)
        self.assert_well(with_others.load("get", self.target, c=8, n=200, s=30), 200)
        self.assertEqual(s.process.stdout.readline(), "300\n")
        s.settle(before)
        self.assertLessEqual(s.descriptors(), before)

    def test_dns_silent(self):
        s = Sandbox(self, dns=Dns("silent"))
        s.tell("%s/bench-load get -t %s -p %s -n 1 -s 60 &" % (BENCH, self.target, PROXY))
        self.assert_well(s.load("get", self.literal, c=4, n=200, s=30), 200)  # others go on
        late = json.loads(s.process.stdout.readline())
        self.assertEqual((late["ops"], late["first_error"]), (0, "CONNECT: status 502"))

    def test_dns_lying(self):
        dns = Dns("lying")
        s = Sandbox(self, dns=dns)
        r = s.load("get", self.target, n=1, s=60)
        self.assertEqual((r["ops"], r["first_error"]), (0, "CONNECT: status 502"))
        self.assertGreater(dns.asked, 0)

    def test_dns_slow(self):
        self.assert_well(Sandbox(self, dns=Dns("slow")).load("get", self.target, n=20, s=30), 20)

    # -- the machine misbehaves

    def test_disk_full(self):
        with open("/dev/full", "wb") as full:
            s = Sandbox(self, "--audit", "fd:%d" % full.fileno(), pass_fds=(full.fileno(),))
            self.assert_well(s.load("get", self.target, c=8, n=500, s=30), 500)
            self.assertEqual(s.said().count("lines are lost"), 1, s.said())

    def test_stopped_and_continued(self):
        s, both = Sandbox(self), Both(64 << 20)
        s.transfer(both)
        for _ in range(3):
            os.kill(s.process.pid, signal.SIGSTOP)
            time.sleep(0.3)
            os.kill(s.process.pid, signal.SIGCONT)
            time.sleep(0.05)
        self.assertEqual(s.verdict(), "whole")

    def test_killed_in_the_middle(self):
        s, both = Sandbox(self), Both(size(256, 1024) << 20)
        s.transfer(both)
        s.process.kill()
        begun = time.monotonic()
        self.assertNotIn("whole", s.process.stdout.read())  # its end: nobody inside holds it
        self.assertLess(time.monotonic() - begun, 5)

    def control(self, rate, seconds=0):
        with open(self.fault_file, "r+b") as f:
            f.write(struct.pack("<Ii", rate, seconds))

    def faulty(self):
        handle, self.fault_file = tempfile.mkstemp(dir="/var/tmp")
        self.addCleanup(os.unlink, self.fault_file)
        os.truncate(handle, 4096)
        os.close(handle)
        return Sandbox(self, "--audit", "audit.log", fault_file=self.fault_file)

    def test_every_call_fails_now_and_then(self):
        s = self.faulty()
        self.assert_well(s.load("get", self.target, c=4, n=100, s=30), 100)
        before = s.descriptors()
        seen = set()
        for rate in (400, 50, 10):
            for mode, target, more in (("get", self.target, {"b": 66}),
                                       ("get", self.literal, {"b": 3 << 20}),
                                       ("forward", self.target, {"b": 5000})):
                self.control(rate)
                r = s.load(mode, target, c=16, s=size(1, 20), T=20, **more)
                self.control(0)
                seen.add(r["first_error"])
                self.assertIsNone(s.process.poll(), s.said())
                # a whole body or an error: never a clean end before its time, never silence
                self.assertEqual(r["truncated"], 0, (rate, mode, r))
                self.assertNotIn("nothing for", r["first_error"], (rate, mode, r))
        self.assertGreater(len(seen - {""}), 0, "no fault was ever seen")
        self.assert_well(s.load("get", self.target, c=4, n=100, s=30), 100)
        most = before + 2 * PIPE_POOL_MAX
        s.settle(most)
        self.assertLessEqual(s.descriptors(), most)

    def test_clock_steps(self):
        s = self.faulty()
        for seconds in (0, 86400, -86400, 3600, 0):
            self.control(0, seconds)
            self.assert_well(s.load("get", self.target, c=8, n=300, s=30), 300)


if __name__ == "__main__":
    if not os.access(SBX, os.X_OK) or not os.access(BENCH + "/bench-load", os.X_OK):
        print("soak: SKIPPED: set SBX_NET and SBX_BENCH", file=sys.stderr)
        sys.exit(1 if os.environ.get("SBX_TESTS_MUST_RUN") else 77)
    unittest.main(verbosity=2)

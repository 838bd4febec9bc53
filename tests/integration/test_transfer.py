#!/usr/bin/python3
"""Every byte arrives once, in both directions, however a side ends; failures say what failed."""
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from origins import (AFTER_EOF, BIG, CLOSE, ECHO, EOF_FIRST, RESET, SINK, STALL, STREAM,  # noqa: E402
                     pattern)
from raw import Pieces, RawCase, connect, http, socks4a, socks5  # noqa: E402
from world import main  # noqa: E402

GOOD = ["-a", "good.example"]
TUNNELS = {"connect": connect, "socks5": socks5, "socks4a": socks4a}
BIG_SHA = hashlib.sha256(pattern(BIG)).hexdigest()
# a client for dialogues that rawclient.py cannot express: opens a tunnel and hands the socket over
TUNNEL = r"""
import hashlib, socket, struct, sys, time
def tunnel(host, port, bufsize=None):
    s = socket.socket()
    if bufsize:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, bufsize)
    s.settimeout(20)
    s.connect(('127.0.0.1', 3128))
    s.sendall(b'CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n' % (host, port, host, port))
    head = b''
    while not head.endswith(b'\r\n\r\n'):
        b = s.recv(1)
        assert b, head
        head += b
    assert head.split(b' ')[1] == b'200', head
    return s
def rest(s):
    out = b''
    while True:
        d = s.recv(1 << 18)
        if not d:
            return out
        out += d
"""


class Download(RawCase):
    def loop(self, n, args, parallel=1):
        curl = "curl -sS --max-time 30 --cacert %s %s" % (self.w.ca, args)
        script = ("seq %d | xargs -P%d -I@ sh -c '%s | sha256sum' | sort | uniq -c"
                  % (n, parallel, curl))
        o = self.w.oracle()
        done = self.w.sbx_run(GOOD, ["sh", "-c", script], timeout=300)
        self.assertEqual(done.stdout.split(), [str(n), BIG_SHA, "-"], done.stderr[-1000:])
        self.assertEqual(len(o.accepts()), n)

    def test_300_whole_over_connect_and_tls(self):
        self.loop(300, "https://good.example/big")

    def test_parallel(self):
        self.loop(100, "https://good.example/big", parallel=8)

    def test_plain_http(self):
        self.loop(100, "http://good.example/big", parallel=4)

    def test_plain_http_inside_connect(self):
        self.loop(100, "-p http://good.example/big", parallel=4)

    def test_socks(self):
        self.loop(50, "-x socks5h://127.0.0.1:3128 https://good.example/big", parallel=2)
        self.loop(50, "-x socks4a://127.0.0.1:3128 http://good.example/big", parallel=2)

    def test_nginx_http2(self):
        done = self.w.sbx_run(["-a", "www.example"], ["sh", "-c", "curl -sS --http2 --cacert %s "
                              "https://www.example/big.bin | sha256sum" % self.w.ca])
        self.assertEqual(done.stdout.split()[0], BIG_SHA, done.stderr)


class Upload(RawCase):
    SIZE = 64 << 20

    def test_64_mib(self):
        path = os.path.join(self.w.ws, "up.bin")
        digest = hashlib.sha256()
        with open(path, "wb") as f:
            for i in range(self.SIZE >> 20):
                block = hashlib.shake_128(b"%d" % i).digest(1 << 20)
                digest.update(block)
                f.write(block)
        want = {"sha256": digest.hexdigest(), "size": self.SIZE}
        for args in (["https://good.example/upload"], ["http://good.example/upload"],
                     ["-H", "Transfer-Encoding: chunked", "http://good.example/upload"],
                     ["-x", "socks5h://127.0.0.1:3128", "https://good.example/upload"]):
            with self.subTest(args[-1], n=len(args)):
                o = self.w.oracle()
                done = self.w.curl(GOOD, "-T", "up.bin", "--max-time", "60", *args, timeout=90)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout), want)
                bodies = o.records("body")
                self.assertEqual([(b["sha256"], b["size"]) for b in bodies],
                                 [(want["sha256"], self.SIZE)])
        os.unlink(path)

    def test_post_with_expect(self):
        path = os.path.join(self.w.ws, "post.bin")
        with open(path, "wb") as f:
            f.write(pattern(2 << 20))
        done = self.w.curl(GOOD, "-H", "Expect: 100-continue", "--data-binary", "@post.bin",
                           "http://good.example/upload")
        self.assertEqual(json.loads(done.stdout)["sha256"],
                         hashlib.sha256(pattern(2 << 20)).hexdigest())


class HalfClose(RawCase):
    def test_answer_after_client_half_close(self):
        sent = pattern(200000)
        answer = b"%d %s\n" % (len(sent), hashlib.sha256(sent).hexdigest().encode()) + pattern(BIG)
        for way, make in TUNNELS.items():
            with self.subTest(way):
                p = make("good.example", AFTER_EOF)
                p.append(sent)
                r = self.raw(GOOD, {"x": p}, shut=True, limit=4 << 20, timeout=60)["x"]
                self.assertEqual(r["end"], "eof")
                self.assertTrue(r["recv"].endswith(answer), len(r["recv"]))

    def test_half_closed_before_the_server_is_connected(self):
        """By a client that knows of no proxy, and has nothing to say; a client that is gone ends."""
        script = r"""
import socket, sys, time
for target in sys.argv[1:]:
    host, port = target.rsplit(':', 1)
    s = socket.create_connection((host, int(port)), timeout=20)
    s.shutdown(socket.SHUT_WR)
    n = 0
    while data := s.recv(1 << 18):
        n += len(data)
    print(n)
    socket.create_connection((host, int(port))).close()
time.sleep(1)
"""
        targets = ("good.example:%d" % AFTER_EOF, "dual.example:%d" % AFTER_EOF, "127.0.0.1:7777",
                   "dual.example:%d" % EOF_FIRST)
        whole = len("0 %s\n" % hashlib.sha256().hexdigest()) + BIG
        o = self.w.oracle()
        done = self.w.sbx_run([*GOOD, "-a", "dual.example", "--forward",
                               "7777=dual.example:%d" % AFTER_EOF],
                              ["/usr/bin/python3", "-c", script, *targets])
        self.assertEqual(done.stdout.split(), [str(whole)] * 3 + ["4"], done.stderr)
        self.assertEqual(len(self.eventually(o, "closed", 8)), 8)

    def test_answer_after_half_close_of_a_plain_request(self):
        r = self.raw(GOOD, {"x": http("good.example", 80, path=b"/big")}, shut=True,
                     limit=4 << 20)["x"]
        self.assertEqual(r["end"], "eof")
        body = r["recv"].partition(b"\r\n\r\n")[2]
        self.assertEqual(len(body), BIG)

    def test_client_sends_after_server_half_close(self):
        script = TUNNEL + r"""
s = tunnel(b'good.example', %d)
assert rest(s) == b'bye\n'
s.sendall(b'x' * 1000000)
s.shutdown(socket.SHUT_WR)
time.sleep(0.2)
print('done')
""" % EOF_FIRST
        o = self.w.oracle()
        done = self.w.sbx_run(GOOD, ["/usr/bin/python3", "-c", script])
        self.assertEqual(done.stdout, "done\n", done.stderr)
        self.assertEqual(self.eventually(o, "eof")[0]["size"], 1000000)

    def test_half_closed_both_ways_ends(self):
        script = TUNNEL + r"""
for _ in range(200):
    s = tunnel(b'good.example', %d)
    s.shutdown(socket.SHUT_WR)
    assert rest(s) == b'bye\n'
    s.close()
print('done')
""" % EOF_FIRST
        o = self.w.oracle()
        done = self.w.sbx_run(GOOD, ["/usr/bin/python3", "-c", script])
        self.assertEqual(done.stdout, "done\n", done.stderr)
        self.assertEqual(len(self.eventually(o, "closed", 200)), 200)

    def eventually(self, oracle, ev, n=1):
        end = time.monotonic() + 10
        while True:
            got = oracle.records(ev)
            if len(got) >= n or time.monotonic() > end:
                self.assertGreaterEqual(len(got), n)
                return got
            time.sleep(0.05)

    def test_server_reset_is_not_a_clean_end(self):
        for way, make in TUNNELS.items():
            with self.subTest(way):
                p = make("good.example", RESET)
                p.append(b"x")
                r = self.raw(GOOD, {"x": p})["x"]
                self.assertEqual(r["end"], "reset")

    def test_server_closes_at_once(self):
        for way, make in TUNNELS.items():
            with self.subTest(way):
                r = self.raw(GOOD, {"x": make("good.example", CLOSE)})["x"]
                self.assertIn(r["end"], ("eof", "reset"))
                self.assertLess(r["seconds"], 5)

    def test_client_reset_closes_the_server_side(self):
        o = self.w.oracle()
        p = connect("good.example", ECHO)
        self.raw(GOOD, {str(i): p for i in range(20)}, rst=True)
        self.eventually(o, "closed", 20)


class AtTheEnd(RawCase):
    """What the command has sent right before its end is delivered, as the kernel does without us."""
    SEND = TUNNEL + r"""
import os
s = {'connect': lambda: tunnel(b'good.example', int(sys.argv[3])),
     'capture': lambda: socket.create_connection(('good.example', int(sys.argv[3])))}[sys.argv[1]]()
s.sendall(b'x' * int(sys.argv[2]))
os._exit(3)
"""

    def send(self, port, way, n, **kw):
        began = time.monotonic()
        done = self.w.sbx_run(GOOD, ["/usr/bin/python3", "-c", self.SEND, way, str(n), str(port)], **kw)
        self.assertEqual(done.returncode, 3, done.stderr)
        return done.stderr, time.monotonic() - began

    def arrives(self, o, n, size):
        end = time.monotonic() + 20
        while len(o.records("eof")) < n and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual([r["size"] for r in o.records("eof")], [size] * n)

    def test_a_slow_server_gets_all(self):
        o = self.w.oracle()
        for way in ("connect", "capture"):
            said, _ = self.send(STALL, way, 9000000)  # more than the sockets on the way hold
            self.assertNotIn("cut", said)
        self.arrives(o, 2, 9000000)

    def test_nothing_is_waited_for_where_the_kernel_has_it_all(self):
        o = self.w.oracle()
        for way in ("connect", "capture"):
            took = min(self.send(STALL, way, 1000)[1] for _ in range(3))
            self.assertLess(took, 1.5)  # STALL does not read for three seconds
        self.arrives(o, 6, 1000)

    def test_what_is_cut_is_told(self):
        """A server that takes nothing holds a run for a while, and not after a signal."""
        server = self.w.popen(["/usr/bin/python3", "-c", """
import socket, time
s = socket.create_server(("51.15.10.1", 9009))
print(flush=True)
time.sleep(60)"""], ns=self.w.internet, uid=0, cwd="/", stdout=subprocess.PIPE, pdeath=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        server.stdout.readline()
        many = r"""
import os, socket, sys
s = socket.create_connection(('good.example', 9009))
s.setblocking(False)
try:
    while True:
        s.send(b'x' * 65536)
except BlockingIOError:
    print('full', flush=True)
"""
        began = time.monotonic()
        done = self.w.sbx_run(GOOD, ["/usr/bin/python3", "-c", many])
        self.assertEqual((done.returncode, done.stdout), (0, "full\n"), done.stderr)
        self.assertIn("1 connection was cut at the end of the run", done.stderr)
        self.assertGreater(time.monotonic() - began, 5)
        proc = self.w.popen(self.w.sbx_argv(GOOD, ["/usr/bin/python3", "-c", many]),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(proc.stdout.readline(), b"full\n")
        time.sleep(1)
        began = time.monotonic()
        proc.send_signal(signal.SIGINT)
        self.assertIn(b"1 connection was cut", proc.communicate(timeout=20)[1])
        self.assertEqual(proc.returncode, 0)
        self.assertLess(time.monotonic() - began, 2)


class EarlyData(RawCase):
    def test_once(self):  # Q-055, S-002
        data = pattern(30000)
        want = b"%d %s\n" % (len(data), hashlib.sha256(data).hexdigest().encode())
        for way, make in TUNNELS.items():
            with self.subTest(way):
                o = self.w.oracle()
                r = self.raw(GOOD, {"x": make("good.example", AFTER_EOF, early=data)}, shut=True,
                             limit=4 << 20)["x"]
                self.assertIn(want, r["recv"][:200])
                self.assertEqual(len(o.accepts()), 1)

    def test_all_coalesced_socks5(self):  # S-002, S-009
        hello = b"\5\1\0" + socks5("good.example", AFTER_EOF)[1]
        for mode in ("whole", "bytes"):
            with self.subTest(mode):
                r = self.raw(GOOD, {"x": Pieces([hello + b"early"])}, mode=mode, shut=True,
                             limit=4 << 20)["x"]
                self.assertEqual(r["recv"][:3], b"\5\0\5")
                self.assertIn(b"5 " + hashlib.sha256(b"early").hexdigest().encode(), r["recv"])

    def test_more_than_the_buffer(self):
        data = pattern(4 << 20)
        want = b"%d %s\n" % (len(data), hashlib.sha256(data).hexdigest().encode())
        r = self.raw(GOOD, {"x": connect("good.example", AFTER_EOF, early=data)}, shut=True,
                     limit=8 << 20, timeout=60)["x"]
        self.assertIn(want, r["recv"][:200])

    def test_dropped_when_refused(self):
        o = self.w.oracle()
        r = self.raw(GOOD, {"x": connect("evil.example", 443, early=pattern(3000))})["x"]
        self.assertDenied(r, {"not-listed"})
        self.assertQuiet(o)


class Streams(RawCase):
    def test_back_pressure(self):  # R-002; R-022 where a sanitizer looks on
        script = TUNNEL + r"""
s = tunnel(b'good.example', %d, 65536)
print('open', flush=True)
sys.stdin.readline()
n = len(s.recv(1000))
s.close()
print('closed', n)
""" % STREAM
        o = self.w.oracle()
        proc = self.w.popen(self.w.sbx_argv(GOOD, ["/usr/bin/python3", "-c", script]),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.assertEqual(proc.stdout.readline(), b"open\n")
            time.sleep(2)
            with open("/proc/%d/statm" % proc.pid, encoding="ascii") as f:
                rss = int(f.read().split()[1]) * 4096
            out, err = proc.communicate(b"\n", timeout=30)
            self.assertEqual(out, b"closed 1000\n", err)
        finally:
            proc.kill()
            proc.wait()
        if "asan" not in os.path.realpath(self.w.product):
            self.assertLess(rss, 64 << 20)
        end = time.monotonic() + 5
        while not o.records("stream") and time.monotonic() < end:
            time.sleep(0.05)
        self.assertLess(o.records("stream")[0]["sent"], 64 << 20)

    def test_sse_comes_as_it_is_sent(self):
        script = r"""
import time, urllib.request
f = urllib.request.urlopen('http://good.example/sse', timeout=20)
t = []
for line in f:
    if line.startswith(b'data:'):
        t.append(time.monotonic())
print(len(t), t[-1] - t[0] > 0.5)
"""
        done = self.w.sbx_run(GOOD, ["/usr/bin/python3", "-c", script])
        self.assertEqual(done.stdout, "5 True\n", done.stderr)

    def test_interim_responses_pass(self):
        done = self.w.curl(GOOD, "-i", "http://good.example/1xx")
        self.assertIn("HTTP/1.1 103", done.stdout)
        self.assertIn("rel=preload", done.stdout)
        self.assertTrue(done.stdout.endswith("final\n"))

    def websocket(self, head, waits, before=()):
        frame = b"\x81\x85\1\2\3\4" + bytes(b ^ (1, 2, 3, 4)[i & 3] for i, b in enumerate(b"hello"))
        close = b"\x88\x80\0\0\0\0"
        return Pieces(list(before) + [head, frame, close], waits, timeout=10)

    WS = (b"Host: good.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")

    def test_websocket(self):
        plain = self.websocket(b"GET http://good.example/ws HTTP/1.1\r\n" + self.WS, [100])
        inside = self.websocket(b"GET /ws HTTP/1.1\r\n" + self.WS, [1, 100],
                                connect("good.example", 80))
        for name, p in (("absolute-form", plain), ("connect", inside)):
            with self.subTest(name):
                o = self.w.oracle()
                r = self.raw(GOOD, {"x": p})["x"]
                self.assertIn(b"HTTP/1.1 101", r["recv"])
                self.assertIn(b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", r["recv"])
                self.assertIn(b"\x81\5hello", r["recv"])
                self.assertEqual(len(o.records("ws")), 2)

    def test_websocket_refused(self):
        o = self.w.oracle()
        p = self.websocket(b"GET http://evil.example/ws HTTP/1.1\r\n" +
                           self.WS.replace(b"good", b"evil"), [100])
        self.assertDenied(self.raw(GOOD, {"x": p})["x"], {"not-listed"})
        self.assertQuiet(o)

    def test_no_upgrade_then_second_request_is_judged(self):
        p = Pieces([b"GET http://good.example/refuse-ws HTTP/1.1\r\n" + self.WS,
                    b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"], [50])
        o = self.w.oracle()
        r = self.raw(GOOD, {"x": p})["x"]
        self.assertIn(b"no upgrade here", r["recv"])
        self.assertNotIn(b"hello from", r["recv"])
        self.assertEqual([x["target"] for x in o.requests()], ["/refuse-ws"])


class DeadTargets(RawCase):
    def test_reasons(self):  # S-032
        names = ["good.example", "gone.example", "dead.example", "nosuch.example",
                 "fail-t.odd.example", "silent-t.odd.example"]
        allow = [x for n in names for x in ("-a", n)]
        want = {  # (host, port): (http, codes, socks5)
            ("good.example", 9): ({502}, {"connect-failed"}, {5}),
            ("gone.example", 80): ({502}, {"connect-failed"}, {3, 4}),
            ("dead.example", 80): ({504}, {"connect-timeout"}, {4, 6}),
            ("nosuch.example", 80): ({502}, {"dns-failed"}, {4}),
            ("fail-t.odd.example", 80): ({502, 504}, {"dns-failed"}, {4}),
            ("silent-t.odd.example", 80): ({502, 504}, {"dns-failed"}, {4}),
        }
        ways = {"connect": connect, "http": http, "socks5": socks5, "socks4a": socks4a}
        cases = {"%s %s:%d" % (w, h, p): make(h, p, timeout=40) for h, p in want
                 for w, make in ways.items()}
        o = self.w.oracle()
        results, stderr = self.raw(allow, cases, stderr=True)
        for (host, port), (status, codes, reps) in want.items():
            for way in ways:
                with self.subTest(way, host=host):
                    r = results["%s %s:%d" % (way, host, port)]
                    kind = self.kind(r)
                    self.assertIn(r["end"], ("eof", "reset"))
                    if kind[0] == "http":
                        self.assertIn(kind[1], status, r)
                        self.assertIn(kind[2], codes, r)
                        self.assertIn(host.encode(), r["recv"].partition(b"\r\n\r\n")[2])
                    elif kind[0] == "socks5":
                        self.assertIn(kind[1], reps, r)
                    else:
                        self.assertEqual(kind, ("socks4", 91), r)
        self.assertEqual(o.accepts(), [])

    def test_sink_twin(self):
        o = self.w.oracle()
        p = connect("good.example", SINK)
        p.append(b"abc")
        self.raw(GOOD, {"x": p}, shut=True)
        self.assertEqual(len(o.accepts()), 1)


def setUpModule():
    from world import setup_world
    setup_world(with_nginx=True)


if __name__ == "__main__":
    main()

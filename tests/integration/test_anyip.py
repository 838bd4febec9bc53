#!/usr/bin/python3
"""Attempts to turn the namespace in which every address is local against the host or the policy.

Each attempt runs inside; the oracles are the accept logs of the internet and of the host's own
canaries, and the query log of the DNS server.
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import GATE4, HOST4, HOST6, WorldCase, main, v4, v6  # noqa: E402

# Commands as JSON on stdin, results as JSON on stdout; no proxy variables are used.
PROBE = r"""
import errno, json, socket, struct, sys, threading, time

def name_of(e):
    return errno.errorcode.get(e.errno, type(e).__name__) if getattr(e, "errno", 0) else \
        type(e).__name__

def family(addr):
    return socket.AF_INET6 if ":" in addr else socket.AF_INET

def fetch(host, port, source=None, reuse=False):
    # what came back, or the error; and how long that took
    start = time.monotonic()
    try:
        with socket.socket(family(host)) as s:
            s.settimeout(10)
            if reuse:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if source:
                s.bind(tuple(source))
            s.connect((host, port))
            s.sendall(b"GET / HTTP/1.0\r\nHost: probe.example\r\n\r\n")
            out = b""
            while True:
                d = s.recv(65536)
                if not d:
                    break
                out += d
            said = out.partition(b"\r\n\r\n")[2].decode("latin1") or "empty"
    except OSError as e:
        said = name_of(e)
    return [said, time.monotonic() - start]

def resolve(name):
    try:
        return socket.gethostbyname(name)
    except OSError:
        return None

def timed_resolve(name):
    start = time.monotonic()
    return [resolve(name), time.monotonic() - start]

def query(name, ident, qtype=1):
    return struct.pack(">HHHHHH", ident, 0x100, 1, 0, 0, 0) + b"".join(
        bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0" + struct.pack(
        ">HH", qtype, 1)

def ask(name, source=None, server="9.9.9.9", qtype=1):
    # code, address, whether the answer came from where it was asked
    with socket.socket(family(server), socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        try:
            if source:
                s.bind(tuple(source))
            for attempt in range(10):  # as every resolver does
                s.sendto(query(name, 7, qtype), (server, 53))
                try:
                    a, peer = s.recvfrom(2048)
                    break
                except TimeoutError:
                    if attempt == 9:
                        raise
        except OSError as e:
            return name_of(e)
    rcode, n = a[3] & 15, struct.unpack(">H", a[6:8])[0]
    return [rcode, socket.inet_ntoa(a[-4:]) if n and qtype == 1 else None, peer[0] == server]

def bind_tcp(addr, port, options=()):
    s = socket.socket(family(addr))
    try:
        for o in options:
            s.setsockopt(socket.SOL_SOCKET, getattr(socket, o), 1)
        s.bind((addr, port))
        s.listen(16)
    except OSError as e:
        s.close()
        return name_of(e)
    threading.Thread(target=own, args=(s,), daemon=True).start()
    return "bound"

def own(s):
    while True:
        try:
            c, _ = s.accept()
            c.recv(1000)
            c.sendall(b"HTTP/1.0 200 OK\r\n\r\nown")
            c.close()
        except OSError:
            return

def bind_udp(addr, port):
    with socket.socket(family(addr), socket.SOCK_DGRAM) as s:
        try:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            s.bind((addr, port))
        except OSError as e:
            return name_of(e)
    return "bound"

def race(port, host, n):
    # listeners on that port come and go on every kind of address while it is dialled
    stop = threading.Event()
    def churn(addr):
        while not stop.is_set():
            s = socket.socket(family(addr))
            try:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
                s.bind((addr, port))
                s.listen(16)
                s.settimeout(0.001)
                try:
                    c = s.accept()[0]
                    c.sendall(b"HTTP/1.0 200 OK\r\n\r\nown")
                    c.close()
                except OSError:
                    pass
            except OSError:
                pass
            s.close()
    threads = [threading.Thread(target=churn, args=(a,)) for a in
               ("0.0.0.0", "::", "127.0.0.1", host)]
    for t in threads:
        t.start()
    got = [fetch(host, port)[0] for _ in range(n)]
    stop.set()
    for t in threads:
        t.join()
    return {x: got.count(x) for x in set(got)}

def udp(addr, port):
    start = time.monotonic()
    with socket.socket(family(addr), socket.SOCK_DGRAM) as s:
        s.settimeout(10)
        try:
            s.connect((addr, port))
            s.send(b"\xc0\0\0\0\1" + b"x" * 1195)
            s.recv(100)
            said = "answer"
        except OSError as e:
            said = name_of(e)
    return [said, time.monotonic() - start]

def raw(kind, proto, fam=socket.AF_INET):
    start = time.monotonic()
    try:
        with socket.socket(fam, kind, proto) as s:
            s.settimeout(5)
            s.sendto(b"\x08\0\xf7\xff\0\0\0\0", ("8.8.8.8", 0))
            s.recv(100)
            said = "answer"
    except OSError as e:
        said = name_of(e)
    return [said, time.monotonic() - start]

def flood(n, names, sockets=8):
    # as fast as it goes, answers unread
    ss = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(sockets)]
    for s in ss:
        s.connect(("8.8.4.4", 53))
        s.setblocking(False)
    sent = 0
    for i in range(n):
        try:
            ss[i % sockets].send(query(names % i, i & 0xffff))
            sent += 1
        except OSError:
            pass
    for s in ss:
        s.close()
    return sent

def names(first, last, form):
    # every name asked, 64 at a time; [name, address] of a few, how many addresses there were
    seen, sample, failed = {}, {}, 0
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    s.settimeout(10)
    s.connect(("8.8.4.4", 53))
    for base in range(first, last, 64):
        some = range(base, min(base + 64, last))
        for i in some:
            s.send(query(form % i, i & 0xffff))
        for _ in some:
            a = s.recv(2048)
            if a[3] & 15 or not a[7]:
                failed += 1
                continue
            i = base + ((struct.unpack(">H", a[:2])[0] - base) & 0xffff)
            seen.setdefault(socket.inet_ntoa(a[-4:]), i)
            if i in (first, first + 1, last - 1):
                sample[form % i] = socket.inet_ntoa(a[-4:])
    return [len(seen), failed, sample]

held = []
def hold(addr, port, n):
    # connections that say half a question and nothing more
    for i in range(n):
        s = socket.socket(family(addr))
        s.settimeout(5)
        try:
            s.connect((addr, port))
            s.sendall(b"\0\x20half")
        except OSError:
            s.close()
            continue
        held.append(s)
    return len(held)

def wait(path):
    import os
    open(path, "w").close()
    while os.path.exists(path):
        time.sleep(0.02)

calls = {f.__name__: f for f in (fetch, resolve, timed_resolve, ask, bind_tcp, bind_udp, race, udp, raw, flood,
                                 names, wait, hold)}
out = []
for name, args in json.load(sys.stdin):
    out.append(calls[name](*[out[a["of"]] if isinstance(a, dict) else a for a in args]))
json.dump(out, sys.stdout)
"""

GOOD = ["-a", "good.example", "-q"]


def of(i):
    """The result of an earlier call as an argument."""
    return {"of": i}


class AnyIP(WorldCase):
    def probe(self, options, *calls, **kw):
        env = {k: v for k, v in self.w.env(kw.get("uid")).items()}
        done = self.w.sbx_run(options, ["/usr/bin/python3", "-c", PROBE],
                              input=json.dumps([[c[0], list(c[1:])] for c in calls]), env=env,
                              timeout=120, **kw)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def assertHostUntouched(self, o):
        self.assertEqual([r for r in o.records("accept") if r["laddr"] in
                          ("127.0.0.1", "::1", HOST4, HOST6) or
                          r["laddr"].startswith("127.")], [])

    # ---- sources

    def test_spoofed_sources_gain_nothing(self):
        """Any address can be bound inside; what is seen outside is the host's, and only if allowed."""
        sources = ["8.8.8.8", HOST4, v4(1), "10.1.2.3", "127.0.0.1", "198.18.0.9"]
        o = self.w.oracle()
        got = self.probe(GOOD, ("resolve", "good.example"),
                         *[("fetch", of(0), 80, [s, 0]) for s in sources],
                         *[("fetch", v4(66), 80, [s, 0]) for s in sources],
                         ("fetch", v6(0x66), 80, [HOST6, 0]),
                         ("ask", "good.example", ["8.8.8.8", 0]),
                         ("ask", "evil.example", [GATE4, 0]),
                         ("ask", "evil.example", [HOST4, 53000]))
        fetched, refused = got[1:7], got[7:14]
        for said, _ in fetched:
            self.assertEqual(said, "hello from net probe.example\n")
        for said, _ in refused:
            self.assertIn(said, ("ECONNRESET", "EPIPE", "empty", "EINVAL", "ECONNREFUSED",
                                 "EADDRNOTAVAIL"))  # IPv6 binds what an interface has
        self.assertEqual([x[0] for x in got[14:]], [0, 3, 3])
        outside = [r for r in o.records("accept") if r["laddr"] != "127.0.0.1"]
        self.assertEqual({r["paddr"] for r in outside} - {HOST4, HOST6}, set())
        self.assertLessEqual({r["laddr"] for r in outside}, {v4(1), v6(1)})
        self.assertLessEqual({x for _, x in o.queries()}, {"good.example"})

    # ---- this machine by other spellings

    def test_spellings_of_loopback(self):
        """Nothing that means this machine leads to the host's loopback, with everything allowed."""
        spellings = ["127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "0.0.0.0", "::1",
                     "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "::127.0.0.1", "0.1.2.3",
                     "64:ff9b::7f00:1", "2002:7f00:1::1", "fe80::1", "169.254.169.254", HOST4,
                     HOST6, "::ffff:" + HOST4, "fec0::1", "10.1.2.3"]
        o = self.w.oracle()
        got = self.probe(["-a", "*", "-q"], *[("fetch", s, p) for s in spellings
                                              for p in (80, 3000, 22, 7999)])
        for said, _ in got:
            self.assertNotIn("hello", said)
        self.assertHostUntouched(o)
        self.assertEqual(o.accepts(), [])
        # the twin: the same everything reaches the internet, and the canaries do listen
        got = self.probe(["-a", "*", "-q"], ("fetch", v4(1), 80))
        self.assertIn("hello", got[0][0])
        before = len(o.accepts())
        self.w.connect("127.0.0.1", 80, ns=self.w.host).close()
        end = time.monotonic() + 10
        while len(o.accepts()) == before and time.monotonic() < end:
            time.sleep(0.05)  # its record must not fall into the next test
        self.assertIn(("127.0.0.1", 80), o.accepts())

    def test_own_loopback_servers_stay_own(self):
        o = self.w.oracle()
        got = self.probe(["-a", "*", "-q"], ("bind_tcp", "127.0.0.1", 8080),
                         ("bind_tcp", "127.0.0.2", 8080), ("bind_tcp", "::1", 8080),
                         *[("fetch", a, 8080) for a in ("127.0.0.1", "127.0.0.2", "::1")])
        self.assertEqual([x if isinstance(x, str) else x[0] for x in got],
                         ["bound"] * 3 + ["own"] * 3)
        self.assertEqual(o.accepts(), [])

    # ---- our listeners

    def test_ports_of_ours_cannot_be_taken(self):
        tries = [(a, p, o) for p in (3128, 3129) for a in ("127.0.0.1", "0.0.0.0", "::1", "::")
                 for o in ([], ["SO_REUSEADDR"], ["SO_REUSEPORT"], ["SO_REUSEADDR", "SO_REUSEPORT"])]
        got = self.probe(GOOD, *[("bind_tcp", *t) for t in tries],
                         ("bind_tcp", "8.8.8.8", 3129, ["SO_REUSEPORT"]),
                         ("bind_udp", "0.0.0.0", 53), ("bind_udp", "127.0.0.1", 53),
                         ("bind_tcp", "0.0.0.0", 53), ("bind_udp", "::", 53),
                         ("resolve", "good.example"), ("fetch", of(-1), 80),
                         ("fetch", "127.0.0.1", 3128))
        for t, said in zip(tries, got):
            self.assertEqual(said, "EADDRINUSE", t)
        for said in got[len(tries):len(tries) + 5]:
            self.assertIn(said, ("EADDRINUSE", "EACCES", "EPERM"))
        self.assertIn("hello", got[-2][0])
        self.assertNotEqual(got[-1][0], "own")

    def test_the_capturing_port_dialled_directly(self):
        o = self.w.oracle()
        got = self.probe(["-a", "*", "-q"], *[("fetch", a, 3129) for a in (
            "127.0.0.1", "127.0.0.2", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1")],
            ("fetch", "127.0.0.1", 3129), ("fetch", v4(1), 80))
        for said, _ in got[:-1]:
            self.assertIn(said, ("ECONNRESET", "ECONNREFUSED", "EPIPE", "EADDRNOTAVAIL"))
        self.assertIn("hello", got[-1][0])
        self.assertHostUntouched(o)

    def test_listeners_of_the_command_on_captured_ports(self):
        """Whoever listens inside, what is dialled outside is what the policy says, and no other."""
        o = self.w.oracle()
        got = self.probe(GOOD, *[("bind_tcp", a, 8080, ["SO_REUSEADDR", "SO_REUSEPORT"])
                                 for a in ("0.0.0.0", v4(66), v4(1))],
                         ("resolve", "good.example"), ("fetch", of(3), 8080),
                         ("fetch", v4(66), 8080), ("fetch", "127.0.0.1", 8080))
        self.assertIn("hello", got[4][0])
        self.assertIn(got[5][0], ("own", "ECONNRESET"))
        self.assertEqual(got[6][0], "own")
        self.assertLessEqual({a for a, _ in o.accepts()}, {v4(1), v6(1)})

    def test_races_on_a_captured_port(self):
        o = self.w.oracle()
        got = self.probe(GOOD, ("resolve", "good.example"), ("race", 8080, of(0), 100),
                         ("race", 8080, v4(66), 100))
        self.assertEqual(got[1], {"hello from net probe.example\n": 100})
        self.assertEqual({k for k in got[2] if "hello" in k}, set())
        self.assertLessEqual({a for a, _ in o.accepts()}, {v4(1), v6(1)})
        self.assertLessEqual({x for _, x in o.queries()}, {"good.example"})

    # ---- what is not TCP

    def test_udp_quic_and_icmp_fail_at_once(self):
        o = self.w.oracle()
        kinds = [("udp", "8.8.8.8", 443), ("udp", v4(1), 443), ("udp", "2001:4860:4860::8888", 443),
                 ("udp", v4(1), 123), ("raw", 2, 1), ("raw", 3, 1), ("raw", 3, 255),
                 ("raw", 2, 58, 10), ("raw", 3, 0x300, 17)]
        got = self.probe(GOOD, ("resolve", "good.example"), ("udp", of(0), 443), *kinds)
        for call, (said, seconds) in zip([("udp", "good.example", 443), *kinds], got[1:]):
            self.assertNotIn(said, ("answer", "TimeoutError"), call)
            print("%-28s %-14s %5.1f ms" % (" ".join(map(str, call)), said, seconds * 1000))
        self.assertEqual([x for x in o.queries() if x[1] != "good.example"], [])

    def test_refusals_are_quick(self):
        """Less than 50 ms, by each way; the best of three, since the machine may be busy."""
        targets = [("fetch", a, p) for a in (v4(66), v6(0x66), "198.18.5.5")
                   for p in (80, 443, 5432, 31337)]
        targets += [("timed_resolve", n) for n in ("evil.example", "a.b.evil.test", "evil")]
        o = self.w.oracle()
        got = self.probe(GOOD, *targets * 3)
        for i, target in enumerate(targets):
            tries = got[i::len(targets)]
            for said, _ in tries:
                self.assertIn(said, ("ECONNRESET", "ECONNREFUSED", "EPIPE", None), target)
            self.assertLess(min(s for _, s in tries), 0.05, target)
        times = sorted(s for _, s in got)
        print("%d refusals: median %.2f ms, slowest %.1f ms" % (
            len(got), times[len(times) // 2] * 1000, times[-1] * 1000))
        self.assertQuiet(o)

    # ---- names

    def test_dns_flood(self):
        """Names that are refused, allowed and malformed, faster than they are answered."""
        o = self.w.oracle()
        start = time.monotonic()
        got = self.probe([*GOOD, "-a", "*.wild.example"],
                         ("flood", 30000, "x%d.evil.example"), ("ask", "good.example"),
                         ("flood", 30000, "x%d.wild.example"), ("ask", "good.example"),
                         ("flood", 5000, "x%d" + ".a" * 120), ("ask", "good.example"),
                         ("ask", "evil.example"), ("resolve", "good.example"),
                         ("fetch", of(7), 80))
        print("floods of 65000 questions: %.1f s" % (time.monotonic() - start))
        for i in (1, 3, 5):
            self.assertEqual(got[i][0], 0)
            self.assertEqual(got[i][1], got[7])
        self.assertEqual(got[6][0], 3)
        self.assertIn("hello", got[8][0])
        self.assertLessEqual({x for _, x in o.queries()}, {"good.example"})

    def rss(self, marker):
        """Resident kB of the supervisor."""
        worst = 0
        for pid, line in self.w.processes().items():
            if marker not in line or " run " not in line:
                continue
            with open("/proc/%d/status" % pid, encoding="utf-8") as f:
                for x in f:
                    if x.startswith("VmRSS:"):
                        worst = max(worst, int(x.split()[1]))
        return worst

    def test_a_hundred_thousand_names(self):
        """Each its own address, for good; memory stays bounded; beyond the block: no address."""
        marks = [os.path.join(self.w.ws, "mark%d" % i) for i in range(3)]
        n, all_of_them = 100000, 131070
        calls = [("ask", "good.example"), ("wait", marks[0]), ("names", 0, n, "n%d.wild.example"),
                 ("wait", marks[1]), ("names", 0, n, "n%d.wild.example"),
                 ("names", n, all_of_them + 930, "n%d.wild.example"), ("wait", marks[2]),
                 ("ask", "good.example"), ("ask", "n0.wild.example"),
                 ("ask", "one-more.wild.example"), ("resolve", "good.example"),
                 ("fetch", of(10), 80)]
        o = self.w.oracle()
        proc = self.w.popen(self.w.sbx_argv([*GOOD, "-a", "*.wild.example"],
                                            ["/usr/bin/python3", "-c", PROBE]),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
        proc.stdin.write(json.dumps([[c[0], list(c[1:])] for c in calls]).encode())
        proc.stdin.close()
        rss = []
        for mark in marks:
            end = time.monotonic() + 120
            while not os.path.exists(mark) and time.monotonic() < end:
                time.sleep(0.02)
            rss.append(self.rss("wild.example"))
            os.unlink(mark)
        got = json.loads(proc.stdout.read())
        proc.stdout.close()
        self.assertEqual(proc.wait(20), 0)
        print("supervisor: %d kB, with %d names %d kB, with all %d kB" % (rss[0], n, rss[1], rss[2]))
        self.assertEqual(got[2][:2], [n, 0])
        self.assertEqual(got[4], got[2])  # asked again: the same
        # good.example has one address of the block as well
        self.assertEqual(got[5][:2], [all_of_them - n - 1, 930 + 1])
        self.assertEqual(got[7], got[0])
        self.assertEqual(got[8][1], got[2][2]["n0.wild.example"])
        self.assertNotEqual(got[9][0], 0)
        self.assertIn("hello", got[11][0])
        if not any("sanitize" in x for x in os.environ):
            self.assertLess(rss[2] - rss[0], 64 * 1024)
        self.assertLessEqual({x for _, x in o.queries()}, {"good.example"})

    def test_addresses_of_another_run_stand_for_nothing(self):
        first = self.probe(GOOD, *[("ask", "good.example")] * 2)
        o = self.w.oracle()
        got = self.probe(GOOD, ("fetch", first[0][1], 80), ("fetch", "198.18.0.0", 80),
                         ("fetch", "198.19.255.255", 80), ("fetch", "::ffff:198.18.0.1", 80))
        for said, _ in got:
            self.assertIn(said, ("ECONNRESET", "EPIPE"))
        self.assertQuiet(o)

    def test_two_runs_side_by_side(self):
        """Each has its own loopback, names and list, while the other runs."""
        mark = [os.path.join(self.w.ws, "side%d" % i) for i in range(2)]
        hosts = ("good.example", "v4only.example")
        o = self.w.oracle()
        procs = []
        for i in range(2):
            mine, other = hosts[i], hosts[1 - i]
            calls = [("bind_tcp", "127.0.0.1", 8080 + i), ("bind_tcp", "0.0.0.0", 8090 + i),
                     ("ask", mine), ("wait", mark[i]),
                     ("fetch", "127.0.0.1", 8080 + i), ("fetch", "127.0.0.1", 8081 - i),
                     ("fetch", "127.0.0.1", 8091 - i), ("fetch", HOST4, 8091 - i),
                     ("resolve", mine), ("fetch", of(8), 80), ("ask", other), ("fetch", v4(3), 80)]
            proc = self.w.popen(self.w.sbx_argv(["-q", "-a", mine],
                                                ["/usr/bin/python3", "-c", PROBE]),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            proc.stdin.write(json.dumps([[c[0], list(c[1:])] for c in calls]).encode())
            proc.stdin.close()
            procs.append(proc)
        end = time.monotonic() + 30
        while not all(map(os.path.exists, mark)) and time.monotonic() < end:
            time.sleep(0.02)
        for m in mark:  # both stand now
            os.unlink(m)
        for proc in procs:
            got = json.loads(proc.stdout.read())
            proc.stdout.close()
            self.assertEqual(proc.wait(20), 0)
            self.assertEqual(got[:2] + [got[4][0]], ["bound", "bound", "own"])
            for said, _ in got[5:8] + got[11:]:
                self.assertIn(said, ("ECONNREFUSED", "ECONNRESET", "EPIPE"))
            self.assertEqual(got[2][1], got[8])  # perhaps the same number in both runs
            self.assertIn("hello from net", got[9][0])
            self.assertEqual(got[10][0], 3)
        self.assertLessEqual({a for a, _ in o.accepts()}, {v4(1), v6(1), v4(3)})
        self.assertEqual({x for _, x in o.queries()}, set(hosts))

    def test_dns_over_tcp_held_open(self):
        """More connections to the name server than it keeps, mute or slow; others are answered."""
        o = self.w.oracle()
        got = self.probe([*GOOD], ("hold", "8.8.4.4", 53, 200), ("ask", "good.example"),
                         ("resolve", "good.example"), ("fetch", of(2), 80))
        self.assertGreater(got[0], 64)
        self.assertEqual(got[1][0], 0)
        self.assertIn("hello", got[3][0])
        self.assertLessEqual({x for _, x in o.queries()}, {"good.example"})

    # ---- first calls

    def test_first_calls_200_of_200(self):
        script = ('exec 3<>/dev/tcp/good.example/80 && '
                  'printf "GET / HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n" >&3 && read -r line <&3 && '
                  'echo "$line"')
        failed = []
        for i in range(200):
            done = self.w.sbx_run(GOOD, ["bash", "-c", script])
            if "200 OK" not in done.stdout:
                failed.append((i, done.stdout, done.stderr))
        self.assertEqual(failed, [])


if __name__ == "__main__":
    main()

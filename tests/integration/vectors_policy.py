#!/usr/bin/python3
"""The rows about decisions that a look at one function cannot show, and the options of the policy."""
import json
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from raw import RawCase, connect, http, socks4a, socks5, socks5_addr  # noqa: E402
from vectors import literals  # noqa: E402
from world import HOST4, NAMES, NEIGHBOURS, main, v4, v6  # noqa: E402

WAYS = {"connect": connect, "http": http, "socks5": socks5, "socks4a": socks4a}
GOOD = ["-a", "good.example"]

# A proxy of the command's own in front of ours: what it relays is judged like anything else.
RELAY = r"""
import socket, sys, threading
def pump(a, b):
    try:
        while True:
            d = a.recv(65536)
            if not d:
                break
            b.sendall(d)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass
def relay(c):
    p = socket.create_connection(("127.0.0.1", 3128))
    threading.Thread(target=pump, args=(c, p), daemon=True).start()
    pump(p, c)
    c.close()
s = socket.create_server(("127.0.0.1", 8118))
def loop():
    while True:
        threading.Thread(target=relay, args=(s.accept()[0],), daemon=True).start()
threading.Thread(target=loop, daemon=True).start()
def ask(port, first=b""):
    with socket.create_connection(("127.0.0.1", port)) as c:
        c.settimeout(15)
        c.sendall(first + b"CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        out = b""
        while True:
            d = c.recv(65536)
            if not d:
                return out
            out += d
direct, relayed = ask(3128), ask(8118)
assert direct == relayed and direct.startswith(b"HTTP/1.1 403"), (direct, relayed)
before = b"GET http://good.example/head HTTP/1.1\r\nHost: good.example\r\n\r\n"
out = ask(8118, before)
assert out.startswith(b"HTTP/1.1 200") and out.endswith(direct), out
print("same")
"""


class Literals(RawCase):
    """What an address is decides, and not only that it is on no list: "*" allows every public one."""

    def ways(self, text, **kw):
        bracketed = "[%s]" % text if ":" in text else text
        yield "connect", connect(bracketed, 80, **kw)
        yield "http", http(bracketed, 80, **kw)
        yield "socks5", socks5(text, 80, **kw)
        yield "socks4a", socks4a(text, 80, **kw)
        yield "socks5 bytes", socks5_addr(text, 80, **kw)

    def test_refused_for_what_they_are(self):
        cases, codes = {}, {}
        for ident, text, want in literals():
            for way, p in self.ways(text):
                cases["%s %s %s" % (ident, way, text)] = p
                codes["%s %s %s" % (ident, way, text)] = want
        kinds = []
        for mode in ("whole", "bytes"):
            o = self.w.oracle()
            results = self.raw(["-a", "*", "-q"], cases, mode)
            self.assertQuiet(o, mode)
            for key, r in results.items():
                with self.subTest(key, mode=mode):
                    self.assertDenied(r, codes[key])
            kinds.append({k: self.kind(r) for k, r in results.items()})
        self.assertEqual(kinds[0], kinds[1])

    def test_public_ones_are_allowed(self):  # A-019, and the twin of all others
        texts = [v4(1), v6(1), *NEIGHBOURS]
        cases = {"%s %s" % (way, t): p for t in texts for way, p in self.ways(t, get=True)}
        for mode in ("whole", "bytes"):
            o = self.w.oracle()
            for key, r in self.raw(["-a", "*"], cases, mode).items():
                with self.subTest(key, mode=mode):
                    self.assertIn(b"hello from net", r["recv"])
            self.assertEqual({a for a, _ in o.accepts()}, set(texts))
            self.assertEqual(len(o.accepts()), len(cases))


class Decisions(RawCase):
    def test_deny_wins_on_every_way_in(self):  # H-045, H-046, H-054
        options = ["-a", "good.example", "-d", "good.example:8080", "-a", "other.example", "-d",
                   "other.example", "-d", "evil.example", "-a", "evil.example", "-a", "*.deny.example",
                   "-a", "deny.example", "-d", "*.deny.example", "-a", "*.wild.example", "-d",
                   "*.wild.example:8080", "-a", "wild.example"]
        denied = [("good.example", 8080), ("other.example", 80), ("evil.example", 80),
                  ("deny.example", 80), ("x.deny.example", 80), ("DENY.example.", 80),
                  ("a.wild.example", 8080), ("wild.example", 8080)]
        twins = [("good.example", 80), ("a.wild.example", 80), ("wild.example", 80)]
        for mode in ("whole", "bytes"):
            o = self.w.oracle()
            cases = {"%s %s:%d" % (way, h, p): make(h, p) for h, p in denied
                     for way, make in WAYS.items()}
            for key, r in self.raw(options, cases, mode).items():
                with self.subTest(key, mode=mode):
                    self.assertDenied(r, {"denied"})
            self.assertQuiet(o)
            cases = {"%s %s:%d" % (way, h, p): make(h, p, get=True) for h, p in twins
                     for way, make in WAYS.items()}
            for key, r in self.raw(options, cases, mode).items():
                with self.subTest(key, mode=mode):
                    self.assertIn(b"hello from net", r["recv"])
            self.assertEqual(len(o.accepts()), len(cases))


    def test_a_relay_inside_changes_nothing(self):  # H-057
        o = self.w.oracle()
        done = self.w.sbx_run(GOOD, ["/usr/bin/python3", "-c", RELAY])
        self.assertEqual(done.stdout, "same\n", done.stderr)
        self.assertEqual({n for _, n in o.queries()}, {"good.example"})
        self.assertEqual(len(o.requests()), 1)

    def test_locale_changes_nothing(self):  # H-015
        for locale in ("tr_TR.UTF-8", "C", "az_AZ.UTF-8"):
            with self.subTest(locale):
                env = dict(self.w.env(), LC_ALL=locale, LANG=locale)
                o = self.w.oracle()
                done = self.w.curl(["-a", "*.WILD.example", "-d", "BAD.wild.example"],
                                   "http://I.WILD.EXAMPLE/", env=env)
                self.assertEqual(done.stdout, "hello from net i.wild.example\n", done.stderr)
                self.assertEqual({n for _, n in o.queries()}, {"i.wild.example"})

    def test_our_own_ports_lead_nowhere(self):
        """The proxy's port is one of the sandbox's; on the host the same port is the host's."""
        o = self.w.oracle()
        cases = {"%s %s:%d" % (way, h, p): make(h, p) for way, make in WAYS.items()
                 for h in ("127.0.0.1", "localhost", "lo4.example", "own4.example", HOST4)
                 for p in (3128, 53)}
        for key, r in self.raw(["-a", "*"], cases).items():
            with self.subTest(key):
                self.assertDenied(r, {"loopback", "own-address", "not-listed"})
        self.assertEqual(o.accepts(), [])
        # listed, it is the host's port, where nobody listens: no loop back to us
        for key, r in self.raw(["-a", "127.0.0.1:3128"], {
                way: make("127.0.0.1", 3128) for way, make in WAYS.items()}).items():
            with self.subTest(key, listed=True):
                self.assertIn(self.kind(r)[:2], (("http", 502), ("socks5", 5), ("socks4", 91)))

    def test_published_port_is_no_way_out(self):
        """A listener of ours on the host: neither by its address nor by a name."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        script = ("import socket, sys\ns = socket.create_server(('127.0.0.1', 8000))\n"
                  "print('up', flush=True)\ns.accept()[0].sendall(b'inside')\n"
                  "sys.stdin.readline()\n")
        proc = self.w.popen(self.w.sbx_argv(["--publish", "%d=8000" % port],
                                            ["/usr/bin/python3", "-c", script]),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.assertEqual(proc.stdout.readline(), b"up\n")
            with self.w.connect("127.0.0.1", port) as there:
                self.assertEqual(there.recv(6, socket.MSG_WAITALL), b"inside")
            for way, make in WAYS.items():
                for host in ("127.0.0.1", "lo4.example", "localhost"):
                    with self.subTest(way, host=host):
                        r = self.raw(["-a", "*"], {"x": make(host, port)})["x"]
                        self.assertDenied(r, {"loopback", "not-listed"})
        finally:
            proc.communicate(b"\n", timeout=20)

    def test_our_published_port_is_no_way_back(self):
        """Allowed by the address, by a name, by way of a forwarded port: never into the same run."""
        ports = []
        for _ in range(2):
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                ports.append(s.getsockname()[1])
        door, other = ports
        allow = [x for port in ports for host in ("127.0.0.1", "localhost", "[::1]", "lo4.example",
                                                  "lo6.example", "lo4b.example", "127.255.255.254")
                 for x in ("-a", "%s:%d" % (host, port))]
        cases = {"%s %s:%d" % (way, h, p): make(h, p) for way, make in WAYS.items() for p in ports
                 for h in ("127.0.0.1", "localhost", "lo4.example", "lo6.example", "cn-lo.example",
                           "LOCALHOST.", "lo4b.example")}
        cases["socks5 v4"] = socks5_addr("127.0.0.1", door)
        cases["socks5 v6"] = socks5_addr("::1", door)
        # nobody listens inside: whoever got in would hear so, as with the other port
        got = self.raw([*allow, "-a", "cn-lo.example", "--publish", "%d=8000" % door], cases)
        for key, r in got.items():
            with self.subTest(key):
                if key.endswith(":%d" % other):
                    self.assertIn(self.kind(r)[:2], (("http", 502), ("socks5", 5), ("socks4", 91)))
                else:
                    self.assertDenied(r, {"denied"})
        done = self.w.sbx_run([*allow, "--publish", "%d=8000" % door],
                              ["curl", "-sS", "http://127.0.0.1:%d/" % door])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("by %d=8000, --publish: it leads back into this sandbox" % door, done.stderr)

    def test_names_below_a_wildcard_are_bounded(self):
        """What is asked below *.odd.example could carry data out: a thousand names a run."""
        n = 1100
        script = ("import concurrent.futures, socket\n"
                  "def ask(i):\n"
                  "    with socket.create_connection(('127.0.0.1', 3128), 30) as s:\n"
                  "        s.sendall(b'CONNECT ttl-%d.odd.example:80 HTTP/1.1\\r\\n\\r\\n' % i)\n"
                  "        out = s.recv(4096).lower()\n"
                  "    return out[9:12] + (b' limit' if b'code: limit' in out else b'')\n"
                  "with concurrent.futures.ThreadPoolExecutor(16) as e:\n"
                  "    got = list(e.map(ask, range({0})))\n"
                  "again = ask([i for i in range({0}) if got[i] == b'200'][0])\n"
                  "print({{x.decode(): got.count(x) for x in set(got)}}, again.decode())\n").format(n)
        o = self.w.oracle()
        done = self.w.sbx_run(["-a", "*.odd.example", "-q"], ["/usr/bin/python3", "-c", script],
                              timeout=120)
        self.assertIn(done.stdout, ("{'200': 1000, '503 limit': 100} 200\n",
                                    "{'503 limit': 100, '200': 1000} 200\n"), done.stderr)
        self.assertEqual(len({name for _, name in o.queries()}), 1000)
        # names that are listed one by one have no bound
        listed = self.w.write("many.list", "".join("ttl-%d.odd.example\n" % i for i in range(n)))
        done = self.w.sbx_run(["--allow-list", listed, "-q"], ["/usr/bin/python3", "-c", script],
                              timeout=120)
        self.assertEqual(done.stdout, "{'200': %d} 200\n" % n, done.stderr)
        # the origin takes them up one after another, and the run waits for nobody
        end = time.monotonic() + 20
        while len(o.accepts()) < 1000 + n + 2 and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(len(o.accepts()), 1000 + n + 2)


# Runs a command where the kernel has no IPv6: every socket of that family is refused, by seccomp.
NO_IPV6 = r"""
import ctypes, os, platform, struct, sys
nr = {"x86_64": 41, "aarch64": 198}[platform.machine()]
rows = [(0x20, 0, 0, 0), (0x15, 0, 3, nr), (0x20, 0, 0, 16), (0x15, 0, 1, 10),
        (0x06, 0, 0, 0x00050000 | 97), (0x06, 0, 0, 0x7fff0000)]
code = b"".join(struct.pack("HBBI", *r) for r in rows)
buf = ctypes.create_string_buffer(code, len(code))
prog = struct.pack("HxxxxxxQ", len(rows), ctypes.addressof(buf))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, prog, 0, 0) == 0
import socket
try:
    socket.socket(socket.AF_INET6)
    sys.exit("there is IPv6 after all")
except OSError:
    pass
os.execv(sys.argv[1], sys.argv[1:])
"""


class NoIpv6(RawCase):
    def test_without_ipv6(self):  # C-101
        script = ("curl -sS http://good.example/; curl -sS --noproxy '*' http://v4only.example/; "
                  "curl -s -o /dev/null -w '%{http_code}' http://evil.example/")
        argv = self.w.sbx_argv([*GOOD, "-a", "v4only.example"], ["sh", "-c", script])
        o = self.w.oracle()
        done = self.w.run(["/usr/bin/python3", "-c", NO_IPV6, *argv])
        self.assertEqual(done.stdout, "hello from net good.example\n"
                         "hello from net v4only.example\n403", done.stderr)
        self.assertEqual({a for a, _ in o.accepts()}, {v4(1), v4(3)})


class Options(RawCase):
    def each_way(self, opts, host, port, want, port_way=None):
        """want: a set of refusal codes, or None: reached."""
        for way, make in WAYS.items():
            with self.subTest(way, host=host, opts=opts):
                r = self.raw(opts, {"x": make(host, port, get=want is None)})["x"]
                if want is None:
                    self.assertIn(b"hello from", r["recv"])
                else:
                    self.assertDenied(r, want)

    def test_allow_private(self):
        names = ("ten.example", "oneninety2.example", "cgnat.example", "ula.example")
        for name in names:
            self.each_way(["-a", name], name, 80, {"private"})
            self.each_way(["-a", name, "--allow-private", name], name, 80, None)
        self.each_way(["-a", "ten.example", "--allow-private", "ula.example"], "ten.example", 80,
                      {"private"})
        self.each_way(["-a", "*.example", "--allow-private", "*.example"], "ten.example", 80, None)
        self.each_way(["-a", "ten.example:80", "--allow-private", "*"], "ten.example", 80, None)
        # it opens private addresses, not this machine, metadata or links
        for name, codes in (("lo4.example", {"loopback"}), ("meta.example", {"metadata"}),
                            ("own4.example", {"own-address"}), ("link4.example", {"link-local"}),
                            ("alibaba.example", {"metadata"})):
            self.each_way(["-a", "*", "--allow-private", "*"], name, 80, codes)
        # and allows no name by itself
        self.each_way(["--allow-private", "*"], "ten.example", 80, {"not-listed"})
        # the settings key is the same
        path = self.w.write("private.json", json.dumps({"network": {
            "allowedDomains": ["*.example"], "allowPrivate": ["ten.example"]}}))
        self.each_way(["-p", path], "ten.example", 80, None)
        self.each_way(["-p", path], "ula.example", 80, {"private"})

    def test_deny_by_block_and_by_resolved_address(self):
        good = NAMES["good.example"]
        for entry in (v4(1) + "/32", "51.15.10.0/24", "51.0.0.0/8"):
            # the IPv4 address is refused, the IPv6 one stays
            o = self.w.oracle()
            self.each_way(["-a", "good.example", "-d", entry], "good.example", 80, None)
            self.assertEqual({a for a, _ in o.accepts()}, {good[1]})
        both = ["-d", "51.15.10.0/24", "-d", "[2a01:4f8:10::]/64"]
        o = self.w.oracle()
        self.each_way(["-a", "*", *both], "good.example", 80, {"denied"})
        for text in (v4(1), v6(1)):
            for way, p in (("atyp", socks5_addr(text, 80)),
                           ("connect", connect("[%s]" % text if ":" in text else text, 80))):
                with self.subTest(way, text=text):
                    self.assertDenied(self.raw(["-a", "*", *both], {"x": p})["x"], {"denied"})
        self.assertEqual(o.accepts(), [])
        # a port of a block
        self.each_way(["-a", "v4only.example", "-d", "51.15.10.0/24:8080"], "v4only.example", 80,
                      None)
        self.each_way(["-a", "v4only.example", "-d", "51.15.10.0/24:8080"], "v4only.example", 8080,
                      {"denied"})

    def test_allow_local(self):
        for entry in ("127.0.0.1:3000", "localhost:3000"):
            path = self.w.write("local.json", json.dumps({"network": {
                "allowedDomains": ["lo4.example"], "allowLocal": [entry]}}))
            for opts in (["-p", path], ["-a", "lo4.example", "-a", entry]):
                o = self.w.oracle()
                self.each_way(opts, "127.0.0.1" if entry[0] == "1" else "localhost", 3000, None)
                self.assertEqual({p for _, p in o.accepts()}, {3000})
                o = self.w.oracle()
                for host, port in (("127.0.0.1", 8080), ("localhost", 8080), ("127.0.0.2", 3000),
                                   ("x.localhost", 8080), (HOST4, 3000)):
                    self.each_way(opts, host, port, {"loopback", "not-listed", "own-address"})
                self.each_way(opts, "lo4.example", 8080, {"loopback"})
                self.assertEqual(o.accepts(), [])
        # the address is opened by whatever allowed name leads to it
        self.each_way(["-a", "lo4.example", "-a", "127.0.0.1:3000"], "lo4.example", 3000, None)
        self.each_way(["-a", "127.0.0.1:3000"], "lo4.example", 3000, {"not-listed"})

    def test_reasons_only_and_strict_end_to_end(self):
        path = self.w.write("reason.json", json.dumps({"network": {
            "allowedDomains": ["*.example"], "deniedDomains": ["evil.example"],
            "deniedDomainReasons": {"evil.example": "sells what it is told"}}}))
        for way in ("http", "connect"):
            r = self.raw(["-p", path], {"x": WAYS[way]("evil.example", 80)})["x"]
            self.assertDenied(r, {"denied"})
            self.assertIn(b"sells what it is told", r["recv"])
        _, stderr = self.raw(["-p", path], {"x": socks5("evil.example", 80)}, stderr=True)
        self.assertIn("sells what it is told", stderr)
        self.each_way(["-p", path, "--only", "good.example"], "other.example", 80, {"only"})
        self.each_way(["-p", path, "--only", "good.example"], "good.example", 80, None)
        self.each_way(["-p", path, "--only", "evil.example"], "evil.example", 80, {"denied"})
        self.each_way(["-a", "good.example", "--strict"], "other.example", 80, {"strict"})


if __name__ == "__main__":
    main()

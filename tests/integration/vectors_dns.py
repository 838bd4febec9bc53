#!/usr/bin/python3
"""The DNS vectors: what is asked, of whom, and what an answer may lead to, on every way in."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from raw import GET, RawCase, connect, http, socks4a, socks5  # noqa: E402
from world import GATE4, main, v4, v6  # noqa: E402

WAYS = {"connect": connect, "http": http, "socks5": socks5, "socks4a": socks4a}
# the same four for curl, which asks twice in one run
CURL = {"connect": ["-p"], "http": [], "socks5": ["-x", "socks5h://127.0.0.1:3128"],
        "socks4a": ["-x", "socks4a://127.0.0.1:3128"]}

# A program without a proxy: one datagram and one stream to port 53 of some address.
PORT53 = r"""
import errno, socket, sys
def name(f, *args):
    try:
        f(*args)
        return "sent"
    except OSError as e:
        return errno.errorcode.get(e.errno, type(e).__name__)
for addr in sys.argv[1:]:
    family = socket.AF_INET6 if ":" in addr else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM)
    udp = name(s.sendto, b"\x12\x34\1\0\0\1\0\0\0\0\0\0\4evil\4test\0\0\1\0\1", (addr, 53))
    t = socket.socket(family)
    t.settimeout(5)
    print(udp, name(t.connect, (addr, 53)))
"""


class Asked(RawCase):
    """What leaves the machine as a question."""

    def test_denied_names_are_not_looked_up(self):  # D-001
        hosts = ["evil.test", "secret-data.evil.test", "bad.wild.example", "nosuch.example"]
        options = ["-a", "good.example", "-a", "*.wild.example", "-d", "bad.wild.example"]
        for mode in ("whole", "bytes"):
            cases = {"%s %s" % (way, h): make(h, 80) for way, make in WAYS.items() for h in hosts}
            o = self.w.oracle()
            for key, r in self.raw(options, cases, mode).items():
                with self.subTest(key, mode=mode):
                    self.assertDenied(r, {"not-listed", "denied"})
            self.assertQuiet(o, mode)
        # the same paths with the name allowed: there is a question, and an answer
        o = self.w.oracle()
        for key, r in self.raw(["-a", "evil.test"], {
                way: make("evil.test", 80, get=True) for way, make in WAYS.items()}).items():
            with self.subTest(key, twin=True):
                self.assertIn(b"hello from net", r["recv"])
        self.assertEqual({n for _, n in o.queries()}, {"evil.test"})

    def test_denied_names_of_captured_programs(self):  # D-001
        script = ("import socket\n"
                  "for h in ('evil.test', 'secret-data.evil.test'):\n"
                  "    try:\n        socket.create_connection((h, 80), 5)\n"
                  "    except OSError as e:\n        print(type(e).__name__)\n"
                  "s = socket.create_connection(('good.example', 80), 10)\n"
                  "s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')\nprint(s.recv(15))\n")
        o = self.w.oracle()
        done = self.w.sbx_run(["-a", "good.example"], ["/usr/bin/python3", "-c", script])
        self.assertEqual(done.stdout, "gaierror\ngaierror\nb'HTTP/1.1 200 OK'\n", done.stderr)
        self.assertEqual({n for _, n in o.queries()}, {"good.example"})
        self.assertLessEqual({a for a, _ in o.accepts()}, {v4(1), v6(1)})

    def test_only_addresses_are_asked_for(self):  # D-024
        o = self.w.oracle()
        cases = {way: make("good.example", 443, get=True) for way, make in WAYS.items()}
        self.raw(["-a", "good.example"], cases)
        self.assertEqual({t for t, _ in o.queries()}, {"A", "AAAA"})

    def test_environment_changes_nothing(self):  # D-017
        aliases = self.w.write("aliases", "intranet evil.test\nnosuch.example evil.test\n")
        env = dict(self.w.env(), HOSTALIASES=aliases, LOCALDOMAIN="corp.test",
                   RES_OPTIONS="ndots:15", RESOLV_MULTI="on", RESOLV_HOST_CONF=aliases,
                   GETCONF_DIR=self.w.dir, NSS_FILES="x")
        for name in ("intranet", "nosuch.example"):
            with self.subTest(name):
                o = self.w.oracle()
                done = self.w.curl(["-a", name], "-o", "/dev/null", "-w", "%{http_code}",
                                   "http://%s/" % name, env=env)
                self.assertIn(done.stdout, ("502", "504"))
                self.assertEqual({n for _, n in o.queries()}, {name})
                self.assertEqual(o.accepts(), [])
        # the twins: bare, the C library does as it is told; and what needs no help works
        bare = self.w.run(["getent", "ahostsv4", "intranet"], env=env)
        self.assertIn(v4(66), bare.stdout)
        done = self.w.curl(["-a", "good.example"], "http://good.example/", env=env)
        self.assertEqual(done.stdout, "hello from net good.example\n", done.stderr)


class Port53(RawCase):  # D-021
    ADDRS = ["8.8.8.8", "1.1.1.1", GATE4, "2001:4860:4860::8888"]

    def test_without_capture_nothing_is_there(self):
        o = self.w.oracle()
        done = self.w.sbx_run(["--no-capture", "-a", "good.example"],
                              ["/usr/bin/python3", "-c", PORT53, *self.ADDRS])
        self.assertEqual(done.stdout, "ENETUNREACH ENETUNREACH\n" * len(self.ADDRS), done.stderr)
        self.assertQuiet(o)

    def test_with_capture_it_is_ours(self):
        o = self.w.oracle()
        done = self.w.sbx_run(["-a", "good.example"],
                              ["/usr/bin/python3", "-c", PORT53, *self.ADDRS])
        self.assertEqual(done.stdout, "sent sent\n" * len(self.ADDRS), done.stderr)
        self.assertQuiet(o)

    def test_through_the_proxy(self):  # D-022, as decided
        for options, code in ((["-a", "good.example"], "not-listed"),
                              (["-a", "*", "-d", "*:53"], "denied")):
            o = self.w.oracle()
            cases = {"%s %s" % (way, a): make(a, 53) for way, make in WAYS.items()
                     for a in ("8.8.8.8", GATE4)}
            for key, r in self.raw(options, cases).items():
                with self.subTest(key, options=options):
                    self.assertDenied(r, {code})
            self.assertQuiet(o)
        # listed, it is a host like another
        query = b"\0\x1d\x12\x34\1\0\0\1\0\0\0\0\0\0\4good\7example\0\0\1\0\1"
        query = query[:1] + bytes([len(query) - 2]) + query[2:]
        p = connect(GATE4, 53)
        p.append(query)
        r = self.raw(["-a", GATE4 + ":53"], {"x": p}, shut=True)["x"]
        self.assertIn(b"\x12\x34\x85", r["recv"].replace(b"\x12\x34\x81", b"\x12\x34\x85"))


class Answers(RawCase):
    """What an answer may lead to."""

    def twice(self, way, name):
        """Two requests of one run, more than a second apart; the two outcomes."""
        ask = "curl -sS -o /dev/null -w '%%{http_code}/%%{exitcode} ' %s http://%s/ 2>/dev/null;" % (
            " ".join(CURL[way]), name)
        return self.w.sbx_run(["-a", name], ["sh", "-c", ask + "sleep 1.2;" + ask]).stdout.split()

    def test_rebinding(self):  # D-005
        for way in WAYS:
            with self.subTest(way):
                o = self.w.oracle()
                first, second = self.twice(way, "rebind-%s.odd.example" % way)
                self.assertEqual(first, "200/0")
                self.assertIn(second, ("403/0", "000/56", "000/97"))
                self.assertEqual(o.accepts(), [(v4(1), 80)])

    def test_failed_connection_is_not_looked_up_again(self):  # D-006
        """The first answer is unreachable, the next would be this machine."""
        for way, make in WAYS.items():
            with self.subTest(way):
                name = "gone-%s.odd.example" % way
                o = self.w.oracle()
                r = self.raw(["-a", name], {"x": make(name, 80)})["x"]
                self.assertIn(self.kind(r)[:2], (("http", 502), ("socks5", 3), ("socks5", 4),
                                                 ("socks4", 91)))
                self.assertEqual(sorted(o.queries()), [("A", name), ("AAAA", name)])
                self.assertEqual(o.accepts(), [])
        # and when it is asked for again, the new answer is judged anew
        o = self.w.oracle()
        first, second = self.twice("http", "gone-again.odd.example")
        self.assertEqual((first, second), ("502/0", "403/0"))
        self.assertEqual(o.accepts(), [])

    def test_refused_addresses_are_no_second_choice(self):  # D-027
        """The vetted address swallows packets; the next one of the answer was refused."""
        names = ("dead-lo.example", "dead-ten.example")
        cases = {"%s %s" % (way, n): make(n, 80, timeout=20) for way, make in WAYS.items()
                 for n in names}
        o = self.w.oracle()
        for key, r in self.raw([x for n in names for x in ("-a", n)], cases).items():
            with self.subTest(key):
                self.assertIn(self.kind(r)[:2], (("http", 504), ("socks5", 4), ("socks5", 6),
                                                 ("socks4", 91)))
        self.assertEqual(o.accepts(), [])

    def test_one_address_gets_the_bytes(self):  # D-027
        for name in ("two.example", "good.example", "dual.example"):
            for way, make in WAYS.items():
                with self.subTest(name, way=way):
                    o = self.w.oracle()
                    p = make(name, 80, get=True) if way in ("http", "connect") else \
                        make(name, 80, early=GET)
                    r = self.raw(["-a", name], {"x": p})["x"]
                    self.assertEqual(r["recv"].count(b"hello from net"), 1, r)
                    self.assertEqual(len(o.requests()), 1)

    def test_target_of_an_alias_is_not_matched(self):  # D-009, as decided
        for way, make in WAYS.items():
            with self.subTest(way):
                r = self.raw(["-a", "cn-good.example", "-d", "good.example"],
                             {"x": make("cn-good.example", 80, get=True)})["x"]
                self.assertIn(b"hello from net", r["recv"])

    def test_name_that_spells_an_address(self):  # D-014
        name = "127.0.0.1.ip.example"
        for options in (["-a", name], ["-a", "*.ip.example"], ["-a", "*"]):
            o = self.w.oracle()
            results = self.raw(options, {way: make(name, 80) for way, make in WAYS.items()})
            for way, r in results.items():
                with self.subTest(way, options=options):
                    self.assertDenied(r, {"loopback"})
            self.assertEqual(o.accepts(), [])


if __name__ == "__main__":
    main()

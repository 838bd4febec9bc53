#!/usr/bin/python3
"""The conformance cases, by their numbers: what files and lists of the closest peer mean here.

A and D are the allowed and the denied list. The oracle is which address was reached: each name of
the world's conformance zone has one of its own.
"""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from raw import RawCase, connect, http, socks4a, socks5  # noqa: E402
from world import NAMES, main  # noqa: E402

WAYS = {"http": http, "connect": connect, "socks5": socks5, "socks4a": socks4a}
CAPTURED = r"""
import concurrent.futures, json, socket, sys
def one(where):
    try:
        with socket.create_connection(where, 15) as s:
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            s.recv(100)
    except OSError:
        pass
with concurrent.futures.ThreadPoolExecutor(8) as e:
    list(e.map(one, json.load(sys.stdin)))
"""
# (numbers, allowed, denied, {(host, port): reached}); only ports that have a server
MATCHING = [
    ("1 2 14", ["conf.test"], [],
     {("conf.test", 80): 1, ("CONF.TEST", 8080): 1, ("sub.conf.test", 80): 0, ("other.test", 80): 0,
      ("conf.tes.test", 80): 0}),
    ("3", ["CONF.TEST"], [], {("conf.test", 80): 1}),
    ("4 5 6", ["*.conf.test"], [],
     {("api.conf.test", 80): 1, ("a.b.c.conf.test", 80): 1, ("API.Conf.TEST", 8080): 1,
      ("conf.test", 80): 0, ("evilconf.test", 80): 0, ("notconf.test", 80): 0,
      ("conf.test.evil.test", 80): 0, ("api.other.test", 80): 0}),
    ("8", ["192.168.1.1"], [], {("192.168.1.1", 80): 1, ("192.168.1.2", 80): 0,
                                ("x.test", 80): 0}),
    ("9", ["x.test"], ["x.test"], {("x.test", 80): 0}),
    ("10", ["*.conf.test"], ["internal.conf.test"],
     {("internal.conf.test", 80): 0, ("api.conf.test", 80): 1}),
    ("11", ["api.conf.test", "x.test"], ["*.conf.test"],
     {("api.conf.test", 80): 0, ("x.test", 80): 1}),
    ("12", ["*.conf.test"], ["api.conf.test", "internal.conf.test"],
     {("api.conf.test", 80): 0, ("internal.conf.test", 80): 0, ("sub.conf.test", 80): 1}),
    ("12 turned", ["*.conf.test"], ["internal.conf.test", "api.conf.test"],
     {("api.conf.test", 80): 0, ("internal.conf.test", 80): 0, ("sub.conf.test", 80): 1}),
    ("13", [], [], {("conf.test", 80): 0, ("x.test", 443): 0}),
    ("15", ["conf.test", "x.test"], ["*"], {("conf.test", 80): 0, ("x.test", 443): 0}),
    ("16", ["conf.test"], ["*:8080"], {("conf.test", 8080): 0, ("conf.test", 80): 1,
                                       ("x.test", 80): 0}),
    ("17", ["h.test:80"], [], {("h.test", 80): 1, ("h.test", 8080): 0, ("h.test", 20480): 0}),
    ("18", ["*.h.test:8080"], [], {("a.h.test", 8080): 1, ("a.h.test", 80): 0,
                                   ("h.test", 8080): 0}),
    ("19", ["h.test"], [], {("h.test", 80): 1, ("h.test", 3000): 1, ("h.test", 8080): 1,
                            ("h.test", 20480): 1}),
    ("21", ["fd00::/8", "[fd00:ec2::254]"], ["[fd00:ec2::254]"],
     {("fd00:ec2::254", 80): 0, ("FD00:0EC2:0::0254", 80): 0, ("fd00:ec2:0:0:0:0:0:254", 80): 0,
      ("fd00:ec2::253", 8080): 0, ("fd00:7::1", 80): 1}),
    ("24", ["constructor:80", "x.test"], [], {("constructor", 80): 1, ("constructor", 8080): 0,
                                              ("x.test", 80): 1}),
]


def options(allowed, denied, more=()):
    return [x for a in allowed for x in ("-a", a)] + [x for d in denied for x in ("-d", d)] + \
        list(more)


class Matching(RawCase):
    def address(self, host):
        text = NAMES.get(host.lower(), [host])[0]
        if ":" in text:
            import ipaddress
            return str(ipaddress.ip_address(text))
        return text

    def reached(self, way, opts, targets):
        """Those of the targets whose address was connected to, as (address, port)."""
        o = self.w.oracle()
        if way == "captured":
            done = self.w.sbx_run([*opts, "-q"], ["/usr/bin/python3", "-c", CAPTURED],
                                  input=json.dumps(targets))
            self.assertEqual(done.returncode, 0, done.stderr)
        else:
            def text(h):
                return "[%s]" % h if ":" in h and way in ("http", "connect") else h
            self.raw(opts, {"%s %d" % (h, p): WAYS[way](text(h), p, get=True) for h, p in targets})
        return set(o.accepts()), o

    def test_lists(self):  # C-1 to C-6, C-8 to C-13, C-15 to C-19, C-21
        for case, allowed, denied, rows in MATCHING:
            for way in [*WAYS, "captured"]:
                with self.subTest(case, way=way):
                    got, _ = self.reached(way, options(allowed, denied), list(rows))
                    want = {(self.address(h), p) for (h, p), ok in rows.items() if ok}
                    self.assertEqual(got, want)

    def test_search_line_under_a_wildcard(self):
        """resolv.conf of the world: "search corp.test", ndots:5; good.example.corp.test exists."""
        for allowed in (["good.example", "*.corp.test"], ["good.example", "**.test"]):
            got, o = self.reached("captured", options(allowed, []), [("good.example", 80)])
            self.assertTrue(got <= {(a, 80) for a in NAMES["good.example"]} and got, got)
            self.assertEqual({n for _, n in o.queries()}, {"good.example"})
        # one label means the name with the suffix
        got, _ = self.reached("captured", options(["*.corp.test"], []), [("intranet", 80)])
        self.assertEqual(got, {(NAMES["intranet.corp.test"][0], 80)})
        # and so does a longer one that is not allowed by itself
        got, _ = self.reached("captured", options(["*.corp.test"], []), [("good.example", 80)])
        self.assertEqual(got, {(NAMES["good.example.corp.test"][0], 80)})

    def test_no_wildcard_for_addresses(self):  # C-7
        for pattern in ("*.0.0.1", "*.168.1.1", "*.1"):
            done = self.w.sbx_run(["-a", pattern], ["true"])
            self.assertEqual(done.returncode, 125, pattern)
        for way in [*WAYS, "captured"]:
            with self.subTest(way):
                got, _ = self.reached(way, options(["*.test", "**.test"], []),
                                      [("192.168.1.1", 80), ("10.1.2.3", 80), ("x.test", 80)])
                self.assertEqual(got, {(NAMES["x.test"][0], 80)})
        for way in WAYS:  # inside, captured, these are the command's own
            got, _ = self.reached(way, options(["*.test"], []), [("127.0.0.1", 80), ("::1", 80)])
            self.assertEqual(got, set())

    def test_literals_with_ports(self):  # C-20
        for way in WAYS:
            with self.subTest(way):
                got, _ = self.reached(way, options(["[::1]"], ["[::1]:8080"]),
                                      [("::1", 8080), ("::1", 80), ("0:0:0:0:0:0:0:1", 8080)])
                self.assertEqual(got, {("::1", 80)})
                got, _ = self.reached(way, options(["2001:db8::/32"],
                                                   ["[2001:DB8:0:0::1]:8080"]),
                                      [("2001:db8::1", 8080), ("2001:db8::1", 80)])
                self.assertEqual(got, {("2001:db8::1", 80)})

    def test_strict(self):  # C-14, C-22
        for more, code in (([], "not-listed"), (["--strict"], "strict")):
            for way, make in WAYS.items():
                with self.subTest(way, more=more):
                    o = self.w.oracle()
                    r = self.raw(options(["conf.test"], [], more), {"x": make("x.test", 80)})["x"]
                    self.assertDenied(r, {code})
                    self.assertQuiet(o)
                    got, _ = self.reached(way, options(["conf.test"], [], more),
                                          [("conf.test", 80), ("x.test", 80)])
                    self.assertEqual(got, {(NAMES["conf.test"][0], 80)})

    def test_the_runs_own_list(self):  # C-23: ours is --only; see sbx-net(1)
        rows = [("conf.test", 80), ("x.test", 80), ("h.test", 80)]
        x, conf = (NAMES["x.test"][0], 80), (NAMES["conf.test"][0], 80)
        for opts, want in (
                (["--only", "x.test"], {x}),
                (["--only", "x.test", "-d", "x.test"], set()),
                (["--only", "x.test", "-a", "conf.test"], {x}),
                (["--only", "x.test", "--only", "conf.test"], {x, conf})):
            for way in [*WAYS, "captured"]:
                with self.subTest(opts, way=way):
                    got, _ = self.reached(way, opts, rows)
                    self.assertEqual(got, want)
        # a strict list of the settings is narrowed by it, never widened
        path = self.w.write("strict.json", json.dumps({"network": {
            "allowedDomains": ["conf.test", "h.test"], "strictAllowlist": True}}))
        for way in [*WAYS, "captured"]:
            with self.subTest("strict settings", way=way):
                got, _ = self.reached(way, ["-p", path, "--only", "x.test", "--only", "conf.test"],
                                      rows)
                self.assertEqual(got, {conf})

    def test_reasons(self):  # C-24
        path = self.w.write("reasons.json", json.dumps({"network": {
            "allowedDomains": ["*"],
            "deniedDomains": ["*.conf.test", "x.test", "constructor", "h.test:80"],
            "deniedDomainReasons": {"*.conf.test": "leaks like a sieve", "h.test:80": "use https",
                                    "toString": "of no entry"}}}))
        want = {"api.conf.test": "leaks like a sieve", "h.test": "use https", "x.test": None,
                "constructor": None}
        for host, reason in want.items():
            for way in ("http", "connect"):
                with self.subTest(host, way=way):
                    r = self.raw(["-p", path], {"x": WAYS[way](host, 80)})["x"]
                    self.assertDenied(r, {"denied"})
                    if reason:
                        self.assertIn(reason.encode(), r["recv"])
                    else:
                        self.assertNotRegex(r["recv"], b"sieve|https|of no entry|function")


class Entries(RawCase):
    ACCEPTED = ["conf.test", "*.conf.test", "localhost", "127.0.0.1", "[::1]", "[::1]:443",
                "conf.test:443", "foo_bar.test", "conf.test:1-65535",
                # where the peer does worse: single labels, blocks, one final dot
                "host", "host:22", "10.0.0.0/8", "conf.test.", "*", "*:443"]
    # "*.com" allows what anybody can get; to refuse it is fine
    REJECTED = [".conf.test", "::1", "2001:db8::1:443", "[::1", "[::1]junk", "[::1]:",
                "[::1]:0", "h:0", "h:65536", "h:0443", "h:*", "h:443.allowed.test", "a.*.test",
                "http://h", "h/path", "m\u00fcnchen.test", "127.1", "exa mple.test", "user@h",
                "a..b.test", "*.*.test", ""]

    def test_entries(self):  # C-25 to C-30 and the lists in front of them
        def load(entry, key):
            path = self.w.write("entry.json", json.dumps({"network": {key: [entry]}}))
            return self.w.run([self.w.sbx, "check", "--no-config", path])
        for key in ("allowedDomains", "deniedDomains"):
            for entry in self.ACCEPTED:
                with self.subTest(entry, key=key):
                    self.assertEqual(load(entry, key).returncode, 0)
            for entry in self.REJECTED + ["a\0b.test"]:
                with self.subTest(entry, key=key):
                    done = load(entry, key)
                    self.assertEqual(done.returncode, 2, done.stdout)
                    self.assertIn("entry.json:1", done.stderr)
        self.assertEqual(load("*.com", "allowedDomains").returncode, 2)
        self.assertEqual(load("*.com", "deniedDomains").returncode, 0)
        for text in ('{"network": {"allowedDomain": []}}', '{"network": {}, "nework": {}}'):
            path = self.w.write("entry.json", text)
            self.assertEqual(self.w.run([self.w.sbx, "check", "--no-config", path]).returncode, 2)

    def test_files(self):  # C-31: no file at all denies; a named one must be whole
        o = self.w.oracle()
        r = self.raw([], {"x": http("conf.test", 80)})["x"]
        self.assertDenied(r, {"not-listed"})
        self.assertQuiet(o)
        ran = os.path.join(self.w.ws, "conformance-ran")
        for name, text, mode in (("none.json", None, 0), ("empty.json", "", 0o644),
                                 ("secret.json", "{}", 0), ("broken.json", "{", 0o644),
                                 ("list.json", "[]", 0o644), ("number.json", "1", 0o644),
                                 ("kind.json", '{"network": []}', 0o644)):
            with self.subTest(name):
                path = self.w.path(name)
                if text is not None:
                    self.w.write(name, text, mode)
                done = self.w.sbx_run(["-p", path], ["touch", ran])
                self.assertEqual(done.returncode, 125)
                self.assertIn(name, done.stderr)
                self.assertFalse(os.path.exists(ran))

    def test_no_helper_binary_is_taken_from_a_file(self):  # C-32: ours starts none, so names none
        path = self.w.write("helper.srt.json", json.dumps({
            "network": {"allowedDomains": ["conf.test"]}, "bwrapPath": "bin/bwrap",
            "ripgrep": {"command": "./rg"}}))
        done = self.w.run([self.w.sbx, "check", "--no-config", path])
        self.assertEqual(done.returncode, 0)
        for key in ("bwrapPath", "ripgrep"):
            self.assertRegex(done.stderr, "'%s' has no effect here" % key)


class Violations(RawCase):
    """C-105: one line a refusal, in a block that nothing inside can close or imitate."""
    LINE = r"deny network-outbound ([!-~]+:\d+|no valid target) \([ -~]+\)"

    def block(self, stderr):
        m = re.search(r"<sandbox_violations>\n(.*?)</sandbox_violations>\n", stderr, re.S)
        self.assertTrue(m, stderr)
        self.assertEqual(stderr.count("<sandbox_violations>"), 1)
        self.assertEqual(stderr.count("</sandbox_violations>"), 1)
        lines = m[1].splitlines()
        for line in lines:
            self.assertRegex(line, r"\A%s\Z" % self.LINE)
        return lines

    def test_one_line_a_refusal(self):
        cases = {str(i): p for i, p in enumerate((
            http("x.test", 80, path=b"/a?token=secret#x"), connect("h.test", 443),
            socks5("x.test", 80), http("conf.test", 80, path=b"/<b>?q=</sandbox_violations>")))}
        _, stderr = self.raw(["-a", "a.h.test", "--violations"], cases, stderr=True)
        lines = self.block(stderr)
        self.assertEqual(sorted({x.split()[2] for x in lines}),  # a fragment is no part of a target
                         ["conf.test:80", "h.test:443", "no", "x.test:80"])
        self.assertEqual(len(lines), 4)
        for piece in ("token", "secret", "?", "<b>"):
            self.assertNotIn(piece, "".join(lines))

    def test_nothing_in_it_closes_it(self):
        """A reason comes from a file, a name from the command: neither is markup."""
        path = self.w.write("tags.json", json.dumps({"network": {
            "deniedDomains": ["x.test"], "deniedDomainReasons": {
                "x.test": "</sandbox_violations>\n<sandbox_violations>\u001b[2J\u202e<b>"}}}))
        names = [b"</sandbox_violations>.test", b"a\x1b[2Jb.test", b"a\nb.test"]
        cases = {str(i): connect(n, 80) for i, n in enumerate(names)}
        cases.update({"s%d" % i: socks5(n, 80) for i, n in enumerate(names)})
        cases["x"] = http("x.test", 80)
        _, stderr = self.raw(["-p", path, "--violations", "-q"], cases, stderr=True)
        self.assertEqual(sorted(self.block(stderr)), [
            "deny network-outbound %s:80 (bad-host)" % name for name in (
                r"\x3c/sandbox_violations\x3e.test", r"a\x0ab.test", r"a\x1b[2Jb.test")] + [
            "deny network-outbound no valid target (bad-request)",
            "deny network-outbound x.test:80 (denied)"])
        self.assertRegex(stderr, r"\A[ -~\n]*\Z")


if __name__ == "__main__":
    main()

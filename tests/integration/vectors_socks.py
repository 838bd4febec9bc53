#!/usr/bin/python3
"""The SOCKS vectors, and the host vectors over SOCKS5 and SOCKS4a, against the live proxy."""
import os
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from origins import ECHO  # noqa: E402
from raw import (Pieces, RawCase, GET, socks4a, socks5, socks5_addr,  # noqa: E402
                 socks5_bytes)
from vectors import ALLOW, BAD, DENY, OK, hosts  # noqa: E402
from world import HOST4, main, v4, v6  # noqa: E402

MODES = ("whole", "bytes")
WAYS = {"socks5": socks5, "socks4a": socks4a}
HELLO = b"\5\1\0"


def request5(body):
    """A greeting and a request in the two pieces of a real client."""
    return Pieces([HELLO, body], [2])


NAME = b"\x0cgood.example"


class Hosts(RawCase):
    def cases(self, want):
        out = {}
        for ident, host, expect, ways in hosts():
            for way, make in WAYS.items():
                if (ways is not None and way not in ways) or len(host) > 255:
                    continue
                if (expect == OK) == (want == OK):
                    out["%s %s %r" % (ident, way, host)] = (make(host, 80, get=want == OK), expect)
        return out

    def test_refused(self):
        cases = self.cases(None)
        kinds = []
        for mode in MODES:
            o = self.w.oracle()
            results = self.raw(ALLOW, {k: p for k, (p, _) in cases.items()}, mode)
            self.assertQuiet(o, mode)
            for key, (_, expect) in cases.items():
                with self.subTest(key, mode=mode):
                    if expect == BAD:
                        self.assertBad(results[key])
                    elif expect == DENY:
                        self.assertDenied(results[key], None)
                    else:
                        self.assertBadOrDenied(results[key])
            kinds.append({k: self.kind(r) for k, r in results.items()})
        self.assertEqual(kinds[0], kinds[1])

    def test_allowed(self):
        cases = self.cases(OK)
        for mode in MODES:
            o = self.w.oracle()
            results = self.raw(ALLOW, {k: p for k, (p, _) in cases.items()}, mode)
            for key, r in results.items():
                with self.subTest(key, mode=mode):
                    self.assertIn(b"hello from net", r["recv"])
            self.assertEqual(len(o.accepts()), len(cases))


class Addresses(RawCase):
    """ATYP 1 and 4, and SOCKS4: the bytes decide."""
    DENIED = ["127.0.0.1", "0.0.0.0", "169.254.169.254", "10.1.2.3", "168.63.129.16",
              "100.100.100.200", HOST4, v4(66), "::1", "::", "::ffff:127.0.0.1",
              "::ffff:169.254.169.254", "64:ff9b::7f00:1", "fe80::1", "fd00:ec2::254", v6(0x66),
              "::ffff:" + v4(66), "2002:7f00:1::1"]

    def test_denied(self):  # S-021, S-022, A-006
        for options in (ALLOW, ALLOW + ["-a", "*", "-d", "51.15.10.64/26", "-d",
                                        "[2a01:4f8:10::60]/124"]):
            cases = {"5 " + a: socks5_addr(a, 80) for a in self.DENIED}
            cases.update({"4 " + a: self.socks4(a) for a in self.DENIED
                          if ":" not in a and not a.startswith("0.0.0.")})
            for mode in MODES:
                o = self.w.oracle()
                results = self.raw(options, cases, mode)
                self.assertQuiet(o)
                for key, r in results.items():
                    with self.subTest(key, mode=mode, options=len(options)):
                        self.assertDenied(r, None)

    @staticmethod
    def socks4(addr, get=False):
        return Pieces([b"\4\1\0\x50" + socket.inet_aton(addr) + b"\0"] + ([GET] if get else []),
                      [8])

    def test_allowed(self):
        options = ["-a", v4(1), "-a", "[2A01:4F8:10:0::1]"]  # another spelling of v6(1): A-039
        cases = {"5 text6 long": socks5("2a01:04f8:0010::0001", 80, get=True),
                 "5 text6 v4": socks5("2A01:4f8:10::0.0.0.1", 80, get=True),
                 "4a text6": socks4a("2a01:4f8:10:0:0::1", 80, get=True),
                 "5 v4": socks5_addr(v4(1), 80, get=True), "5 v6": socks5_addr(v6(1), 80, get=True),
                 "5 text": socks5(v4(1), 80, get=True), "5 text6": socks5(v6(1), 80, get=True),
                 "4 v4": self.socks4(v4(1), get=True), "4a text": socks4a(v4(1), 80, get=True),
                 "5 mapped": socks5_addr("::ffff:" + v4(1), 80, get=True)}
        for mode in MODES:
            o = self.w.oracle()
            results = self.raw(options, cases, mode)
            for key, r in results.items():
                with self.subTest(key, mode=mode):
                    if key == "5 mapped" and b"hello" not in r["recv"]:
                        self.assertDenied(r, None)  # D?: another spelling may be refused
                        continue
                    self.assertIn(b"hello from net", r["recv"])
            self.assertGreaterEqual(len(o.accepts()), len(cases) - 1)
            self.assertLessEqual({a for a, _ in o.accepts()}, {v4(1), v6(1)})


class Protocol(RawCase):
    ALLOW = ["-a", "good.example"]

    def check_quiet(self, cases, judge, mode, **kw):
        o = self.w.oracle()
        results = self.raw(self.ALLOW, cases, mode, **kw)
        self.assertQuiet(o)
        for key, r in results.items():
            with self.subTest(key, mode=mode):
                judge(key, r)

    def test_greeting(self):
        cases = {  # id: (bytes, reply)
            "S-001": (b"\5\1\0", b"\5\0"), "S-001.1": (b"\5\2\0\2", b"\5\0"),
            "S-004": (b"\5\xff" + bytes(range(255, 0, -1))[:254] + b"\0", b"\5\0"),
            "S-004.1": (b"\5\xff" + bytes(254) + b"\1", b"\5\0"),
            "S-005": (b"\5\1\2", b"\5\xff"), "S-007": (b"\5\3\1\2\x80", b"\5\xff"),
            "S-007.1": (b"\5\0", b"\5\xff"), "S-007.2": (b"\5\xff" + b"\2" * 255, b"\5\xff"),
            "S-006": (b"\5\xff\0", b""), "S-006.1": (b"\5", b""), "S-006.2": (b"\5\2\0", b""),
        }
        for mode in MODES:
            self.check_quiet({k: Pieces([v[0]]) for k, v in cases.items()},
                             lambda k, r: self.assertEqual(r["recv"], cases[k][1]), mode, shut=True)

    def test_first_byte(self):  # S-010
        cases = {"S-010 %02x" % b: Pieces([bytes([b]) + b"\1\0" + b"xxxxxxxx" * 4])
                 for b in range(256) if b not in (4, 5) and not chr(b).isalpha() and b != 13}
        cases["S-010 TLS"] = Pieces([b"\x16\3\1\2\0\1\0\1\xfc\3\3" + bytes(500)])
        cases["S-010 05http"] = Pieces([b"\5GET http://good.example/ HTTP/1.1\r\nHost: x\r\n\r\n" * 3])
        cases["S-010 04http"] = Pieces([b"\4GET http://good.example/ HTTP/1.1\r\nHost: x\r\n\r\n" * 3])
        cases["S-035"] = Pieces([bytes(1 << 20)])
        cases["S-035.5"] = Pieces([b"\5" + bytes(1 << 20)])

        def judge(key, r):
            self.assertIn(r["end"], ("eof", "reset"))
            self.assertIn(r["recv"], (b"", b"\5\xff", b"\5\0", b"\0\x5b\0\0\0\0\0\0"))
        for mode in MODES:
            self.check_quiet(cases, judge, mode)

    def test_bad_requests(self):
        cases = {  # id: (request, acceptable REPs)
            "S-012": (b"\5\2\0\3" + NAME + b"\0\x50", {7}),
            "S-012.1": (b"\5\3\0\3" + NAME + b"\0\x50", {7}),
            "S-015": (b"\5\1\1\3" + NAME + b"\0\x50", {1}),
            "S-015.1": (b"\5\1\xff\3" + NAME + b"\0\x50", {1}),
            "S-017": (b"\5\1\0\3\0\0\x50", {1}),
            "S-020": (b"\5\1\0\3\x16evil.test\0.wild.example"[:27] + b"\0\x50", {1}),
            "S-025": (b"\5\1\0\3" + NAME + b"\0\0", {1}),
            "S-025.1": (b"\5\1\0\1" + socket.inet_aton(v4(1)) + b"\0\0", {1, 2}),
            "S-010v": (b"\4\1\0\3" + NAME + b"\0\x50", {1}),
            "S-010w": (b"\0\1\0\3" + NAME + b"\0\x50", {1}),
        }
        for cmd in (0, 4, 0x80, 0xf0, 0xf1, 0xff):
            cases["S-014 %02x" % cmd] = (b"\5" + bytes([cmd]) + b"\0\3" + NAME + b"\0\x50", {7})
        for atyp in (0, 2, 5, 0x80, 0xff):
            cases["S-016 %02x" % atyp] = (b"\5\1\0" + bytes([atyp]) + NAME + b"\0\x50", {8})

        def judge(key, r):
            self.assertIn(r["end"], ("eof", "reset"))
            self.assertEqual(r["recv"][:3], b"\5\0\5", r)
            self.assertIn(r["recv"][3], cases[key][1], r)
            self.assertEqual(r["recv"][4:], b"\0\1\0\0\0\0\0\0")  # S-026
        for mode in MODES:
            self.check_quiet({k: request5(v[0]) for k, v in cases.items()}, judge, mode)

    def test_cut_short(self):  # S-006, S-019
        whole = b"\5\1\0\3" + NAME + b"\0\x50"
        cases = {"S-019.%d" % n: request5(whole[:n]) for n in range(len(whole))}
        whole4 = socks4a("good.example", 80)[0]
        cases.update({"S-029.%d" % n: Pieces([whole4[:n]]) for n in range(1, len(whole4))})
        for mode in MODES:
            self.check_quiet(cases, lambda k, r: self.assertIn(r["end"], ("eof", "reset")), mode,
                             shut=True)

    def test_stall(self):  # S-019: the head's time is bounded in total
        whole = b"\5\1\0\3" + NAME + b"\0\x50"
        cases = {"S-019 5": request5(whole[:10]), "S-019 4a": Pieces([b"\4\1\0\x50\0\0"]),
                 "S-019 greeting": Pieces([b"\5\2\0"]), "silent": Pieces([]),
                 "http": Pieces([b"GET http://good"])}
        for mode in MODES:
            self.check_quiet(cases, lambda k, r: self.assertIn(r["end"], ("eof", "reset")), mode,
                             timeout=20)

    def test_socks4a(self):
        cases = {
            "S-029 user": Pieces([b"\4\1\0\x50\0\0\0\1" + b"u" * (1 << 20)]),
            "S-029 host": Pieces([b"\4\1\0\x50\0\0\0\1\0" + b"h" * (1 << 20)]),
            "S-029 user.1": socks4a("evil.example", 80, user=b"u" * 255),
            "S-030": Pieces([b"\4\1\0\x50\0\0\0\0u\0"]),
            "S-030.1": Pieces([b"\4\1\0\x50\0\0\0\0u\0good.example\0"]),
            "S-012 bind": Pieces([b"\4\2\0\x50\0\0\0\1u\0good.example\0"]),
            "S-014 resolve": Pieces([b"\4\xf0\0\x50\0\0\0\1u\0good.example\0"]),
            "S-025": Pieces([b"\4\1\0\0\0\0\0\1u\0good.example\0"]),
            "S-029 empty": Pieces([b"\4\1\0\x50\0\0\0\1u\0\0"]),
        }

        def judge(key, r):
            self.assertIn(r["end"], ("eof", "reset"))
            if r["recv"]:
                self.assertEqual(r["recv"], b"\0\x5b\0\0\0\0\0\0")
        for mode in MODES:
            small = {k: p for k, p in cases.items() if len(p[0]) < 1000}
            self.check_quiet(cases if mode == "whole" else small, judge, mode)

    def test_twins(self):
        """The same paths, one byte changed, succeed."""
        cases = {"S-011": socks5("good.example", 80, get=True),
                 "S-002": Pieces([HELLO + socks5("good.example", 80)[1] + GET]),
                 "S-009": Pieces([HELLO + socks5("good.example", 80)[1], GET], [12]),
                 "S-004": Pieces([b"\5\xff" + b"\1" * 254 + b"\0", socks5("good.example", 80)[1],
                                  GET], [2, 10]),
                 "S-029 user": socks4a("good.example", 80, get=True, user=b"u" * 200),
                 "S-029 early": socks4a("good.example", 80, early=GET),
                 "S-030.x": Pieces([b"\4\1\0\x50\0\0\0\xff\0good.example\0", GET], [8])}
        for mode in MODES:
            o = self.w.oracle()
            results = self.raw(self.ALLOW, cases, mode)
            for key, r in results.items():
                with self.subTest(key, mode=mode):
                    self.assertEqual(r["recv"].count(b"hello from net"), 1)
                    at = r["recv"].find(b"\5\0\0\1")
                    if key.startswith("S-0") and at >= 0:  # S-026
                        self.assertEqual(r["recv"][at + 4:at + 10], bytes(6))
            self.assertEqual(len(o.accepts()), len(cases))
            self.assertEqual(len(o.requests()), len(cases))

    def test_host_with_two_ends(self):  # S-029
        host = socks4a("good.example", 80)[0]
        cases = {"two": Pieces([host + b"\0"]), "more": Pieces([host + b"\0" * 300]),
                 "two hosts": Pieces([host + b"\0evil.example\0"]),
                 "v4": Pieces([b"\4\1\0\x50" + socket.inet_aton(v4(1)) + b"u\0\0"])}
        self.check_quiet(cases, lambda k, r: self.assertEqual(r["recv"][:2], b"\0\x5b", r),
                         "whole")

    def test_host_with_two_ends_in_pieces(self):  # S-029
        """The second end counts for as long as nothing has been answered: here the target is slow."""
        host = socks4a("dead.example", 80)[0]
        cases = {"two": Pieces([host + b"\0"]), "more": Pieces([host + b"\0" * 300]),
                 "two hosts": Pieces([host + b"\0evil.example\0"])}
        for mode in MODES:
            o = self.w.oracle()
            results, said = self.raw(["-a", "dead.example"], cases, mode, stderr=True, timeout=30)
            for key, r in results.items():
                with self.subTest(key, mode=mode):
                    self.assertEqual(r["recv"], b"\0\x5b\0\0\0\0\0\0")
            self.assertIn("not a valid host name", said)
            self.assertNotIn("cannot reach", said)  # nobody waited for the end of the connecting
            self.assertEqual(o.accepts(), [])

    def test_second_request_after_a_failure(self):  # S-027
        p = Pieces([HELLO, socks5("evil.example", 80)[1] + socks5("good.example", 80)[1] + GET],
                   [2, 10])
        q = Pieces([HELLO, b"\5\2\0\3" + NAME + b"\0\x50" + socks5("good.example", 80)[1] + GET],
                   [2, 10])
        for mode in MODES:
            self.check_quiet({"S-027": p}, lambda k, r: self.assertDenied(r, None), mode)
            self.check_quiet({"S-027": q}, lambda k, r: self.assertEqual(self.kind(r), ("socks5", 7)),
                             mode)

    def test_resets(self):  # S-031, R-012
        p = socks5("good.example", ECHO)
        cases = {}
        for i in range(100):
            cases["greeting %d" % i] = Pieces([HELLO])
            cases["request %d" % i] = Pieces([HELLO, p[1]], [2])
            cases["open %d" % i] = p
        for mode in MODES:
            self.raw(self.ALLOW, cases, mode, rst=True)
        r = self.raw(self.ALLOW, {"x": socks5("good.example", 80, get=True)})["x"]
        self.assertIn(b"hello from net", r["recv"])

    def test_name_over_every_length(self):
        names = {n: b"a" * min(n, 60) + b"." + b"b" * max(0, n - 61) for n in (1, 2, 62, 63, 124)}
        cases = {"len %d" % n: socks5(name[:n], 80) for n, name in names.items()}
        cases["len 255"] = socks5(b".".join([b"a" * 50] * 5), 80)

        def judge(key, r):
            self.assertBadOrDenied(r)
        for mode in MODES:
            self.check_quiet(cases, judge, mode)

    def test_domain_type_bytes(self):
        raw = socks5_bytes(3, b"\x0cgood.example", 80, get=True)
        for mode in MODES:
            r = self.raw(self.ALLOW, {"x": raw}, mode)["x"]
            self.assertIn(b"hello", r["recv"])
        self.assertEqual(struct.unpack(">H", raw[1][-2:])[0], 80)


if __name__ == "__main__":
    main()

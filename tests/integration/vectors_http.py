#!/usr/bin/python3
"""The HTTP vectors, and the host and port vectors over CONNECT and absolute-form."""
import base64
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from raw import GET, Pieces, RawCase, connect, http  # noqa: E402
from vectors import ALLOW, BAD, DENY, OK, PORTS_TEXT, hosts  # noqa: E402
from world import main, v4, v6  # noqa: E402

MODES = ("whole", "bytes")
WAYS = {"connect": connect, "http": http}
HOST = b"Host: good.example\r\n"
CLOSE = b"Connection: close\r\n"


def head(fields=b"", body=b"", method=b"GET", target=b"http://good.example/head",
         version=b"HTTP/1.1", host=HOST, close=CLOSE):
    return Pieces([method + b" " + target + b" " + version + b"\r\n" + host + close + fields +
                   b"\r\n" + body])


def post(fields, body=b""):
    return head(fields, body, b"POST", b"http://good.example/upload")


def chunked(body):
    return post(b"Transfer-Encoding: chunked\r\n", body)


def raw_reply(data):
    """A request for which the origin answers exactly these bytes, then closes."""
    return b"http://good.example/raw/" + base64.urlsafe_b64encode(data)


class Hosts(RawCase):
    def cases(self, want):
        out = {}
        for ident, host, expect, ways in hosts():
            for way, make in WAYS.items():
                if ways is not None and way not in ways:
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
                    r = results[key]
                    if expect == BAD:
                        self.assertBad(r)
                    elif expect == DENY:
                        self.assertDenied(r, None)
                    else:
                        self.assertBadOrDenied(r)
                    self.assertClean(r)
            kinds.append({k: self.kind(r) for k, r in results.items()})
        self.assertEqual(kinds[0], kinds[1])

    def assertClean(self, r):
        """H-031, H-032, Q-072: one response, right length, nothing but printable text."""
        if not r["recv"]:
            return
        top, _, body = r["recv"].partition(b"\r\n\r\n")
        fields = dict(x.lower().split(b": ", 1) for x in top.split(b"\r\n")[1:])
        self.assertEqual(int(fields[b"content-length"]), len(body))
        self.assertEqual(fields[b"connection"], b"close")
        self.assertTrue(fields[b"content-type"].startswith(b"text/plain"))
        self.assertRegex(body, rb"\A[ -~]+\n?\Z")

    def test_allowed(self):
        cases = self.cases(OK)
        for mode in MODES:
            o = self.w.oracle()
            results = self.raw(ALLOW, {k: p for k, (p, _) in cases.items()}, mode)
            for key, r in results.items():
                with self.subTest(key, mode=mode):
                    self.assertIn(b"hello from net", r["recv"])
            self.assertEqual(len(o.accepts()), len(cases))

    def test_ports(self):
        bad, good = {}, {}
        for ident, text, want in PORTS_TEXT:
            authority = b"good.example:" + text
            for way, p in (("connect", Pieces([b"CONNECT " + authority + b" HTTP/1.1\r\nHost: " +
                                               b"good.example\r\n\r\n", GET], [1])),
                           ("http", Pieces([b"GET http://" + authority + b"/ HTTP/1.1\r\n" + HOST +
                                            CLOSE + b"\r\n"]))):
                if ident == "T-006" and way == "http":
                    continue  # D? RFC 3986 allows an empty port in a URI
                (good if want == OK else bad)["%s %s" % (ident, way)] = p
        bad["T-005"] = connect("good.example", None)
        for mode in MODES:
            o = self.w.oracle()
            results = self.raw(ALLOW, bad, mode)
            self.assertQuiet(o)
            for key, r in results.items():
                with self.subTest(key, mode=mode):
                    self.assertBad(r)
            for key, r in self.raw(ALLOW, good, mode).items():
                with self.subTest(key, mode=mode):
                    self.assertIn(b"hello from net", r["recv"])

    def test_literals_allowed(self):
        options = ["-a", v4(1), "-a", "[2A01:4F8:10:0::1]"]
        cases = {}
        for way, make in WAYS.items():
            for text in (v4(1), "[%s]" % v6(1), "[2a01:04f8:0010::0001]", "[2A01:4f8:10::0.0.0.1]"):
                cases["A-039 %s %s" % (way, text)] = make(text, 80, get=True)
        for mode in MODES:
            o = self.w.oracle()
            for key, r in self.raw(options, cases, mode).items():
                with self.subTest(key, mode=mode):
                    self.assertIn(b"hello from net", r["recv"])
            self.assertEqual({a for a, _ in o.accepts()}, {v4(1), v6(1)})

    def test_log_is_one_clean_line(self):  # H-031
        cases = {"%d" % i: connect(x, 443) for i, x in enumerate(
            [b"\x1b[2Jevil.test", b"evil.test\x1b]0;x\x07", b"%n%s%n.evil.test", b"a" * 4000,
             b"evil.test\x9b2J", b"%s%s%s.example"])}
        o = self.w.oracle()
        _, stderr = self.raw(ALLOW + ["-v"], cases, stderr=True)
        self.assertQuiet(o)
        self.assertRegex(stderr, r"\A[ -~\n]*\Z")


class Framing(RawCase):
    GOODS = ["-a", "good.example"]
    CANARY = b"GET http://good.example/smuggled HTTP/1.1\r\n" + HOST + b"\r\n"

    # id: (pieces, statuses); nothing may reach the origin
    BAD_HEADS = {
        "H-004": (Pieces([b"GET / HTTP/1.1\r\nHost: good.example\0.evil.test\r\n\r\n"]), {400}),
        "H-004 one": (Pieces([b"GET / HTTP/1.1\r\nHost: good.example\0\r\n\r\n"]), {400}),
        "Q-002 all LF": (Pieces([head()[0].replace(b"\r\n", b"\n")]), {400}),
        "Q-002 one LF": (head(b"X: y\nZ: w\r\n"), {400}),
        "Q-002 LF end": (Pieces([head()[0][:-2] + b"\n"]), {400}),
        "Q-002 bare CR": (head(b"X: y\rZ: w\r\n"), {400}),
        "Q-002 CRCRLF": (head(b"X: y\r\r\n"), {400}),
        "Q-004 sp": (head(b"X: a\r\n b\r\n"), {400}),
        "Q-004 tab": (head(b"X: a\r\n\tb\r\n"), {400}),
        "Q-004 host": (head(host=b"Host:\r\n good.example\r\n"), {400}),
        "Q-005": (post(b"Transfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n"), {400}),
        "Q-006 host": (head(host=b"Host : good.example\r\n"), {400}),
        "Q-006 length": (post(b"Content-Length : 5\r\n", b"12345"), {400}),
        "Q-006 tab": (head(b"X\t: y\r\n"), {400}),
        "Q-007 sp": (Pieces([b"GET http://good.example/ HTTP/1.1\r\n X: y\r\n" + HOST + b"\r\n"]),
                     {400}),
        "Q-007 tab": (Pieces([b"GET http://good.example/ HTTP/1.1\r\n\tX: y\r\n" + HOST + b"\r\n"]),
                      {400}),
        "Q-009 colon": (head(b"no colon here\r\n"), {400}),
        "Q-009 empty": (head(b": value\r\n"), {400}),
        "Q-009 paren": (head(b"X(y: z\r\n"), {400}),
        "Q-009 space": (head(b"X y: z\r\n"), {400}),
        "Q-009 high": (head(b"X\x80: z\r\n"), {400}),
        "Q-009 utf8": (head("X\u00e9: z\r\n".encode()), {400}),
        "Q-010 cl te": (post(b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                             b"0\r\n\r\n"), {400}),
        "Q-010 te cl": (post(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                             b"0\r\n\r\n"), {400}),
        "Q-011": (post(b"Content-Length: 5\r\nContent-Length: 6\r\n", b"123456"), {400}),
        "Q-012 same": (post(b"Content-Length: 5\r\nContent-Length: 5\r\n", b"12345"), {400}),
        "Q-012 list": (post(b"Content-Length: 3, 3\r\n", b"123"), {400}),
        "Q-015": (post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                       b"0\r\n\r\n"), {400, 501}),
        "Q-015.1": (post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                         b"0\r\n\r\n"), {400, 501}),
        "Q-016": (Pieces([b"POST http://good.example/upload HTTP/1.0\r\n" + HOST +
                          b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"]), {400}),
        "Q-020": (head(b"\0X: y\r\nX-After: z\r\n"), {400}),
        "Q-021 value": (head(b"X: a\0b\r\n"), {400}),
        "Q-021 name": (head(b"X\0: a\r\n"), {400}),
        "Q-021 host": (head(host=b"Host: good.example\0.evil.test\r\n"), {400}),
        "Q-021 line": (head(target=b"http://good.example/\0"), {400}),
        "Q-024": (head(host=b""), {400}),
        "Q-024 two": (head(host=HOST + HOST), {400}),
        "Q-024 differ": (head(host=HOST + b"Host: evil.test\r\n"), {400}),
        "Q-025 ctl": (head(host=b"Host: good\x01.example\r\n"), {400}),
        "Q-025 colons": (head(host=b"Host: good.example:80:80\r\n"), {400}),
        "Q-025 user": (head(host=b"Host: u@good.example\r\n"), {400}),
        "Q-025 path": (head(host=b"Host: good.example/x\r\n"), {400}),
        "Q-025 list": (head(host=b"Host: good.example, evil.test\r\n"), {400}),
        "Q-029 options": (head(method=b"OPTIONS", target=b"*"), {400}),
        "Q-029 get": (head(target=b"*"), {400}),
        "Q-030 authority": (head(target=b"good.example:80"), {400}),
        "Q-030 connect": (head(method=b"CONNECT", target=b"http://good.example:80/"), {400}),
        "Q-030 connect.1": (head(method=b"CONNECT", target=b"good.example:80/"), {400}),
        "Q-030 origin": (head(target=b"/"), {400}),
        "Q-031 spaces": (Pieces([b"GET  http://good.example/ HTTP/1.1\r\n" + HOST + b"\r\n"]),
                         {400}),
        "Q-031 spaces.1": (Pieces([b"GET http://good.example/  HTTP/1.1\r\n" + HOST + b"\r\n"]),
                           {400}),
        "Q-031 tab": (Pieces([b"GET\thttp://good.example/ HTTP/1.1\r\n" + HOST + b"\r\n"]), {400}),
        "Q-031 crlfs": (Pieces([b"\r\n\r\n" + head()[0]]), {400}),
        "Q-031 lf": (Pieces([b"\n" + head()[0]]), {400}),
        "Q-031 trailing": (Pieces([b"GET http://good.example/ HTTP/1.1 \r\n" + HOST + b"\r\n"]),
                           {400}),
        "Q-031 leading": (Pieces([b" GET http://good.example/ HTTP/1.1\r\n" + HOST + b"\r\n"]),
                          {400}),
        "Q-031 noversion": (Pieces([b"GET http://good.example/\r\n\r\n"]), {400, 505}),
        "Q-031 four": (Pieces([b"GET http://good.example/ x HTTP/1.1\r\n" + HOST + b"\r\n"]),
                       {400}),
        "Q-037 lower": (head(method=b"connect", target=b"good.example:80"), {400, 501}),
        "Q-037 get": (head(method=b"get"), {400, 501}),
        "Q-037 connectx": (head(method=b"CONNECTX", target=b"good.example:80"), {400, 501}),
        "Q-037 foo": (head(method=b"FOO"), {400, 501}),
        "Q-037 trace": (head(method=b"TRACE"), {400, 405, 501}),
        "Q-037 sep": (head(method=b'G=":<>'), {400, 501}),
        "Q-037 long": (head(method=b"G" * (1 << 20)), {400, 414, 431, 501}),
        "Q-054 length": (head(b"Content-Length: 5\r\n", b"12345", b"CONNECT", b"good.example:80"),
                         {400}),
        "Q-054 chunked": (head(b"Transfer-Encoding: chunked\r\n", b"0\r\n\r\n", b"CONNECT",
                               b"good.example:80"), {400}),
        "Q-064 host": (head(close=b"Connection: close, Host\r\n"), {400}),
        "Q-064 length": (Pieces([b"POST http://good.example/upload HTTP/1.1\r\n" + HOST +
                                 b"Connection: Content-Length\r\nContent-Length: 5\r\n\r\n12345"]),
                         {400}),
        "Q-064 te": (Pieces([b"POST http://good.example/upload HTTP/1.1\r\n" + HOST +
                             b"Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n"
                             b"0\r\n\r\n"]), {400}),
        "Q-067": (head(b"Expect: foo\r\n"), {417}),
        "Q-070 fragment": (head(target=b"http://good.example/#x"), {400}),
        "Q-070 user": (head(target=b"http://u@good.example/"), {400}),
        "Q-070 user.1": (head(target=b"http://u:p@good.example/"), {400}),
        "Q-070 empty": (head(target=b"http:///x"), {400}),
        "Q-070 empty.1": (head(target=b"http://:80/x"), {400}),
        "Q-070 ports": (head(target=b"http://good.example:80:80/"), {400}),
        "R-005 64k": (head(b"X: " + b"x" * 65536 + b"\r\n"), {431}),
        "R-005 1m": (head(b"X: " + b"x" * (1 << 20) + b"\r\n"), {431}),
        "R-005 many": (head(b"".join(b"X%d: y\r\n" % i for i in range(10000))), {431}),
        "R-005 101": (head(b"".join(b"X%d: y\r\n" % i for i in range(101))), {431}),
        "R-005 line": (head(target=b"http://good.example/" + b"x" * 16384), {414, 431}),
        "H-026 64k": (connect(b"a." * 32768 + b"x", 80), {400, 414, 431}),
        "H-026 1m": (connect(b"a." * (1 << 19) + b"x", 80), {400, 414, 431}),
        "R-021 length": (post(b"Content-Length: 9223372036854775808\r\n"), {400, 413}),
        "R-021 length.1": (post(b"Content-Length: 18446744073709551616\r\n"), {400, 413}),
        "R-021 length.2": (post(b"Content-Length: -1\r\n"), {400}),
        "R-021 length.3": (post(b"Content-Length: +5\r\n", b"12345"), {400}),
        "R-021 length.4": (post(b"Content-Length: 0x5\r\n", b"12345"), {400}),
        "R-021 length.5": (post(b"Content-Length: 5 5\r\n", b"12345"), {400}),
        "R-021 length.6": (post(b"Content-Length: \r\n"), {400}),
    }
    for _n, _te in enumerate((b"gzip, chunked", b"identity", b"xchunked", b"chunked, chunked",
                              b'"chunked"', b"\x0bchunked", b"chunked;q=1", b"chunked,", b"",
                              b"chunked\x00", b"chunkedx", b"gzip", b",chunked")):
        BAD_HEADS["Q-014.%d" % _n] = (post(b"Transfer-Encoding: " + _te + b"\r\n", b"0\r\n\r\n"),
                                      {400, 501})
    for _n, _v in enumerate((b"HTTP/1.9", b"HTTP/1.10", b"HTTP/0.9", b"HTTP/2.0", b"http/1.1",
                             b"HTTP/1.1\x0b", b"HTTP/4294967297.1", b"HTTP/1", b"HTTP/1.", b"HTTP",
                             b"HTTP/01.1", b"HTTP/1.01", b"HTTP /1.1", b"HTTP/1 .1", b"HTTPS/1.1",
                             b"HTTP/3.0", b"HTTP/1.2")):
        BAD_HEADS["Q-032.%d" % _n] = (head(version=_v), {400, 505})
    for _n, _t in enumerate((b"https://good.example/", b"ftp://good.example/", b"ws://good.example/",
                             b"file:///etc/passwd", b"gopher://good.example/", b"http:/x",
                             b"//good.example/", b"http:good.example", b"http:/good.example/",
                             b"http//good.example/", b"httpx://good.example/", b"good.example/",
                             b"http:\\\\good.example/", b"http://good.example\\@evil.test/")):
        BAD_HEADS["T-012.%d" % _n] = (head(target=_t), {400, 501})

    def test_bad_heads(self):
        kinds = []
        for mode in MODES:
            cases = {k: Pieces([v[0][0] + self.CANARY]) for k, v in self.BAD_HEADS.items()
                     if mode == "whole" or len(v[0][0]) < 3000}
            o = self.w.oracle()
            results = self.raw(self.GOODS, cases, mode)
            self.assertQuiet(o, mode)
            for key, r in results.items():
                with self.subTest(key, mode=mode):
                    self.assertEnded(r)
                    if key.startswith("Q-031") and not r["recv"]:
                        continue  # not even a letter first: closed without a word
                    what = self.kind(r)
                    self.assertEqual(what[0], "http", r)
                    self.assertIn(what[1], self.BAD_HEADS[key][1], r)
                    self.assertEqual(len(re.findall(rb"HTTP/1\.1 [0-9]", r["recv"])), 1)
            kinds.append({k: self.kind(r) for k, r in results.items()})
        for key, kind in kinds[1].items():
            with self.subTest(key, same=True):
                self.assertEqual(kinds[0][key], kind)

    GOOD_HEADS = {
        "Q-001 get": head(),
        "Q-001 1.0": Pieces([b"GET http://good.example/head HTTP/1.0\r\n" + HOST + b"\r\n"]),
        "Q-024 1.0": Pieces([b"GET http://good.example/head HTTP/1.0\r\n\r\n"]),
        "Q-009 tchar": head(b"!#$%&'*+-.^_`|~X: y\r\n"),
        "Q-009 novalue": head(b"X:\r\n"),
        "Q-009 blanks": head(b"X: \t y \t\r\n"),
        "Q-009 high value": head(b"X: \xe9\xff\r\n"),
        "Q-012 one": post(b"Content-Length: 3\r\n", b"123"),
        "Q-014 exact": chunked(b"3\r\nabc\r\n0\r\n\r\n"),
        "Q-014 case": post(b"Transfer-Encoding: CHUNKED\r\n", b"3\r\nabc\r\n0\r\n\r\n"),
        "Q-031 crlf": Pieces([b"\r\n" + head()[0]]),
        "Q-037 delete": head(method=b"DELETE"),
        "Q-037 options": head(method=b"OPTIONS"),
        "Q-037 propfind": head(method=b"PROPFIND"),
        "T-012 case": head(target=b"HTTP://good.example/head"),
        "T-012 host": head(target=b"http://GOOD.example./head"),
        "Q-070 nopath": head(target=b"http://good.example"),
        "Q-070 query": head(target=b"http://good.example?x=y"),
        "R-005 60": head(b"".join(b"X%d: y\r\n" % i for i in range(60))),
        "R-005 8k": head(b"X: " + b"x" * 8192 + b"\r\n"),
        "R-005 line": head(target=b"http://good.example/" + b"x" * 8192),
        "Q-039": head(target=b"http://good.example/head?%0d%0aX:%20y"),
    }

    def test_good_twins(self):
        for mode in MODES:
            o = self.w.oracle()
            results = self.raw(self.GOODS, self.GOOD_HEADS, mode)
            for key, r in results.items():
                with self.subTest(key, mode=mode):
                    self.assertRegex(r["recv"][:13], rb"^HTTP/1\.1 200")
                    self.assertEqual(r["end"], "eof")
            self.assertEqual(len(o.requests()), len(self.GOOD_HEADS))
            self.assertEqual({q["target"] for q in o.requests() if "%0d" in q["target"]},
                             {"/head?%0d%0aX:%20y"})

    BAD_BODIES = {
        "Q-017 0x3": b"0x3\r\nabc\r\n0\r\n\r\n", "Q-017 junk": b"3 junk\r\nabc\r\n0\r\n\r\n",
        "Q-017 sp": b" 3\r\nabc\r\n0\r\n\r\n", "Q-017 -1": b"-1\r\nabc\r\n0\r\n\r\n",
        "Q-017 +3": b"+3\r\nabc\r\n0\r\n\r\n", "Q-017 3_": b"3_\r\nabc\r\n0\r\n\r\n",
        "Q-017 empty": b"\r\nabc\r\n0\r\n\r\n", "Q-017 f16": b"ffffffffffffffff\r\nabc",
        "Q-017 17": b"100000000000000000\r\nabc", "Q-017 zeros": b"0" * 4096 + b"3\r\nabc\r\n",
        "Q-017 8000": b"8000000000000000\r\nabc", "Q-017 trailing": b"3 \r\nabc\r\n0\r\n\r\n",
        "Q-019 nocrlf": b"3\r\nabcd\r\n0\r\n\r\n", "Q-019 lf": b"3\nabc\n0\n\n",
        "Q-019 lf.1": b"3\r\nabc\n0\r\n\r\n", "Q-019 blank": b"3\r\nabc\r\n\r\n0\r\n\r\n",
        "Q-019 lf ext": b"3;x\nabc\r\n0\r\n\r\n", "Q-019 cr": b"3\rabc\r\n0\r\n\r\n",
        "Q-022 trailer lf": b"0\r\nX: y\n\r\n", "Q-022 trailers": b"0\r\n" + b"X: y\r\n" * 9000,
        "R-005 ext": b"3;" + b"x" * 65536 + b"\r\nabc\r\n0\r\n\r\n",
    }

    def test_bad_bodies(self):
        for mode in MODES:
            o = self.w.oracle()
            cases = {k: chunked(v + self.CANARY) for k, v in self.BAD_BODIES.items()
                     if mode == "whole" or len(v) < 3000}
            results = self.raw(self.GOODS, cases, mode, timeout=15)
            for key, r in results.items():
                with self.subTest(key, mode=mode):
                    self.assertEnded(r)
                    self.assertNotRegex(r["recv"][:13], rb"^HTTP/1\.1 200")
            self.assertNotIn("/smuggled", [q["target"] for q in o.requests()])
            self.assertEqual(o.records("body"), [])

    def test_chunked_is_reframed(self):
        body = (b"3;a=b\r\nabc\r\n0003\r\ndef\r\n0\r\nHost: evil\r\nContent-Length: 9\r\n"
                b"Proxy-Authorization: x\r\n\r\n")
        for mode in MODES:
            o = self.w.oracle()
            r = self.raw(self.GOODS, {"x": chunked(body)}, mode)["x"]
            self.assertIn(b'"size": 6', r["recv"])
            self.assertEqual(o.records("body")[0]["size"], 6)
            self.assertNotIn("evil", o.requests()[0]["head"])


class Forwarding(RawCase):
    GOODS = ["-a", "good.example", "-a", "other.example"]

    def upstream(self, pieces, **kw):
        """The head that the origin saw, lower case, as a list of lines; and the client's reply."""
        o = self.w.oracle()
        r = self.raw(self.GOODS, {"x": pieces}, **kw)["x"]
        requests = o.requests()
        self.assertEqual(len(requests), 1, r)
        return requests[0]["head"].lower().split("\r\n"), r

    def test_host_comes_from_the_target(self):
        for mode in MODES:
            lines, _ = self.upstream(head(host=b"Host: evil.test\r\n"), mode=mode)
            self.assertEqual([x for x in lines if x.startswith("host:")], ["host: good.example"])
            lines, _ = self.upstream(head(target=b"http://GOOD.example.:8080/head",
                                          host=b"Host: evil.test\r\n"), mode=mode)
            self.assertEqual([x for x in lines if x.startswith("host:")],
                             ["host: good.example:8080"])

    def test_connect_target_decides(self):
        p = Pieces([b"CONNECT good.example:80 HTTP/1.1\r\nHost: evil.test:80\r\n\r\n", GET], [1])
        r = self.raw(self.GOODS, {"x": p})["x"]
        self.assertIn(b"hello from net", r["recv"])
        p = Pieces([b"CONNECT evil.test:80 HTTP/1.1\r\nHost: good.example:80\r\n\r\n"])
        o = self.w.oracle()
        self.assertDenied(self.raw(self.GOODS, {"x": p})["x"], {"not-listed"})
        self.assertQuiet(o)

    def test_connect_answer(self):  # Q-001; Q-087, as decided
        r = self.raw(self.GOODS, {"x": connect("good.example", 80, get=True)})["x"]
        self.assertRegex(r["recv"], rb"\AHTTP/1\.1 200 [^\r\n]*\r\n\r\nHTTP/1\.1 200 OK\r\n")

    def test_hop_by_hop(self):
        lines, _ = self.upstream(head(
            b"Keep-Alive: 5\r\nTE: trailers\r\nTrailer: X\r\nProxy-Connection: keep-alive\r\n"
            b"Proxy-Authorization: Basic eDp5\r\nX-Secret: s\r\nX-Kept: k\r\nCookie: a=1\r\n"
            b"Cookie: b=2\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n",
            close=b"Connection: close, X-Secret, Upgrade, HTTP2-Settings\r\n"))
        names = [x.split(":")[0] for x in lines[1:] if x]
        for name in ("keep-alive", "te", "trailer", "proxy-connection", "proxy-authorization",
                     "x-secret", "upgrade", "http2-settings", "via", "x-forwarded-for",
                     "forwarded"):
            self.assertNotIn(name, names)
        self.assertIn("x-kept: k", lines)
        self.assertEqual(len([x for x in lines if x.startswith("cookie:")]), 2)
        self.assertEqual(lines[0], "get /head http/1.1")

    def test_end_to_end_fields_pass(self):
        lines, _ = self.upstream(head(b"Via: 1.1 x\r\nForwarded: for=a\r\nMax-Forwards: 0\r\n"
                                      b"Authorization: Basic eDp5\r\n"))
        self.assertIn("authorization: basic edp5", lines)
        self.assertIn("via: 1.1 x", lines)

    def test_h2c_upgrade(self):
        lines, r = self.upstream(head(b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
                                      close=b"Connection: Upgrade, HTTP2-Settings, close\r\n"))
        self.assertFalse([x for x in lines if x.startswith(("upgrade", "http2-settings"))])
        self.assertIn(b" 200 ", r["recv"][:15])

    def test_path_is_untouched(self):
        for path in (b"/../head", b"//evil.test/", b"/%2e%2e/%0d%0a", b"/a;b=c?d=/e//f",
                     b"/head?http://evil.test/"):
            with self.subTest(path):
                lines, _ = self.upstream(head(target=b"http://good.example" + path))
                self.assertEqual(lines[0], "get %s http/1.1" % path.decode().lower())
                self.assertIn("host: good.example", lines)

    def two(self, first, second, **kw):
        return Pieces([first + second], **kw)

    def req(self, host, path=b"/head", extra=b""):
        return b"GET http://" + host + path + b" HTTP/1.1\r\nHost: " + host + b"\r\n" + extra + \
            b"\r\n"

    def test_each_request_is_judged(self):
        for name, p in (
                ("pipelined", Pieces([self.req(b"good.example") + self.req(b"evil.test")])),
                ("keep-alive", Pieces([self.req(b"good.example"), self.req(b"evil.test")], [100]))):
            for mode in MODES:
                with self.subTest(name, mode=mode):
                    o = self.w.oracle()
                    r = self.raw(self.GOODS, {"x": p}, mode)["x"]
                    self.assertEqual(r["recv"].count(b"HTTP/1.1 200"), 1)
                    self.assertEqual(r["recv"].count(b"HTTP/1.1 403"), 1)
                    self.assertLess(r["recv"].index(b"HTTP/1.1 200"),
                                    r["recv"].index(b"HTTP/1.1 403"))
                    self.assertEqual(r["end"], "eof")
                    self.assertEqual(len(o.requests()), 1)
                    self.assertNotIn("evil.test", {n for _, n in o.queries()})

    def test_pipelined_three(self):
        p = Pieces([self.req(b"good.example", b"/bytes/10") + self.req(b"other.example", b"/head") +
                    self.req(b"good.example", b"/1xx", CLOSE)])
        for mode in MODES:
            o = self.w.oracle()
            r = self.raw(self.GOODS, {"x": p}, mode)["x"]
            self.assertEqual(r["recv"].count(b"HTTP/1.1 200"), 3)
            self.assertEqual([q["target"] for q in o.requests()], ["/bytes/10", "/head", "/1xx"])

    def test_one_upstream_per_host(self):  # both names have the same address
        p = Pieces([self.req(b"good.example"), self.req(b"other.example"),
                    self.req(b"good.example", extra=CLOSE)], [100, 100])
        o = self.w.oracle()
        r = self.raw(self.GOODS, {"x": p})["x"]
        self.assertEqual(r["recv"].count(b"HTTP/1.1 200"), 3)
        by_host = {}
        for q in o.requests():
            host = [x for x in q["head"].lower().split("\r\n") if x.startswith("host:")][0]
            by_host.setdefault(host, set()).add(q["conn"])
        good, other = by_host["host: good.example"], by_host["host: other.example"]
        self.assertFalse(good & other)

    def test_upstream_is_reused(self):
        p = Pieces([self.req(b"good.example"), self.req(b"good.example"),
                    self.req(b"good.example", extra=CLOSE)], [100, 100])
        o = self.w.oracle()
        r = self.raw(self.GOODS, {"x": p})["x"]
        self.assertEqual(r["recv"].count(b"HTTP/1.1 200"), 3)
        self.assertEqual(len({q["conn"] for q in o.requests()}), 1)

    def test_after_a_refused_connect_nothing_is_served(self):
        p = Pieces([b"CONNECT evil.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n" +
                    self.req(b"good.example")])
        o = self.w.oracle()
        r = self.raw(self.GOODS, {"x": p})["x"]
        self.assertDenied(r, {"not-listed"})
        self.assertEqual(r["recv"].count(b"HTTP/1.1"), 1)
        self.assertQuiet(o)

    def test_decision_ignores_decoration(self):  # H-057
        for extra in (b"Via: 1.1 good.example\r\n", b"Proxy-Authorization: Basic eDp5\r\n",
                      b"X-Forwarded-For: 127.0.0.1\r\n", b"Forwarded: host=good.example\r\n",
                      b"X-Forwarded-Host: good.example\r\n", b"User-Agent: curl\r\n"):
            with self.subTest(extra):
                o = self.w.oracle()
                r = self.raw(self.GOODS, {
                    "c": connect("evil.test", 443, extra=extra),
                    "h": Pieces([b"GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n" + extra +
                                 b"\r\n"])})
                self.assertDenied(r["c"], {"not-listed"})
                self.assertDenied(r["h"], {"not-listed"})
                self.assertQuiet(o)

    def test_redirect_is_not_followed(self):
        reply = (b"HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nContent-Length: 0\r\n"
                 b"Connection: close\r\n\r\n")
        o = self.w.oracle()
        r = self.raw(self.GOODS, {"x": head(target=raw_reply(reply))})["x"]
        self.assertIn(b" 302 ", r["recv"][:15])
        self.assertIn(b"Location: http://evil.test/", r["recv"])
        self.assertEqual(len(o.requests()), 1)

    def test_expect_continue(self):
        p = Pieces([b"POST http://good.example/upload HTTP/1.1\r\n" + HOST + CLOSE +
                    b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n", b"12345"], [20])
        for mode in MODES:
            r = self.raw(self.GOODS, {"x": p}, mode)["x"]
            self.assertIn(b"HTTP/1.1 100", r["recv"][:20])
            self.assertIn(b'"size": 5', r["recv"])

    def test_duplicate_response_fields_are_kept(self):
        r = self.raw(self.GOODS, {"x": head(target=b"http://good.example/dup")})["x"]
        self.assertIn(b"Set-Cookie: a=1\r\n", r["recv"])
        self.assertIn(b"Set-Cookie: b=2\r\n", r["recv"])

    def test_chunked_response(self):
        r = self.raw(self.GOODS, {"x": head(target=b"http://good.example/chunked"), "1.0": Pieces([
            b"GET http://good.example/chunked HTTP/1.0\r\n\r\n"])})
        self.assertIn(b"hello ", r["x"]["recv"])
        self.assertNotIn(b"X-Trailer", r["x"]["recv"])
        self.assertTrue(r["x"]["recv"].endswith(b"0\r\n\r\n"))
        self.assertTrue(r["1.0"]["recv"].endswith(b"\r\n\r\nhello world\n"), r["1.0"])

    def test_malformed_responses(self):
        ok = b"HTTP/1.1 200 OK\r\n"
        bad = {
            "not http": b"SSH-2.0-x\r\n\r\n", "0.9": b"<html>hello</html>\n",
            "version": b"HTTP/2.0 200 OK\r\n\r\n", "status": b"HTTP/1.1 2000 OK\r\n\r\n",
            "status.1": b"HTTP/1.1 20x OK\r\n\r\n", "status.2": b"HTTP/1.1 099 OK\r\n\r\n",
            "lf": b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
            "nul": ok + b"X: a\0b\r\nContent-Length: 2\r\n\r\nhi",
            "fold": ok + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\nhi",
            "two lengths": ok + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi",
            "cl te": ok + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "bad te": ok + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            "huge": ok + b"X: " + b"x" * 100 + b"\r\n" + b"".join(b"X%d: y\r\n" % i
                                                                 for i in range(300)) + b"\r\n",
            "101": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            "empty": b"", "cut head": b"HTTP/1.1 200 OK\r\nContent-Le",
        }
        cases = {k: head(target=raw_reply(v)) for k, v in bad.items()}
        for key, r in self.raw(self.GOODS, cases).items():
            with self.subTest(key):
                self.assertEqual(self.kind(r)[:2], ("http", 502), r)

    def test_cut_bodies_are_not_clean(self):
        ok = b"HTTP/1.1 200 OK\r\n"
        cut = {"length": ok + b"Content-Length: 10\r\n\r\nhi",
               "chunk": ok + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhi",
               "last": ok + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
               "bad chunk": ok + b"Transfer-Encoding: chunked\r\n\r\n2 x\r\nhi\r\n0\r\n\r\n"}
        cases = {k: head(target=raw_reply(v)) for k, v in cut.items()}
        for key, r in self.raw(self.GOODS, cases).items():
            with self.subTest(key):
                self.assertFalse(r["end"] == "eof" and r["recv"].endswith(b"0\r\n\r\n"), r)
                if r["end"] == "eof" and b"Content-Length: 10" not in r["recv"]:
                    self.assertEqual(self.kind(r)[:2], ("http", 502), r)

    def test_no_body_responses(self):
        replies = {"204": b"HTTP/1.1 204 No Content\r\n\r\nextra bytes",
                   "304": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nextra"}
        cases = {k: head(target=raw_reply(v)) for k, v in replies.items()}
        cases["head"] = head(method=b"HEAD", target=b"http://good.example/bytes/100")
        for key, r in self.raw(self.GOODS, cases).items():
            with self.subTest(key):
                self.assertNotIn(b"extra", r["recv"])
                self.assertTrue(r["recv"].endswith(b"\r\n\r\n"))
                self.assertEqual(r["end"], "eof")

    def test_port_rule_for_absolute_form(self):  # T-011
        options = ["-a", "good.example:443"]
        o = self.w.oracle()
        r = self.raw(options, {"80": http("good.example", 80), "22": connect("good.example", 22),
                               "444": connect("good.example", 444)})
        for key in r:
            self.assertDenied(r[key], {"not-listed"})
        self.assertQuiet(o)
        p = http("good.example", 443)
        self.raw(options, {"443": p})
        self.assertEqual([port for _, port in o.accepts()], [443])

    def test_many_at_once(self):
        cases = {str(i): connect("good.example", 80, get=True) for i in range(600)}
        r = self.raw(self.GOODS, cases)
        self.assertEqual(len([x for x in r.values() if b"hello from net" in x["recv"]]), 600)


if __name__ == "__main__":
    main()

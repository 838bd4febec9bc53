"""Cases for rawclient.py, and the judgement of what came back."""
import base64
import json
import socket
import struct

from world import WorldCase


def connect(host, port, get=False, timeout=8, early=b"", extra=b""):
    """Pieces for a CONNECT; with get a GET follows inside the tunnel."""
    host = host if isinstance(host, bytes) else host.encode("latin1")
    authority = host + (b":%d" % port if port is not None else b"")
    head = b"CONNECT " + authority + b" HTTP/1.1\r\nHost: " + authority + b"\r\n" + extra + b"\r\n"
    return Pieces([head + early] + ([GET] if get else []), [1], timeout=timeout)


def http(host, port, get=False, timeout=8, path=b"/"):
    host = host if isinstance(host, bytes) else host.encode("latin1")
    authority = host + (b":%d" % port if port not in (80, None) else b"")
    return Pieces([b"GET http://" + authority + path + b" HTTP/1.1\r\nHost: " + authority +
                   b"\r\nConnection: close\r\n\r\n"], timeout=timeout)


def socks5(host, port, get=False, timeout=8, early=b""):
    host = host if isinstance(host, bytes) else host.encode("latin1")
    return Pieces([b"\5\1\0", b"\5\1\0\3" + bytes([len(host)]) + host + struct.pack(">H", port) +
                   early] + ([GET] if get else []), [2, 10], timeout=timeout)


def socks5_bytes(atyp, raw, port, get=False, timeout=8):
    return Pieces([b"\5\1\0", b"\5\1\0" + bytes([atyp]) + raw + struct.pack(">H", port)] +
                  ([GET] if get else []), [2, 10], timeout=timeout)


def socks5_addr(text, port, get=False):
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    return socks5_bytes(4 if ":" in text else 1, socket.inet_pton(family, text), port, get)


def socks4a(host, port, get=False, timeout=8, early=b"", user=b""):
    host = host if isinstance(host, bytes) else host.encode("latin1")
    return Pieces([b"\4\1" + struct.pack(">H", port) + b"\0\0\0\1" + user + b"\0" + host + b"\0" +
                   early] + ([GET] if get else []), [8], timeout=timeout)


GET = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Pieces(list):
    """What to send: pieces, and how many reply bytes to await after each."""

    def __init__(self, pieces, waits=(), **more):
        super().__init__(pieces)
        self.waits = list(waits)
        self.more = more


def case(ident, pieces, mode="whole", **more):
    out = {"id": ident, "send": [base64.b64encode(p).decode() for p in pieces], "mode": mode,
           "wait": getattr(pieces, "waits", [])}
    out.update(getattr(pieces, "more", {}))
    out.update(more)
    return out


class RawCase(WorldCase):
    def raw(self, options, cases, mode="whole", stderr=False, wall=300, **more):
        """Run {id: Pieces} through one sandbox; {id: result with bytes in "recv"}."""
        text = json.dumps([case(i, p, mode, **more) for i, p in cases.items()])
        done = self.w.sbx_run(options, ["/usr/bin/python3", self.w.path("bin", "rawclient.py")],
                              input=text, timeout=wall)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        out = {}
        for r in json.loads(done.stdout):
            r["recv"] = base64.b64decode(r["recv"])
            out[r["id"]] = r
        return (out, done.stderr) if stderr else out

    def kind(self, r):
        """What a reply means: ("http", status, code) | ("socks5", rep) | ("socks4", cd) | ..."""
        data = r["recv"]
        if data[:2] == b"\5\0" and len(data) >= 4 and data[2] == 5:
            return "socks5", data[3]
        if data[:2] == b"\5\xff":
            return "socks5", 0xff
        if len(data) >= 8 and data[0] == 0 and data[1] in (90, 91, 92, 93):
            return "socks4", data[1]
        if data.startswith(b"HTTP/1."):
            code = b""
            for line in data.partition(b"\r\n\r\n")[0].split(b"\r\n"):
                if line.lower().startswith(b"sbx-net-code:"):
                    code = line.split(b":", 1)[1].strip()
            return "http", int(data[9:12]), code.decode()
        return "other", data[:80], r["end"]

    def assertEnded(self, r):
        self.assertIn(r["end"], ("eof", "reset"), r)

    def assertDenied(self, r, codes):
        """403 with one of the codes (None: any), REP 02, or CD 91, and the end."""
        what = self.kind(r)
        self.assertEnded(r)
        if what[0] == "http":
            self.assertEqual(what[1], 403, r)
            if codes is not None:
                self.assertIn(what[2], codes, r)
            else:
                self.assertTrue(what[2], r)
        else:
            self.assertIn(what, (("socks5", 2), ("socks4", 91)), r)

    def assertBad(self, r, reps=(1,)):
        """400, REP 01 (or what the vector names), CD 91, or a mere close, and the end."""
        what = self.kind(r)
        self.assertEnded(r)
        if what[0] == "http":
            self.assertEqual(what[1], 400, r)
        elif what[0] == "socks5":
            self.assertIn(what[1], reps, r)
        elif what[0] == "socks4":
            self.assertEqual(what[1], 91, r)
        else:
            self.assertIn(r["recv"], (b"", b"\5\0"), r)

    def assertBadOrDenied(self, r):
        what = self.kind(r)
        self.assertEnded(r)
        if what[0] == "http":
            self.assertIn(what[1], (400, 403), r)
        elif what[0] == "socks5":
            self.assertIn(what[1], (1, 2, 8), r)
        elif what[0] == "socks4":
            self.assertEqual(what[1], 91, r)
        else:
            self.assertIn(r["recv"], (b"", b"\5\0"), r)

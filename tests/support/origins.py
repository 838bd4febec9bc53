#!/usr/bin/python3
"""The servers of the test world: HTTP, TLS, WebSocket, SSE, raw streams and an odd DNS server.

One process for each namespace. Everything that arrives is written to a log of JSON lines, which
is the oracle of the tests: what is not in the log was not connected. Listeners stand on wildcard
addresses, so an accept record carries the address that the client dialled.
"""
import argparse
import base64
import ctypes
import fcntl
import hashlib
import itertools
import json
import os
import select
import signal
import socket
import ssl
import struct
import subprocess
import termios
import threading
import time

BIG = 1000003
HTTP_PORTS = (80, 8080, 3000, 20480)
TLS_PORTS = (443, 8443)
ECHO, AFTER_EOF, EOF_FIRST, SINK, RESET, CLOSE, STREAM, STALL = range(7000, 7008)
RAW_PORTS = (ECHO, AFTER_EOF, EOF_FIRST, SINK, RESET, CLOSE, STREAM, STALL)
BANNER_PORTS = (25, 5433, 6380, 31337)
BARRIER = 7999

_log_fd = -1
_conn_ids = itertools.count(1)


def log(**record):
    os.write(_log_fd, (json.dumps(record) + "\n").encode())


def pattern(n):
    """n bytes that look random and are the same every time."""
    out = bytearray()
    block = hashlib.shake_128(b"sbx-net").digest(1 << 16)
    while len(out) < n:
        out += hashlib.sha256(struct.pack(">Q", len(out))).digest() + block
    return bytes(out[:n])


_patterns = {}


def cached_pattern(n):
    if n not in _patterns:
        _patterns[n] = pattern(n)
    return _patterns[n]


class Reader:
    """Buffered reading from a socket."""

    def __init__(self, sock):
        self.sock = sock
        self.buf = b""

    def more(self):
        data = self.sock.recv(1 << 18)
        self.buf += data
        return len(data)

    def until(self, mark, limit=1 << 17):
        while mark not in self.buf:
            if len(self.buf) > limit or not self.more():
                return None
        head, _, self.buf = self.buf.partition(mark)
        return head + mark

    def exactly(self, n):
        while len(self.buf) < n:
            if not self.more():
                raise EOFError
        out, self.buf = self.buf[:n], self.buf[n:]
        return out

    def pieces(self, n):
        while n:
            if not self.buf and not self.more():
                raise EOFError
            out, self.buf = self.buf[:n], self.buf[n:]
            n -= len(out)
            yield out


class Request:
    def __init__(self, raw):
        self.raw = raw.decode("latin1")
        lines = self.raw.split("\r\n")
        self.method, self.target, self.version = (lines[0].split(" ") + ["", ""])[:3]
        self.headers = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if colon:
                self.headers[name.strip().lower()] = value.strip()


def body_of(req, rd):
    if "chunked" in req.headers.get("transfer-encoding", "").lower():
        while True:
            size = int(rd.until(b"\r\n").split(b";")[0], 16)
            if not size:
                while rd.until(b"\r\n") != b"\r\n":
                    pass
                return
            yield from rd.pieces(size)
            rd.exactly(2)
    else:
        yield from rd.pieces(int(req.headers.get("content-length", "0")))


def reply(sock, body, status="200 OK", ctype="text/plain", extra="", close=False, head=False):
    if isinstance(body, str):
        body = body.encode("latin1")
    text = "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s%s\r\n" % (
        status, ctype, len(body), extra, "Connection: close\r\n" if close else "")
    sock.sendall(text.encode("latin1") + (b"" if head else body))


def websocket(sock, rd, req, cid):
    key = req.headers.get("sec-websocket-key", "")
    accept = base64.b64encode(hashlib.sha1(
        (key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
    sock.sendall(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                  "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n" % accept).encode())
    while True:
        first, second = rd.exactly(2)
        size = second & 0x7f
        if size == 126:
            size = struct.unpack(">H", rd.exactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", rd.exactly(8))[0]
        mask = rd.exactly(4) if second & 0x80 else b"\0\0\0\0"
        data = bytes(b ^ mask[i & 3] for i, b in enumerate(rd.exactly(size)))
        log(ev="ws", conn=cid, op=first & 15, size=size)
        if size < 126:
            head = bytes([first, size])
        else:
            head = bytes([first, 126]) + struct.pack(">H", size)
        sock.sendall(head + data)
        if first & 15 == 8:
            return


def git_backend(sock, rd, req, root):
    path, _, query = req.target.partition("?")
    body = b"".join(body_of(req, rd))
    env = {"PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": root, "GIT_HTTP_EXPORT_ALL": "1",
           "PATH_INFO": path[len("/git"):], "QUERY_STRING": query, "REQUEST_METHOD": req.method,
           "CONTENT_TYPE": req.headers.get("content-type", ""), "REMOTE_ADDR": "0.0.0.0",
           "CONTENT_LENGTH": str(len(body)), "HOME": root, "REMOTE_USER": "t",
           "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "safe.directory",
           "GIT_CONFIG_VALUE_0": "*", "GIT_CONFIG_KEY_1": "http.receivepack",
           "GIT_CONFIG_VALUE_1": "true"}
    for name in ("content-encoding", "git-protocol"):
        if name in req.headers:
            env["HTTP_" + name.upper().replace("-", "_")] = req.headers[name]
    if "git-protocol" in req.headers:
        env["GIT_PROTOCOL"] = req.headers["git-protocol"]
    out = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE,
                         check=False).stdout
    head, _, payload = out.partition(b"\r\n\r\n")
    status, ctype, extra = "200 OK", "text/plain", ""
    for line in head.decode("latin1").split("\r\n"):
        name, _, value = line.partition(": ")
        if name.lower() == "status":
            status = value
        elif name.lower() == "content-type":
            ctype = value
        elif name:
            extra += line + "\r\n"
    reply(sock, payload, status, ctype, extra)


def tree_file(sock, req, root):
    """A file below root, for package clients: GET and HEAD only."""
    path = os.path.realpath(os.path.join(root, req.target.split("?")[0].lstrip("/")))
    if not path.startswith(os.path.realpath(root)):
        return reply(sock, "no\n", "404 Not Found")
    if os.path.isdir(path):
        path = os.path.join(path, "index.html")
    if not os.path.isfile(path):
        return reply(sock, "no such file\n", "404 Not Found")
    kinds = {".html": "text/html", ".json": "application/json", "manifests":
             "application/vnd.docker.distribution.manifest.v2+json"}
    kind = os.path.splitext(path)[1] or os.path.basename(os.path.dirname(path))
    with open(path, "rb") as f:
        reply(sock, f.read(), ctype=kinds.get(kind, "application/octet-stream"),
              head=req.method == "HEAD")


def serve_http(sock, cid, info, opts):
    rd = Reader(sock)
    while True:
        raw = rd.until(b"\r\n\r\n")
        if raw is None:
            break
        req = Request(raw)
        log(ev="request", conn=cid, method=req.method, target=req.target, head=req.raw, **info)
        path = req.target.split("?")[0]
        if req.headers.get("expect", "").lower() == "100-continue":
            sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if path.startswith("/git/"):
            git_backend(sock, rd, req, opts.git)
            continue
        if path == "/ws" and "websocket" in req.headers.get("upgrade", "").lower():
            return websocket(sock, rd, req, cid)
        if path == "/refuse-ws":
            reply(sock, "no upgrade here\n")
            continue
        digest, size = hashlib.sha256(), 0
        for piece in body_of(req, rd):
            digest.update(piece)
            size += len(piece)
        if size:
            log(ev="body", conn=cid, size=size, sha256=digest.hexdigest())
        head = req.method == "HEAD"
        if path == "/big":
            # the client may see the end of the file only when every byte has arrived
            sock.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: "
                         b"application/octet-stream\r\n\r\n" + cached_pattern(BIG))
            if isinstance(sock, ssl.SSLSocket):  # close_notify, without waiting for the peer's
                select.select([], [sock], [], 10)
                sock.setblocking(False)
                sock.unwrap()
            return None
        if path.startswith("/bytes/"):
            reply(sock, cached_pattern(int(path[7:])), ctype="application/octet-stream", head=head)
            if "close" in req.headers.get("connection", "").lower():
                break
        elif path == "/upload":
            reply(sock, json.dumps({"sha256": digest.hexdigest(), "size": size}),
                  ctype="application/json")
        elif path == "/head":
            reply(sock, req.raw)
        elif path == "/sse":
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n")
            for i in range(5):
                data = b"data: event %d\n\n" % i
                sock.sendall(b"%x\r\n%s\r\n" % (len(data), data))
                log(ev="sse", conn=cid, n=i)
                time.sleep(0.25)
            sock.sendall(b"0\r\n\r\n")
        elif path == "/1xx":
            sock.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n")
            time.sleep(0.3)
            reply(sock, "final\n")
        elif path == "/chunked":
            sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                         b"6\r\nhello \r\n6;ext=1\r\nworld\n\r\n0\r\nX-Trailer: t\r\n\r\n")
        elif path == "/dup":
            reply(sock, "dup\n", extra="Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n")
        elif path.startswith("/raw/"):
            sock.sendall(base64.urlsafe_b64decode(path[5:]))
            return None
        elif path.startswith("/tree/"):
            tree_file(sock, Request(raw.replace(b" /tree/", b" /", 1)), opts.tree)
        elif path.startswith(("/v2/", "/pks/")):  # an image registry, a keyserver
            tree_file(sock, req, opts.tree)
            if req.version == "HTTP/1.0":
                break  # dirmngr reads to the end
        elif path.startswith("/slow/"):
            time.sleep(float(path[6:]))
            reply(sock, "slow\n")
        else:
            close = "close" in req.headers.get("connection", "").lower()
            reply(sock, "hello from %s %s\n" % (opts.role, req.headers.get("host", "")),
                  close=close, head=head)
            if close or req.version == "HTTP/1.0":
                break
    return None


def serve_raw(sock, cid, port):
    if port == ECHO:
        while True:
            data = sock.recv(1 << 16)
            if not data:
                return
            sock.sendall(data)
    if port in (AFTER_EOF, SINK, STALL):
        if port == STALL:
            time.sleep(3)
        digest, size = hashlib.sha256(), 0
        while True:
            data = sock.recv(1 << 18)
            if not data:
                break
            digest.update(data)
            size += len(data)
        log(ev="eof", conn=cid, port=port, size=size, sha256=digest.hexdigest())
        if port == AFTER_EOF:
            time.sleep(0.2)
            sock.sendall(("%d %s\n" % (size, digest.hexdigest())).encode() + cached_pattern(BIG))
    elif port == EOF_FIRST:
        sock.sendall(b"bye\n")
        sock.shutdown(socket.SHUT_WR)
        digest, size = hashlib.sha256(), 0
        while True:
            data = sock.recv(1 << 18)
            if not data:
                break
            digest.update(data)
            size += len(data)
        log(ev="eof", conn=cid, port=port, size=size, sha256=digest.hexdigest())
    elif port == RESET:
        sock.recv(1)
        sock.sendall(cached_pattern(100000))
        for _ in range(4000):  # a reset takes back what has not arrived
            if fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0" * 4) == b"\0" * 4:
                break
            time.sleep(0.005)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif port == CLOSE:
        return
    elif port == STREAM:
        block = cached_pattern(1 << 20)
        sent = 0
        try:
            while True:
                sent += sock.send(block)
        finally:
            log(ev="stream", conn=cid, sent=sent)
    elif port in BANNER_PORTS:
        sock.sendall(b"banner %d\n" % port)
        data = sock.recv(4096)
        sock.sendall(b"you said " + data)


def serve(sock, cid, laddr, lport, opts, tls):
    info = {"laddr": laddr, "lport": lport}
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if lport in TLS_PORTS:
            sock.settimeout(30)
            sock = tls.wrap_socket(sock, server_side=True)
            log(ev="tls", conn=cid, **info)
        sock.settimeout(60)
        if lport in TLS_PORTS or lport in HTTP_PORTS:
            serve_http(sock, cid, info, opts)
        else:
            serve_raw(sock, cid, lport)
    except (OSError, EOFError, ValueError) as e:
        log(ev="error", conn=cid, error=repr(e), **info)
    finally:
        sock.close()
        log(ev="closed", conn=cid, **info)


def listener(port):
    s = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # nginx may own a single address of the same port
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(("::", port))
    s.listen(1024)
    s.setblocking(False)
    return s


def plain(addr):
    return addr[7:] if addr.startswith("::ffff:") and "." in addr else addr


def accept_all(by_fd, ready, opts, tls):
    for fd in ready:
        while True:
            try:
                sock, peer = by_fd[fd].accept()
            except OSError:
                break
            cid = next(_conn_ids)
            laddr, lport = plain(sock.getsockname()[0]), sock.getsockname()[1]
            log(ev="accept", conn=cid, laddr=laddr, lport=lport, paddr=plain(peer[0]))
            sock.setblocking(True)
            threading.Thread(target=serve, args=(sock, cid, laddr, lport, opts, tls),
                             daemon=True).start()


def udp_canary(port):
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.bind(("::", port))

    def loop():
        while True:
            data, peer = s.recvfrom(2048)
            log(ev="udp", port=port, size=len(data), paddr=plain(peer[0]))
            s.sendto(data, peer)
    threading.Thread(target=loop, daemon=True).start()


# ---- the odd DNS server: zone odd.example, behaviour by the first label up to '-' ----

PUBLIC_A = "51.15.10.1"
GONE_A = "51.15.98.1"  # unreachable, see world.py
_seen = {}


def name_wire(name):
    return b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\0"


def rr(name, rtype, data, ttl=0):
    return name_wire(name) + struct.pack(">HHIH", rtype, 1, ttl, len(data)) + data


def odd_answer(query, tcp):
    """The reply for one query, or None to stay silent."""
    ident, = struct.unpack(">H", query[:2])
    pos, labels = 12, []
    while query[pos]:
        labels.append(query[pos + 1:pos + 1 + query[pos]].decode("latin1").lower())
        pos += 1 + query[pos]
    question = query[12:pos + 5]
    qtype, = struct.unpack(">H", query[pos + 1:pos + 3])
    name, kind = ".".join(labels), labels[0].split("-")[0]
    count = _seen[name, qtype] = _seen.get((name, qtype), 0) + 1
    flags, rcode, answers = 0x8580, 0, []
    public = rr(name, 1, socket.inet_aton(PUBLIC_A))
    if kind == "rebind":
        if qtype == 1:
            answers = [public if count == 1 else rr(name, 1, socket.inet_aton("127.0.0.1"))]
    elif kind == "gone":  # nobody there at first, then this machine
        if qtype == 1:
            addr = GONE_A if count == 1 else "127.0.0.1"
            answers = [rr(name, 1, socket.inet_aton(addr))]
    elif kind == "aaaafail":
        answers, rcode = ([public], 0) if qtype == 1 else ([], 2)
    elif kind == "aaaaslow":
        if qtype != 1:
            return None
        answers = [public]
    elif kind == "fail":
        rcode = 2
    elif kind == "silent":
        return None
    elif kind == "loop":
        answers = [rr(name, 5, name_wire(name))]
    elif kind == "chain":
        n = int(labels[0].split("-")[1])
        nxt = "chain-%d.odd.example" % (n + 1)
        answers = [rr(name, 5, name_wire(nxt))]
    elif kind == "many":
        if qtype == 1:
            answers = [rr(name, 1, struct.pack(">I", 0x330f0a01))] * 500
    elif kind == "other":
        answers = [rr("good.example", 1, socket.inet_aton(PUBLIC_A))] if qtype == 1 else []
    elif kind == "junk":
        return struct.pack(">HHHHHH", ident, flags, 1, 9, 0, 0) + question + b"\xc0\xff" * 20
    elif kind == "ttl":
        answers = [rr(name, 1, socket.inet_aton(PUBLIC_A), 300)] if qtype == 1 else []
    else:
        rcode = 3
    body = b"".join(answers)
    if not tcp and len(body) > 1200:
        return struct.pack(">HHHHHH", ident, flags | 0x200 | rcode, 1, 0, 0, 0) + question
    return struct.pack(">HHHHHH", ident, flags | rcode, 1, len(answers), 0, 0) + question + body


def odd_dns(addr, port):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((addr, port))
    tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    tcp.bind((addr, port))
    tcp.listen(16)

    def udp_loop():
        while True:
            query, peer = udp.recvfrom(4096)
            answer = odd_answer(query, False)
            if answer:
                udp.sendto(answer, peer)

    def tcp_one(sock):
        rd = Reader(sock)
        try:
            while True:
                query = rd.exactly(struct.unpack(">H", rd.exactly(2))[0])
                answer = odd_answer(query, True)
                if answer:
                    sock.sendall(struct.pack(">H", len(answer)) + answer)
        except (EOFError, OSError):
            sock.close()

    def tcp_loop():
        while True:
            threading.Thread(target=tcp_one, args=(tcp.accept()[0],), daemon=True).start()
    threading.Thread(target=udp_loop, daemon=True).start()
    threading.Thread(target=tcp_loop, daemon=True).start()


def main():
    global _log_fd
    p = argparse.ArgumentParser()
    p.add_argument("--role", required=True)
    p.add_argument("--log", required=True)
    p.add_argument("--cert", required=True)
    p.add_argument("--key", required=True)
    p.add_argument("--git", default="/nonexistent")
    p.add_argument("--tree", default="/nonexistent")
    p.add_argument("--dns")
    p.add_argument("--parent", type=int, required=True)
    opts = p.parse_args()
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != opts.parent:
        return
    _log_fd = os.open(opts.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(opts.cert, opts.key)
    by_fd = {}
    poll = select.epoll()
    for port in HTTP_PORTS + TLS_PORTS + RAW_PORTS + BANNER_PORTS:
        s = listener(port)
        by_fd[s.fileno()] = s
        poll.register(s.fileno(), select.EPOLLIN)
    barrier = listener(BARRIER)
    poll.register(barrier.fileno(), select.EPOLLIN)
    udp_canary(7000)
    udp_canary(443)
    if opts.dns:
        odd_dns(opts.dns, 5353)
    cached_pattern(BIG)
    print("ready", flush=True)
    while True:
        ready = [fd for fd, _ in poll.poll()]
        accept_all(by_fd, [fd for fd in ready if fd != barrier.fileno()], opts, tls)
        if barrier.fileno() in ready:
            # everything that was queued before the barrier is in the log before its record
            sock, _ = barrier.accept()
            accept_all(by_fd, list(by_fd), opts, tls)
            log(ev="barrier")
            sock.sendall(b"ok")
            sock.close()


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""The server name that a TLS client asks for (VECTORS Q-080 to Q-087): in its first ClientHello, and
in the next one, which a server may ask for (HelloRetryRequest)."""
import json
import os
import socket
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from serving import ServeCase  # noqa: E402
from world import WorldCase, main, setup_world, teardown_world, v4  # noqa: E402

RETRY = "v4only.example"  # its port 443 asks for another hello
OTHER = "others.example"  # as long as RETRY
RETRY_PORT = 4433
RANDOM = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")

# Does what a TLS client does up to the second hello, and asks for another name there.
SECOND_HELLO = """
import socket, ssl, sys
host, other, step = sys.argv[1], sys.argv[2], int(sys.argv[3])
def deliver(data):
    for i in range(0, len(data), step):
        s.sendall(data[i:i + step])
ctx = ssl._create_unverified_context()
ctx.minimum_version = ssl.TLSVersion.TLSv1_3
inc, out = ssl.MemoryBIO(), ssl.MemoryBIO()
tls = ctx.wrap_bio(inc, out, server_hostname=host)
s = socket.create_connection((host, 443), 20)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
hellos, got = 0, 0
try:
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            pass
        data = out.read()
        if data:
            hellos += 1
            deliver(data.replace(host.encode(), other.encode()) if hellos == 2 else data)
        data = s.recv(65536)
        if not data:
            raise SystemExit("eof %d" % hellos)
        if hellos == 2:
            got += len(data)
            if got <= 6:  # the change_cipher_spec that belongs to the request for another hello
                continue
            print("answered")
            break
        inc.write(data)
except ConnectionResetError:
    print("reset", hellos)
"""

# A session whose listener passes on an offset for looks (SO_PEEK_OFF): behind the hello that is sent
# stands one that would be let go. Or, with "one", the first alone and no offset.
OFFSET = r"""
import json, socket, ssl, struct, sys
def hello(host):
    inc, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = ssl._create_unverified_context().wrap_bio(inc, out, server_hostname=host)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        return out.read()
def frame(*records):
    return struct.pack("=II", 0x5342584e, len(records)) + b"".join(
        struct.pack("=BBHH", *r) for r in records).ljust(6 * 64, b"\0")
def line():
    return json.loads(control.recv(65536))["ok"]
first, second = hello(sys.argv[2]), hello(sys.argv[3])
assert len(first) == len(second)
control, l = socket.socket(socket.AF_UNIX), socket.create_server(("127.0.0.1", 0))
control.connect(sys.argv[1])
control.sendall(b'{"op":"attach","capture":false}\n')
assert line()
socket.send_fds(control, [frame((0, socket.AF_INET, l.getsockname()[1], 0))], [l.fileno()])
control.sendall(frame())
assert line()
try:
    if sys.argv[4] != "one":
        l.setsockopt(socket.SOL_SOCKET, 42, len(first))
except OSError:
    pass  # a kernel before Linux 6.9
s = socket.create_connection(l.getsockname(), 20)
s.sendall(b"CONNECT %s:443 HTTP/1.1\r\nHost: x\r\n\r\n" % sys.argv[3].encode())
got = b""
while not got.endswith(b"\r\n\r\n"):
    got += s.recv(1)
s.sendall(first if sys.argv[4] == "one" else first + second)
try:
    print(s.recv(1) == bytes([22]))
except ConnectionResetError:
    print("reset")
"""

# A plain request to port 443 that asks for another protocol, and in that, for a server name.
UPGRADE = r"""
import socket, ssl, sys
inc, out = ssl.MemoryBIO(), ssl.MemoryBIO()
tls = ssl._create_unverified_context().wrap_bio(inc, out, server_hostname=sys.argv[2])
try:
    tls.do_handshake()
except ssl.SSLWantReadError:
    pass
s = socket.create_connection(("127.0.0.1", 3128), 20)
s.sendall(b"GET http://%s:443/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
          b"Upgrade: websocket\r\n\r\n" % sys.argv[1].encode())
got = b""
while not got.endswith(b"\r\n\r\n"):
    got += s.recv(1)
status = got.split()[1].decode()
if status == "101":
    s.sendall(out.read())
    try:
        status += " " + s.recv(1).decode()
    except ConnectionResetError:
        status += " reset"
print(status)
"""


class Recorder:
    """In front of a server: what each client sent, byte for byte, and what it was answered."""

    def __init__(self, world, addr, port, to, step):
        self.step = step
        self.to = to
        self.world = world
        self.up, self.down = b"", b""
        self.lock = threading.Lock()
        self.listener = world.in_net(world.internet, lambda: self.listen(addr, port))
        threading.Thread(target=self.serve, daemon=True).start()

    @staticmethod
    def listen(addr, port):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # others have the wildcard
        s.bind((addr, port))
        s.listen(16)
        return s

    def serve(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            server = self.world.connect("127.0.0.1", self.to, ns=self.world.internet)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for way in ((client, server, True), (server, client, False)):
                threading.Thread(target=self.copy, args=way, daemon=True).start()

    def copy(self, source, to, upwards):
        try:
            while True:
                data = source.recv(65536)
                with self.lock:
                    if upwards:
                        self.up += data
                    else:
                        self.down += data
                if not data:
                    to.shutdown(socket.SHUT_WR)
                    return
                step = len(data) if upwards or len(data) > 2000 else self.step
                for i in range(0, len(data), step):
                    to.sendall(data[i:i + step])
        except OSError:
            to.close()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class ServerName(WorldCase):
    """CONNECT good.example:443 and a ClientHello for another name."""
    WAYS = {"connect": [], "socks5h": ["-x", "socks5h://127.0.0.1:3128"],
            "socks4a": ["-x", "socks4a://127.0.0.1:3128"]}

    def settings(self, mode):
        name = "sni-%s.json" % mode
        self.w.write(name, json.dumps({"network": {"sniCheck": mode,
                                                   "allowedDomains": ["good.example"]}}))
        return ["-p", self.w.path(name)]

    def front(self, options, *args):
        return self.w.curl(options, "-k", "--connect-to", "evil.test:443:good.example:443", *args,
                           "https://evil.test/")

    def test_another_name_is_cut_off(self):
        for way, args in self.WAYS.items():
            with self.subTest(way):
                o = self.w.oracle()
                done = self.front(["-a", "good.example"], *args)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual(o.requests(), [])
                lines = self.refusal_lines(done.stderr)
                self.assertEqual(len(lines), 1, done.stderr)
                self.assertIn("good.example:443", lines[0])

    def test_off_lets_it_pass(self):  # Q-081, as documented
        """The twin: without the check the same request arrives."""
        for way, args in self.WAYS.items():
            with self.subTest(way):
                done = self.front(self.settings("off"), *args)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("hello from net", done.stdout)

    def test_inner_host_is_not_seen(self):  # Q-081, as documented: it is inside TLS
        o = self.w.oracle()
        for mode in "name", "strict":
            done = self.w.curl(self.settings(mode), "-H", "Host: evil.test", "https://good.example/")
            self.assertIn("hello from net", done.stdout, done.stderr)
        self.assertEqual(["Host: evil.test\r\n" in r["head"] for r in o.requests()], [True, True])

    def test_captured(self):
        script = ("import socket,ssl,sys\n"
                  "c=ssl._create_unverified_context()\n"
                  "s=socket.create_connection(('good.example',443),20)\n"
                  "t=c.wrap_socket(s,server_hostname=sys.argv[1])\n"
                  "t.sendall(b'GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n')\n"
                  "print(t.recv(15))\n")
        good = self.w.sbx_run(["-a", "good.example"], ["/usr/bin/python3", "-c", script,
                                                       "good.example"])
        self.assertIn("HTTP/1.1 200", good.stdout, good.stderr)
        bad = self.w.sbx_run(["-a", "good.example"], ["/usr/bin/python3", "-c", script,
                                                      "evil.test"])
        self.assertNotEqual(bad.returncode, 0)
        self.assertIn("ConnectionResetError", bad.stderr)
        self.assertEqual(len(self.refusal_lines(bad.stderr)), 1, bad.stderr)

    def test_strict_wants_tls(self):
        script = ("import socket\n"
                  "s=socket.create_connection(('good.example',443),20)\n"
                  "s.sendall(b'SSH-2.0-x\\r\\n')\n"
                  "try: print(len(s.recv(100)) >= 0)\n"
                  "except ConnectionResetError: print('reset')\n")
        argv = ["/usr/bin/python3", "-c", script]
        name = self.w.sbx_run(self.settings("name"), argv)
        self.assertEqual(self.refusal_lines(name.stderr), [])
        strict = self.w.sbx_run(self.settings("strict"), argv)
        self.assertEqual(strict.stdout, "reset\n")
        self.assertEqual(len(self.refusal_lines(strict.stderr)), 1)
        done = self.w.curl(self.settings("strict"), "-k", "https://good.example/")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_plain_request_is_no_tls(self):
        """Nor may what it becomes ask for another server: a 101 leads to a tunnel like any other."""
        server = self.w.in_net(self.w.internet, lambda: Recorder.listen(v4(3), 443))
        got = []

        def serve():
            while True:
                try:
                    with server.accept()[0] as s:
                        got.append(s.recv(65536))
                        s.sendall(b"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
                        got.append(s.recv(65536))
                        s.sendall(b"!")
                except ConnectionResetError:
                    pass
                except OSError:
                    return
        threading.Thread(target=serve, daemon=True).start()
        argv = ["/usr/bin/python3", "-c", UPGRADE, RETRY]
        try:
            for mode, name, said, seen in (
                    ("off", OTHER, "101 !", 2), ("name", RETRY, "101 !", 2),
                    ("name", OTHER, "101 reset", 1), ("strict", RETRY, "403", 0)):
                with self.subTest(mode, name=name):
                    del got[:]
                    self.w.write("upgrade.json", json.dumps({"network": {
                        "sniCheck": mode, "allowedDomains": [RETRY]}}))
                    done = self.w.sbx_run(["-p", self.w.path("upgrade.json")], [*argv, name])
                    self.assertEqual(done.stdout.strip(), said, done.stderr)
                    self.assertEqual(len([x for x in got if x]), seen)
        finally:
            server.shutdown(socket.SHUT_RDWR)
            server.close()

    def test_a_header_before_the_hello(self):
        """What a load balancer would put there: a server behind one reads a hello after it."""
        script = ("import socket,sys\n"
                  "s=socket.create_connection(('good.example',443),20)\n"
                  "s.sendall(sys.argv[1].encode())\n"
                  "try: print(len(s.recv(100)) >= 0)\n"
                  "except ConnectionResetError: print('reset')\n")
        line = " TCP4 192.0.2.1 192.0.2.2 1 443\r\n"
        for word, refused in ("PROXY", 1), ("OTHER", 0):
            done = self.w.sbx_run(self.settings("name"),
                                  ["/usr/bin/python3", "-c", script, word + line])
            self.assertEqual(len(self.refusal_lines(done.stderr)), refused, done.stderr)

    def test_server_that_speaks_first(self):
        """ssh on another port and on 443: nothing is held back, nobody waits for the other."""
        script = ("import socket\n"
                  "s=socket.create_connection(('ssh.example',int(__import__('sys').argv[1])),20)\n"
                  "print(s.recv(4))\n")
        done = self.w.sbx_run(["-a", "ssh.example"], ["/usr/bin/python3", "-c", script, "22"])
        self.assertIn("SSH-", done.stdout, done.stderr)


class SecondHello(WorldCase):
    """A server that asks for a second hello, and answers for another host if that one says so."""

    @classmethod
    def setUpClass(cls):
        from world import _world
        w = _world[0]
        w.daemon(["openssl", "s_server", "-accept", "127.0.0.1:%d" % RETRY_PORT, "-tls1_3", "-groups",
                  "P-521", "-cert", w.cert, "-key", w.key, "-servername", OTHER, "-cert2", w.cert,
                  "-key2", w.key, "-www"], w.internet)
        w.wait_port("127.0.0.1", RETRY_PORT)

    def settings(self, mode):
        name = "second-%s.json" % mode
        self.w.write(name, json.dumps({"network": {"sniCheck": mode, "allowedDomains": [RETRY]}}))
        return ["-p", self.w.path(name)]

    def attempt(self, mode, step, other=OTHER):
        rec = Recorder(self.w, v4(3), 443, RETRY_PORT, step)
        done = self.w.sbx_run(self.settings(mode), ["/usr/bin/python3", "-c", SECOND_HELLO, RETRY,
                                                    other, str(step)])
        rec.close()
        return rec, done

    def test_second_name_is_cut_off(self):
        for mode in "name", "strict":
            for step in 1 << 20, 1:
                with self.subTest(mode=mode, step=step):
                    rec, done = self.attempt(mode, step)
                    self.assertEqual(done.stdout, "reset 2\n", done.stderr)
                    self.assertIn(RANDOM, rec.down)  # it was asked for a second one
                    self.assertIn(RETRY.encode(), rec.up)
                    self.assertNotIn(OTHER.encode(), rec.up)
                    # the first hello, and no handshake record behind it
                    first = 5 + int.from_bytes(rec.up[3:5], "big")
                    self.assertIn(rec.up[first:], (b"", b"\x14\x03\x03\x00\x01\x01"))
                    lines = self.refusal_lines(done.stderr)
                    self.assertEqual(len(lines), 1, done.stderr)
                    self.assertIn(RETRY + ":443", lines[0])

    def test_second_name_passes_unchecked(self):
        """The twins: the same bytes with the check off, and the right name with it."""
        for mode, other in ("off", OTHER), ("name", RETRY), ("strict", RETRY):
            for step in 1 << 20, 1:
                with self.subTest(mode=mode, step=step):
                    rec, done = self.attempt(mode, step, other)
                    self.assertEqual(done.stdout, "answered\n", done.stderr)
                    self.assertEqual(rec.up.count(RETRY.encode()), 1 if mode == "off" else 2)
                    self.assertEqual(self.refusal_lines(done.stderr), [])

    def test_a_client_that_is_asked_again(self):
        for step in 1 << 20, 1:
            rec = Recorder(self.w, v4(3), 443, RETRY_PORT, step)
            done = self.w.sbx_run(
                self.settings("strict"),
                ["openssl", "s_client", "-connect", RETRY + ":443", "-servername", RETRY, "-CAfile",
                 self.w.ca, "-verify_return_error", "-groups", "X25519:P-521", "-ign_eof"],
                input="GET / HTTP/1.0\r\n\r\n")
            rec.close()
            self.assertIn("HTTP/1.0 200 ok", done.stdout, done.stderr)
            self.assertIn("Verify return code: 0", done.stdout)
            self.assertEqual(rec.up.count(RETRY.encode()), 2)


class HandedOver(ServeCase):
    """Over a listener of a session of `serve`, which may have set on it what it likes."""

    def attempt(self, *args):
        """What the client says, and what the server was sent."""
        recorder = Recorder(self.w, v4(3), 443, 443, 65536)
        try:
            done = self.w.run(["/usr/bin/python3", "-c", OFFSET, self.path(), *args])
            self.assertEqual(done.stderr, "")
            return done.stdout.strip(), recorder.up
        finally:
            recorder.close()

    def test_what_is_looked_at_is_what_goes(self):
        with self.serve(["-a", RETRY, "-q"]):
            said, sent = self.attempt(RETRY, RETRY, "one")
            self.assertEqual(said, "True")
            self.assertIn(RETRY.encode(), sent)
            for how in "one", "offset":
                self.assertEqual(self.attempt(OTHER, RETRY, how), ("reset", b""), how)


def setUpModule():
    setup_world(with_sshd=True)


def tearDownModule():
    teardown_world()


if __name__ == "__main__":
    main()

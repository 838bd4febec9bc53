#!/usr/bin/python3
"""--publish: a port on the host's loopback leads to a server that the command runs."""
import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import HOST4, WorldCase, main  # noqa: E402

# A server that echoes what came before the client's end, in capitals, behind its length.
SERVER = r"""
import socket, sys, threading
host, port = sys.argv[1], int(sys.argv[2])
s = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((host, port))
s.listen(512)
def serve(c):
    with c:
        data = b""
        while True:
            d = c.recv(65536)
            if not d:
                break
            data += d
        c.sendall(b"%d " % len(data) + data.upper())
print("ready", flush=True)
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
"""


# Descriptors on their way to nobody, as many as there may be, until the end of the input.
HOLDER = r"""
import array, socket, sys
pairs = []
try:
    while len(pairs) < 1000:
        pairs.append(socket.socketpair())
        pairs[-1][0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 250))])
except OSError as e:
    print("full" if e.errno == 109 else e, flush=True)  # ETOOMANYREFS
sys.stdin.read()
"""


class Publish(WorldCase):
    @contextlib.contextmanager
    def run_server(self, publish, host="127.0.0.1", port=8000, prefix=(), outside=()):
        command = [*prefix, "/usr/bin/python3", "-c", SERVER, host, str(port)]
        proc = self.w.popen([*outside, *self.w.sbx_argv([x for p in publish for x in ("--publish", p)],
                                                        command)],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.assertEqual(proc.stdout.readline(), b"ready\n")
            yield proc
        finally:
            if proc.poll() is None:
                proc.send_signal(signal.SIGTERM)
            try:
                proc.wait(10)
            finally:
                proc.kill()
                proc.stdout.close()
                proc.stderr.close()

    def ask(self, port, data, host="127.0.0.1", timeout=20):
        with self.w.connect(host, port, timeout=timeout) as s:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)  # the answer comes after our end
            out = b""
            while True:
                d = s.recv(1 << 20)
                if not d:
                    return out
                out += d

    def assertReset(self, port, host="127.0.0.1"):
        """Somebody accepts, and resets; connect(2) itself tells of it if that comes first."""
        with self.assertRaises(ConnectionResetError):
            with self.w.connect(host, port) as s:
                s.recv(1)

    def test_every_byte_and_half_closes(self):
        with self.run_server(["18000=8000"]):
            self.assertEqual(self.ask(18000, b"hello"), b"5 HELLO")
            self.assertEqual(self.ask(18000, b""), b"0 ")
            big = b"abcdefgh" * (1 << 18)
            self.assertEqual(self.ask(18000, big), b"%d " % len(big) + big.upper())
            self.assertEqual(self.ask(18000, b"six", host="::1"), b"3 SIX")

    def test_loopback_of_the_host_only(self):
        with self.run_server(["18000=8000"]):
            with self.assertRaises(ConnectionRefusedError):
                self.w.connect(HOST4, 18000)
            self.assertEqual(self.ask(18000, b"x"), b"1 X")

    def test_server_on_ipv6_only(self):
        with self.run_server(["18000=8000"], host="::1"):
            self.assertEqual(self.ask(18000, b"a"), b"1 A")
            self.assertEqual(self.ask(18000, b"b", host="::1"), b"1 B")

    def test_a_port_without_a_server_and_several(self):
        with self.run_server(["18000=8000", "18001=8001"]):
            self.assertEqual(self.ask(18000, b"a"), b"1 A")
            self.assertReset(18001)  # nobody listens there inside
            self.assertEqual(self.ask(18000, b"b"), b"1 B")

    def test_a_server_that_takes_nobody(self):
        """Its clients wait, and those of another port do not wait with them."""
        script = """
import socket
a = socket.create_server(('127.0.0.1', 8000), backlog=0)
b = socket.create_server(('127.0.0.1', 8001))
print('up', flush=True)
while True:
    c = b.accept()[0]
    c.sendall(b'hello')
    c.close()
"""
        proc = self.w.popen(self.w.sbx_argv(["--publish", "18000=8000", "--publish", "18001=8001"],
                                            ["/usr/bin/python3", "-c", script]), stdout=subprocess.PIPE)
        kept = []

        def crowd():
            for _ in range(530):
                s = socket.socket()
                s.setblocking(False)
                s.connect_ex(("127.0.0.1", 18000))
                kept.append(s)
        try:
            self.assertEqual(proc.stdout.readline(), b"up\n")
            self.w.in_net(self.w.host, crowd)
            time.sleep(0.5)
            began = time.monotonic()
            with self.w.connect("127.0.0.1", 18001, timeout=30) as s:
                self.assertEqual(s.recv(5), b"hello")
            self.assertLess(time.monotonic() - began, 5)
        finally:
            for s in kept:
                s.close()
            proc.kill()
            proc.communicate()

    def test_many_at_once(self):
        def connect():
            return socket.create_connection(("127.0.0.1", 18000), timeout=30)
        with self.run_server(["18000=8000"]):
            conns = [self.w.in_net(self.w.host, connect) for _ in range(200)]
            for i, s in enumerate(conns):
                s.sendall(b"n%d" % i)
                s.shutdown(socket.SHUT_WR)
            for i, s in enumerate(conns):
                with s:
                    want = b"n%d" % i
                    self.assertEqual(s.recv(100), b"%d " % len(want) + want.upper())

    def test_descriptors_that_another_run_has_on_their_way(self):
        """what keeps a client out while it lasts keeps nobody out after it"""
        with self.run_server(["18000=8000"], outside=["prlimit", "--nofile=200:"]):
            self.assertEqual(self.ask(18000, b"before"), b"6 BEFORE")
            holder = self.w.popen(["prlimit", "--nofile=800:",
                                   *self.w.sbx_argv([], ["/usr/bin/python3", "-c", HOLDER])],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertEqual(holder.stdout.readline(), b"full\n")
            for _ in range(10):
                self.assertReset(18000)
            holder.communicate()
            self.assertEqual(holder.returncode, 0)
            for _ in range(10):
                self.assertEqual(self.ask(18000, b"after"), b"5 AFTER")

    def test_clients_that_go_away_and_signals(self):
        with self.run_server(["18000=8000"]) as proc:
            for _ in range(100):
                s = self.w.connect("127.0.0.1", 18000)
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                s.close()
            self.assertEqual(self.ask(18000, b"still"), b"5 STILL")
            proc.send_signal(signal.SIGTERM)
            self.assertEqual(proc.wait(10), 143)

    def test_killed_while_a_client_waits(self):
        """What has died gives no end that could be the server's."""
        with self.run_server(["18000=8000"]) as proc:
            self.assertEqual(self.ask(18000, b"well"), b"4 WELL")
            with self.w.connect("127.0.0.1", 18000, timeout=20) as s:
                s.sendall(b"cut")
                proc.kill()
                with self.assertRaises(ConnectionResetError):
                    s.recv(1)

    def test_taken_port_stops_the_run(self):
        def listen():
            s = socket.socket()
            s.bind(("127.0.0.1", 18005))
            s.listen(1)
            return s
        with self.w.in_net(self.w.host, listen):
            done = self.w.sbx_run(["--publish", "18005=80"], ["echo", "ran"])
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("18005", done.stderr)
        done = self.w.sbx_run(["--publish", "18005=80"], ["echo", "ran"])
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)

    def test_a_low_port_is_explained(self):
        done = self.w.sbx_run(["--publish", "80=80"], ["echo", "ran"])
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertIn("below 1024", done.stderr)

    def refused(self, options, *said):
        done = self.w.sbx_run(options, ["echo", "ran"])
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        for word in said:
            self.assertIn(word, done.stderr)

    def test_ports_of_ours_are_not_for_others(self):
        for option, end in ("--publish", ""), ("--forward", "good.example:80"):
            for port in 53, 3128:
                value = "%d=%s" % (port, end) if end else "18000=%d" % port
                with self.subTest(option, port=port):
                    self.refused(["-a", "good.example", option, value], "%s %s" % (option, value),
                                 "port %d of the sandbox is taken by our" % port, "another one")
        forward = ["-a", "good.example", "--forward", "5000=good.example:80"]
        self.refused([*forward, "--publish", "18000=5000"], "another forwarded port")
        self.refused([*forward, "--forward", "5000=good.example:81"], "another forwarded port")
        self.refused(["-a", "127.0.0.1:3000", "--publish", "18000=3000"], "another forwarded port")
        self.refused(["--publish", "18000=8000", "--publish", "18000=8001"],
                     "port 18000 of the host is taken by --publish 18000=8000")
        # the twin: other ports, and one server by way of two
        done = self.w.sbx_run([*forward, "--publish", "18000=8000", "--publish", "18001=8000"],
                              ["echo", "ran"])
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)

    def test_two_runs_side_by_side(self):
        with self.run_server(["18000=8000"]), self.run_server(["18001=8000"]) as second:
            self.assertEqual(self.ask(18000, b"one"), b"3 ONE")
            self.assertEqual(self.ask(18001, b"two"), b"3 TWO")
            second.send_signal(signal.SIGTERM)
            second.wait(10)
            with self.assertRaises(ConnectionRefusedError):
                self.w.connect("127.0.0.1", 18001)
            self.assertEqual(self.ask(18000, b"one"), b"3 ONE")

    def test_nothing_is_published_unasked(self):
        with self.run_server([]):
            for port in (8000, 18000):
                with self.assertRaises(ConnectionRefusedError):
                    self.w.connect("127.0.0.1", port)


if __name__ == "__main__":
    main()

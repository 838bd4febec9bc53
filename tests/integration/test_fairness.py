#!/usr/bin/python3
"""What one sandbox of `serve` takes is not missing to the next: descriptors, and questions to name servers."""
import contextlib
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from serving import RAW, UNSHARE, ServeCase, wait_for  # noqa: E402
from world import main, need, setup_world, v4  # noqa: E402

HELLO = "hello from net good.example\n"
FILES = 2048  # for the server; the others have as many as there are
INSIDE = [*UNSHARE, "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]

MANY = r"""
import resource, select
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
held = []
def said():
    print("there", flush=True)
    sys.stdin.readline()
"""

# As many sessions as it may have, and more unfinished heads than the server has descriptors.
HEADS = MANY + r"""
for _ in range(8):
    l = socket.create_server(("127.0.0.1", 0), backlog=1024)
    held.append(attach((0,V4,1,0), capture=False))
    for _ in range(260):
        c = socket.create_connection(l.getsockname())
        c.sendall(b"CONNECT good.exam")
        held.append(c)
said()
"""

# The same by the socket that any sandbox may use.
LOCAL = MANY + r"""
for _ in range(2100):
    c = socket.socket(socket.AF_UNIX)
    c.connect(sys.argv[1])
    try:
        c.sendall(b"CONNECT good.exam")
    except OSError:
        pass  # turned away
    held.append(c)
said()
"""

# Names that nobody answers for, in as many sessions as it may have; how many have had an answer.
NAMES = MANY + r"""
waiting = []
for i in range(8):
    l = socket.create_server(("127.0.0.1", 0), backlog=1024)
    held.append(attach((0,V4,1,0), capture=False))
    for n in range(max(600 >> i, 16)):
        c = socket.create_connection(l.getsockname())
        c.sendall(b"CONNECT %s-%d-%d.silent.example:80 HTTP/1.1\r\n\r\n" % (tag, i, n))
        waiting.append(c)
said()
poll = select.poll()
for c in waiting:
    poll.register(c, select.POLLIN)
print(len(poll.poll(0)))
"""

# A name server that knows one name, and writes down what it is asked.
DNS = r"""
import os, socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
s.bind(("127.0.0.1", 0))
log = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
print(s.getsockname()[1], flush=True)
while True:
    q, peer = s.recvfrom(2048)
    at, name = 12, b""
    while q[at]:
        name += q[at + 1:at + 1 + q[at]] + b"."
        at += 1 + q[at]
    os.write(log, name.lower() + b"\n")
    if b"silent" in name:
        continue
    good = name == b"good.example." and q[at + 1:at + 3] == b"\0\1"
    s.sendto(q[:2] + struct.pack(">HHHHH", 0x8180, 1, good, 0, 0) + q[12:at + 5] + (
        b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(sys.argv[2]) if good else b""), peer)
"""


def setUpModule():
    need("unshare", "curl", "prlimit")
    setup_world()


class Fairness(ServeCase):
    @contextlib.contextmanager
    def flood(self, script, name="control.sock"):
        """A sandbox that takes all it gets; what it says after a line."""
        proc = self.w.popen([*INSIDE, "/usr/bin/python3", "-c", RAW, self.path(name), script],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            said = []
            while said[-1:] != [b"there\n"]:
                said.append(proc.stdout.readline())
                self.assertIn(said[-1], (b"True \n", b"there\n"))
            yield proc
        finally:
            proc.kill()
            proc.wait()
            proc.stdin.close()
            proc.stdout.close()

    def few(self):
        return self.serve(["-a", "good.example", "-q"],
                          before=["prlimit", "--nofile=%d:%d" % (FILES, FILES)])

    def all_is_well(self, held):
        """@held connections at least are open, and others are served, whichever way they come."""
        wait_for(lambda: self.stats()["connections"] >= held)
        self.assertEqual(self.curl("http://good.example/").stdout, HELLO)
        self.assertEqual(self.curl("--noproxy", "*", "http://good.example/").stdout, HELLO)
        got = self.w.run(["/usr/bin/python3", "-c", """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(sys.argv[1])
s.sendall(b"GET http://good.example/ HTTP/1.0\\r\\nHost: good.example\\r\\n\\r\\n")
print(s.makefile("rb").read().decode())
""", self.path("proxy.sock")])
        self.assertIn(HELLO.strip(), got.stdout, got.stderr)
        self.assertTrue(self.ask('{"op":"stats"}')[0]["ok"])

    def test_connections_of_one_sandbox(self):
        """Eight sessions with unfinished heads, in one sandbox and then in another."""
        with self.few() as server, self.flood(HEADS):
            self.all_is_well(130)
            with self.flood(HEADS):
                self.all_is_well(190)
                self.assertLess(len(os.listdir("/proc/%d/fd" % server.pid)), FILES * 3 // 4)
                self.assertGreaterEqual(self.stats()["connections"], 190)

    def test_connections_to_the_common_socket(self):
        with self.few() as server, self.flood(LOCAL, "proxy.sock"):
            self.all_is_well(130)
            self.assertLess(len(os.listdir("/proc/%d/fd" % server.pid)), FILES * 3 // 4)

    def test_questions_to_the_name_server_inside(self):
        """No more than its part a second, however many a sandbox asks: the loop is everybody's."""
        flood = r"""
import socket, struct, time
q = struct.pack(">HHHHHH", 7, 0x100, 1, 0, 0, 0) + b"\4evil\7example\0\0\1\0\1"
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("8.8.8.8", 53))
s.setblocking(False)
n, began = 0, time.monotonic()
while time.monotonic() < began + 2:
    try:
        s.send(q)
        s.recv(512)
        n += 1
    except BlockingIOError:
        pass
print(n, time.monotonic() - began)
"""
        with self.serve(["-a", "good.example", "-q"]):
            done = self.bridge(["/usr/bin/python3", "-c", flood])
            n, seconds = done.stdout.split()
            self.assertGreater(int(n), 50, done.stderr)
            self.assertLess(int(n), 2500 * (float(seconds) + 0.1))

    def test_questions_of_many_sessions(self):
        """
        Two sandboxes ask for more names than may be asked for, and nobody answers: the third one's name
        is asked for at once, while theirs are waited for.
        """
        log = os.path.join(self.w.home, "dns-asked")
        dns = self.w.popen(["/usr/bin/python3", "-c", DNS, log, v4(1)], stdout=subprocess.PIPE)
        try:
            port = int(dns.stdout.readline())
            for _ in range(3):  # a busy machine may need longer than the questions are out
                if self.asked_at_once(port, log):
                    return
            self.fail("the others' questions had to end first")
        finally:
            dns.kill()
            dns.wait()
            dns.stdout.close()

    def asked_at_once(self, port, log):
        def asked(name):
            with open(log, encoding="utf-8") as f:
                return {x.strip() for x in f if name in x}

        open(log, "w", encoding="utf-8").close()
        with self.serve(["-a", "good.example", "-a", "**.silent.example", "-q", "--resolver",
                         "127.0.0.1:%d" % port]):
            with self.flood(NAMES.replace("tag", "b'a'")) as first, \
                    self.flood(NAMES.replace("tag", "b'b'")) as second:
                wait_for(lambda: len(asked("a-")) >= 300 and len(asked("b-")) >= 100)
                done = self.curl("http://good.example/")
                ended = [int(p.communicate(b"\n", timeout=20)[0]) for p in (first, second)]
                self.assertLess(len(asked("silent")), 1024)  # or else all were asked for: no test
                return done.stdout == HELLO and ended == [0, 0] and bool(asked("good.example"))


if __name__ == "__main__":
    main()

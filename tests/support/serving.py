"""sbx-net serve and bridge in the test world: what test_bridge.py and test_serve.py share."""
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from world import PATH, WorldCase, must_run

BWRAP = ["bwrap", "--unshare-net", "--dev-bind", "/", "/", "--"]
BWRAP_CAPS = ["bwrap", "--unshare-user", "--unshare-net", "--cap-add", "CAP_NET_ADMIN",
              "--cap-add", "CAP_NET_BIND_SERVICE", "--dev-bind", "/", "/", "--"]
UNSHARE = ["unshare", "-rn", "--"]
UNSHARE_USER = ["unshare", "-cn", "--keep-caps", "--"]


# A download that the server ends by closing, taken after a line on stdin; its size, how it ended. It
# is more than fits the buffers on the way, of which a socket has 4 MiB at most.
SIZE = 8000000
DOWNLOAD = r"""
import socket, sys
how = sys.argv[1]
s = socket.socket()
s.settimeout(30)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
s.connect((socket.gethostbyname("good.example"), 80) if how == "capture" else ("127.0.0.1", 3128))
if how == "connect":
    s.sendall(b"CONNECT good.example:80 HTTP/1.1\r\nHost: good.example:80\r\n\r\n")
    got = b""
    while not got.endswith(b"\r\n\r\n"):
        got += s.recv(1)
if how == "socks":
    s.sendall(b"\5\1\0")
    assert s.recv(2) == b"\5\0"
    s.sendall(b"\5\1\0\3\x0cgood.example\0P")
    assert s.recv(10)[1] == 0
s.sendall(b"GET %s/bytes/SIZE HTTP/1.0\r\nHost: good.example\r\n"
          b"Connection: close\r\n\r\n"
          % (b"http://good.example" if how == "plain" else b""))
got = s.recv(1000)
print("begun", flush=True)
sys.stdin.readline()
end = "end"
try:
    while True:
        d = s.recv(65536)
        if not d:
            break
        got += d
except OSError as e:
    end = type(e).__name__
print(len(got.partition(b"\r\n\r\n")[2]), end)
""".replace("SIZE", str(SIZE))


# Speaks to control.sock as a bridge does, with listeners that it chooses: argv[2] is run.
RAW = r"""
import json, socket, struct, sys
def frame(*records):
    return struct.pack("=II", 0x5342584e, len(records)) + b"".join(
        struct.pack("=BBHH", *r) for r in records).ljust(6 * 64, b"\0")
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(30)
    s.connect(sys.argv[1])
    return s
def line(s):
    return json.loads(s.recv(65536) or '{"ok":false,"error":"closed"}')
l = socket.create_server(("127.0.0.1", 0))
def attach(*records, **more):
    s = connect()
    s.sendall(json.dumps(dict({"op": "attach"}, **more)).encode() + b"\n")
    got = line(s)
    if got["ok"]:
        for at in range(0, len(records), 64):
            part = records[at:at + 64]
            socket.send_fds(s, [frame(*part)], [l.fileno()] * len(part))
        try:
            s.sendall(frame())
        except OSError:
            pass
        got = line(s)
    print(got["ok"], got.get("error", ""), flush=True)
    return s
V4, V6 = socket.AF_INET, socket.AF_INET6
exec(sys.argv[2])
"""


def wait_for(what, seconds=10):
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            raise OSError("waited in vain")
        time.sleep(0.01)


def need_tools(*tools):
    """For one test of a file: without a tool it is skipped, loudly, or fails where it must run."""
    missing = [t for t in tools if not shutil.which(t, path=PATH)]
    if missing and must_run():
        raise AssertionError("not installed: " + " ".join(missing))
    if missing:
        print("NOT RUN: not installed: %s" % " ".join(missing), file=sys.stderr)
        raise unittest.SkipTest("not installed: " + " ".join(missing))


def answers(path):
    try:
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
        return True
    except OSError:
        return False


class ServeCase(WorldCase):
    serial = 0

    def new_dir(self):
        """A path of the made user's for --dir, short enough for a socket; not made yet."""
        ServeCase.serial += 1
        return os.path.join(self.w.home, "s%d" % ServeCase.serial)

    @contextlib.contextmanager
    def serve(self, options, d=None, before=(), **kw):
        """A server in self.dir, started by @before; its stderr comes to self.serve_err at the end."""
        self.dir = d or self.new_dir()
        control = os.path.join(self.dir, "control.sock")
        kw.setdefault("stderr", subprocess.PIPE)
        self.server = proc = self.w.popen([*before, self.w.sbx, "serve", "--no-config", "--dir", self.dir,
                                           *options], stdout=subprocess.DEVNULL, **kw)
        try:
            wait_for(lambda: answers(control) or proc.poll() is not None)
            self.assertIsNone(proc.poll(), "serve has ended")
            yield proc
        finally:
            if proc.poll() is None:
                proc.send_signal(signal.SIGTERM)
            try:
                _, err = proc.communicate(timeout=15)
                self.serve_err = (err or b"").decode("utf-8", "replace")
            finally:
                proc.kill()
                proc.wait()
                if proc.stderr:
                    proc.stderr.close()

    def path(self, name="control.sock"):
        return os.path.join(self.dir, name)

    def bridge_argv(self, command, options=(), sandbox=UNSHARE, at=None):
        return [*sandbox, self.w.sbx, "bridge", "--socket", at or self.path(), *options, "--",
                *command]

    def bridge(self, command, options=(), sandbox=UNSHARE, at=None, **kw):
        return self.w.run(self.bridge_argv(command, options, sandbox, at), **kw)

    def download(self, how, kill=None, **kw):
        """[bytes, "end" or an error] of DOWNLOAD in a sandbox, with @kill(bridge) in the middle."""
        proc = self.w.popen(self.bridge_argv(["/usr/bin/python3", "-c", DOWNLOAD, how], **kw),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.assertEqual(proc.stdout.readline(), b"begun\n")
            if kill:
                kill(proc)
            proc.stdin.write(b"\n")
            proc.stdin.close()
            out = proc.stdout.read().split()  # a killed bridge ends before its command
            return [int(out[0]), out[1].decode()]
        finally:
            proc.kill()
            proc.wait()
            for f in (proc.stdin, proc.stdout, proc.stderr):
                f.close()

    def curl(self, *args, **kw):
        return self.bridge(self.w.curl_argv(*args), **kw)

    def ask(self, *lines, path=None):
        """Lines to control.sock as the made user would send them; the answers."""
        done = self.w.run(["/usr/bin/python3", "-c", """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(5)
s.connect(sys.argv[1])
f = s.makefile("rwb")
for line in sys.argv[2:]:
    f.write(line.encode() + b"\\n")
    f.flush()
    print(f.readline().decode(), end="")
""", path or self.path(), *lines])
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(x) for x in done.stdout.splitlines()]

    def stats(self):
        return self.ask('{"op":"stats"}')[0]

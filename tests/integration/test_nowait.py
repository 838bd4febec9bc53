#!/usr/bin/python3
"""What must not hold the supervisor up (pipes for files, stderr that nobody reads), and blocks of
addresses that a local route leads to this machine."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import WorldCase, main  # noqa: E402

OWN = "2a01:4f8:77::5"
SERVER = r'''
import socket
s = socket.socket(socket.AF_INET6)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("::", 8077))
s.listen(8)
print("ready", flush=True)
while True:
    c, _ = s.accept()
    c.recv(4096)
    c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    c.close()
'''


class Waits(WorldCase):
    def test_a_pipe_in_the_place_of_a_file(self):
        pipe = self.w.path("ws", "pipe")
        plain = self.w.path("ws", "plain.list")
        os.mkfifo(pipe, 0o666)
        os.chmod(pipe, 0o666)
        with open(plain, "w", encoding="ascii") as f:
            f.write("x.example\n")
        for option in ("--policy", "--allow-list", "--deny-list", "--audit"):
            with self.subTest(option=option):
                done = self.w.sbx_run([option, pipe], ["true"], timeout=30)
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertRegex(done.stderr, "not a regular file|is a pipe")
        done = self.w.sbx_run(["--allow-list", plain], ["true"], timeout=30)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_stderr_that_nobody_reads(self):
        """The pipe is full before the run begins; the connections and --timeout go on."""
        inner, outer = os.pipe()
        os.set_blocking(outer, False)
        try:
            while True:
                os.write(outer, b"x" * 4096)
        except BlockingIOError:
            pass
        os.set_blocking(outer, True)
        script = ("for i in 1 2 3; do curl -s -o /dev/null http://h$i.example/ 2>/dev/null; done; "
                  "curl -s http://good.example/ -o /dev/null -w '%{http_code}\\n' 2>/dev/null")
        try:
            done = self.w.run(self.w.sbx_argv(["-a", "good.example", "-v", "-q"],
                                              ["sh", "-c", script]),
                              stderr=outer, timeout=40)
            self.assertEqual((done.returncode, done.stdout), (0, "200\n"))
            done = self.w.run(self.w.sbx_argv(["--timeout", "1"], ["sleep", "60"]),
                              stderr=outer, timeout=40)
            self.assertEqual(done.returncode, 124)
        finally:
            os.close(inner)
            os.close(outer)


class LocalRoute(WorldCase):
    def test_a_block_that_leads_here_is_refused(self):
        route = ["local", "2a01:4f8:77::/64", "dev", "lo"]
        self.w.run(["ip", "-6", "route", "add", *route], uid=0, check=True)
        server = self.w.popen([sys.executable, "-c", SERVER], pdeath=True, stdout=subprocess.PIPE,
                              text=True)
        url = "http://[%s]:8077/" % OWN
        curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", url]
        try:
            self.assertEqual(server.stdout.readline(), "ready\n")
            self.assertEqual(self.w.run(curl).stdout, "200")  # the host itself reaches it
            done = self.w.sbx_run(["-a", "*"], curl)
            self.assertEqual(done.stdout, "403", done.stderr)
            self.assertIn("an address of this machine", done.stderr)
            done = self.w.sbx_run(["-a", "*", "-a", "[%s]:8077" % OWN], curl)
            self.assertEqual(done.stdout, "200", done.stderr)
        finally:
            server.kill()
            server.wait()
            server.stdout.close()
            self.w.run(["ip", "-6", "route", "del", *route], uid=0, check=True)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""docs/recipes.md where the tool is not part of every test world: podman, and systemd's tools.

Each part says loudly that it did not run where the tool is missing, or fails by itself.
"""
import os
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from serving import ServeCase, wait_for  # noqa: E402
from world import BIG, PATH, main, setup_world  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ALLOW = ["-a", "good.example", "-q"]
HELLO = "hello from net good.example\n"

# A tunnel through the sandbox's proxy port that is used after a line on stdin.
TUNNEL = r"""
import socket, sys
s = socket.create_connection(("127.0.0.1", 3128), timeout=20)
s.sendall(b"CONNECT good.example:80 HTTP/1.1\r\nHost: good.example:80\r\n\r\n")
assert s.recv(4096).startswith(b"HTTP/1.1 200")
print("open", flush=True)
sys.stdin.readline()
s.sendall(b"GET /big HTTP/1.0\r\nHost: good.example\r\n\r\n")
print(len(s.makefile("rb").read().partition(b"\r\n\r\n")[2]))
"""


def have(*tools):
    missing = [t for t in tools if not shutil.which(t, path=PATH)]
    if missing:
        print("NOT RUN: not installed: %s" % " ".join(missing), file=sys.stderr)
    return not missing


def setUpModule():
    setup_world()


class Podman(ServeCase):
    """Rootless, as the made user; the image is a directory with the host's /usr."""

    def image(self):
        d = self.w.path("image")
        if not os.path.isdir(d):
            for sub in ("etc", "proc", "sys", "dev", "tmp", "run", "usr", "opt", "root", "ws"):
                os.makedirs(os.path.join(d, sub))
            for name in ("bin", "sbin", "lib", "lib64"):
                os.symlink("usr/" + name, os.path.join(d, name))
            self.w.write("image/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")
            self.w.write("image/etc/hosts", "127.0.0.1 localhost\n")
            self.w.write("image/etc/resolv.conf", "nameserver 192.0.2.53\n")
            self.w.run(["chown", "-hR", "%d:%d" % (self.w.uid, self.w.uid), d], uid=0, check=True)
            # crun takes cgroups of version 2 only; this is seen by the host namespace alone
            self.w.run(["mount", "-t", "cgroup2", "none", "/sys/fs/cgroup"], uid=0)
            for sub in ("pod", "pod/run"):
                os.mkdir(os.path.join(self.w.home, sub), 0o700)
                os.chown(os.path.join(self.w.home, sub), self.w.uid, self.w.uid)
        return d

    def podman(self, command, *options):
        home = os.path.join(self.w.home, "pod")
        env = dict(self.w.env(), HOME=home, XDG_RUNTIME_DIR=home + "/run")
        argv = ["podman", "--root", home + "/root", "--runroot", home + "/runroot",
                "--cgroup-manager=cgroupfs", "--events-backend=none", "--storage-driver=vfs",
                "run", "--rm", "--cgroups=disabled", "--ulimit", "nofile=1024:1024", "--ulimit",
                "nproc=1000:1000", "--network", "none", "-v", "/usr:/usr:ro",
                "-v", self.w.sbx + ":/opt/sbx-net:ro", "-v", self.w.ca + ":/opt/ca.pem:ro",
                *options, "--rootfs", self.image(), *command]
        return self.w.run(argv, env=env, cwd="/")

    def works(self):
        done = self.podman(["true"])
        if done.returncode:
            print("NOT RUN: podman does not work here: " + done.stderr[-300:], file=sys.stderr)
        return done.returncode == 0

    def bridge(self, *command, options=()):
        curl = ["curl", "-sS", "-m", "20", "--cacert", "/opt/ca.pem", *command]
        return self.podman(["/opt/sbx-net", "bridge", "--socket", "/run/sbx-net/control.sock", "--",
                            *curl], "-v", self.dir + ":/run/sbx-net", *options)

    def test_network_none(self):
        if not have("podman", "crun", "conmon", "curl") or not self.works():
            return
        with self.serve(ALLOW):
            for url in ("http://good.example/", "https://good.example/"):
                done = self.bridge(url)
                self.assertEqual(done.stdout, HELLO, done.stderr)
            o = self.w.oracle()
            done = self.bridge("-w", "%{http_code}", "http://evil.example/")
            self.assertIn("403", done.stdout)
            self.assertQuiet(o)
            # without the bridge there is nothing, and with the capability everything is captured
            done = self.podman(["curl", "-sS", "-m", "5", "http://good.example/"])
            self.assertNotEqual(done.returncode, 0)
            caps = ["--cap-add", "NET_ADMIN"]
            done = self.bridge("--noproxy", "*", "https://good.example/", options=caps)
            self.assertEqual(done.stdout, HELLO, done.stderr)
            o = self.w.oracle()
            done = self.bridge("--noproxy", "*", "https://evil.example/", options=caps)
            self.assertEqual(done.returncode, 6, done.stderr)
            self.assertQuiet(o)


class Systemd(ServeCase):
    def units(self):
        """The units of the recipes, with paths that exist here; {name: path}."""
        with open(os.path.join(HERE, "..", "..", "docs", "recipes.md"), encoding="utf-8") as f:
            blocks = re.findall(r"```ini\n(.*?)```", f.read(), re.S)
        d = self.w.path("units")
        os.makedirs(d, exist_ok=True)
        out = {}
        for text in blocks:
            name = re.match(r"# \S*/([a-z-]+\.(?:service|socket))\n", text)
            name = name.group(1) if name else "worker.service"
            text = text.replace("/usr/local/bin/sbx-net", self.w.sbx)
            text = text.replace("/usr/local/bin/worker", "/bin/true")
            out[name] = self.w.write("units/" + name, text)
        return out

    def verify(self, paths):
        return self.w.run(["systemd-analyze", "verify", *paths], uid=0)

    def test_units_are_valid(self):
        if not have("systemd-analyze"):
            return
        units = self.units()
        self.assertEqual(set(units), {"sbx-net.socket", "sbx-net.service", "worker.service"})
        done = self.verify(units.values())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        # the twin: it does notice
        with open(units["worker.service"], "a", encoding="utf-8") as f:
            f.write("PrivateNetworg=yes\n")
        self.assertIn("PrivateNetworg", self.verify(units.values()).stderr)

    def test_socket_activate(self):
        """systemd-socket-activate(1) opens the sockets and starts serve with the first client."""
        if not have("systemd-socket-activate", "unshare", "curl"):
            return
        d = self.dir = self.new_dir()
        os.mkdir(d, 0o700)
        os.chown(d, self.w.uid, self.w.uid)
        paths = [os.path.join(d, n) for n in ("control.sock", "proxy.sock")]
        server = self.w.popen(["systemd-socket-activate", "-l", paths[0], "-l", paths[1], self.w.sbx,
                               "serve", "--no-config", *ALLOW], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
        try:
            wait_for(lambda: all(os.path.exists(p) for p in paths))
            done = ServeCase.bridge(self, self.w.curl_argv("https://good.example/"))
            self.assertEqual(done.stdout, HELLO, done.stderr)
            o = self.w.oracle()
            done = ServeCase.bridge(self, self.w.curl_argv("-w", "%{http_code}",
                                                           "http://evil.example/"))
            self.assertIn("403", done.stdout)
            self.assertQuiet(o)
            # SIGTERM: what is open ends as it would have
            proc = self.w.popen(self.bridge_argv(["/usr/bin/python3", "-c", TUNNEL]),
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.assertEqual(proc.stdout.readline(), b"open\n")
            server.send_signal(signal.SIGTERM)
            out = proc.communicate(b"\n", timeout=30)[0]
            self.assertEqual(out.split(), [str(BIG).encode()])
            self.assertEqual(server.wait(15), 0)
            self.assertTrue(all(os.path.exists(p) for p in paths))  # they are the manager's
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()

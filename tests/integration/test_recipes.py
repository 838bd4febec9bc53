#!/usr/bin/python3
"""docs/recipes.md for containers: rootless podman, and docker with a daemon of the test's own."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from serving import ServeCase, need_tools, wait_for  # noqa: E402
from world import main, setup_world  # noqa: E402

ALLOW = ["-a", "good.example", "-q"]
HELLO = "hello from net good.example\n"


def setUpModule():
    setup_world()


class Container(ServeCase):
    """The image is a directory with the host's /usr in it."""

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
        return d

    def volumes(self):
        return ["-v", "/usr:/usr:ro", "-v", self.w.sbx + ":/opt/sbx-net:ro",
                "-v", self.w.ca + ":/opt/ca.pem:ro"]

    def container(self, command, *options):
        """Run in a container without a network; each tool its own way."""
        raise NotImplementedError

    def bridge(self, *command, options=()):
        curl = ["curl", "-sS", "-m", "20", "--cacert", "/opt/ca.pem", *command]
        return self.container(["/opt/sbx-net", "bridge", "--socket", "/run/sbx-net/control.sock",
                               "--", *curl], "-v", self.dir + ":/run/sbx-net:ro", *options)

    def check_variables(self):
        """The proxy variables lead to what is allowed, and to nothing else."""
        for url in ("http://good.example/", "https://good.example/"):
            done = self.bridge(url)
            self.assertEqual(done.stdout, HELLO, done.stderr)
        o = self.w.oracle()
        done = self.bridge("-w", "%{http_code}", "http://evil.example/")
        self.assertIn("403", done.stdout)
        self.assertQuiet(o)
        # without the bridge there is nothing
        done = self.container(["curl", "-sS", "-m", "5", "http://good.example/"])
        self.assertNotEqual(done.returncode, 0)

    def check_captured(self):
        """With the capability everything is captured."""
        caps = ["--cap-add", "NET_ADMIN"]
        done = self.bridge("--noproxy", "*", "https://good.example/", options=caps)
        self.assertEqual(done.stdout, HELLO, done.stderr)
        o = self.w.oracle()
        done = self.bridge("--noproxy", "*", "https://evil.example/", options=caps)
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertQuiet(o)


class Podman(Container):
    """Rootless, as the made user."""

    def container(self, command, *options):
        home = os.path.join(self.w.home, "pod")
        env = dict(self.w.env(), HOME=home, XDG_RUNTIME_DIR=home + "/run")
        argv = ["podman", "--root", home + "/root", "--runroot", home + "/runroot",
                "--cgroup-manager=cgroupfs", "--events-backend=none", "--storage-driver=vfs",
                "run", "--rm", "--cgroups=disabled", "--ulimit", "nofile=1024:1024", "--ulimit",
                "nproc=1000:1000", "--network", "none", *self.volumes(), *options,
                "--rootfs", self.image(), *command]
        return self.w.run(argv, env=env, cwd="/")

    def test_network_none(self):
        need_tools("podman", "crun", "conmon", "curl")
        # crun takes cgroups of version 2 only; this is seen by the host namespace alone
        self.w.run(["mount", "-t", "cgroup2", "none", "/sys/fs/cgroup"], uid=0)
        for sub in ("pod", "pod/run"):
            os.mkdir(os.path.join(self.w.home, sub), 0o700)
            os.chown(os.path.join(self.w.home, sub), self.w.uid, self.w.uid)
        done = self.container(["true"])
        self.assertEqual(done.returncode, 0, done.stderr)
        with self.serve(ALLOW):
            self.check_variables()
            self.check_captured()


class Docker(Container):
    """With a daemon of the test's own, in its own namespaces, which serves only us."""

    user = 0

    @contextlib.contextmanager
    def daemon(self):
        d = self.w.path("docker")
        os.mkdir(d)
        self.host = "unix://%s/sock" % d
        with open(d + "/log", "wb") as log:
            proc = self.w.popen(["unshare", "-mp", "--fork", "--kill-child", "--mount-proc",
                                 "dockerd", "--data-root", d + "/root", "--exec-root", d + "/exec",
                                 "--pidfile", d + "/pid", "-H", self.host, "--iptables=false",
                                 "--ip6tables=false", "--bridge=none", "--storage-driver=vfs"],
                                uid=0, stdout=log, stderr=log)
        try:
            wait_for(lambda: proc.poll() is not None or self.docker("version").returncode == 0, 60)
            if proc.poll() is not None:
                with open(d + "/log", encoding="utf-8", errors="replace") as f:
                    self.fail("dockerd: " + f.read()[-2000:])
            tar = self.w.path("image.tar")
            self.w.run(["tar", "-C", self.image(), "-cf", tar, "."], uid=0, check=True)
            done = self.docker("import", tar, "image")
            self.assertEqual(done.returncode, 0, done.stderr)
            yield
        finally:
            for pid in self.children(proc.pid):  # unshare(1) forwards no signal
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            try:
                proc.wait(30)
            except subprocess.TimeoutExpired:
                proc.kill()
                proc.wait()
            shutil.rmtree(d, ignore_errors=True)

    @staticmethod
    def children(pid):
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
            return [int(x) for x in f.read().split()]

    def docker(self, *args):
        return self.w.run(["docker", "-H", self.host, *args], uid=0)

    def container(self, command, *options):
        return self.docker("run", "--rm", "--network", "none", "--user", str(self.user),
                           *self.volumes(), *options, "image", *command)

    def test_network_none(self):
        need_tools("dockerd", "containerd", "runc", "docker", "curl")
        with self.daemon():
            self.user = self.w.uid
            with self.serve(ALLOW):
                self.check_variables()
            self.user = 0  # and serve is root's
            with self.serve(ALLOW, self.w.path("served"), uid=0):
                self.check_variables()
                self.check_captured()


if __name__ == "__main__":
    main()

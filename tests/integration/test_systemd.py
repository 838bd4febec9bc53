#!/usr/bin/python3
"""docs/recipes.md for systemd: the units, checked, and run by a manager of the test's own."""
import contextlib
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from serving import ServeCase, need_tools, wait_for  # noqa: E402
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


def setUpModule():
    setup_world()


def units_of_the_recipes(sbx):
    """What docs/recipes.md has, with our program at its place: {name: text}."""
    with open(os.path.join(HERE, "..", "..", "docs", "recipes.md"), encoding="utf-8") as f:
        blocks = re.findall(r"```ini\n(.*?)```", f.read(), re.S)
    out = {}
    for text in blocks:
        name = re.match(r"# \S*/([a-z-]+\.(?:service|socket))\n", text)
        out[name.group(1) if name else "worker.service"] = text.replace(
            "/usr/local/bin/sbx-net", sbx)
    return out


class Units(ServeCase):
    def units(self):
        """The units of the recipes, with paths that exist here; {name: path}."""
        os.makedirs(self.w.path("units"), exist_ok=True)
        return {name: self.w.write("units/" + name, text.replace("/usr/local/bin/worker",
                                                                 "/bin/true"))
                for name, text in units_of_the_recipes(self.w.sbx).items()}

    def verify(self, paths):
        return self.w.run(["systemd-analyze", "verify", *paths], uid=0)

    def test_units_are_valid(self):
        need_tools("systemd-analyze")
        units = self.units()
        self.assertEqual(set(units), {"sbx-net.socket", "sbx-net.service", "worker.service"})
        done = self.verify(units.values())
        # (of units that others have installed it tells, too)
        said = [x for x in done.stderr.splitlines() if not x.startswith("/lib/systemd/system/")]
        self.assertEqual((done.returncode, said), (0, []))
        # the twin: it does notice
        with open(units["worker.service"], "a", encoding="utf-8") as f:
            f.write("PrivateNetworg=yes\n")
        self.assertIn("PrivateNetworg", self.verify(units.values()).stderr)

    def test_socket_activate(self):
        """systemd-socket-activate(1) opens the sockets and starts serve with the first client."""
        need_tools("systemd-socket-activate", "unshare", "curl")
        d = self.dir = self.new_dir()
        os.mkdir(d, 0o700)
        os.chown(d, self.w.uid, self.w.uid)
        paths = [os.path.join(d, n) for n in ("control.sock", "proxy.sock")]
        server = self.w.popen(["systemd-socket-activate", "-l", paths[0], "-l", paths[1],
                               self.w.sbx, "serve", "--no-config", *ALLOW], stdout=subprocess.DEVNULL,
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


# The system's manager, in namespaces of its own; all it does is to start the manager of a user.
BOOT = r"""
set -e
mount -t cgroup2 none "$1/cgroup"
mkdir "$1/cgroup/$2"
echo $$ >"$1/cgroup/$2/cgroup.procs"
exec unshare -mpCiu --fork --kill-child --mount-proc sh -ec '
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs -o mode=755 none /run
: >"$1/console"
mount --bind "$1/console" /dev/console
export container=other SYSTEMD_UNIT_PATH="$1/units" SYSTEMD_LOG_TARGET=console
exec /lib/systemd/systemd --system --unit=test.target --show-status=no
' sh "$1"
"""
USER_MANAGER = """[Unit]
DefaultDependencies=no
[Service]
Type=notify
User={uid}
Delegate=yes
Environment=XDG_RUNTIME_DIR={run} HOME={home} PATH={path} SYSTEMD_LOG_TARGET=console
ExecStart=/lib/systemd/systemd --user
StandardOutput=file:{home}/manager.log
StandardError=inherit
"""
WORKER = """#!/bin/sh
curl -sS -m 20 --cacert {ca} {options} https://good.example/
curl -s -m 20 {options} -o /dev/null -w '%{{http_code}} %{{exitcode}}\\n' http://evil.example/
echo done
"""


class Running(ServeCase):
    """A service of the user's without a network, its proxy started by its socket."""

    def user_unit(self, name, text, *wanted_by):
        d = os.path.join(self.w.home, ".config/systemd/user")
        self.as_user("mkdir", "-p", d, *[os.path.join(d, w) for w in wanted_by])
        self.w.write(os.path.join(d, name), text)
        for w in wanted_by:
            self.as_user("ln", "-s", "../" + name, os.path.join(d, w, name))

    def as_user(self, *argv):
        env = dict(self.w.env(), XDG_RUNTIME_DIR=self.run_dir)
        return self.w.run(argv, env=env, cwd="/")

    def units(self):
        text = units_of_the_recipes(self.w.sbx)
        self.user_unit("sbx-net.socket", text["sbx-net.socket"], "sockets.target.wants")
        service = text["sbx-net.service"].replace("*.example.com", "good.example")
        self.user_unit("sbx-net.service", service + "StandardError=append:%s/serve.log\n" %
                       self.w.home)
        captured = "AmbientCapabilities=CAP_NET_ADMIN CAP_NET_BIND_SERVICE\n"
        for name, options, more in (("worker", "", ""), ("captured", "--noproxy '*'", captured)):
            script = self.w.write(name, WORKER.format(ca=self.w.ca, options=options), 0o755)
            self.user_unit(name + ".service", text["worker.service"].replace(
                "/usr/local/bin/worker", script) + more + "".join(
                    "Standard%s=file:%s/%s.%s\n" % (what, self.w.home, name, end)
                    for what, end in (("Output", "out"), ("Error", "err"))), "default.target.wants")

    @contextlib.contextmanager
    def manager(self):
        d, name = self.w.path("systemd"), "sbx-test-%d" % os.getpid()
        for sub in ("", "/cgroup", "/units"):
            os.mkdir(d + sub)
        self.w.write("systemd/units/test.target",
                     "[Unit]\nDefaultDependencies=no\nWants=user.service\n")
        self.w.write("systemd/units/user.service", USER_MANAGER.format(
            uid=self.w.uid, run=self.run_dir, home=self.w.home, path=PATH))
        with open(d + "/log", "wb") as log:
            proc = self.w.popen(["sh", "-c", BOOT, "sh", d, name], uid=0, stdout=log, stderr=log)
        try:
            yield proc
        finally:
            proc.kill()
            proc.wait()
            tidy = ["sh", "-c", "find \"$1\" -depth -type d -exec rmdir {} + && umount $2", "sh",
                    "%s/cgroup/%s" % (d, name), d + "/cgroup"]  # once the last process is gone
            wait_for(lambda: self.w.run(tidy, uid=0).returncode == 0)

    def output(self, name):
        try:
            with open(os.path.join(self.w.home, name), encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def test_service_without_a_network(self):
        need_tools("/lib/systemd/systemd", "systemctl", "unshare", "curl")
        self.run_dir = os.path.join(self.w.home, "run")
        os.mkdir(self.run_dir, 0o700)
        os.chown(self.run_dir, self.w.uid, self.w.uid)
        self.units()
        o = self.w.oracle()
        with self.manager() as proc:
            done = [n + ".out" for n in ("worker", "captured")]
            try:
                wait_for(lambda: all("done" in self.output(n) for n in done), 60)
            except OSError:
                self.fail("%s: %s %s %s" % (proc.poll(), self.output("../systemd/log"),
                                            self.output("manager.log"), self.output("serve.log")))
            self.assertEqual(self.output("worker.out"), HELLO + "403 0\ndone\n")
            self.assertEqual(self.output("captured.out"), HELLO + "000 6\ndone\n")
            for name in ("worker.err", "captured.err"):
                wait_for(lambda n=name: "sbx-net: refused evil.example" in self.output(n))
            self.assertEqual(len(o.accepts()), 2)
            self.assertNotIn("evil.example", [q[1] for q in o.queries()])
            # reload is a SIGHUP to serve; it ends by itself, long before systemd would kill it
            # (systemctl's private connection to a manager fails now and then: once more)
            reload = ["systemctl", "--user", "reload", "sbx-net.service"]
            wait_for(lambda: self.as_user(*reload).returncode == 0)
            processes = self.w.processes()
            self.assertTrue(any(" serve " in argv for argv in processes.values()), processes)
            for pid in [pid for pid, argv in processes.items() if "systemd --user" in argv]:
                os.kill(pid, signal.SIGTERM)
            wait_for(lambda: not self.w.processes(), 30)
            self.assertIsNone(proc.poll())


if __name__ == "__main__":
    main()

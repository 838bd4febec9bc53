#!/usr/bin/python3
"""How a run is started: the environment, the order of the steps, our own processes, and what fails."""
import os
import shutil
import subprocess


from escapeworld import SBX_NET, World, main, shows, users

FAULTRUN = os.environ.get("FAULTRUN", "faultrun")

# Loader and interpreter hooks, credentials, and ways to other programs of the user.
HOSTILE = """
LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH LD_DEBUG_OUTPUT GLIBC_TUNABLES GCONV_PATH LOCPATH MALLOC_CHECK_
MALLOC_TRACE PYTHONPATH PYTHONSTARTUP PYTHONINSPECT NODE_OPTIONS NODE_PATH PERL5OPT PERL5LIB RUBYOPT
_JAVA_OPTIONS BASH_ENV ENV PROMPT_COMMAND SHELLOPTS PS4 IFS GIT_DIR GIT_SSH GIT_EXTERNAL_DIFF
GIT_CONFIG_GLOBAL SSH_AUTH_SOCK SSH_ASKPASS GPG_TTY GPG_AGENT_INFO AWS_SECRET_ACCESS_KEY
AWS_SESSION_TOKEN GOOGLE_APPLICATION_CREDENTIALS AZURE_CLIENT_SECRET GITHUB_TOKEN NPM_TOKEN
DOCKER_HOST KUBECONFIG DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR DISPLAY WAYLAND_DISPLAY XAUTHORITY
NOTIFY_SOCKET LISTEN_FDS LISTEN_PID SOME_OTHER_VARIABLE
""".split()
PROXIES = "HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy".split()


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
        return [int(x) for x in f.read().split()]


def status(pid):
    with open("/proc/%d/status" % pid, encoding="utf-8") as f:
        return {key: value.strip() for key, value in (line.split(":", 1) for line in f)}


class Launch(World):
    def run_in(self, uid, argv, **variables):
        """As run_as, with more variables."""
        env = dict(self.env(), **variables)
        return subprocess.run(argv, cwd=self.work, env=env, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=60, check=False, **self.identity(uid))

    def variables(self, uid, argv, **given):
        p = self.run_in(uid, argv, **given)
        return dict(line.split("=", 1) for line in p.stdout.splitlines() if "=" in line)

    @shows("L-001", "L-002")
    def test_environment(self):
        # "1" is harmless to whatever is started; the proxies' values would lead past the proxy.
        given = {name: "1" for name in HOSTILE}
        for name in ("LD_PRELOAD", "LD_AUDIT"):
            given[name] = ""
        given.update({name: "http://192.0.2.1:9" for name in PROXIES})
        given.update(NO_PROXY="*", no_proxy="*")
        for uid in users():
            self.fill(uid)
            bare = self.variables(uid, ["/usr/bin/env"], **given)
            self.assertEqual({x: bare[x] for x in given}, given)
            inside = self.variables(uid, self.inside(["/usr/bin/env"]), **given)
            self.assertEqual(sorted(set(HOSTILE) & set(inside)), [])
            self.assertEqual({inside[name] for name in PROXIES}, {"http://127.0.0.1:3128"})
            self.assertEqual({inside["NO_PROXY"], inside["no_proxy"]}, {"localhost,127.0.0.1,::1"})

    def calls(self, uid):
        log = os.path.join(self.outside, "log")
        if os.path.exists(log):
            os.unlink(log)
        p = self.run_in(uid, [FAULTRUN, log, "list", "--", *self.inside(["true"])])
        self.assertEqual(p.returncode, 0, p.stderr)
        with open(log, encoding="ascii") as f:
            lines = [line.split() for line in f]
        return {role: [call for r, call in lines if r == role]
                for role in ("supervisor", "init", "command")}

    @shows("L-017")
    def test_order_of_the_steps(self):
        """A step after the filter that needs a denied call fails late; one after Landlock opens
        nothing any more."""
        for uid in users():
            self.fill(uid)
            calls = self.calls(uid)
            init, command = calls["init"], calls["command"]
            order = [init.index("setsid"), init.index("close_range"), init.index("sendmsg"),
                     init.index("mount"), len(init) - 1 - init[::-1].index("move_mount"),
                     init.index("capset"), init.index("clone")]
            self.assertEqual(order, sorted(order))
            last = {name: len(command) - 1 - command[::-1].index(name) for name in command}
            order = [last[x] for x in ("setsid", "close_range", "landlock_restrict_self", "seccomp",
                                       "execve")]
            self.assertEqual(order, sorted(order))
            self.assertEqual(command[-1], "execve")

    def started(self, uid, **variables):
        p = subprocess.Popen(self.inside(["sh", "-c", "echo up; exec sleep 600"]), cwd=self.work,
                             env=dict(self.env(), **variables), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, **self.identity(uid))
        self.addCleanup(p.stdout.close)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        self.assertEqual(p.stdout.readline(), b"up\n")
        return p

    def ours(self, p):
        """Our processes: the supervisor, its children, but not the command."""
        return [p.pid] + children(p.pid)

    @shows("L-025")
    def test_our_processes_are_confined(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to look")
        for uid in users():
            self.fill(uid)
            p = self.started(uid)
            for pid in self.ours(p):
                with self.subTest(uid=uid, pid=pid, name=status(pid)["Name"]):
                    self.assertEqual(status(pid)["NoNewPrivs"], "1")
                    # Not dumpable: what belongs to it in /proc is root's.
                    self.assertEqual(os.stat("/proc/%d/environ" % pid).st_uid, 0)
            confined = [status(pid)["Seccomp"] for pid in self.ours(p)]
            self.assertGreaterEqual(confined.count("2"), 2)  # supervisor and pid 1 at least
            self.assertEqual(status(p.pid)["Seccomp"], "2")

    @shows("U-015")
    def test_our_processes_leak_no_descriptors(self):
        """One thread each, so nobody forks in between; and every descriptor closes on exec."""
        if os.geteuid() != 0:
            self.skipTest("needs root to look")
        self.fill(0)
        p = self.started(0)
        for pid in self.ours(p):
            self.assertEqual(len(os.listdir("/proc/%d/task" % pid)), 1)
            for fd in os.listdir("/proc/%d/fdinfo" % pid):
                with open("/proc/%d/fdinfo/%s" % (pid, fd), encoding="ascii") as f:
                    flags = next(int(x.split()[1], 8) for x in f if x.startswith("flags:"))
                if int(fd) > 2:
                    with self.subTest(pid=pid, fd=os.readlink("/proc/%d/fd/%s" % (pid, fd))):
                        self.assertTrue(flags & os.O_CLOEXEC)

    @shows("L-035")
    def test_no_secret_in_any_argument(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to look")
        self.fill(0)
        p = self.started(0, HTTPS_PROXY="http://user:wordofpass@127.0.0.1:9", TOKEN="wordofpass")
        for pid in self.ours(p) + children(children(p.pid)[-1]):
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                self.assertNotIn(b"wordofpass", f.read())
        look = "cat /proc/*/cmdline /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; echo read"
        argv = ["sh", "-c", look]
        given = dict(HTTPS_PROXY="http://user:wordofpass@127.0.0.1:9")
        self.assertIn("wordofpass", self.run_in(0, argv, **given).stdout)
        seen = self.run_in(0, self.inside(argv), **given).stdout
        self.assertIn("read", seen)
        self.assertNotIn("wordofpass", seen)

    def refused(self, uid, argv, *words):
        """Exit 125 with these words, and the command has not run."""
        p = self.run_in(uid, argv)
        self.assertEqual((p.returncode, p.stdout), (125, ""), p.stderr)
        for word in words:
            self.assertIn(word, p.stderr)

    def failing(self, call, n, code, role="supervisor"):
        return [FAULTRUN, os.path.join(self.outside, "log"), "error", role, call, str(n), str(code),
                "--", *self.inside(["echo", "ran"])]

    @shows("L-016")
    def test_namespaces_refused(self):
        for uid in users():
            self.fill(uid)
            for code in (1, 28, 22):
                with self.subTest(uid=uid, errno=code):
                    log = os.path.join(self.outside, "log")
                    if os.path.exists(log):
                        os.unlink(log)
                    # The first clone is the janitor's fork where there are placeholders.
                    n = sum(1 for c in self.calls(uid)["supervisor"] if c == "clone")
                    os.unlink(log)
                    self.refused(uid, self.failing("clone", n, code), "sbx-net: ", "namespaces")

    @shows("L-031")
    def test_close_range_refused(self):
        """Then /proc/self/fd tells what is open; without that nothing starts."""
        for uid in users():
            self.fill(uid)
            for role in ("init", "command"):
                for code in (1, 38):
                    with self.subTest(uid=uid, role=role, errno=code):
                        log = os.path.join(self.outside, "log")
                        if os.path.exists(log):
                            os.unlink(log)
                        argv = self.failing("close_range", 1, code, role)
                        argv[argv.index("echo"):] = [self.probe, "fds"]
                        with open(self.outside + "/file", encoding="ascii") as leak:
                            p = self.run_as(uid, argv, capture_output=True, pass_fds=[leak.fileno()])
                        self.assertEqual(p.stdout, "EBADF\n", p.stderr)
        if os.geteuid() == 0:
            script = 'mount -t tmpfs none /proc && exec "$@"'
            self.refused(0, ["unshare", "-m", "sh", "-c", script, "sh",
                             *self.inside(["echo", "ran"])], "sbx-net: ")

    @shows("L-030")
    def test_a_run_within_a_run(self):
        """It says what is in its way, or works as whole as any."""
        for uid in users():
            self.fill(uid)
            inner = self.inside(["echo", "ran"])
            inner[0] = shutil.copy(SBX_NET, self.outside)  # where it is may not be seen inside
            self.assertEqual(self.run_in(uid, inner).stdout, "ran\n")
            self.refused(uid, self.inside(inner), "sbx-net: ")

    @shows("L-022")
    def test_floods_stay_inside(self):
        """Thousands of connections, garbage and half-closed ones: the proxy answers afterwards."""
        code = ("import socket\n"
                "def dial(data=b''):\n"
                " s = socket.create_connection(('127.0.0.1', 3128), 20); s.sendall(data); return s\n"
                "for i in range(3000):\n"
                " s = dial((b'', b'\\0' * 100, b'\\5\\1', b'GET', b'CONNECT x:1 HTTP/1.1\\n')[i % 5])\n"
                " s.shutdown(socket.SHUT_WR) if i % 2 else None\n"
                " s.close()\n"
                "kept = [dial(b'\\5\\1') for i in range(300)]\n"
                "for s in kept: s.close()\n"
                "s = dial(b'CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test:443\\r\\n\\r\\n')\n"
                "print(s.recv(12))\n")
        for uid in users():
            self.fill(uid)
            p = self.run_in(uid, self.inside(["/usr/bin/python3", "-c", code]))
            self.assertEqual(p.stdout, "b'HTTP/1.1 403'\n", p.stderr)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""sbx-net run as a launcher: statuses, signals, environment, files, and nothing left behind."""
import fcntl
import itertools
import os
import re
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import HOST4, WorldCase, main, v4, v6  # noqa: E402

BOTH = (None, 0)  # the made user, root


class Statuses(WorldCase):
    def status(self, options, command, **kw):
        return self.w.sbx_run(options, command, **kw)

    def test_own_status(self):
        for uid in BOTH:
            for n in (0, 1, 7, 77, 124, 125, 126, 127, 255):
                with self.subTest(n, uid=uid):
                    done = self.status([], ["sh", "-c", "exit %d" % n], uid=uid)
                    self.assertEqual((done.returncode, done.stderr), (n, ""))

    def test_a_caller_that_ignores_the_end_of_its_children(self):
        ignoring = [sys.executable, "-c", "import os, signal, sys; "
                    "signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execvp(sys.argv[1], sys.argv[1:])"]
        done = self.w.run(ignoring + self.w.sbx_argv([], ["sh", "-c", "echo x > ignored; exit 3"]))
        self.assertEqual((done.returncode, done.stderr), (3, ""))
        os.unlink(os.path.join(self.w.ws, "ignored"))

    def test_few_descriptors(self):
        """What does not suffice for a run is no status that could be the command's"""
        for n in (10, *range(16, 33), 256):
            with self.subTest(n):
                done = self.w.run(["prlimit", "--nofile=%d" % n] +
                                  self.w.sbx_argv([], ["sh", "-c", "echo ran; exit 3"]))
                self.assertIn((done.returncode, done.stdout), ((125, ""), (3, "ran\n")))
                if done.returncode == 125:
                    self.assertIn("sbx-net: ", done.stderr)
        self.assertEqual(done.returncode, 3)

    def test_killed_by_signal(self):
        for sig in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGINT, signal.SIGUSR1):
            with self.subTest(sig):
                done = self.status([], ["sh", "-c", "kill -%d $$" % sig])
                self.assertEqual(done.returncode, 128 + sig)

    def test_not_found_and_not_executable(self):
        path = os.path.join(self.w.ws, "plain.txt")
        with open(path, "w", encoding="ascii") as f:
            f.write("not a program\n")
        for uid in BOTH:
            with self.subTest(uid):
                done = self.status([], ["no-such-program-here"], uid=uid)
                self.assertEqual(done.returncode, 127)
                self.assertIn("no-such-program-here", done.stderr)
                self.assertNotIn("quotes", done.stderr)
                for word in ("echo hello", "curl https://good.example/"):
                    done = self.status([], [word], uid=uid)
                    self.assertEqual(done.returncode, 127)
                    self.assertIn("leave out the quotes", done.stderr)
                done = self.status([], ["/nonexistent/prog"], uid=uid)
                self.assertEqual(done.returncode, 127)
                done = self.status([], [path], uid=uid)
                self.assertEqual(done.returncode, 126)
                self.assertIn(path, done.stderr)
        os.chmod(path, 0o755)
        with open(path, "w", encoding="ascii") as f:
            f.write("#!/bin/sh\nexit 3\n")
        self.assertEqual(self.status([], [path]).returncode, 3)

    def test_a_text_without_an_interpreter_is_the_shells(self):
        path = os.path.join(self.w.ws, "plain.sh")
        with open(path, "w", encoding="ascii") as f:
            f.write("echo $# \"$2\"\nexit 5\n")
        for mode, status, said in ((0o644, 126, ""), (0o755, 5, "2 b c\n")):
            os.chmod(path, mode)
            for uid in BOTH:
                with self.subTest(mode, uid=uid):
                    done = self.status([], [path, "a", "b c"], uid=uid)
                    self.assertEqual((done.returncode, done.stdout), (status, said), done.stderr)

    def test_usage(self):
        for args in (["run"], ["run", "--no-such-option", "--", "true"], ["no-such-command"],
                     ["run", "--timeout", "x", "--", "true"]):
            with self.subTest(args):
                done = self.w.run([self.w.sbx, *args])
                self.assertEqual(done.returncode, 64, done.stderr)
                self.assertNotEqual(done.stderr, "")
        for args, text in ((["--help"], "run"), (["--version"], "sbx-net"),
                           (["run", "--help"], "--allow"), (["help", "help"], "Commands:")):
            with self.subTest(args):
                done = self.w.run([self.w.sbx, *args])
                self.assertEqual(done.returncode, 0)
                self.assertIn(text, done.stdout)

    def test_bad_pattern(self):  # H-051, H-052
        canary = os.path.join(self.w.ws, "ran")
        for pattern in ("**", "*.", "*.*.x.test", "foo*.x.test", "*foo.x.test", "x.*.org",
                        "https://x.test", "x.test/", "user@x.test", " x.test ", "x.test:0", "x.test:",
                        "x.test:65536", "x.test:http", "x.test:20-10", "0x7f.1", "1.2.3.04", "[::1",
                        "10.0.0.1/8", "10.0.0.0/33", "a..b.org", "x" * 64 + ".org", "m\u00fc.org"):
            for option in ("-a", "-d"):
                with self.subTest(pattern, option=option):
                    done = self.status([option, pattern], ["touch", canary])
                    self.assertEqual(done.returncode, 125, done.stderr)
                    if pattern.isascii() and pattern.strip():
                        self.assertIn(pattern.strip(), done.stderr)
                    self.assertFalse(os.path.exists(canary))
        for pattern in "*.com", "*.co.uk":  # denied they mean something
            done = self.status(["-a", pattern], ["touch", canary])
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn("public registry", done.stderr)
            self.assertFalse(os.path.exists(canary))
            self.assertEqual(self.status(["-d", pattern], ["true"]).returncode, 0)
        for pattern in ("x.test", "*.x.test", "**.x.test", "*", "1.2.3.4", "[2a01::1]:443",
                        "10.0.0.0/8", "x.test:1-65535", "x.test:80,443", "X.TEST.", "foo_bar.org"):
            with self.subTest(pattern, twin=True):
                self.assertEqual(self.status(["-a", pattern], ["true"]).returncode, 0)

    def test_broken_policy_file(self):  # H-049
        if self.not_yet("--policy", "/nonexistent"):
            return
        canary = os.path.join(self.w.ws, "ran")
        for name, text in (("missing.json", None), ("empty.json", ""), ("bad.json", "{\n x"),
                           ("nul.json", "{}\0"), ("type.json", "[]"),
                           ("kind.json", '{"network": {"allowedDomains": "x.test"}}'),
                           ("pat.json", '{"network": {"allowedDomains": ["*foo.org"]}}')):
            with self.subTest(name):
                path = os.path.join(self.w.ws, name)
                if text is not None:
                    with open(path, "w", encoding="utf-8") as f:
                        f.write(text)
                done = self.status(["-p", path], ["touch", canary])
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertIn(name, done.stderr)
                self.assertFalse(os.path.exists(canary))
        done = self.status(["-p", self.w.ws], ["touch", canary])
        self.assertEqual(done.returncode, 125)
        path = os.path.join(self.w.ws, "good.json")
        with open(path, "w", encoding="utf-8") as f:
            f.write('{"network": {"allowedDomains": ["good.example"]}}')
        done = self.w.curl(["-p", path], "http://good.example/")
        self.assertEqual(done.stdout, "hello from net good.example\n", done.stderr)

    def test_timeout(self):
        for uid in BOTH:
            with self.subTest(uid):
                done = self.status(["--timeout", "1"], ["sleep", "4711.%d" % os.getpid()],
                                   uid=uid)
                self.assertEqual(done.returncode, 124)
                self.assertEqual(self.w.processes_with("sleep 4711.%d" % os.getpid()), {})
        done = self.status(["--timeout", "60"], ["sh", "-c", "exit 5"])
        self.assertEqual(done.returncode, 5)

    def test_timeout_of_one_that_ignores_term(self):
        done = self.status(["--timeout", "1"],
                           ["sh", "-c", "trap '' TERM INT HUP; while :; do sleep 1; done"])
        self.assertEqual(done.returncode, 124)
        self.assertEqual(self.w.wait_no_processes(), {})


class Signals(WorldCase):
    def start(self, script, before=()):
        p = self.w.popen([*before, *self.w.sbx_argv([], ["sh", "-c", script])], encoding="utf-8",
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for end in (p.wait, p.stdin.close, p.stdout.close, p.stderr.close, p.kill):
            self.addCleanup(end)
        self.assertEqual(p.stdout.readline(), "up\n")
        return p

    def insist(self, p, sig):
        """Until it ends, once a second; how often that was."""
        for n in range(1, 20):
            p.send_signal(sig)
            try:
                p.wait(1)
                return n
            except subprocess.TimeoutExpired:
                pass
        self.fail("it goes on")

    def test_a_second_one_ends_what_ignores_the_first(self):
        for sig in (signal.SIGTERM, signal.SIGHUP):
            with self.subTest(sig):
                p = self.start("trap '' TERM HUP; echo up; while :; do sleep 0.1; done")
                self.assertGreater(self.insist(p, sig), 1)
                self.assertEqual(p.returncode, 128 + signal.SIGKILL)
                self.assertEqual(p.stderr.read(), "sbx-net: the run has been killed: %s came a "
                                                  "second time\n" % sig.name)
                self.assertEqual(self.w.wait_no_processes(), {})

    def test_the_first_one_is_the_commands(self):
        for sig in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
            with self.subTest(sig):
                p = self.start("trap 'echo heard; exit 9' %d; echo up; while :; do sleep 0.1; done" % sig)
                p.send_signal(sig)
                self.assertEqual((p.stdout.readline(), p.wait(20)), ("heard\n", 9))
                self.assertNotIn("sbx-net", p.stderr.read())

    def test_interrupts_never_kill(self):
        """Programs are interrupted, and asked for a dump, as often as one likes."""
        for sig in (signal.SIGINT, signal.SIGQUIT):
            with self.subTest(sig):
                p = self.start("trap 'echo heard' %d; echo up; while :; do sleep 0.1; done" % sig)
                for _ in range(3):
                    p.send_signal(sig)
                    self.assertEqual(p.stdout.readline(), "heard\n")
                    time.sleep(0.7)
                p.send_signal(signal.SIGTERM)
                self.assertEqual(p.wait(20), 128 + signal.SIGTERM)

    def test_what_the_caller_ignores_the_command_ignores(self):
        """As under nohup(1), and for what a script starts in the background."""
        script = "echo up; read -r x; kill -HUP $$; kill -INT $$; echo on"
        for before, status in (((), 128 + signal.SIGHUP), (("nohup",), 128 + signal.SIGINT),
                               (("sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh"), 0)):
            with self.subTest(before):
                p = self.start(script, before)
                if before:
                    p.send_signal(signal.SIGHUP)
                p.stdin.write("\n")
                p.stdin.flush()
                self.assertEqual(p.wait(20), status)
                self.assertEqual(p.stdout.read(), "" if status else "on\n")


class ExitOnDeny(WorldCase):
    """A status that is ours says why, in a line of its own."""
    REFUSED = "refused other.example:80 (not on the allow list); allow with: " \
              "--allow other.example:80"

    def deny(self, options, script):
        done = self.w.sbx_run(["-a", "good.example", "--exit-on-deny", *options],
                              ["sh", "-c", script])
        lines = [x for x in done.stderr.splitlines() if "exit status" in x]
        return done.returncode, lines, done.stderr

    def test_nothing_was_refused(self):
        self.assertEqual(self.deny([], "curl -sSf -o /dev/null http://good.example/"), (0, [], ""))

    def test_one_refusal(self):
        status, lines, stderr = self.deny([], "curl -s -o /dev/null http://other.example/")
        self.assertEqual((status, lines), (77, [
            "sbx-net: exit status 77: the command succeeded, but --exit-on-deny: " + self.REFUSED]))
        self.assertEqual(stderr.count(self.REFUSED), 2)  # when it happened, and at the end

    def test_several(self):
        status, lines, stderr = self.deny(
            ["-d", "*.test"], "for h in other.example evil.test other.example; do "
            "curl -s -o /dev/null http://$h/; done")
        self.assertEqual((status, lines), (77, [
            "sbx-net: exit status 77: the command succeeded, but --exit-on-deny: "
            "3 refusals, the first: " + self.REFUSED]))
        self.assertIn("3 refusals, 2 targets:", stderr)

    def test_what_is_no_refusal(self):
        status, lines, _ = self.deny(["-a", "nothing.example"],
                                     "curl -s -o /dev/null http://nothing.example/; true")
        self.assertEqual((status, lines), (0, []))

    def test_a_failed_command_keeps_its_status(self):
        self.assertEqual(self.deny([], "curl -s -o /dev/null http://other.example/; exit 3")[:2],
                         (3, []))

    def test_quiet(self):
        self.assertEqual(self.deny(["-q"], "curl -s -o /dev/null http://other.example/"),
                         (77, [], ""))


class ManyRefusals(WorldCase):
    def test_lines_are_merged_and_bounded(self):
        """Each target once; forty lines, then one that says so; all of it in the summary."""
        done = self.w.sbx_run(["-v"], ["bash", "-c", """
for i in {1..60} {1..60}; do
	exec 3<>/dev/tcp/127.0.0.1/3128
	printf 'CONNECT evil.example:%d HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n' $i >&3
	cat <&3 >/dev/null
done"""])
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [x for x in done.stderr.splitlines() if not x.startswith("sbx-net: info")]
        said = [x for x in lines if x.startswith("sbx-net: refused evil.example:")]
        self.assertEqual(len(said), 40)
        self.assertEqual(len(set(said)), 40)
        self.assertEqual(lines.count("sbx-net: many refusals; further ones are told at the end"), 1)
        self.assertIn("sbx-net: 120 refusals, 60 targets:", lines)
        self.assertIn("sbx-net:      2x evil.example:1 (not-listed)", lines)
        self.assertIn("sbx-net:         and 48 more", lines)
        self.assertEqual(lines[-1].count("--allow evil.example:"), 12)


class Plumbing(WorldCase):
    def test_stdin_stdout_stderr(self):
        done = self.w.sbx_run([], ["sh", "-c", "cat; echo err >&2"], input="a\nb\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "a\nb\n", "err\n"))

    def test_binary_through_a_pipe(self):
        data = os.urandom(1 << 20)
        done = self.w.sbx_run([], ["cat"], input=data)
        self.assertEqual(done.stdout, data)

    def test_arguments_unchanged(self):
        args = ["a b", "", '{"k": "v"}', "$HOME", "*", "--", "-a", "'\"", "new\nline", "\\"]
        done = self.w.sbx_run([], ["/usr/bin/python3", "-c",
                                   "import sys; print(ascii(sys.argv[1:]))", *args])
        self.assertEqual(done.stdout, ascii(args) + "\n")

    def test_options_end_at_the_command(self):
        done = self.w.run([self.w.sbx, "run", "--no-config", "echo", "-a", "--deny", "x"])
        self.assertEqual((done.returncode, done.stdout), (0, "-a --deny x\n"), done.stderr)

    def test_directory(self):
        done = self.w.sbx_run([], ["pwd"])
        self.assertEqual(done.stdout, self.w.ws + "\n")
        sub = os.path.join(self.w.ws, "sub")
        os.makedirs(sub, exist_ok=True)
        os.chown(sub, self.w.uid, self.w.uid)
        for value in (sub, "sub"):
            done = self.w.sbx_run(["-C", value], ["sh", "-c", "pwd; touch x && echo ok"])
            self.assertEqual(done.stdout, sub + "\nok\n", done.stderr)
        done = self.w.sbx_run(["-C", sub], ["sh", "-c", "touch ../y"])
        self.assertNotEqual(done.returncode, 0)
        self.assertFalse(os.path.exists(os.path.join(self.w.ws, "y")))
        done = self.w.sbx_run(["-C", "/nonexistent"], ["true"])
        self.assertEqual(done.returncode, 125)

    def tun(self):
        """A device that is a network, with an address of the host's at its other end."""
        def attach():
            fd = os.open("/dev/net/tun", os.O_RDWR)
            fcntl.ioctl(fd, 0x400454ca, struct.pack("16sH22x", b"tun-at-0", 0x1001))  # TUNSETIFF
            return fd
        fd = self.w.in_net(self.w.host, attach)
        self.w.ip(self.w.host, "addr add 10.99.0.1/24 dev tun-at-0\nlink set tun-at-0 up")
        return fd

    def test_devices_as_standard_descriptors(self):
        """By a tun device packets would go past the proxy; a terminal and /dev/null are taken."""
        tun, netns = self.tun(), os.open("/proc/self/ns/net", os.O_RDONLY)
        try:
            for uid in BOTH:
                for fd, what in ((tun, "a device"), (netns, "no file")):
                    done = self.w.sbx_run([], ["sh", "-c", "echo ran"], uid=uid, stdin=fd)
                    self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                    self.assertIn("standard input is " + what, done.stderr)
                    self.assertIn("put a pipe between", done.stderr)
        finally:
            os.close(tun)
            os.close(netns)
        master, slave = os.openpty()
        try:
            for name in ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", None):
                with self.subTest(name):
                    fd = os.open(name, os.O_RDONLY) if name else os.dup(slave)
                    done = self.w.sbx_run([], ["echo", "ran"], stdin=fd)
                    os.close(fd)
                    self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)
        finally:
            os.close(master)
            os.close(slave)

    def test_inherited_descriptors_are_closed(self):
        r, w = os.pipe()
        os.set_inheritable(w, True)
        try:
            script = "ls /proc/self/fd; echo leaked >&%d" % w
            done = self.w.sbx_run([], ["bash", "-c", script], pass_fds=[w])
            fds = {int(x) for x in done.stdout.split()}
            self.assertLessEqual(fds, {0, 1, 2, 3})
            bare = self.w.run(["bash", "-c", script], pass_fds=[w])
            self.assertEqual(bare.returncode, 0)
            os.close(w)
            w = -1
            with os.fdopen(r, "rb") as f:
                r = -1
                self.assertEqual(f.read(), b"leaked\n")  # once: the bare one
        finally:
            for fd in (r, w):
                if fd >= 0:
                    os.close(fd)

    def test_signals_are_forwarded(self):
        for uid in BOTH:
            for sig, trap, want in ((signal.SIGTERM, "TERM", 7), (signal.SIGINT, "INT", 7),
                                    (signal.SIGQUIT, "QUIT", 7),
                                    (signal.SIGTERM, None, 143), (signal.SIGINT, None, 130)):
                with self.subTest(sig, trap=trap, uid=uid):
                    head = "trap 'echo got; exit 7' %s; " % trap if trap else ""
                    body = "echo ready; while :; do sleep 0.05; done"
                    if not trap:  # a shell of its own group's foreground: plain default action
                        body = "echo ready; exec sleep 4712"
                    proc = self.w.popen(self.w.sbx_argv([], ["sh", "-c", head + body]), uid=uid,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    try:
                        self.assertEqual(proc.stdout.readline(), b"ready\n")
                        time.sleep(0.05)
                        proc.send_signal(sig)
                        out, err = proc.communicate(timeout=10)
                    finally:
                        proc.kill()
                        proc.wait()
                    self.assertEqual((proc.returncode, out), (want, b"got\n" if trap else b""), err)


class Environment(WorldCase):
    def env_of(self, options, extra=None, **kw):
        env = self.w.env()
        env.update(extra or {})
        done = self.w.sbx_run(options, ["env", "-0"], env=env, **kw)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(x.split("=", 1) for x in done.stdout.split("\0") if x)

    def test_proxy_variables(self):
        env = self.env_of([], {"HTTP_PROXY": "http://u:p@other:1", "no_proxy": "10.0.0.0/8",
                               "https_proxy": "http://127.0.0.1:9", "ALL_PROXY": "socks5://x"})
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            self.assertEqual(env[name], "http://127.0.0.1:3128")
            self.assertEqual(env[name.lower()], "http://127.0.0.1:3128")
        for name in ("NO_PROXY", "no_proxy"):
            self.assertEqual(env[name], "localhost,127.0.0.1,::1")
        self.assertEqual(env["NODE_USE_ENV_PROXY"], "1")
        self.assertEqual(env["SBX_NET"], "1")
        self.assertIn("proxyHost", env["JAVA_TOOL_OPTIONS"])
        self.assertFalse([v for v in env.values() if "@other" in v or "u:p" in v])

    def test_allow_list(self):
        env = self.env_of([], {"SECRET_THING": "s", "AWS_SECRET_ACCESS_KEY": "k",
                               "GITHUB_TOKEN": "t", "LD_PRELOAD": "", "LD_LIBRARY_PATH": "/x",
                               "SSH_AUTH_SOCK": "/x", "PYTHONSTARTUP": "/x", "NODE_OPTIONS": "-x",
                               "BASH_ENV": "/x"})
        for name in ("SECRET_THING", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "LD_PRELOAD",
                     "LD_LIBRARY_PATH", "SSH_AUTH_SOCK", "BASH_ENV"):
            self.assertNotIn(name, env)
        for name in ("PATH", "HOME", "LANG", "TERM", "USER"):
            self.assertEqual(env.get(name), self.w.env()[name], name)

    def test_env_option(self):
        env = self.env_of(["--env", "A=b=c", "--env", "WANTED", "--env", "CARGO_*",
                           "--env", "EMPTY="],
                          {"WANTED": "w", "CARGO_HOME": "/c", "CARGO_REGISTRY_TOKEN": "t",
                           "OTHER": "o"})
        self.assertEqual((env["A"], env["WANTED"], env["CARGO_HOME"], env["EMPTY"]),
                         ("b=c", "w", "/c", ""))
        self.assertNotIn("CARGO_REGISTRY_TOKEN", env)
        self.assertNotIn("OTHER", env)

    def test_sbx_net_env_says_the_same(self):
        done = self.w.run([self.w.sbx, "env"])
        if done.returncode == 64 and "unknown command" in done.stderr:
            return  # still to come
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("HTTPS_PROXY=http://127.0.0.1:3128", done.stdout)

    def test_what_does_not_pass_is_named(self):
        env = {"MYAPP": "1", "CC": "mycc", "PYTHONPATH": "x", "WANTED": "w"}
        self.assertEqual(self.env_of(["--env", "WANTED"], env)["CC"], "mycc")
        for argv in (["env", "--env", "WANTED"], ["run", "-v", "--env", "WANTED", "--", "true"]):
            done = self.w.run([self.w.sbx, *argv], env=dict(self.w.env(), **env))
            said = [x for x in done.stderr.splitlines() if "--env NAME" in x]
            self.assertEqual(len(said), 1, done.stderr)
            names = said[0].split(": ")[-1].split(";")[0].split()
            self.assertEqual([x for x in env if x in names], ["MYAPP", "PYTHONPATH"])
        done = self.w.run([self.w.sbx, "run", "--", "true"], env=dict(self.w.env(), **env))
        self.assertEqual(done.stderr, "")

    def test_tmpdir(self):
        done = self.w.sbx_run([], ["sh", "-c", "echo $TMPDIR; echo x >$TMPDIR/f && cat $TMPDIR/f; "
                                   "mktemp >/dev/null && echo ok"])
        lines = done.stdout.split("\n")
        self.assertEqual(lines[1:3], ["x", "ok"], done.stderr)
        self.assertFalse(os.path.exists(self.w.host_root(lines[0] + "/f")))


class Confinement(WorldCase):
    def status_of(self, **kw):
        done = self.w.sbx_run([], ["cat", "/proc/self/status"], **kw)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(re.findall(r"^(\w+):\s+(.*)$", done.stdout, re.M))

    def test_enforced_from_inside(self):  # M-06
        for uid in BOTH:
            with self.subTest(uid):
                status = self.status_of(uid=uid)
                for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                    self.assertEqual(int(status[name], 16), 0, name)
                self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))
                want = self.w.uid if uid is None else uid
                self.assertEqual(status["Uid"].split(), [str(want)] * 4)

    def test_namespaces(self):
        kinds = ("user", "net", "pid", "mnt", "ipc", "uts", "cgroup")
        cmd = ["sh", "-c", "for k in %s; do readlink /proc/self/ns/$k; done" % " ".join(kinds)]
        for uid in BOTH:
            inside = self.w.sbx_run([], cmd, uid=uid).stdout.split()
            outside = self.w.run(cmd, uid=uid).stdout.split()
            self.assertEqual(len(inside), len(kinds))
            for kind, a, b in zip(kinds, inside, outside):
                with self.subTest(kind, uid=uid):
                    self.assertNotEqual(a, b)

    def test_proc_shows_own_tree_only(self):
        done = self.w.sbx_run([], ["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo $$"])
        self.assertNotIn("origins.py", done.stdout)
        self.assertLess(int(done.stdout.split()[-1]), 20)

    def test_writes(self):
        outside = [("home", os.path.join(self.w.home, "out")), ("tmp", "/tmp/out"),
                   ("vartmp", "/var/tmp/sbx-out-%d" % os.getpid())]
        for uid in BOTH:
            ws = self.w.ws if uid is None else self.w.root_ws
            done = self.w.sbx_run([], ["sh", "-c", "echo x >in && mkdir d && mv in d/in && "
                                       "rm -r d && echo y >keep && echo ok"], uid=uid)
            self.assertEqual(done.stdout, "ok\n", done.stderr)
            with open(os.path.join(ws, "keep"), encoding="ascii") as f:
                self.assertEqual(f.read(), "y\n")
            for name, path in outside + ([("root", self.w.path("out"))] if uid == 0 else []):
                with self.subTest(name, uid=uid):
                    seen = self.w.host_root(path)
                    self.w.sbx_run([], ["sh", "-c", "echo x >" + path], uid=uid)
                    self.assertFalse(os.path.exists(seen), path)
                    self.w.run(["sh", "-c", "echo x >" + path], uid=uid)
                    self.assertTrue(os.path.exists(seen), path)
                    os.unlink(seen)

    def test_existing_files_outside_stay(self):
        path = os.path.join(self.w.home, "precious")
        for uid in BOTH:
            with open(path, "w", encoding="ascii") as f:
                f.write("precious\n")
            os.chown(path, self.w.uid, self.w.uid)
            for cmd in (": >%s", "rm -f %s", "mv %s %s.2", "chmod 777 %s", "ln %s here"):
                with self.subTest(cmd, uid=uid):
                    line = cmd.replace("%s", path)
                    self.w.sbx_run([], ["sh", "-c", line], uid=uid)
                    with open(path, encoding="ascii") as f:
                        self.assertEqual(f.read(), "precious\n")
                    if cmd.startswith("mv") or cmd.startswith("ln"):
                        self.assertFalse(os.path.exists(path + ".2"))
        self.w.run(["sh", "-c", "rm -f " + path])
        self.assertFalse(os.path.exists(path))

    def test_unix_sockets(self):
        script = "import socket; socket.socket(socket.AF_UNIX); print('open')"
        done = self.w.sbx_run([], ["/usr/bin/python3", "-c", script])
        self.assertIn("PermissionError", done.stderr)
        self.assertEqual(self.w.run(["/usr/bin/python3", "-c", script]).stdout, "open\n")
        if not self.not_yet("--allow-unix-sockets"):
            done = self.w.sbx_run(["--allow-unix-sockets"], ["/usr/bin/python3", "-c", script])
            self.assertEqual(done.stdout, "open\n", done.stderr)
        script = ("import socket\na, b = socket.socketpair(); a.send(b'x'); print(b.recv(1))")
        self.assertEqual(self.w.sbx_run([], ["/usr/bin/python3", "-c", script]).stdout, "b'x'\n")


class NoWayAround(WorldCase):
    PROBE = r"""
import socket, sys
kind, addr, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
family = socket.AF_INET6 if ':' in addr else socket.AF_INET
try:
    if kind == 'tcp':
        s = socket.socket(family, socket.SOCK_STREAM)
        s.settimeout(2)
        s.connect((addr, port))
        s.sendall(b'GET /probe HTTP/1.0\r\n\r\n')
    elif kind == 'udp':
        s = socket.socket(family, socket.SOCK_DGRAM)
        s.settimeout(1)
        s.sendto(b'GET', (addr, port))
    elif kind == 'raw':
        s = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        s.settimeout(1)
        s.sendto(b'\x08\0\xf7\xff\0\0\0\0', (addr, 0))
    elif kind == 'packet':
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)
        print('open')
        sys.exit()
    print('got' if s.recv(64) else 'nothing')
except OSError as e:
    print('failed', e.errno)
"""

    def probe(self, kind, addr, port, options=None, uid=None):
        args = ["/usr/bin/python3", "-c", self.PROBE, kind, addr, str(port)]
        if options is None:
            return self.w.run(args, uid=uid).stdout
        return self.w.sbx_run(options, args, uid=uid).stdout

    def test_direct(self):
        nocap = [] if self.not_yet("--no-capture") else ["--no-capture"]
        for kind, addr, port in (("tcp", v4(66), 80), ("tcp", v6(0x66), 80), ("tcp", v4(66), 31337),
                                 ("udp", v4(66), 7000), ("udp", v6(0x66), 7000),
                                 ("tcp", "10.1.2.3", 80), ("tcp", "169.254.169.254", 80),
                                 ("tcp", HOST4, 80), ("tcp", "127.0.0.1", 80),
                                 ("udp", HOST4, 7000), ("udp", "127.0.0.1", 7000)):
            for options in (nocap + ["-a", "good.example"], ["-a", "good.example"]):
                with self.subTest(kind, addr=addr, port=port, options=options):
                    o = self.w.oracle()
                    said = self.probe(kind, addr, port, options)
                    self.assertNotEqual(said, "got\n")
                    self.assertNotEqual(said, "")
                    self.assertEqual([r for r in o.records() if r["ev"] in ("accept", "udp")], [])
            with self.subTest(kind, twin=addr):
                o = self.w.oracle()
                self.assertEqual(self.probe(kind, addr, port), "got\n")
                self.assertEqual(len([r for r in o.records() if r["ev"] in ("accept", "udp")]), 1)

    def test_raw_and_packet_sockets(self):
        for kind in ("raw", "packet"):
            with self.subTest(kind):
                self.assertTrue(self.probe(kind, v4(1), 0, [], uid=0).startswith("failed"))
                self.assertIn(self.probe(kind, v4(1), 0, uid=0), ("got\n", "open\n"))

    def test_two_runs_do_not_meet(self):
        script = ("import socket,sys\ns=socket.create_server(('127.0.0.1',5555))\n"
                  "print('ready',flush=True)\nsys.stdin.read()\n")
        proc = self.w.popen(self.w.sbx_argv([], ["/usr/bin/python3", "-c", script]),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.assertEqual(proc.stdout.readline(), b"ready\n")
            said = self.probe("tcp", "127.0.0.1", 5555, [])
            self.assertIn(said.split()[0], ("failed", "nothing"))
        finally:
            proc.communicate(b"", timeout=10)
        self.assertEqual(proc.returncode, 0)


class NothingOutlives(WorldCase):
    def clean(self):
        self.assertEqual(self.w.wait_no_processes(), {})
        self.assertEqual(self.w.tmp_listing(), self.w.tmp_before)
        self.assertEqual(self.w.new_mounts(), [])

    def test_background_children(self):
        mark = "sleep 4713.%d" % os.getpid()
        script = ("sleep 4713.N & setsid sleep 4713.N & (setsid sh -c 'trap \"\" TERM HUP; "
                  "sleep 4713.N' &) ; echo up; exit 0").replace("sleep 4713.N", mark)
        for uid in BOTH:
            with self.subTest(uid):
                done = self.w.sbx_run([], ["sh", "-c", script], uid=uid,
                                      stderr=subprocess.DEVNULL, timeout=20)
                self.assertEqual((done.returncode, done.stdout), (0, "up\n"))
                self.assertEqual(self.w.processes_with(mark), {})
                self.clean()

    def test_supervisor_killed(self):
        for uid, sig in itertools.product(BOTH, (signal.SIGKILL, signal.SIGSEGV)):
            with self.subTest(uid, sig=sig):
                mark = "sleep 4714.%d" % os.getpid()
                script = "setsid %s & echo up; exec %s" % (mark, mark)
                proc = self.w.popen(self.w.sbx_argv(["-a", "good.example"], ["sh", "-c", script]),
                                    uid=uid, stdout=subprocess.PIPE,
                                    env=dict(self.w.env(uid), ASAN_OPTIONS="handle_segv=0"))
                self.assertEqual(proc.stdout.readline(), b"up\n")
                self.assertNotEqual(self.w.processes_with(mark), {})
                proc.send_signal(sig)
                self.assertEqual(proc.wait(), -sig)
                proc.stdout.close()
                end = time.monotonic() + 5
                while self.w.processes_with(mark) and time.monotonic() < end:
                    time.sleep(0.01)
                self.assertEqual(self.w.processes_with(mark), {})
                if uid is None:
                    self.assertEqual(self.w.wait_no_processes(), {})
                self.assertEqual(self.w.new_mounts(), [])
        # what a killed supervisor could not remove is at most empty
        left = [p for p in self.w.tmp_listing() if p not in self.w.tmp_before]
        files = [p for p in left if not os.path.isdir(p)]
        self.assertEqual(files, [])
        for path in sorted(left, reverse=True):
            os.rmdir(path)

    def test_normal_ends(self):
        for options, command in (([], ["true"]), ([], ["false"]), ([], ["no-such-program"]),
                                 (["--timeout", "1"], ["sleep", "4715"]),
                                 (["-a", "**"], ["true"]), ([], ["sh", "-c", "kill -9 $$"])):
            with self.subTest(command):
                self.w.sbx_run(options, command)
                self.clean()

    def test_sandbox_cannot_signal_outside(self):
        done = self.w.sbx_run([], ["sh", "-c", "kill -9 -1; echo alive"])
        self.assertIn(done.returncode, (0, 137))
        self.clean()


if __name__ == "__main__":
    main()

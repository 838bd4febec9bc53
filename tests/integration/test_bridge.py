#!/usr/bin/python3
"""sbx-net bridge in other programs' sandboxes: the recipes of docs/recipes.md, and their failures."""
import os
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from origins import STALL  # noqa: E402
from serving import BWRAP, BWRAP_CAPS, SIZE, UNSHARE, UNSHARE_USER, ServeCase, wait_for  # noqa: E402
from world import BIG, main, need, setup_world, v4  # noqa: E402

ALLOW = ["-a", "good.example", "-a", "*.wild.example", "-q"]
DIRECT = ["--noproxy", "*"]
SANDBOXES = {"bwrap": BWRAP, "bwrap with a capability": BWRAP_CAPS, "unshare": UNSHARE,
             "unshare as oneself": UNSHARE_USER}
CAPTURING = {k: SANDBOXES[k] for k in SANDBOXES if k != "bwrap"}


def setUpModule():
    need("bwrap", "unshare", "setpriv", "curl")
    setup_world()


class Recipes(ServeCase):
    def test_allowed_and_refused(self):
        with self.serve(ALLOW):
            for name, sandbox in SANDBOXES.items():
                for url in ("http://%s/", "https://%s/"):
                    with self.subTest(name, url=url):
                        o = self.w.oracle()
                        done = self.curl(url % "good.example", sandbox=sandbox)
                        self.assertEqual(done.stdout, "hello from net good.example\n",
                                         done.stderr)
                        o = self.w.oracle()
                        done = self.curl("-w", "%{http_code}%{http_connect}", url % "evil.example",
                                         sandbox=sandbox)
                        self.assertIn("403", done.stdout)
                        self.assertQuiet(o)

    def test_socks(self):
        with self.serve(ALLOW):
            for way in ("socks5h", "socks4a"):
                with self.subTest(way):
                    done = self.curl("-x", way + "://127.0.0.1:3128", "http://good.example/",
                                     sandbox=BWRAP)
                    self.assertEqual(done.stdout, "hello from net good.example\n", done.stderr)

    def test_captured(self):
        with self.serve(ALLOW):
            for name, sandbox in CAPTURING.items():
                with self.subTest(name):
                    done = self.curl(*DIRECT, "https://good.example/", sandbox=sandbox)
                    self.assertEqual(done.stdout, "hello from net good.example\n", done.stderr)
                    done = self.curl(*DIRECT, "http://good.example:8080/", sandbox=sandbox)
                    self.assertEqual(done.stdout, "hello from net good.example:8080\n",
                                     done.stderr)
                    o = self.w.oracle()
                    done = self.curl(*DIRECT, "http://evil.example/", sandbox=sandbox)
                    self.assertEqual(done.returncode, 6, done.stderr)  # no such name
                    done = self.curl(*DIRECT, "http://%s/" % v4(66), sandbox=sandbox)
                    self.assertIn(done.returncode, (7, 52, 56), done.stderr)
                    self.assertQuiet(o)

    def test_refusals_are_told_where_the_bridge_is(self):
        line = "sbx-net: refused evil.example%s (not on the allow list); allow with: --allow " \
            "evil.example%s (of sbx-net serve)"
        with self.serve(ALLOW):
            for sandbox, args, port in ((BWRAP, [], ":80"), (UNSHARE, DIRECT, "")):
                done = self.curl(*args, "http://evil.example/", sandbox=sandbox)
                self.assertIn(line % (port, port), self.refusal_lines(done.stderr))
                done = self.curl(*args, "http://evil.example/", sandbox=sandbox, options=["-q"])
                self.assertEqual(self.refusal_lines(done.stderr), [])
                done = self.curl(*args, "http://good.example/", sandbox=sandbox)
                self.assertNotIn("refused good.example ", done.stderr)

    def test_a_hint_says_whose_option_it_names(self):
        with self.serve(ALLOW):
            for host, whose in (("good.example", "--only good.example:80 (of this bridge)"),
                                ("evil.example", "--allow evil.example:80 --only evil.example:80 "
                                 "(--allow of sbx-net serve, --only of this bridge)")):
                done = self.curl("http://%s/" % host, sandbox=BWRAP, options=["--only", "x.example"])
                self.assertIn("allow with: " + whose, done.stderr)
            done = self.curl("http://good.example/", sandbox=BWRAP,
                             options=["--only", "x.example", "--only", "good.example:80"])
            self.assertEqual(done.stdout, "hello from net good.example\n", done.stderr)

    def test_what_the_command_has_sent_is_delivered(self):
        """Also what had not been connected yet when it ended."""
        send = ("import os, socket, sys\n"
                "s = socket.create_connection(('good.example', %d))\n"
                "s.sendall(b'x' * int(sys.argv[1]))\n"
                "os._exit(3)" % STALL)
        with self.serve(ALLOW):
            for size in (100, 100000, 5000000):
                o = self.w.oracle()
                done = self.bridge(["/usr/bin/python3", "-c", send, str(size)], timeout=60)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertNotIn("cut", done.stderr)
                wait_for(lambda: o.records("eof"))  # STALL has not read for three seconds
                self.assertEqual([r["size"] for r in o.records("eof")], [size])

    def test_no_way_around_the_proxy(self):
        with self.serve(ALLOW):
            for options, sandbox in (([], BWRAP), (["--no-capture"], UNSHARE)):
                o = self.w.oracle()
                for url in ("http://good.example/", "http://%s/" % v4(1)):
                    done = self.curl(*DIRECT, url, sandbox=sandbox, options=options)
                    self.assertIn(done.returncode, (6, 7), done.stderr)
                self.assertQuiet(o)
                done = self.curl("http://good.example/", sandbox=sandbox, options=options)
                self.assertEqual(done.stdout, "hello from net good.example\n", done.stderr)

    def test_first_calls(self):
        """The first thing that a command does works, every time."""
        with self.serve(ALLOW):
            for name, sandbox, args in (("bwrap", BWRAP, []), ("unshare", UNSHARE, DIRECT)):
                with self.subTest(name):
                    good = sum(self.curl(*args, "http://good.example/", sandbox=sandbox).stdout ==
                               "hello from net good.example\n" for _ in range(50))
                    self.assertEqual(good, 50)

    def test_paths_that_mean_the_server(self):
        with self.serve(ALLOW):
            for at in (self.dir, self.path("control.sock"), self.path("proxy.sock")):
                with self.subTest(at):
                    done = self.curl(*DIRECT, "http://good.example/", at=at)
                    self.assertEqual(done.stdout, "hello from net good.example\n", done.stderr)

    def test_any_name_of_the_control_socket(self):
        """A mount or a link may give it another one; and what is not there is no proxy at all."""
        with self.serve(ALLOW):
            link = os.path.join(self.w.home, "x.sock")
            self.w.run(["ln", "-sf", self.path("control.sock"), link], check=True)
            done = self.curl(*DIRECT, "http://good.example/", at=link)
            self.assertEqual(done.stdout, "hello from net good.example\n", done.stderr)
            done = self.curl("http://good.example/", at=self.path("nope.sock"))
            self.assertEqual((done.returncode, done.stdout), (125, ""))
            self.assertIn("there is no socket '%s'; start the proxy first" %
                          self.path("nope.sock"), done.stderr)

    def test_forward(self):
        with self.serve(ALLOW):
            for name, sandbox in SANDBOXES.items():
                with self.subTest(name):
                    done = self.curl("http://127.0.0.1:5000/", sandbox=sandbox, options=[
                        "--forward", "5000=good.example:80", "--forward", "5001=evil.example:80"])
                    self.assertEqual(done.stdout, "hello from net 127.0.0.1:5000\n", done.stderr)
                    done = self.curl("http://127.0.0.1:5001/", sandbox=sandbox, options=[
                        "--forward", "5000=good.example:80", "--forward", "5001=evil.example:80"])
                    self.assertIn(done.returncode, (7, 52, 56), done.stderr)
            done = self.curl("http://127.0.0.1:80/", sandbox=UNSHARE,
                             options=["--forward", "80=good.example:80"])
            self.assertEqual(done.stdout, "hello from net 127.0.0.1\n", done.stderr)
            done = self.bridge(["echo", "ran"], sandbox=BWRAP,
                               options=["--forward", "80=good.example:80"])
            self.assertIn("CAP_NET_BIND_SERVICE", done.stderr)
            self.assertEqual(done.stdout, "ran\n")

    def test_environment(self):
        env = dict(self.w.env(), HTTP_PROXY="http://elsewhere.example:1", KEPT="as it was",
                   NO_PROXY="*", no_proxy="good.example")
        with self.serve(ALLOW):
            got = dict(x.split("=", 1) for x in self.bridge(["env"], env=env).stdout.splitlines())
        self.assertEqual(got["KEPT"], "as it was")
        self.assertEqual(got["HOME"], self.w.home)
        for name in ("HTTP_PROXY", "https_proxy", "ALL_PROXY"):
            self.assertEqual(got[name], "http://127.0.0.1:3128")
        for name in ("NO_PROXY", "no_proxy"):
            self.assertEqual(got[name], "localhost,127.0.0.1,::1")
        self.assertEqual(got["SBX_NET"], "1")

    def test_connect_command(self):
        with self.serve(ALLOW):
            done = self.bridge([self.w.sbx, "connect", "good.example", "80"], sandbox=BWRAP,
                               input="GET / HTTP/1.0\r\nHost: good.example\r\n\r\n")
            self.assertTrue(done.stdout.endswith("hello from net good.example\n"), done.stdout)
            done = self.bridge([self.w.sbx, "connect", "evil.example", "80"], sandbox=BWRAP)
            self.assertEqual(done.returncode, 1)
            self.assertIn("refused evil.example:80", done.stderr)


class Foreign(ServeCase):
    """A proxy that knows nothing of us, here ours by another name: connections are copied."""

    def foreign(self):
        d = self.new_dir()
        os.mkdir(d)
        at = os.path.join(d, "http.sock")
        os.symlink(self.path("proxy.sock"), at)
        os.chmod(d, 0o755)
        return at

    def test_relay(self):
        with self.serve(ALLOW):
            at = self.foreign()
            for name, sandbox in SANDBOXES.items():
                for url in ("http://good.example/", "https://good.example/"):
                    with self.subTest(name, url=url):
                        done = self.curl(url, at=at, sandbox=sandbox)
                        self.assertEqual(done.stdout, "hello from net good.example\n",
                                         done.stderr)
                done = self.curl("-w", "%{http_code}", "http://evil.example/", at=at,
                                 sandbox=sandbox)
                self.assertIn("403", done.stdout)
            self.assertEqual(self.stats()["sessions_ever"], 0)

    def test_every_byte(self):
        with self.serve(ALLOW):
            for url in ("http://good.example/big", "https://good.example/big"):
                done = self.bridge(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do \"$@\" | wc -c; done",
                                    "sh", *self.w.curl_argv(url)], at=self.foreign(),
                                   sandbox=BWRAP)
                self.assertEqual(done.stdout.split(), [str(BIG)] * 8, done.stderr)

    def test_killed_in_a_download(self):
        """Neither the end of this process nor that of the proxy looks like that of the download."""
        def kill_server(_bridge):
            self.server.kill()
            self.server.wait()

        def kill_bridge(bridge):
            bridge.kill()
            bridge.wait()

        for how in ("connect", "socks", "plain"):
            for kill in (kill_bridge, kill_server):
                with self.subTest(how, kill=kill), self.serve(ALLOW):
                    at = self.foreign()
                    self.assertEqual(self.download(how, at=at), [SIZE, "end"])
                    n, end = self.download(how, kill, at=at)
                    self.assertLess(n, SIZE)
                    self.assertEqual(end, "ConnectionResetError")

    def test_what_the_command_has_sent_is_delivered(self):
        send = ("import os, socket\n"
                "s = socket.create_connection(('127.0.0.1', 3128))\n"
                "s.sendall(b'CONNECT good.example:%d HTTP/1.1\\r\\n\\r\\n')\n"
                "assert s.recv(100).startswith(b'HTTP/1.1 200')\n"
                "s.sendall(b'x' * 5000000)\n"
                "os._exit(3)" % STALL)
        with self.serve(ALLOW):
            o = self.w.oracle()
            done = self.bridge(["/usr/bin/python3", "-c", send], at=self.foreign(), timeout=60)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertNotIn("cut", done.stderr)
            wait_for(lambda: o.records("eof"))
            self.assertEqual([r["size"] for r in o.records("eof")], [5000000])

    def test_takes_no_session_options(self):
        with self.serve(ALLOW):
            for option in (["--only", "good.example"], ["-d", "x.example"],
                           ["--forward", "5000=good.example:80"]):
                done = self.bridge(["echo", "ran"], at=self.foreign(), options=option)
                self.assertEqual((done.returncode, done.stdout), (125, ""))
                self.assertIn("another proxy takes no --only", done.stderr)

    def test_proxy_that_goes_away(self):
        with self.serve(ALLOW) as server:
            at = self.foreign()
            proc = self.w.popen(self.bridge_argv(
                ["sh", "-c", 'echo up; read x; "$@"', "sh",
                 *self.w.curl_argv("http://good.example/")],
                at=at), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertEqual(proc.stdout.readline(), b"up\n")
            server.kill()
            server.wait()
            out, err = proc.communicate(b"\n", timeout=30)
            self.assertEqual(out, b"")
            self.assertIn(proc.returncode, (7, 52, 56), err)


class Failures(ServeCase):
    def assertRefuses(self, argv, reason, code=125, **kw):
        done = self.w.run(argv, **kw)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(reason, done.stderr)

    def test_namespace_that_leads_somewhere(self):
        with self.serve(ALLOW):
            self.assertRefuses(self.bridge_argv(["echo", "ran"], sandbox=[]), "veth0")
            for make in ("ip link add leak0 type veth peer leak1; ip link set leak0 up",
                         "ip link add leak0 type veth peer leak1; ip addr add 192.0.2.1/24 dev leak0",
                         "ip link add leak0 type veth peer name leak1"):
                self.assertRefuses([*UNSHARE, "sh", "-c", make + '; exec "$@"', "sh",
                                    *self.bridge_argv(["echo", "ran"], sandbox=[])], "leak")
            self.assertRefuses(["bwrap", "--dev-bind", "/", "/", "--",
                                *self.bridge_argv(["echo", "ran"], sandbox=[])], "veth0")

    def test_namespace_of_the_proxy_itself(self):
        d = self.new_dir()
        done = self.w.run([*UNSHARE, "sh", "-c", """
            "$1" serve --no-config -q --dir "$2" & server=$!
            until [ -S "$2/control.sock" ]; do sleep 0.02; done; sleep 0.2
            "$1" bridge --socket "$2" -- echo ran
            echo $?; kill $server; wait""", "sh", self.w.sbx, d])
        self.assertEqual(done.stdout, "125\n", done.stderr)
        self.assertIn("namespace of the proxy itself", done.stderr)

    def test_descriptors_that_lead_out(self):
        """A socket keeps the namespace in which it was made, whoever passes it in."""
        code = ("import os, socket, sys\n"
                "s = socket.socket(fileno=int(sys.argv[1]))\n"
                "s.sendto(b'out', ('127.0.0.1', int(sys.argv[2])))\n")
        with self.serve(ALLOW), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as canary, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as leak:
            canary.bind(("127.0.0.1", 0))
            canary.settimeout(20)
            there = str(canary.getsockname()[1])

            def dial(fd):
                return ["/usr/bin/python3", "-c", code, str(fd), there]
            kept = leak.fileno()
            for argv in ([*UNSHARE, *dial(kept)], [*UNSHARE, *dial(0)]):
                done = self.w.run(argv, stdin=leak, pass_fds=[kept])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(canary.recv(9), b"out")
            self.assertRefuses(self.bridge_argv(dial(0)), "standard input is a socket", stdin=leak)
            done = self.bridge(self.bridge_argv(dial(kept)), pass_fds=[kept])
            self.assertIn("Bad file descriptor", done.stderr)
            canary.settimeout(0)
            self.assertRaises(BlockingIOError, canary.recv, 9)

    def test_bridge_within_a_bridge(self):
        with self.serve(ALLOW):
            inner = self.bridge_argv(["echo", "ran"], sandbox=[])
            self.assertRefuses(self.bridge_argv(inner), "")
            # and a namespace of its own in there is a session of its own
            done = self.bridge(self.bridge_argv(["echo", "ran"]))
            self.assertEqual(done.stdout, "ran\n", done.stderr)

    def test_loopback_that_is_down(self):
        with self.serve(ALLOW):
            sandbox = ["unshare", "--user", "--map-current-user", "--net", "--"]
            self.assertRefuses(self.bridge_argv(["echo", "ran"], sandbox=sandbox),
                               "CAP_NET_ADMIN")

    def test_nobody_at_the_socket(self):
        with self.serve(ALLOW) as server:
            self.assertRefuses(self.bridge_argv(["echo", "ran"], at="/nonexistent/x.sock"),
                               "/nonexistent/x.sock")
            self.assertRefuses(self.bridge_argv(["echo", "ran"], at=self.w.sbx), "sbx-net")
            self.assertRefuses(self.bridge_argv(["echo", "ran"], at="/" + "x" * 120), "no socket")
            server.kill()
            server.wait()
            for name in ("control.sock", "proxy.sock"):  # what a killed server leaves
                self.assertRefuses(self.bridge_argv(["echo", "ran"], at=self.path(name)),
                                   "cannot connect")

    def test_mistyped(self):
        b = [self.w.sbx, "bridge"]
        self.assertRefuses([*b, "--", "true"], "--socket is missing; try: sbx-net bridge --socket "
                           "%s/" % self.w.home, 64)
        self.assertRefuses([*b, "--socket", "x"], "no command", 64)
        self.assertRefuses([*b, "--socket", "x", "--allow", "y", "true"], "--allow", 64)
        with self.serve(ALLOW):
            self.assertRefuses(self.bridge_argv(["true"], options=["--only", "*.com"]), "*.com")
            self.assertRefuses(self.bridge_argv(["true"], options=["-d", "http://x/"]), "http://x/")

    def test_exit_status(self):
        with self.serve(ALLOW):
            for command, code in ((["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137),
                                  (["nosuch-command"], 127), (["/etc/passwd"], 126),
                                  (["true"], 0)):
                for sandbox in (BWRAP, UNSHARE):
                    done = self.bridge(command, sandbox=sandbox)
                    self.assertEqual(done.returncode, code, (command, done.stderr))

    def test_signals_are_passed_on(self):
        with self.serve(ALLOW):
            proc = self.w.popen(self.bridge_argv(
                ["sh", "-c", 'trap "echo got; exit 3" TERM; echo up; while :; do sleep 0.1; done']),
                stdout=subprocess.PIPE)
            with proc.stdout:
                self.assertEqual(proc.stdout.readline(), b"up\n")
                proc.send_signal(signal.SIGTERM)
                self.assertEqual(proc.stdout.read(), b"got\n")
            self.assertEqual(proc.wait(10), 3)

    def test_killing_the_bridge_opens_nothing(self):
        with self.serve(ALLOW):
            for name, sandbox in SANDBOXES.items():
                with self.subTest(name):
                    out = os.path.join(self.w.ws, "after")
                    self.bridge(["sh", "-c", """
                        out=$1; shift
                        "$@" >"$out.before"
                        kill -9 $PPID
                        sleep 0.3
                        "$@" >"$out.tmp" 2>&1
                        echo "status $?" >>"$out.tmp"
                        mv "$out.tmp" "$out" """, "sh", out,
                                 *self.w.curl_argv("http://good.example/")], sandbox=sandbox)
                    wait_for(lambda: os.path.exists(out) or not self.w.processes_with("after"), 20)
                    with open(out + ".before", encoding="utf-8") as f:
                        self.assertEqual(f.read(), "hello from net good.example\n")
                    if os.path.exists(out):  # bwrap takes everything with it
                        with open(out, encoding="utf-8") as f:
                            self.assertNotIn("hello", f.read())
                        os.unlink(out)
                    wait_for(lambda: self.stats()["sessions"] == 0)

    def test_session_is_out_of_the_commands_reach(self):
        with self.serve(ALLOW):
            done = self.bridge(["sh", "-c", "ls /proc/$PPID/fd || echo cannot"], sandbox=BWRAP)
            self.assertEqual(done.stdout, "cannot\n", done.stderr)

    def test_server_that_goes_away(self):
        with self.serve(ALLOW) as server:
            proc = self.w.popen(self.bridge_argv(
                ["sh", "-c", 'read x; "$@"', "sh", *self.w.curl_argv("http://good.example/")]),
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            wait_for(lambda: self.stats()["sessions"] == 1)
            server.kill()
            server.wait()
            out, err = proc.communicate(b"\n", timeout=30)
            self.assertEqual(out, b"")
            self.assertNotEqual(proc.returncode, 0)
            self.assertIn(b"the proxy has ended; there is no network from here on, not with a new "
                          b"proxy either: start the command again", err)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""sbx-net top: what the live sessions do, at a terminal and elsewhere."""
import contextlib
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from serving import RAW, UNSHARE, ServeCase, wait_for  # noqa: E402
from terminal import Terminal  # noqa: E402
from world import main, need, setup_world  # noqa: E402

# An open connection, then one that is refused.
BUSY = """
exec 3<>/dev/tcp/127.0.0.1/3128
printf 'CONNECT good.example:80 HTTP/1.1\\r\\nHost: good.example:80\\r\\n\\r\\n' >&3
read -r line <&3
printf 'GET /bytes/100000 HTTP/1.1\\r\\nHost: good.example\\r\\n\\r\\n' >&3
head -c 50000 <&3 >/dev/null
curl -sS -o /dev/null http://other.example/
echo up
read -r line
"""


def setUpModule():
    need("unshare", "curl")
    setup_world()


class Top(ServeCase):
    def busy(self):
        proc = self.w.popen([self.w.sbx, "run", "--no-config", "--ask", "control", "-q", "-a",
                             "good.example", "-d", "other.example", "--", "bash", "-c", BUSY],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(self.end, proc)
        self.assertEqual(proc.stdout.readline(), "up\n")
        return proc

    @staticmethod
    def end(proc):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(proc.pid, signal.SIGKILL)
        proc.communicate()

    def top(self, *args):
        return self.w.run([self.w.sbx, "top", *args])

    def screen(self, **kw):
        t = Terminal(self.w, [self.w.sbx, "top"], **kw)
        self.addCleanup(t.close)
        return t

    def test_nothing_lives(self):
        done = self.top()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("0 sessions", done.stdout)
        self.assertIn("no session of a serve", done.stdout)
        self.assertIn("serve --dir DIR: top --socket DIR/control.sock", done.stdout)
        self.assertEqual(self.top("--json").stdout, "")
        done = self.top("--once", "--socket", "/nonexistent")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nonexistent", done.stderr)
        self.assertEqual(self.top("--twice").returncode, 64)

    def test_numbers_of_a_run(self):
        proc = self.busy()
        done = self.top("--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        got = json.loads(done.stdout)
        self.assertEqual((got["connections"], got["allowed"], got["refused"], got["failed"],
                          got["questions"]), (1, 1, 1, 0, 0))
        self.assertEqual(got["pid"], proc.pid)
        self.assertTrue(got["command"].startswith("bash -c"))
        self.assertEqual(got["last_refused"], "other.example:80 (denied)")
        self.assertGreater(got["bytes_down"], 50000)  # of a connection that is still open
        self.assertGreater(got["bytes_up"], 10)
        proc.communicate("\n", timeout=20)
        self.assertEqual(self.top("--json").stdout, "")

    def test_plain_text_where_there_is_no_terminal(self):
        self.busy()
        for args in ((), ("--once",)):
            out = self.top(*args).stdout
            self.assertIn("1 session, 1 connection, 1 refused", out)
            self.assertIn("refused last: other.example:80 (denied)", out)
            self.assertNotIn("\x1b", out)
            self.assertIn("bash -c \\x0aexec 3<>", out)  # escaped once

    def test_sessions_of_serve(self):
        with self.serve(["-a", "good.example", "-q"]):
            bridge = self.w.popen([*UNSHARE, self.w.sbx, "bridge", "--socket",
                                   self.path("control.sock"), "--", "sh", "-c",
                                   "curl -sS -o /dev/null http://nope.example; echo up; read -r x"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
            self.addCleanup(self.end, bridge)
            self.assertEqual(bridge.stdout.readline(), "up\n")
            args = ("--json", "--socket", self.path("control.sock"))
            got = json.loads(self.top(*args).stdout)
            self.assertEqual((got["session"], got["refused"], got["last_refused"]),
                             ("1", 1, "nope.example:80 (not-listed)"))
            self.assertEqual(got["pid"], self.attached(bridge.pid))
            self.assertTrue(got["command"].startswith("bridge: sh -c curl -sS -o /dev/null http://nope"))
            self.assertRegex(self.top("--once", "--socket", self.path("control.sock")).stdout,
                             r"(?m)^1 .*\n? +bridge: sh -c curl")
            bridge.communicate("\n", timeout=20)
            wait_for(lambda: self.top(*args).stdout == "")

    def attached(self, pid):
        """The bridge that a tool runs, which may have become it."""
        with open("/proc/%d/cmdline" % pid, "rb") as f:
            if b"bridge" in f.read().split(b"\0"):
                return pid
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
            return self.attached(int(f.read().split()[0]))

    def test_a_client_that_says_nothing_of_itself(self):
        """Who attached is what the kernel says; what it says of itself moves no cursor."""
        for more, shown in (("", "(a session of serve, attached by process %d)"),
                            (", command='a\\x1b[2Jb\\xe9'", "bridge: a\\x1b[2Jb\\xc3\\xa9")):
            with self.serve(["-a", "good.example", "-q"]), self.subTest(more):
                raw = self.w.popen([*UNSHARE, "/usr/bin/python3", "-c", RAW, self.path("control.sock"),
                                    "s = attach((0, V4, 3128, 0), capture=False%s); "
                                    "sys.stdin.readline()" % more],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                self.addCleanup(self.end, raw)
                self.assertEqual(raw.stdout.readline(), "True \n")
                out = self.top("--once", "--socket", self.path("control.sock")).stdout
                self.assertIn(shown % raw.pid if "%d" in shown else shown, out)
                self.assertNotIn("\x1b", out)
                raw.communicate("\n", timeout=20)

    def test_screen(self):
        proc = self.busy()
        t = self.screen(cols=70)
        seen = t.expect_frame("ends this", lambda frame: self.width(frame) == 70)
        self.assertIn("1 session, 1 connection, 1 refused", seen)
        self.assertNotEqual(t.modes(), t.before)
        t.resize(40)  # the kernel tells
        seen = t.expect_frame("ends this", lambda frame: self.width(frame) == 40)
        self.assertIn("\n1 session, 1 connection, 1 refused, 0 qu\n", "\n" + seen)
        t.resize(60)  # less numbers, the command beneath them
        seen = t.expect_frame("ends this", lambda frame: self.width(frame) in range(58, 61))
        self.assertRegex(seen, r"(?m)^SESSION +AGE +CONNS +ALLOWED +REFUSED +OUT/s +IN/s$")
        self.assertRegex(seen, r"(?m)^[0-9a-f]{8} .*\n {11}bash -c .*\n +refused last: other")
        t.resize(200)
        seen = t.expect_frame("ends this", lambda frame: self.width(frame) == 200)
        self.assertRegex(seen, r"(?m)^[0-9a-f]{8} .* bash -c .*\n +refused last: other")
        proc.communicate("\n", timeout=20)
        t.expect("0 sessions")  # by itself
        t.send("xq")
        self.assertEqual(t.wait(), 0)
        self.assertTrue(t.text.endswith("\x1b[?25h\x1b[?1049l"), t.text)
        self.assertEqual(t.modes(), t.before)

    @staticmethod
    def width(frame):
        return max(len(line) for line in frame.split("\n"))

    def test_the_terminal_is_restored_however_it_ends(self):
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(sig):
                t = self.screen()
                t.expect("ends this")
                t.proc.send_signal(sig)
                self.assertEqual(t.wait(), 0)
                self.assertEqual(t.modes(), t.before)

    def test_stop_and_go_on(self):
        t = self.screen(job=True)
        t.expect("ends this")
        os.kill(os.tcgetpgrp(t.master), signal.SIGTSTP)
        job = t.stopped()
        self.assertEqual(t.modes(), t.before)
        os.kill(job, signal.SIGCONT)
        t.expect("ends this")
        t.send("q")
        self.assertEqual(t.wait(), 0)

    def test_goes_on_where_no_shell_would_wake_it(self):
        t = self.screen()
        t.expect("ends this")
        t.send("\x1a")
        t.expect("ends this")
        t.send("q")
        self.assertEqual(t.wait(), 0)


if __name__ == "__main__":
    main()

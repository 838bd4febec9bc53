#!/usr/bin/python3
"""A command that leaves processes to pid 1 as fast as it can: orphans, to be reaped there."""
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from test_terminal import LIMIT, SBX_NET, Case, Terminal, environment  # noqa: E402

ORPHANS = os.environ.get("ORPHANS", "orphans")
# Not root, whose processes no limit bounds: they would be all that the machine can have.
USER = 62033
AS_USER = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"] if os.geteuid() == 0 else []
STREAM = 15  # seconds that the stream goes on
MANY = 1500
OPTIONS = ["--no-config", "--ask", "never", "--limit", "nproc=3000"]
# Reads what is typed, and ignores what asks it to stop or end. It starts nothing while it waits: there may
# be no room for a process more.
READER = """
trap '' TSTP HUP TERM INT
(exec ./orphans %d %d) &
until [ -e streaming ]; do :; done
echo ready > ready
while read -r line; do echo "got $line" >> taken; done
"""


class OwnTerminal(Terminal):
    """The user's."""

    def take(self):
        super().take()
        if AS_USER:
            os.fchown(0, USER, USER)


class Waiting(Case):
    def setUp(self):
        super().setUp()
        top = os.path.dirname(self.work)
        if AS_USER:
            for path in (top, self.work, top + "/home"):
                os.chown(path, USER, USER)

    def shell_outside(self):
        t = OwnTerminal([*AS_USER, "bash", "--norc", "--noprofile", "--noediting", "-i"], self.work)
        self.addCleanup(t.close)
        return t

    def wait_for(self, name, content):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            if os.path.exists(self.work + "/" + name):
                with open(self.work + "/" + name, encoding="ascii") as f:
                    if content in f.read():
                        return
            time.sleep(0.05)
        self.fail("no %r in %s" % (content, name))


class Orphans(Waiting):
    def setUp(self):
        super().setUp()
        shutil.copy(ORPHANS, self.work + "/orphans")

    def run_with(self, script, **more):
        return subprocess.Popen([*AS_USER, SBX_NET, "run", *OPTIONS, "--", "sh", "-c", script], cwd=self.work,
                                env=environment(self.work), stdin=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, **more)

    def stream(self, seconds=STREAM):
        """From a child of pid 1's that outlives the command."""
        return "(./orphans %d %d &); until [ -e streaming ]; do :; done; " % (MANY, seconds)

    def test_the_run_ends_with_its_command(self):
        """P4: however much others have left to be reaped"""
        p = self.run_with(self.stream() + "echo > end; exit 7")
        self.addCleanup(p.kill)
        self.assertEqual(p.wait(60), 7)
        self.assertLess(time.time() - os.path.getmtime(self.work + "/end"), STREAM / 3)

    def test_signals_get_through(self):
        p = self.run_with(self.stream() + "echo ready > ready; exec sleep 60")
        self.addCleanup(p.kill)
        self.wait_for("ready", "ready")
        sent = time.monotonic()
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(60), 128 + signal.SIGTERM)
        self.assertLess(time.monotonic() - sent, STREAM / 3)

    def test_orphans_are_reaped(self):
        """Twin: all of them, and not only when the next one ends"""
        script = "for i in 1 2 3 4 5 6 7 8 9 10; do (sleep 0.3 & sleep 0.3 & sleep 0.3 & sleep 0.3 &); done; " \
                 "sleep 1; ps -eo stat= | grep -c Z > left; exit 0"
        self.assertEqual(self.run_with(script).wait(60), 0)
        with open(self.work + "/left", encoding="ascii") as f:
            self.assertEqual(f.read(), "0\n")

    def test_what_is_typed_after_a_stop_is_the_shells(self):
        """P7: Ctrl-Z, while the command keeps pid 1 busy"""
        t = self.shell_outside()
        with open(self.work + "/reader", "w", encoding="ascii") as f:
            f.write(READER % (MANY, 60))
        t.type(b"PS1='ready''> '; %s run %s -- sh reader > out\n"
               % (SBX_NET.encode(), " ".join(OPTIONS).encode()))
        self.wait_for("ready", "ready")
        t.type(b"\x1a")
        t.read_until(b"Stopped")
        for i in range(5):
            t.type(b"echo sec''ret%d\n" % i)
            t.read_until(b"secret%d\r\n" % i)
        self.assertFalse(os.path.exists(self.work + "/taken"))
        t.type(b"fg\n")
        t.read_until(b"reader > out")
        t.type(b"mine\n")
        self.wait_for("taken", "got mine\n")
        t.type(b"\x04")
        t.read_until(b"ready> ")


class Unheard(Waiting):
    @staticmethod
    def pid_1():
        """Pid 1 of the run, seen from here."""
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            out = subprocess.run(["ps", "-eo", "ppid=,args="], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout
            rows = [line.split(None, 1) for line in out.splitlines()]
            for ppid, args in rows:
                if args == "sh unheard":
                    return int(ppid)
            time.sleep(0.05)
        raise AssertionError("no command")

    def test_what_has_not_stopped_reads_nothing_of_the_shells(self):
        """P7: where pid 1 does not obey, whyever, the run does not stop: the terminal stays its own"""
        t = self.shell_outside()
        with open(self.work + "/unheard", "w", encoding="ascii") as f:
            f.write("trap '' TSTP\nwhile read -r line; do echo \"got $line\" >> taken; done\n")
        t.type(b"PS1='ready''> '; %s run --no-config --ask never -- sh unheard > out\n" % SBX_NET.encode())
        pid = self.pid_1()
        os.kill(pid, signal.SIGSTOP)
        t.type(b"\x1a")
        t.read_until(b"the run goes on: its processes could not be stopped")
        os.kill(pid, signal.SIGCONT)
        t.type(b"one\n")
        self.wait_for("taken", "got one\n")
        t.type(b"\x1a")  # twin: heard again
        t.read_until(b"Stopped")
        t.type(b"echo sec''ret\n")
        t.read_until(b"secret\r\n")
        t.type(b"fg\n")
        t.read_until(b"unheard > out")
        t.type(b"\x04")
        t.read_until(b"ready> ")
        with open(self.work + "/taken", encoding="ascii") as f:
            self.assertEqual(f.read(), "got one\n")


del Case, Waiting
if __name__ == "__main__":
    unittest.main(verbosity=2)

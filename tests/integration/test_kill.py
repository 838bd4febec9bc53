#!/usr/bin/python3
"""SIGKILL of any one of our processes, at any moment, leaves no process, mount, socket or file behind.

And a terminal that the command has had for itself is as it was.

Moments: while everything runs; and, by faultrun, at the calls by which a run is made and ended:
every one with SBX_KILL_SECONDS=0, else as many as there is time for, spread evenly. SBX_KILL_FROM=N
leaves the first N out: with it a run goes on where one ended that had the same SBX_KILL_SEED.
"""
import contextlib
import errno
import fcntl
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time
import unittest

SBX_NET = os.environ.get("SBX_NET", "sbx-net")
FAULTRUN = os.environ.get("FAULTRUN", "faultrun")
LIMIT = 120  # a run that hangs, on however slow a machine
SECONDS = float(os.environ.get("SBX_KILL_SECONDS", "30"))
LEAST = 20  # that are made, however long it takes
FROM = int(os.environ.get("SBX_KILL_FROM", "0"))
ROLES = ("supervisor", "helper", "init", "command")
NOBODY = 65534


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            return [int(x) for x in f.read().split()]
    except OSError:
        return []


def tree(pid):
    found = [pid]
    for child in children(pid):
        found += tree(child)
    return found


def alive(pid, start):
    return start_of(pid) == start


def start_of(pid):
    """When it started, which tells it from a later process of the same number."""
    try:
        with open("/proc/%d/stat" % pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return None if fields[0] == "Z" else fields[19]
    except OSError:
        return None


def mounts(top):
    with open("/proc/self/mountinfo") as f:
        return [line for line in f if top in line]


def namespace(pid, kind="net"):
    try:
        return os.readlink("/proc/%d/ns/%s" % (pid, kind))
    except OSError:
        return None


class Kill(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="sbx-kill.", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.top, True)
        self.work = os.path.join(self.top, "work")
        self.home = os.path.join(self.top, "home")
        self.runtime = os.path.join(self.top, "runtime")
        for d in (self.work, self.home, self.runtime):
            os.mkdir(d, 0o700)
        os.mkdir(self.work + "/.git")
        with open(self.work + "/file", "w") as f:
            f.write("ours\n")

    def start(self):
        env = {"PATH": os.environ["PATH"], "HOME": self.home, "XDG_RUNTIME_DIR": self.runtime}
        p = subprocess.Popen([SBX_NET, "run", "--no-config", "--ask", "never", "--", "sh", "-c",
                              "sleep 600 & echo up; exec sleep 601"], cwd=self.work, env=env,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(p.stdout.close)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        self.assertEqual(p.stdout.readline(), b"up\n")
        return p

    def roles(self, p):
        """Our processes by what they are: pid 1 is in another network, its parent is p."""
        outer = namespace(os.getpid())
        found = {"supervisor": p.pid}
        for child in children(p.pid):
            if namespace(child) not in (outer, None):
                found["pid 1"] = child
                found["command"] = children(child)[0]
            else:
                found["janitor"] = child
        return found

    def wait_for(self, condition):
        deadline = time.monotonic() + LIMIT
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(condition())

    def snapshot(self):
        return sorted(os.path.join(d, n) for d, ds, fs in os.walk(self.top) for n in ds + fs)

    def kill_one(self, role):
        before = self.snapshot()
        p = self.start()
        roles = self.roles(p)
        self.assertEqual(sorted(roles), ["command", "janitor", "pid 1", "supervisor"])
        self.assertIn(self.work + "/.vscode", self.snapshot())
        everybody = {pid: start_of(pid) for pid in tree(p.pid)}
        self.assertGreaterEqual(len(everybody), 5)
        os.kill(roles[role], signal.SIGKILL)
        if role == "janitor":
            os.kill(roles["command"], signal.SIGKILL)
        p.wait(LIMIT)
        self.wait_for(lambda: not any(alive(*x) for x in everybody.items()))
        self.wait_for(lambda: self.work + "/.vscode" not in self.snapshot())
        state = self.home + "/.local"
        self.assertEqual([x for x in self.snapshot() if not x.startswith(state)], before)
        self.assertEqual(mounts(self.top), [])
        with open(self.work + "/file") as f:
            self.assertEqual(f.read(), "ours\n")
        return p.returncode

    def test_supervisor(self):
        self.assertEqual(self.kill_one("supervisor"), -signal.SIGKILL)

    def test_pid_1(self):
        self.assertEqual(self.kill_one("pid 1"), 128 + signal.SIGKILL)

    def test_janitor(self):
        self.assertEqual(self.kill_one("janitor"), 128 + signal.SIGKILL)

    def test_command(self):
        self.assertEqual(self.kill_one("command"), 128 + signal.SIGKILL)


class Moments(Kill):
    """The same with the kill at a call: of any process of ours, at any call of any other."""

    # What Kill shows need not be shown again.
    test_supervisor = test_pid_1 = test_janitor = test_command = None

    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.top, "log")
        self.asker = os.path.join(self.top, "asker")
        with open(self.asker, "w") as f:
            f.write("#!/bin/sh\nexec sleep 5\n")
        os.chmod(self.asker, 0o755)
        with open(self.log, "w"):
            pass

    def own(self, uid):
        for d, _, files in os.walk(self.top):
            for path in [d] + [os.path.join(d, name) for name in files]:
                os.chown(path, uid, uid)

    def traced(self, uid, *what):
        env = {"PATH": os.environ["PATH"], "HOME": self.home, "XDG_RUNTIME_DIR": self.runtime}
        who = dict(user=uid, group=uid, extra_groups=[]) if uid else {}
        # Its end is the end of all that hold its output: the command, and what it has started.
        return subprocess.run([FAULTRUN, self.log, *what, "--", SBX_NET, "run", "--no-config", "--ask",
                               "exec:" + self.asker, "--", "sh", "-c", "sleep 0.02; echo done"],
                              cwd=self.work, env=env, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=LIMIT, check=False, **who)

    def moments(self, uid):
        """Every call of a whole run, end included, as (role, ordinal, call)."""
        p = self.traced(uid, "list")
        self.assertEqual((p.returncode, p.stdout), (0, "done\n"), p.stderr)
        seen, found = dict.fromkeys(ROLES, 0), []
        with open(self.log) as f:
            for line in f:
                role, call = line.split()
                if role in seen:
                    seen[role] += 1
                    found.append((role, seen[role], call))
        self.assertTrue(all(seen[role] for role in ROLES), seen)
        return found

    def ours(self):
        """Processes of this test's runs: HOME is its own, and everybody has it."""
        mark, found = ("HOME=" + self.home).encode(), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/environ" % pid, "rb") as f:
                    if mark in f.read().split(b"\0") and start_of(int(pid)):
                        found.append(pid)
            except OSError:
                pass
        return found

    def kill_at(self, uid, victim, moment, before):
        p = self.traced(uid, "kill", victim, moment[0], str(moment[1]))
        with open(self.log) as f:
            hit = "hit" in f.read()
        self.wait_for(lambda: not self.ours())
        state = self.home + "/.local"
        left = [x for x in self.snapshot() if not x.startswith(state) and x not in before]
        for path in reversed(left):
            (os.rmdir if os.path.isdir(path) else os.unlink)(path)
        self.assertEqual(left, [])
        self.assertEqual(mounts(self.top), [])
        if p.stdout:  # it ran to its end, and whoever died was not needed any more
            self.assertEqual(p.stdout, "done\n")
        elif hit:
            self.assertNotEqual(p.returncode, 0)
        return hit

    def test_any_process_at_any_moment(self):
        rng = random.Random(int(os.environ.get("SBX_KILL_SEED", "1")))
        plan = []
        for uid in (0, NOBODY):
            self.own(uid)
            plan += [(uid, victim, moment) for moment in self.moments(uid) for victim in ROLES]
        before = self.snapshot()
        rng.shuffle(plan)
        # First of all: between making something and knowing of it.
        plan.sort(key=lambda x: not (x[1] == x[2][0] and x[2][2] in ("mkdirat", "utimensat")))
        end, hits, done = time.monotonic() + SECONDS, 0, 0
        for uid, victim, moment in plan[FROM:]:
            if SECONDS and time.monotonic() > end and hits > LEAST:
                break
            self.own(uid)
            with self.subTest(uid=uid, victim=victim, at="%s %d %s" % moment):
                hits += self.kill_at(uid, victim, moment, before)
            done += 1
        print("killed %d times in %d runs of %d; to go on: SBX_KILL_FROM=%d"
              % (hits, done, len(plan), FROM + done))
        self.assertGreater(hits, LEAST)


class AtATerminal(Moments):
    """The command has a terminal without a relay, and changes it."""

    test_any_process_at_any_moment = None

    # The shell's part: it stays, since a terminal is hung up with its session.
    SHELL = 'exec 3<&0; trap "" TTOU; "$@" > out 2> err <&3; echo $? > status; read -r x'
    SPOIL = """
import fcntl, os, termios
modes = termios.tcgetattr(0)
modes[3] &= ~(termios.ECHO | termios.ICANON)
termios.tcsetattr(0, termios.TCSANOW, modes)
os.fchmod(0, 0o666)
fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)
print("spoilt", flush=True)
"""

    def setUp(self):
        super().setUp()
        self.shell = None
        self.addCleanup(self.hang_up)

    def hang_up(self):
        if not self.shell:
            return
        self.shell.kill()
        self.shell.wait()
        self.shell = None
        os.close(self.master)
        os.close(self.slave)

    def looks(self):
        return (termios.tcgetattr(self.slave), fcntl.fcntl(self.slave, fcntl.F_GETFL),
                os.fstat(self.slave).st_mode)

    def take(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def at_terminal(self, *what, bare=False):
        """How the terminal looked before, and whether the command has changed it."""
        self.hang_up()
        self.master, self.slave = pty.openpty()
        before = self.looks()
        argv = [] if bare else ["env", "HOME=" + self.home, "XDG_RUNTIME_DIR=" + self.runtime, FAULTRUN,
                                self.log, *what, "--", SBX_NET, "run", "--no-config", "--ask", "never", "--"]
        for name in ("out", "status"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.work + "/" + name)
        self.shell = subprocess.Popen(["sh", "-c", self.SHELL, "sh", *argv, "python3", "-c", self.SPOIL],
                                      cwd=self.work, env={"PATH": os.environ["PATH"]}, stdin=self.slave,
                                      preexec_fn=self.take)
        self.wait_for(lambda: self.text("status").endswith("\n"))
        return before, "spoilt" in self.text("out")

    def text(self, name):
        try:
            with open(self.work + "/" + name, encoding="ascii") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def test_bare_it_stays_changed(self):
        before, spoilt = self.at_terminal(bare=True)
        self.assertTrue(spoilt)
        self.assertTrue(all(x != y for x, y in zip(self.looks(), before)))

    def test_nothing_runs_where_nobody_can_put_it_back(self):
        before, _ = self.at_terminal("list")
        with open(self.log) as f:
            forks = f.read().splitlines().count("supervisor clone")
        self.assertGreaterEqual(forks, 3)  # the janitor, pid 1, and what puts the terminal back
        for n in range(1, forks + 1):
            with self.subTest(fork=n):
                before, spoilt = self.at_terminal("error", "supervisor", "clone", str(n), str(errno.ENOMEM))
                self.assertEqual((self.text("status"), spoilt), ("125\n", False))
                self.assertEqual(self.looks(), before)
                self.assertIn("Cannot allocate memory", self.text("err"))

    def test_terminal_is_as_it_was(self):
        rng = random.Random(int(os.environ.get("SBX_KILL_SEED", "1")))
        before, spoilt = self.at_terminal("list")
        self.assertEqual((self.text("status"), spoilt), ("0\n", True))
        self.assertEqual(self.looks(), before)
        plan, seen = [], dict.fromkeys(ROLES, 0)
        with open(self.log) as f:
            for role in (line.split()[0] for line in f):
                if role in seen:
                    seen[role] += 1
                    plan += [(victim, role, str(seen[role])) for victim in ROLES]
        rng.shuffle(plan)
        end, changed, done = time.monotonic() + SECONDS / 2, 0, 0
        # Last calls first: before them the command has hardly run.
        plan.sort(key=lambda x: seen[x[1]] - int(x[2]) > 40)
        for victim, role, n in plan:
            if SECONDS and time.monotonic() > end and changed > 5:
                break
            with self.subTest(victim=victim, at="%s %s" % (role, n)):
                before, spoilt = self.at_terminal("kill", victim, role, n)
                # the permissions are the keeper's alone to put back
                part = 2 if victim == "helper" else 3
                self.wait_for(lambda: self.looks()[:part] == before[:part])  # noqa: B023
                self.wait_for(lambda: not self.ours())
                changed += spoilt
                done += 1
        print("killed %d times, %d of them after the terminal had been changed" % (done, changed))
        self.assertGreater(changed, 5)


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("SKIP: needs root to look into the namespaces")
        sys.exit(1 if os.environ.get("SBX_TESTS_MUST_RUN") == "1" else 77)
    unittest.main(verbosity=2)

#!/usr/bin/python3
"""SIGKILL of any one of our processes leaves no process, mount, socket or file behind."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SBX_NET = os.environ.get("SBX_NET", "sbx-net")
LIMIT = 20


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


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("SKIP: needs root to look into the namespaces")
        sys.exit(1 if os.environ.get("SBX_TESTS_MUST_RUN") == "1" else 77)
    unittest.main(verbosity=2)

#!/usr/bin/python3
"""Whatever fails while the sandbox is made: nothing runs, or it runs in all of it. L-014, L-019.

A plain run is traced; then every place in our program that makes a call, in each of our processes,
has it fail in a run of its own: the first time that it gets there, as a plain user and with no
options; then the same as root and with options, where they get to other places; then every other
time and errno, in an order of chance, as long as there is time: SBX_FAULT_SECONDS, 45 unless set;
0 is no bound. SBX_FAULT_FROM=N leaves the first N out: with it a run goes on where one ended that
had the same SBX_FAULT_SEED, which tells N.
"""
import hashlib
import os
import random
import signal
import time

from escapeworld import SBX_NET, World, main, shows, users

FAULTRUN = os.environ.get("FAULTRUN", "faultrun")
SECONDS = float(os.environ.get("SBX_FAULT_SECONDS", "45"))
FROM = int(os.environ.get("SBX_FAULT_FROM", "0"))
ERRORS = {"EPERM": 1, "ENOSYS": 38, "ENOMEM": 12, "EINTR": 4, "EINVAL": 22, "EMFILE": 24}
# These have no way to fail; glibc takes an errno of brk(2) for an address.
INFALLIBLE = {"brk", "getuid", "geteuid", "getgid", "getegid", "getpid"}
# The options of the runs: with none everything is on its default; the rest take other ways.
TERMINAL = ["--deny-read", "{work}/file", "--timeout", "600"]
PLANS = [[], ["--fs", "strict", "--write", "{work}", "--exec", "{work}"],
         ["--limit", "nofile=256", "--no-capture", "--write", "{work}"],
         ["--pin-sha256", "{pin}"], TERMINAL]


class Fault(World):
    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.outside, "log")
        self.fill(users()[0])
        self.before = sorted(os.listdir(self.work))
        self.passed = 0  # faults that were made here, or by the run before

    def command(self):
        netns = os.readlink("/proc/self/ns/net")
        return [self.probe, "whole", self.ran, netns, str(self.canary.tcp), self.outside + "/file",
                self.home + "/.ssh/id_rsa", self.work + "/whiteout"]

    @property
    def ran(self):
        return os.path.join(self.work, "ran")

    def options(self, plan):
        with open(self.probe, "rb") as f:
            pin = hashlib.sha256(f.read()).hexdigest()
        return [x.format(work=self.work, pin=pin) for x in plan]

    def faultrun(self, uid, what, plan):
        """The program without --quiet: what it says about its failures is looked at."""
        for leftover in (self.ran, self.work + "/whiteout", self.log):
            if os.path.lexists(leftover):
                os.unlink(leftover)
        argv = [FAULTRUN, self.log, *what, "--", SBX_NET, "run", "--no-config", "--ask", "never",
                *self.options(plan), "--", *self.command()]
        return self.traced(uid, argv, plan is TERMINAL)

    def traced(self, uid, argv, terminal=False):
        """With a descriptor more than the command must find."""
        with open(self.outside + "/file") as leak:
            if terminal:
                return self.on_terminal(uid, argv, whole=True, pass_fds=[leak.fileno()])
            return self.run_as(uid, argv, capture_output=True, pass_fds=[leak.fileno()])

    def calls(self, uid, plan):
        """Every call of a run up to the command's execve, as (role, call, n, site)."""
        p = self.faultrun(uid, ["sites"], plan)
        self.assertEqual((p.stdout, p.returncode), ("OK\n", 0), p.stderr)
        with open(self.log) as f:
            lines = [tuple(line.split()) for line in f]
        # What the dynamic loader does ends with taking its cache away.
        begin = next(i for i, x in enumerate(lines) if x[:2] == ("supervisor", "munmap")) + 1
        end = max(i for i, (role, *_) in enumerate(lines) if role == "command") + 1
        calls, seen = [], {}
        for i, (role, call, site) in enumerate(lines[:end]):
            n = seen[role, call] = seen.get((role, call), 0) + 1
            if i >= begin and call not in INFALLIBLE:
                calls.append((role, call, n, site))
        return calls

    @staticmethod
    def order(calls, known):
        """EPERM at the first call of each place that is not known; other errors there; the rest."""
        first, second, rest = [], [], []
        for role, call, n, site in calls:
            new = (role, call, site) not in known
            known.add((role, call, site))
            for error in ERRORS:
                wait = first if new and error == "EPERM" else second if new else rest
                wait.append((role, call, n, error, site))
        return first, second, rest

    def judge(self, uid, plan, fault):
        role, call, n, error, _ = fault
        p = self.faultrun(uid, ["error", role, call, str(n), str(ERRORS[error])], plan)
        with open(self.log) as f:
            hit = f.read() == "hit\n"
        if os.path.exists(self.ran):
            self.assertEqual(p.stdout, "OK\n", p.stderr)
        else:
            self.assertEqual(p.stdout, "")
            # "Not executable" and "not found" are verdicts about the command, and not a start.
            own = {126, 127} if role == "command" else set()
            self.assertIn(p.returncode, {125} | own, p.stderr)
            self.assertIn("sbx-net: ", p.stderr)
        self.assertEqual(self.leftovers(), [], p.stderr)
        if plan is TERMINAL and call != "ioctl":
            self.assertTrue(p.restored, p.stderr)
        return hit

    def leftovers(self):
        """What a run has left in the workspace; taken away, so that one run is told from the next."""
        left = sorted(set(os.listdir(self.work)) - {"ran", "whiteout"} - set(self.before))
        for name in left:
            path = os.path.join(self.work, name)
            (os.rmdir if os.path.isdir(path) else os.unlink)(path)
        return left

    def left(self, faults):
        """Those that the run before has not made."""
        skip = min(max(FROM - self.passed, 0), len(faults))
        self.passed += skip
        return faults[skip:]

    def inject(self, uid, plan, faults):
        """How many of the faults were made."""
        hits = 0
        self.passed += len(faults)
        for fault in faults:
            with self.subTest(fault=" ".join(map(str, fault)), uid=uid, plan=plan):
                hits += self.judge(uid, plan, fault)
        return hits

    def test_a_terminal_of_the_users_whatever_mount_fails(self):
        """Without rules for files, too, nobody opens another terminal of the user's."""
        uid = users()[-1]
        self.fill(uid)
        knock = ["sh", "-c", 'echo in > "$0" || exit 3', self.pts]
        self.assertEqual(self.run_as(uid, knock, capture_output=True).returncode, 0)
        for fs in ("off", "workspace"):
            n, hit, ran = 0, True, 0
            while hit:
                n += 1
                argv = [FAULTRUN, self.log, "error", "init", "mount", str(n), str(ERRORS["EPERM"]), "--", SBX_NET,
                        "run", "--no-config", "--ask", "never", "--fs", fs, "--", *knock]
                p = self.run_as(uid, argv, capture_output=True)
                with open(self.log) as f:
                    hit = f.read() == "hit\n"
                ran += p.returncode == 3
                with self.subTest(fs=fs, n=n):
                    self.assertIn(p.returncode, {125, 3} if hit else {3}, p.stderr)
            self.assertGreater(n, 1)
            self.assertGreaterEqual(ran, 1)

    KNOCKS = """
import socket, sys
for i in range(200):
    with socket.create_connection(("127.0.0.1", 3128)) as s:
        s.sendall(b"CONNECT h%d.example.com:443 HTTP/1.1\\r\\n\\r\\n" % i)
        s.recv(1000)
sys.exit(7)
"""

    def test_a_limit_of_size_is_a_full_disk(self):
        """SIGXFSZ ends none of our processes; the command has its own disposition."""
        uid = users()[-1]
        self.fill(uid)
        log = self.outside + "/audit.log"
        for size, status in (("65536000", 7), ("8192", None)):
            p = self.run_as(uid, ["prlimit", "--fsize=" + size, SBX_NET, "run", "--no-config", "--strict", "--audit", log,
                                  "--", "/usr/bin/python3", "-c", self.KNOCKS], capture_output=True)
            with self.subTest(size=size):
                self.assertIn(p.returncode, {7} if status else {7, 125}, p.stderr)
                self.assertEqual("audit" in p.stderr, status is None, p.stderr)
                self.assertEqual(self.leftovers(), [])
        killed = ["sh", "-c", "exec dd if=/dev/zero of=big bs=9000 count=2"]
        p = self.run_as(uid, ["prlimit", "--fsize=8192", SBX_NET, "run", "--no-config", "--", *killed],
                        capture_output=True)
        self.assertEqual(p.returncode, 128 + signal.SIGXFSZ)

    @shows("L-014", "L-019")
    def test_whatever_fails(self):
        rng = random.Random(int(os.environ.get("SBX_FAULT_SEED", "1")))
        end = time.monotonic() + SECONDS if SECONDS else None
        known, later = set(), ([], [])
        for uid in reversed(users()):
            self.fill(uid)
            for plan in PLANS:
                first, *others = self.order(self.calls(uid, plan), known)
                first = self.left(first)
                hits = self.inject(uid, plan, first)
                print("%d of %d new places failed, uid %d, %s" % (hits, len(first), uid, plan))
                self.assertGreaterEqual(hits, len(first) * 0.95)
                for wait, faults in zip(later, others):
                    wait += [(uid, plan, fault) for fault in faults]
        for wait in later:
            rng.shuffle(wait)
            self.until(end, self.left(wait))
        print("to go on: SBX_FAULT_FROM=%d" % self.passed)

    def until(self, end, faults):
        """As many as there is time for."""
        hits, uid = 0, None
        for who, plan, fault in faults:
            if end and time.monotonic() > end:
                break
            if who != uid:
                self.fill(who)
                uid = who
            hits += self.inject(who, plan, [fault])
        print("%d of %d others" % (hits, len(faults)))

    def test_bare_nothing_is_whole(self):
        """The control: outside, every sample says that something is missing."""
        for uid in users():
            self.fill(uid)
            p = self.traced(uid, self.command())
            self.assertEqual(p.stdout.split(), [
                "apart", "fds", "status", "proc-pids", "ptrace", "unshare", "unix-connect",
                "tcp-connect", "open", "chmod", "whiteout", "read", "core-limit", "EPERM"])


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""The proof before exec: its place in the audit log, and walls that only seem to stand."""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import WorldCase, main  # noqa: E402

FAULTY = os.environ.get("FAULTY", "")
BOTH = (None, 0)  # the made user, root

# A kernel that says "installed" and installs nothing: our filter is missing, all else stands.
NO_FILTER = "seccomp:0=1=0"
# What the filter would have answered to the probe, wall by wall.
WALLS = {
    "raw sockets": "socket:2=1=EPERM",
    "packet sockets": "socket:0=17=EPERM",
    "unix sockets": "socket:0=1=EPERM",
    "unix datagram pairs": "socketpair:1=2/0xf=EPERM",
    "io_uring": "io_uring_setup=ENOSYS",
    "ptrace": "ptrace=EPERM",
}
# Without a capability the kernel has the same answer; there a third one must be noticed.
DOUBLE = ("raw sockets", "packet sockets")


def lines(path):
    with open(path, encoding="ascii") as f:
        return [json.loads(line) for line in f]


class Proof(WorldCase):
    def setUp(self):
        self.tool = shutil.copy(FAULTY, self.w.dir)  # the host of the tests has a /tmp of its own

    def start(self, *options, uid=None):
        log = os.path.join(self.w.home, "start%d.log" % (uid is None))
        if os.path.exists(log):
            os.unlink(log)
        done = self.w.sbx_run(["--audit", log, *options], ["true"], uid=uid)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return lines(log)

    def faulty(self, rules, *options, uid=None):
        """Runs with these answers; returns what was said, and whether the command ran."""
        canary = os.path.join(self.w.ws, "ran")
        if os.path.exists(canary):
            os.unlink(canary)
        done = self.w.run([self.tool, *rules, "--", self.w.sbx, "run", "--no-config", "--ask", "never",
                           *options, "--", "touch", canary], uid=uid)
        return done, os.path.exists(canary)

    def test_the_first_line_says_so_and_nothing_else_does(self):
        for uid in BOTH:
            with self.subTest(uid):
                first, *rest = self.start(uid=uid)
                self.assertEqual(rest, [])
                self.assertEqual(first["event"], "start")
                self.assertIs(first["proven"], True)
                self.assertEqual(first["weaker"], [])
                self.assertRegex(first["policy_sha256"], "^[0-9a-f]{64}$")
                self.assertGreaterEqual(first["landlock_abi"], 6)
        self.assertEqual(self.start("--fs", "strict")[0]["fs"], "strict")
        self.assertIs(self.start("--no-capture")[0]["capture"], False)
        self.assertIs(self.start("--allow-unix-sockets")[0]["unix_sockets"], True)
        self.assertIs(self.start("--allow-ptrace")[0]["ptrace"], True)
        self.assertIs(self.start()[0]["ptrace"], False)

    def test_the_digest_is_that_of_the_policy(self):
        digests = [self.start(*o)[0]["policy_sha256"]
                   for o in ([], [], ["-a", "x.test"], ["-d", "x.test"], ["-a", "y.test"],
                             ["--strict"], ["-a", "x.test", "-a", "y.test"])]
        self.assertEqual(digests[0], digests[1])
        self.assertEqual(len(set(digests)), 6)

    def test_whatever_the_policy_allows(self):
        for options in (["-a", "*"], ["-a", "192.0.2.0/24", "-a", "2001:db8::/32"],
                        ["--forward", "443=127.0.0.1:443", "-a", "127.0.0.1:443"],
                        ["--limit", "nofile=16"], ["--only", "x.test"]):
            with self.subTest(options):
                o = self.w.oracle()
                self.assertEqual(len(self.start(*options)), 1)
                self.assertEqual((o.accepts(), o.queries()), ([], []))

    def test_nothing_is_learnt_or_reported(self):
        learnt = os.path.join(self.w.home, "learnt.json")
        done = self.w.sbx_run(["--learn", learnt, "--report", "json"], ["true"])
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in (done.stderr, done.stdout):
            for trace in ("invalid", "192.0.2", "2001:db8", "169.254"):
                self.assertNotIn(trace, text)

    def test_a_filter_that_is_not_there(self):
        for uid in BOTH:
            done, ran = self.faulty([NO_FILTER], uid=uid)
            with self.subTest(uid):
                self.assertEqual((done.returncode, ran), (125, False), done.stderr)
                for wall in WALLS:
                    (self.assertNotIn if wall in DOUBLE else self.assertIn)(wall, done.stderr)
                self.assertIn("sbx-net doctor", done.stderr)

    def test_each_hole_by_itself(self):
        for hole in WALLS:
            with self.subTest(hole):
                rules = [NO_FILTER, *(rule for wall, rule in WALLS.items() if wall != hole)]
                if hole in DOUBLE:
                    rules.append(WALLS[hole].replace("EPERM", "EACCES"))
                done, ran = self.faulty(rules)
                self.assertEqual((done.returncode, ran), (125, False), done.stderr)
                self.assertIn("does not hold: " + hole, done.stderr)
                self.assertNotIn(";", done.stderr)
        # The twin: with every wall in its place the same lie does no harm to the proof.
        done, ran = self.faulty([NO_FILTER, *WALLS.values()])
        self.assertEqual((done.returncode, ran), (0, True), done.stderr)

    def test_rules_that_are_not_there(self):
        done, ran = self.faulty(["landlock_restrict_self=0"])
        self.assertEqual((done.returncode, ran), (125, False), done.stderr)
        self.assertIn("signals to processes outside its domain: possible", done.stderr)

    def test_a_proxy_that_hears_nothing(self):
        done, ran = self.faulty(["accept4=EPERM"])
        self.assertEqual((done.returncode, ran), (125, False), done.stderr)
        self.assertIn("does not hold", done.stderr)

    def test_the_supervisor_dies_meanwhile(self):
        canary = os.path.join(self.w.ws, "ran")
        with self.w.popen([self.tool, "accept4=EPERM", "--", self.w.sbx, "run", "--no-config", "--",
                           "touch", canary], stderr=subprocess.PIPE) as p:
            p.kill()
            p.wait()
        self.assertFalse(os.path.exists(canary))


if __name__ == "__main__":
    if not os.access(FAULTY, os.X_OK):
        sys.exit("FAULTY does not name the program: %r" % FAULTY)
    main()

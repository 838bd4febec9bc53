#!/usr/bin/python3
"""Hosts that lack something: what doctor says of them, and that a run says the same and is none."""
import hashlib
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import WorldCase, main  # noqa: E402

FAULTY = os.environ.get("FAULTY", "")
BOTH = (None, 0)  # the made user, root

# What the kernel answers, the part that is missing then, and words of the remedy.
NEEDED = [
    (["clone:0=0x10000000/0x10000000=EPERM"], "namespaces", "seccomp=unconfined"),
    (["clone:0=0x10000000/0x10000000=ENOSPC"], "namespaces", "user.max_*_namespaces"),
    (["clone:0=0x10000000/0x10000000=EINVAL"], "namespaces", "this kernel lacks"),
    (["landlock_create_ruleset=ENOSYS"], "landlock", "CONFIG_SECURITY_LANDLOCK=y"),
    (["landlock_create_ruleset=EOPNOTSUPP"], "landlock", "lsm="),
    (["landlock_create_ruleset=EPERM"], "landlock", "seccomp profile"),
    (["landlock_create_ruleset:2=1=+4"], "landlock", "Linux 6.10 or newer"),
    (["landlock_restrict_self=EPERM"], "landlock", "Landlock"),
    (["seccomp:0=1=EINVAL"], "seccomp", "CONFIG_SECCOMP_FILTER"),
    (["open_tree=ENOSYS"], "mounts", "Linux 5.2"),
    (["mount_setattr=ENOSYS"], "mounts", "Linux 5.12"),
    (["fsopen=ENOSYS"], "mounts", "Linux 5.2"),
    (["move_mount=EPERM"], "mounts", "seccomp=unconfined"),
]
OPTIONAL = [
    (["socket:2=12=EPERM"], "nft_tproxy", "modprobe nft_tproxy"),
    (["socket:0=10=97"], "ipv6", "disable_ipv6"),
]
# The calls of a start, up to the command's; "prctl:0=N": one of its options.
CALLS = [
    "accept4", "bind", "capset", "clone3", "clone:0=0x10000000/0x10000000", "close_range",
    "epoll_create1", "eventfd2", "execveat", "faccessat2", "fsconfig", "fsmount", "fsopen",
    "getrandom", "io_uring_setup", "landlock_add_rule", "landlock_create_ruleset",
    "landlock_restrict_self", "listen", "memfd_create", "mkdirat", "mknodat", "mount",
    "mount_setattr", "move_mount", "open_tree", "openat2", "pidfd_open", "pidfd_send_signal",
    "pipe2", "pivot_root", "prctl:0=1", "prctl:0=4", "prctl:0=21", "prctl:0=22", "prctl:0=24",
    "prctl:0=28", "prctl:0=38", "prctl:0=39", "prctl:0=47", "prlimit64", "ptrace", "recvmsg",
    "seccomp", "sendmsg", "setsid", "setsockopt", "signalfd4", "socketpair", "splice",
    "timerfd_create", "umount2", "unshare"]
# Only to be asked how things are: no host is known that refuses that and nothing else.
NO_REMEDY = {"getrandom", "prctl:0=21", "prctl:0=39"}
# What a command finds in a sandbox that lacks nothing; then it leaves its mark.
WHOLE = ("grep -q '^Seccomp:.2' /proc/self/status && grep -q '^NoNewPrivs:.1' /proc/self/status"
         " && grep -q '^CapBnd:.0*$' /proc/self/status && grep -q '^CapEff:.0*$' /proc/self/status"
         " && test \"$(readlink /proc/self/ns/net)\" != '%s' && ! touch '%s' 2>/dev/null"
         " && ! ls -d /proc/[0-9][0-9][0-9]* >/dev/null 2>&1 && test ! -e ~/.ssh/id"
         " && touch ")
# A container's mask over a part of /proc: no new one may be mounted then.
MASK = "mount -t tmpfs none /proc/%s && " % ("scsi" if os.path.isdir("/proc/scsi") else "fs")
# A kernel with AppArmor has this file.
SYSCTL = ("mount -t tmpfs none /proc/sys/kernel &&"
          " echo %d >/proc/sys/kernel/apparmor_restrict_unprivileged_userns && ")
APPARMOR_REMEDY = ("; as root: install contrib/apparmor/sbx-net in /etc/apparmor.d and run "
                   "apparmor_parser -r /etc/apparmor.d/sbx-net, or "
                   "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")
# Where it is in the way: 23.10 makes none, 24.04 makes it and takes the capabilities away. Opening
# setgroups needs one, and so do writing a map, an address and a mount.
APPARMOR = [
    ("clone:0=0x10000000/0x10000000=EACCES", "namespaces"),
    ("clone:0=0x10000000/0x10000000=EPERM", "namespaces"),
    ("openat:2=0x80001=EACCES", "user-map"),
    ("openat:2=0x80001=EPERM", "user-map"),
    ("sendto=EPERM", "network"),
    ("mount=EPERM", "mounts"),
]


class Doctor(WorldCase):
    def setUp(self):
        self.tool = shutil.copy(FAULTY, self.w.dir)  # the host of the tests has a /tmp of its own

    def canary(self, uid):
        return os.path.join(self.w.root_ws if uid == 0 else self.w.ws, "ran")

    def doctor(self, rules=(), uid=None, before="", status=0):
        done = self.w.run(self.argv(rules, uid, before, [self.w.sbx, "doctor", "--json"]),
                          uid=0 if before else uid, env=self.w.env(self.user(uid)))
        self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
        said = json.loads(done.stdout)
        self.assertEqual(said["state"], ("full", "weaker", "nothing")[status])
        return said, {c["name"]: c for c in said["checks"]}

    def user(self, uid):
        return self.w.uid if uid is None else uid

    def argv(self, rules, uid, before, argv):
        """The words, under these rules; @before is done as root in a mount namespace of its own."""
        argv = [self.tool, *rules, "--", *argv] if rules else argv
        if not before:
            return argv
        user = [] if uid == 0 else ["setpriv", "--reuid", str(self.w.uid), "--regid",
                                    str(self.w.uid), "--clear-groups"]
        return ["unshare", "-m", "sh", "-c", before + 'exec "$@"', "sh", *user, *argv]

    def launch(self, rules=(), options=(), uid=None, before="", command=None):
        """A run; whether its command ran is the second value."""
        canary = self.canary(uid)
        if os.path.exists(canary):
            os.unlink(canary)
        argv = [self.w.sbx, "run", "--no-config", "--ask", "never", *options, "--",
                *(command or ["touch", canary])]
        done = self.w.run(self.argv(rules, uid, before, argv), uid=0 if before else uid,
                          cwd=os.path.dirname(canary), env=self.w.env(self.user(uid)))
        return done, os.path.exists(canary)

    def test_this_host(self):
        for uid in BOTH:
            with self.subTest(uid):
                said, checks = self.doctor(uid=uid)
                self.assertEqual({c["status"] for c in checks.values()} - {"optional"}, {"ok"})
                self.assertGreaterEqual(said["landlock_abi"], 6)
                self.assertIn("run", checks)
                done, ran = self.launch(uid=uid)
                self.assertEqual((done.returncode, ran), (0, True), done.stderr)
        done = self.w.run([self.w.sbx, "doctor"])
        self.assertEqual(done.returncode, 0)
        self.assertIn("confined in full", done.stdout)
        for words in (["x"], ["--json", "x"], ["--jsn"]):
            self.assertEqual(self.w.run([self.w.sbx, "doctor", *words]).returncode, 64)

    def test_what_nothing_runs_without(self):
        for rules, part, words in NEEDED:
            for uid in BOTH:
                with self.subTest(rules, uid=uid):
                    _, checks = self.doctor(rules, uid, status=2)
                    self.assertEqual(checks[part]["status"], "missing")
                    self.assertIn(words, checks[part]["detail"] + checks[part]["remedy"])
                    self.assertEqual(checks["run"]["status"], "missing")
                    done, ran = self.launch(rules, uid=uid)
                    self.assertEqual((done.returncode, ran), (125, False), done.stderr)
                    self.assertTrue("sbx-net doctor" in done.stderr or words in done.stderr,
                                    done.stderr)

    def test_each_call_that_an_old_kernel_or_a_container_may_lack(self):
        whole = WHOLE % (os.readlink("/proc/self/ns/net"), self.w.path("outside"))
        for call in CALLS:
            for error in ("ENOSYS", "EPERM"):
                with self.subTest(call, error=error):
                    rules = ["%s=%s" % (call, error)]
                    done, ran = self.launch(rules, command=["sh", "-c", whole + self.canary(None)])
                    if "AddressSanitizer getrlimit() failed" in done.stderr:
                        continue  # a build with it ends before main()
                    if done.returncode == 125:
                        self.assertFalse(ran)
                        self.assertRegex(done.stderr, "^sbx-net: ")
                        if call not in NO_REMEDY:
                            self.assertRegex(done.stderr, "sbx-net doctor|Linux|container|sandbox")
                    else:
                        self.assertEqual((done.returncode, ran), (0, True), done.stderr)

    def test_filters_that_are_older_than_a_call(self):
        """What EPERM then says is nothing about the program, which runs or does not start."""
        both = ["faccessat2=EPERM", "faccessat=EPERM"]
        pin = hashlib.sha256(self.read("/usr/bin/touch")).hexdigest()
        for rules, options, status in (([], [], 0), (both[:1], [], 0), (both[1:], [], 0), (both, [], 125),
                                       ([], ["--pin-sha256", pin], 0),
                                       (both, ["--pin-sha256", pin], 125),
                                       (both[:1], ["--pin-sha256", pin], 0),
                                       (["execveat=ENOSYS"], ["--pin-sha256", pin], 125)):
            for uid in BOTH:
                with self.subTest(rules, options=options, uid=uid):
                    done, ran = self.launch(rules, options, uid)
                    self.assertEqual((done.returncode, ran), (status, status == 0), done.stderr)
                    if status:
                        self.assertIn("sbx-net doctor", done.stderr)

    @staticmethod
    def read(path):
        with open(path, "rb") as f:
            return f.read()

    def test_the_whole_sandbox_is_noticed_to_be_none(self):
        whole = WHOLE % (os.readlink("/proc/self/ns/net"), self.w.path("outside"))
        done = self.w.run(["sh", "-c", whole + self.canary(None)])
        self.assertNotEqual(done.returncode, 0)

    def test_conveniences(self):
        for rules, part, words in OPTIONAL:
            with self.subTest(part):
                _, checks = self.doctor(rules)
                self.assertEqual(checks[part]["status"], "optional")
                self.assertIn(words, checks[part]["remedy"])
                done, ran = self.launch(rules)
                self.assertEqual((done.returncode, ran), (0, True), done.stderr)

    def test_namespaces_switched_off(self):
        for name in ("user", "net", "pid"):
            before = "echo 0 >/proc/sys/user/max_%s_namespaces && " % name
            argv = ["unshare", "-Ur", "sh", "-c", before + 'exec "$@"', "sh"]
            with self.subTest(name):
                done = self.w.run([*argv, self.w.sbx, "doctor"])
                self.assertEqual(done.returncode, 2, done.stdout)
                remedy = "sysctl -w user.max_%s_namespaces=15000" % name
                self.assertEqual([x.endswith(remedy) for x in done.stdout.splitlines()
                                  if remedy in x], [True], done.stdout)
                done = self.w.run([*argv, *self.w.sbx_argv([], ["true"])])
                self.assertEqual(done.returncode, 125)
                self.assertIn("sysctl -w user.max_%s_namespaces=15000" % name, done.stderr)

    def test_apparmor_restricts_user_namespaces(self):
        """Ubuntu: either none is made, or one in which nobody has a capability. Both are said so."""
        for rule, part in APPARMOR:
            before = SYSCTL % 1
            with self.subTest(rule):
                _, checks = self.doctor([rule], before=before, status=2)
                self.assertEqual(checks[part]["status"], "missing")
                self.assertTrue(checks[part]["remedy"].endswith(APPARMOR_REMEDY), checks[part])
                done, ran = self.launch([rule], before=before)
                self.assertEqual((done.returncode, ran), (125, False), done.stderr)
                self.assertTrue(done.stderr.splitlines()[0].endswith(APPARMOR_REMEDY), done.stderr)
                done, _ = self.launch([rule], before=SYSCTL % 0)
                self.assertEqual(done.returncode, 125, done.stderr)
                self.assertNotIn("pparmor", done.stderr)

    def test_apparmor_lets_those_with_a_profile_alone(self):
        """In a container, or with our own profile, something else is in the way."""
        if not os.path.exists("/proc/self/attr/current"):
            self.skipTest("a kernel without security modules")
        label = self.w.path("label")
        for profile, restricted in (("unconfined", True), ("unprivileged_userns (enforce)", True),
                                    ("docker-default (enforce)", False),
                                    ("sbx-net (unconfined)", False)):
            with open(label, "w", encoding="ascii") as f:
                f.write(profile + "\n")
            before = SYSCTL % 1 + "mount --bind %s /proc/$$/attr/current && " % label
            with self.subTest(profile):
                done, ran = self.launch([APPARMOR[0][0]], before=before)
                self.assertEqual((done.returncode, ran), (125, False), done.stderr)
                self.assertEqual("pparmor" in done.stderr, restricted, done.stderr)

    def test_a_container_that_hides_parts_of_proc(self):
        for uid in BOTH:
            log = self.canary(uid) + ".log"
            with self.subTest(uid):
                _, checks = self.doctor(uid=uid, before=MASK, status=1)
                self.assertEqual(checks["proc"]["status"], "weaker")
                for words in ("systempaths=unconfined", "--accept-weaker=proc"):
                    self.assertIn(words, checks["proc"]["remedy"])
                for options in ([], ["--accept-weaker=landlock-scopes"]):
                    done, ran = self.launch(options=options, uid=uid, before=MASK)
                    self.assertEqual((done.returncode, ran), (125, False), done.stderr)
                    self.assertIn("--accept-weaker=proc", done.stderr)
                for fs in ("workspace", "off"):
                    if os.path.exists(log):
                        os.unlink(log)
                    done, ran = self.launch(
                        options=["--accept-weaker", "proc", "--audit", log, "--fs", fs], uid=uid,
                        before=MASK, command=["sh", "-c", "cat /proc/self/status >/dev/null"
                                              " && ! cat /proc/1/environ 2>/dev/null"
                                              " && ! echo x 2>/dev/null >/proc/self/comm"
                                              " && touch " + self.canary(uid)])
                    self.assertEqual((done.returncode, ran), (0, True), done.stderr)
                    with open(log, encoding="ascii") as f:
                        self.assertEqual(json.loads(f.readline())["weaker"], ["proc"])

    def test_landlock_without_scopes(self):
        rules = ["landlock_create_ruleset:2=1=+5"]
        said, checks = self.doctor(rules, status=1)
        self.assertEqual(said["landlock_abi"], 5)
        self.assertEqual(checks["landlock-scopes"]["status"], "weaker")
        done, ran = self.launch(rules, ["--accept-weaker", "proc"])
        self.assertEqual((done.returncode, ran), (125, False), done.stderr)
        self.assertIn("--accept-weaker=landlock-scopes", done.stderr)
        done, ran = self.launch(rules, ["--accept-weaker", "proc,landlock-scopes"])
        self.assertEqual((done.returncode, ran), (0, True), done.stderr)

    def test_names(self):
        for value in ("", "all", "proc,", ",proc", "Proc", "proc landlock-scopes"):
            with self.subTest(value):
                done, ran = self.launch(options=["--accept-weaker", value])
                self.assertEqual((done.returncode, ran), (64, False), done.stderr)
                self.assertIn("landlock-scopes", done.stderr)
        log = os.path.join(self.w.home, "full.log")
        done, ran = self.launch(options=["--accept-weaker=proc,landlock-scopes", "--audit", log])
        self.assertEqual((done.returncode, ran), (0, True), done.stderr)
        with open(log, encoding="ascii") as f:
            self.assertEqual(json.loads(f.readline())["weaker"], [], "accepted and not needed")


if __name__ == "__main__":
    if not os.access(FAULTY, os.X_OK):
        sys.exit("FAULTY does not name the program: %r" % FAULTY)
    main()

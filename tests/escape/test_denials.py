#!/usr/bin/python3
"""What is denied stays denied: grants of everything, odd spellings, second mounts, links, patterns."""
import os
import subprocess

from escapeworld import World, main, users

SECRETS = ("home/.ssh/id_rsa", "outside/denied")
LOCKED = ("outside/locked", "outside/policy.json", "work/.git/hooks/pre-commit", "home/.bashrc")


class Denials(World):
    def place(self, name):
        where, rest = name.split("/", 1)
        return os.path.join(getattr(self, where), rest)

    def write(self, name, text="canary\n", uid=0):
        path = self.place(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        return path

    def read(self, name):
        with open(self.place(name)) as f:
            return f.read()

    def hand_over(self, uid):
        for top in (self.work, self.outside):
            subprocess.run(["chown", "-hR", "%d:%d" % (uid, uid), top], check=True)

    def sh(self, uid, script, *options, bare=False):
        argv = ["sh", "-c", script, "sh", self.work, self.outside, self.home]
        return self.run_as(uid, argv if bare else self.inside(argv, *options), capture_output=True)

    def prepare(self, uid):
        self.fill(uid)
        subprocess.run(["git", "init", "-q", self.work], check=True)
        for name in SECRETS + LOCKED:
            self.write(name, "{}\n" if name.endswith("json") else "canary\n")
        self.hand_over(uid)

    def test_a_grant_of_everything(self):
        """F-010, F-015: a mount on "/" is seen by nobody"""
        reading = "cat " + " ".join(self.place(n) for n in SECRETS)
        writing = "; ".join("echo '{}#' > %s" % self.place(n) for n in LOCKED)
        for uid in users():
            for options in (["--write", "/"], ["--write", self.outside], ["--fs", "strict", "--write", "/"],
                            ["--write", "/..", "--read", "/"], ["--write", "/", "--write", self.outside],
                            ["--fs", "off"]):
                self.prepare(uid)
                # --fs off hides nothing that no option names
                secrets = reading if options[-1] != "off" else "cat " + self.place(SECRETS[1])
                p = self.sh(uid, "%s; %s; echo free > %s/file; echo free > %s/new; echo > /dev/null && "
                            "head -c 1 /dev/zero | wc -c" % (secrets, writing, self.outside, self.work),
                            *options, "--deny-read", self.place("outside/denied"), "--deny-write",
                            self.place("outside/locked"), "-p", self.place("outside/policy.json"))
                with self.subTest(uid=uid, options=options):
                    self.assertEqual(p.stdout, "1\n", p.stderr)
                    # the workspace and the home directory are known as such where they are granted
                    kept = LOCKED[:2] if "off" in options else LOCKED
                    for name in kept:
                        if not (name.startswith("work") and "strict" in options):
                            self.assertIn(self.read(name), ("canary\n", "{}\n"), name)
                    self.assertEqual([self.read("outside/file"), self.read("work/new")], ["free\n"] * 2)
            self.prepare(uid)
            self.assertEqual(self.sh(uid, reading, bare=True).stdout, "canary\n" * 2)

    def test_devices_are_not_granted_with_everything(self):
        """F-011: a disk, for one; and shared memory is the run's own"""
        with open("/dev/shm/escape-denials", "w") as f:
            f.write("canary\n")
        self.addCleanup(os.unlink, "/dev/shm/escape-denials")
        os.chmod("/dev/shm/escape-denials", 0o666)
        script = ("head -c 0 /dev/kmsg; cat /dev/shm/escape-denials; head -c 1 /dev/urandom > /dev/null && "
                  "echo > /dev/full; echo mine > /dev/shm/mine && cat /dev/shm/mine")
        for uid in users():
            self.fill(uid)
            for options in ([], ["--write", "/"], ["--read", "/"], ["--fs", "strict", "--read", "/"]):
                p = self.sh(uid, script, *options)
                with self.subTest(uid=uid, options=options):
                    self.assertEqual(p.stdout, "mine\n", p.stderr)
                    self.assertRegex(p.stderr, "/dev/kmsg.*Permission denied")

    def test_denials_of_the_root_directory(self):
        """As they cannot be had, they are no grounds to start"""
        for uid in users():
            self.fill(uid)
            os.symlink("/", self.work + "/root")
            for path in ("/", "/..", self.work + "/root", self.work + "/root/."):
                for option in ("--deny-write", "--deny-read"):
                    p = self.sh(uid, "echo ran; touch new", option, path)
                    with self.subTest(uid=uid, option=option, path=path):
                        self.assertEqual((p.returncode, p.stdout), (125, ""))
                        self.assertIn("--fs strict", p.stderr)
            os.unlink(self.work + "/root")
            p = self.sh(uid, "echo ran", "--deny-read", "/proc")
            self.assertEqual((p.returncode, p.stdout), (125, ""))
            p = self.sh(uid, "cat /proc/cpuinfo; sh -c 'cat /proc/self/comm'", "--deny-read", "/proc/cpuinfo")
            self.assertEqual((p.stdout, p.returncode), ("cat\n", 0), p.stderr)

    def test_denials_that_name_a_directory_in_another_way(self):
        """F-010: by ".", "..", a final slash, or what lies above"""
        for uid in users():
            for path, kept in (("{work}/dir", "dir"), ("{work}/dir/", "dir"), ("{work}/dir/.", "dir"),
                               ("{work}/dir/sub/..", "dir"), ("{work}/link", "dir"), ("{work}/link/.", "dir"),
                               ("{work}", "all"), ("{work}/.", "all"), ("{work}/..", "all"),
                               ("{work}/other", "none")):
                self.fill(uid)
                os.makedirs(self.work + "/dir/sub", exist_ok=True)
                if not os.path.islink(self.work + "/link"):
                    os.symlink("dir/.", self.work + "/link")
                self.hand_over(uid)
                p = self.sh(uid, "echo x > $1/new; echo x > $1/dir/new; true", "--deny-write",
                            path.format(work=self.work))
                made = {n for n in ("new", "dir/new") if os.path.exists(self.work + "/" + n)}
                with self.subTest(uid=uid, path=path):
                    self.assertEqual(made, {"dir": {"new"}, "all": set(), "none": {"new", "dir/new"}}[kept],
                                     p.stderr)
                for n in made:
                    os.unlink(self.work + "/" + n)


if __name__ == "__main__":
    main()

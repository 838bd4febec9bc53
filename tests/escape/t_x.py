#!/usr/bin/python3
"""What is denied stays denied: grants of everything, odd spellings, second mounts, links, patterns."""
import ctypes
import json
import os
import pwd
import shutil
import subprocess
import threading

from escapeworld import World, main, skipped, users

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

    def mounted(self, uid, pairs, argv):
        """Run where root has mounted the first of each pair on the second."""
        script = ('while [ "$1" != -- ]; do mount --bind "$1" "$2" || exit 99; shift 2; done; shift; '
                  'u=$1; shift; exec setpriv --reuid $u --regid $u --clear-groups -- "$@"')
        flat = [p for pair in pairs for p in pair]
        return self.run_as(0, ["unshare", "-m", "sh", "-c", script, "sh", *flat, "--", str(uid), *argv],
                           capture_output=True)

    def test_a_second_mount_of_a_part(self):
        """F-015, F-010: of a directory in what is hidden or locked, or of a file in it"""
        if os.geteuid() != 0:
            skipped.append("F-015: a second mount of a part: not root")
            return
        parts = {"home/.aws/sso": "outside/a", "home/.ssh/keys": "outside/b", "home/.ssh/id_rsa": "outside/c",
                 "outside/priv/in": "outside/d", "outside/other": "outside/e"}
        locks = {"work/.claude/sub": "work/f", "outside/kept": "work/g", "outside/kept/sub": "work/h",
                 "outside/way": "work/i", "outside/other": "work/j"}
        for uid in users():
            self.prepare(uid)
            for name in ("home/.aws/sso/x", "home/.ssh/keys/x", "home/.ssh/id_rsa", "outside/priv/in/x",
                         "outside/other/x", "work/.claude/sub/x", "outside/kept/x", "outside/kept/sub/x"):
                self.write(name)
            os.makedirs(self.outside + "/way", exist_ok=True)
            for point in list(parts.values()) + list(locks.values()):
                if point == "outside/c":
                    self.write(point, "")
                else:
                    os.makedirs(self.place(point), exist_ok=True)
            self.hand_over(uid)
            pairs = [(self.place(a), self.place(b)) for m in (parts, locks) for a, b in m.items()]
            cat = ["sh", "-c", "cat $1/a/x $1/b/x $1/c $1/d/x; cat $1/e/x | tr c C", "sh", self.outside]
            change = ["sh", "-c", "for d in f g h j; do echo changed > $d/x; done; echo made > i/later; true"]
            deny = ["--deny-read", self.outside + "/priv", "--deny-write", self.outside + "/kept",
                    "--deny-write", self.outside + "/way/later"]
            with self.subTest(uid=uid):
                p = self.mounted(uid, pairs, cat)
                self.assertEqual(p.stdout, "canary\n" * 4 + "Canary\n", p.stderr)
                p = self.mounted(uid, pairs, self.inside(cat, *deny))
                self.assertEqual(p.stdout, "Canary\n", p.stderr)
                p = self.mounted(uid, pairs, self.inside(change, *deny))
                names = ("work/.claude/sub/x", "outside/kept/x", "outside/kept/sub/x", "outside/other/x")
                self.assertEqual([self.read(n) for n in names], ["canary\n"] * 3 + ["changed\n"], p.stderr)
                self.assertEqual(os.listdir(self.outside + "/way"), [], p.stderr)
                p = self.mounted(uid, pairs, change)
                self.assertEqual({self.read(n) for n in names}, {"changed\n"})
                self.assertEqual(os.listdir(self.outside + "/way"), ["later"])
                os.unlink(self.outside + "/way/later")
            # where one would start in it
            p = self.mounted(uid, pairs, ["sh", "-c", "cd $1 && shift && exec \"$@\"", "sh",
                                          self.outside + "/a", *self.inside(["echo", "ran"])])
            self.assertEqual((p.returncode, p.stdout), (125, ""), p.stderr)

    def read_later(self, uid, names, change, *options, wrap=None):
        """What each name shows to a command that was running before @change was called."""
        script = "echo ready; read go; for f; do cat \"$f\" 2> /dev/null || echo; done"
        argv = self.inside(["sh", "-c", script, "sh", *names], *options)
        p = subprocess.Popen(wrap(argv) if wrap else argv, cwd=self.work, env=self.env(), text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             **({} if wrap else self.identity(uid)))
        timer = threading.Timer(60, p.kill)
        timer.start()
        try:
            self.assertEqual(p.stdout.readline(), "ready\n")
            change()
            out = p.communicate("go\n")[0]
        finally:
            timer.cancel()
        return dict(zip(names, out.split("\n")))

    LINKED = {"home/.codex/auth.json": "outside/dot/auth.json", "home/.netrc": "outside/dot2/netrc",
              "home/.docker/config.json": "outside/dot1/docker.json", "home/.kaggle": "outside/dot3/kaggle",
              "home/.config/gh": "outside/gone/gh", "home/conf/s": "outside/t/s", "home/conf/s2": "outside/t2/s",
              "home/conf/way": "outside/t3", "home/plain": "outside/t4/plain"}

    def link_all(self, uid):
        for name in ("dot", "dot1", "dot2", "dot3", "gone", "t", "t2", "t3", "t4"):
            shutil.rmtree(self.outside + "/" + name, True)
            if name != "gone":
                os.makedirs(self.outside + "/" + name)
        for name, target in self.LINKED.items():
            path = self.place(name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif os.path.lexists(path):
                os.unlink(path)
            os.symlink(self.place(target), path)
        self.write("outside/dot/auth.json", "old\n")
        self.write("outside/t/s", "old\n")
        self.hand_over(uid)

    def fill_links(self):
        """A login outside: new files in the place of links, and where links led to nothing."""
        for name in ("home/.codex/auth.json", "home/conf/s"):
            self.write(name + ".new", "secret\n")
            os.rename(self.place(name) + ".new", self.place(name))
        for name in ("outside/dot1/docker.json", "outside/dot2/netrc", "outside/dot3/kaggle/k", "outside/gone/gh/h",
                     "outside/t2/s", "outside/t3/file", "outside/t4/plain"):
            self.write(name, "secret\n")
            os.chmod(self.place(name), 0o644)

    def test_links_to_what_is_hidden(self):
        """F-015: as dotfile managers make them; what comes in their place, or where they lead to nothing"""
        names = [self.place(n) for n in ("home/.codex/auth.json", "home/.netrc", "home/.docker/config.json",
                                         "home/.kaggle/k", "home/.config/gh/h", "home/conf/s", "home/conf/s2",
                                         "home/conf/way/file", "outside/dot2/netrc", "outside/t2/s", "home/plain")]
        deny = ["--deny-read", self.home + "/conf/s", "--deny-read", self.home + "/conf/s2",
                "--deny-read", self.home + "/conf/way/file"]
        for uid in users():
            for options in ([], ["--fs", "strict", "--read", self.outside]):
                self.fill(uid)
                self.link_all(uid)
                got = self.read_later(uid, names, self.fill_links, *deny, *options)
                with self.subTest(uid=uid, options=options):
                    self.assertEqual(got.pop(self.home + "/plain"), "secret")
                    self.assertEqual(set(got.values()), {""}, got)

    def test_a_second_mount_of_where_something_hidden_is_made(self):
        """F-015: by neither name, though the rules know no names"""
        if os.geteuid() != 0:
            skipped.append("F-015: a second mount of where something is made: not root")
            return
        for uid in users():
            self.fill(uid)
            shutil.rmtree(self.home + "/.docker", True)
            for d in (self.home + "/.docker", self.outside + "/again"):
                os.makedirs(d, exist_ok=True)
            self.hand_over(uid)
            names = [self.home + "/.docker/config.json", self.outside + "/again/config.json",
                     self.outside + "/again/other"]
            self.write("home/.docker/other", "plain\n")

            def change():
                self.write("home/.docker/config.json", "secret\n")
                os.chmod(self.home + "/.docker/config.json", 0o644)
            got = self.read_later(uid, names, change, wrap=lambda argv, uid=uid: [
                "unshare", "-m", "sh", "-c", 'mount --bind "$1" "$2" && u=$3 && shift 3 && exec setpriv '
                '--reuid $u --regid $u --clear-groups -- "$@"', "sh", self.home + "/.docker",
                self.outside + "/again", str(uid), *argv])
            self.assertEqual([got[n] for n in names], ["", "", "plain"], uid)

    def with_policy(self, uid, policy, script, *options):
        path = self.write("outside/policy.json", json.dumps(policy))
        os.chmod(path, 0o644)
        return self.sh(uid, script, *options, "-p", path)

    def test_patterns_where_an_earlier_run_has_taken_a_permission(self):
        """F-015, F-010: what cannot be looked into is not nothing"""
        policy = {"filesystem": {"denyRead": [self.work + "/**/.env"], "denyWrite": [self.work + "/*/lock.json"]}}
        steal = "cat den/.env deep/a/.env; echo changed > den/lock.json; "
        take = "chmod %s den deep/a; true"
        give = "chmod 755 den deep/a; " + steal + "cat plain/file; true"
        for uid in users()[-1:]:  # root may look into everything
            for mode in ("000", "400", "200", "300"):
                self.fill(uid)
                for name in ("work/den/.env", "work/deep/a/.env", "work/den/lock.json", "work/plain/file"):
                    self.write(name)
                self.hand_over(uid)
                outs = [self.with_policy(uid, policy, steal + take % mode), self.with_policy(uid, policy, give)]
                os.chmod(self.work + "/den", 0o755)
                os.chmod(self.work + "/deep/a", 0o755)
                with self.subTest(uid=uid, mode=mode):
                    self.assertEqual([p.stdout for p in outs], ["", "canary\n"], [p.stderr for p in outs])
                    self.assertEqual(self.read("work/den/lock.json"), "canary\n")
                    self.assertIn("den' is denied as a whole", outs[1].stderr)
            # the working directory itself: then nobody can tell what is denied
            os.chmod(self.work, 0o300)
            p = self.with_policy(uid, policy, "echo ran")
            os.chmod(self.work, 0o700)
            self.assertEqual((p.returncode, p.stdout), (125, ""))
            self.assertIn("chmod u+rx", p.stderr)

    def test_ways_to_write_a_denial(self):
        """F-015: those that name the file, and those that others read so"""
        secret = self.work + "/sub/.env"
        for uid in users():
            self.fill(uid)
            self.write("work/sub/.env")
            self.write("work/sub/plain")
            self.hand_over(uid)
            for path in (secret, secret + "/", secret + "//", secret + "/.", secret + "/./", "sub/.env/",
                         self.work + "/*/.env", self.work + "/**/.env", "**.env", self.work + "/s**v",
                         self.work + "/sub/.en[v]", self.work + "/sub/.e\\nv", self.outside + "/../.." + secret):
                for how in ("option", "settings"):
                    if how == "option":
                        p = self.sh(uid, "cat sub/.env sub/plain", "--deny-read", path)
                    else:
                        if not path.startswith("/"):
                            continue  # relative to the file there
                        p = self.with_policy(uid, {"filesystem": {"denyRead": [path]}}, "cat sub/.env sub/plain")
                    with self.subTest(uid=uid, how=how, path=path):
                        self.assertEqual(p.stdout, "canary\n", p.stderr)
            for path in ("$HOME/x", "${HOME}/x", "/home/$USER/x", "~root/x", "file://" + secret, " " + secret,
                         secret + " ", secret + "\n"):
                p = self.sh(uid, "echo ran", "--deny-read", path)
                with self.subTest(uid=uid, path=path):
                    self.assertEqual((p.returncode, p.stdout), (125, ""))
                    self.assertIn("--deny-read: '%s" % path.split("\n", maxsplit=1)[0], p.stderr)
                p = self.with_policy(uid, {"filesystem": {"denyWrite": [path]}}, "echo ran")
                self.assertEqual((p.returncode, p.stdout), (125, ""), path)

    def test_rules_of_claude_codes_settings(self):
        """F-015: as gitignore(5) reads them"""
        for uid in users():
            self.fill(uid)
            self.write("work/sub/.env")
            self.write("work/sub/deep/plain")
            self.hand_over(uid)
            for rule in (".env", "*.env", ".en[v]", "**.env", "**/.env", "./sub/.env", "/sub/.env", "./sub/.env/",
                         "sub/*env", "sub/.env/**"):
                p = self.with_policy(uid, {"permissions": {"deny": ["Read(%s)" % rule]}},
                                     "cat sub/.env sub/deep/plain")
                with self.subTest(uid=uid, rule=rule):
                    self.assertEqual(p.stdout, "canary\n", p.stderr)
            for rule in ("plain", "deep/", "sub/", "deep"):
                p = self.with_policy(uid, {"permissions": {"deny": ["Read(%s)" % rule, "Edit(.env)"]}},
                                     "cat sub/deep/plain; echo changed > sub/.env; echo new > sub/new")
                with self.subTest(uid=uid, rule=rule):
                    self.assertEqual((p.stdout, self.read("work/sub/.env")), ("", "canary\n"), p.stderr)
            self.assertEqual(self.read("work/sub/new"), "new\n")

    def test_rules_about_everything(self):
        """As they cannot be had, they are no grounds to start, either"""
        for uid in users():
            self.fill(uid)
            for rule in ("Read(//**)", "Edit(//**)", "Read(//)", "Edit(/**)"):
                p = self.with_policy(uid, {"permissions": {"deny": [rule]}}, "echo ran; echo x > new")
                with self.subTest(uid=uid, rule=rule):
                    self.assertEqual((p.returncode, p.stdout), (125, ""))

    def test_what_is_hidden_below_a_temporary_directory(self):
        """F-015: the rule for the run's own /tmp reaches down into what is mounted there"""
        for uid in users():
            for top in ("/tmp", "/var/tmp"):
                self.fill(uid)
                where = os.path.join(top, "escape-denials-%d" % os.getpid())
                self.addCleanup(shutil.rmtree, where, True)
                for name in ("sub/s", "sub/plain", "plain", "deep/er/plain"):
                    os.makedirs(os.path.dirname(os.path.join(where, name)), exist_ok=True)
                    with open(os.path.join(where, name), "w") as f:
                        f.write("plain\n")
                names = [os.path.join(where, n) for n in ("later", "sub/s", "deep/later", "plain", "sub/plain",
                                                           "deep/er/plain")]

                def change(where=where):
                    for name in ("later", "sub/s", "deep/later"):
                        path = os.path.join(where, name)
                        with open(new, "w") as f:
                            f.write("secret\n")
                        os.chmod(new, 0o644)
                        os.rename(new, path)
                deny = [o for n in names[:3] for o in ("--deny-read", n)]
                for options in ([], ["--fs", "strict"]):
                    got = self.read_later(uid, names, change, "--read", where, *deny, *options)
                    with self.subTest(uid=uid, top=top, options=options):
                        self.assertEqual([got[n] for n in names], [""] * 3 + ["plain"] * 3)
                shutil.rmtree(where)

    def test_the_working_directory_of_strict_mode(self):
        """F-015: nothing of it is granted, below /tmp neither"""
        for uid in users():
            for top in ("/tmp", "/var/tmp"):
                where = os.path.join(top, "escape-denials-%d" % os.getpid())
                self.addCleanup(shutil.rmtree, where, True)
                self.fill(uid)
                os.makedirs(where + "/dir", exist_ok=True)
                for name in ("file", "dir/inner"):
                    with open(os.path.join(where, name), "w") as f:
                        f.write("canary\n")
                shutil.copy("/usr/bin/true", where + "/prog")
                subprocess.run(["chown", "-R", str(uid), where], check=True)
                strict = ["--fs", "strict", "-C", where]
                script = "cat file; cat dir/inner; cp file /tmp/copy; cat /tmp/copy; echo x > file; pwd"
                for options, want in (([], 0), (["--read", where + "/dir"], 1), (["--read", where], 3)):
                    p = self.sh(uid, script, *strict, *options)
                    with self.subTest(uid=uid, top=top, options=options):
                        self.assertEqual(p.stdout, "canary\n" * want + where + "\n", p.stderr)
                with open(where + "/file") as f:
                    self.assertEqual(f.read(), "canary\n")
                p = self.run_as(uid, self.inside(["./prog"], *strict), capture_output=True)
                self.assertEqual(p.returncode, 0, p.stderr)
                shutil.rmtree(where)

    def test_temporary_directories_by_a_link(self):
        """F1: where the administrator has put them elsewhere"""
        if os.geteuid() != 0:
            skipped.append("F-015: a link in the place of /var/tmp: not root")
            return
        # /var/tmp is a link to where somebody else's file is; the workspace is in it, at another name
        real = self.outside + "/real"
        script = ("mount -t tmpfs none /var && mkdir /var/lib && ln -s $1 /var/tmp && shift && u=$1 && shift && "
                  "exec setpriv --reuid $u --regid $u --clear-groups -- \"$@\"")
        for uid in users():
            self.fill(uid)
            os.makedirs(real, exist_ok=True)
            os.chmod(real, 0o1777)
            self.write("outside/real/others")
            os.chmod(self.outside, 0o755)
            os.makedirs(self.home + "/ws", exist_ok=True)
            self.hand_over(uid)
            inner = ["sh", "-c", "cat /var/tmp/others; echo mine > /var/tmp/x && cat /var/tmp/x"]
            for argv, want in ((inner, "canary\nmine\n"), (self.inside(inner, "-C", self.home + "/ws"), "mine\n")):
                p = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", real, str(uid), *argv],
                                   cwd=self.home, env=self.env(), capture_output=True, text=True, timeout=60,
                                   stdin=subprocess.DEVNULL, check=False)
                self.assertEqual(p.stdout, want, p.stderr)
            self.assertEqual(self.read("outside/real/x"), "mine\n")
            with self.assertRaises(FileNotFoundError):
                self.read("outside/real/y")

    def test_a_file_server_that_is_gone(self):
        """A start asks it nothing, and what it served stays hidden"""
        if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
            skipped.append("F-015: a file server that is gone: not root, or no FUSE")
            return
        libc = ctypes.CDLL(None, use_errno=True)
        for uid in users():
            for gone in (True, False):
                self.fill(uid)
                where = self.home + "/.mozilla"
                os.makedirs(where, exist_ok=True)
                self.hand_over(uid)
                fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
                how = "fd=%d,rootmode=40000,user_id=%d,group_id=%d" % (fd, uid, uid)
                self.assertEqual(libc.mount(b"gone", where.encode(), b"fuse", 0, how.encode()), 0)
                try:
                    if gone:
                        os.close(fd)
                    # what is granted for writing is looked through, and waited for
                    for options in ([], ["--write", self.home] if gone else ["--fs", "strict"]):
                        p = subprocess.Popen(self.inside(["sh", "-c", "echo ran; ls -A ~/.mozilla"], *options),
                                             cwd=self.work, env=self.env(), stdin=subprocess.DEVNULL, text=True,
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, **self.identity(uid))
                        timer = threading.Timer(30, lambda: libc.umount2(where.encode(), 1))
                        timer.start()
                        out, err = p.communicate()
                        waited = not timer.is_alive()
                        timer.cancel()
                        with self.subTest(uid=uid, gone=gone, options=options):
                            self.assertEqual((waited, out), (False, "ran\n"), err)
                finally:
                    libc.umount2(where.encode(), 2)
                    if not gone:
                        os.close(fd)

    def test_the_home_directory_of_who_became_root(self):
        """F-015: as sudo leaves HOME and SUDO_UID"""
        if os.geteuid() != 0:
            skipped.append("F-015: who became root: not root")
            return
        user = next((u for u in pwd.getpwall() if u.pw_uid and os.path.isdir(u.pw_dir) and
                     u.pw_dir.count("/") > 1 and not u.pw_dir.startswith(("/proc", "/run", "/usr", "/dev", "/var/run"))
                     and os.access(u.pw_dir, os.W_OK) and not os.path.lexists(u.pw_dir + "/.npmrc")), None)
        if not user:
            skipped.append("F-015: who became root: no other user with a home directory")
            return
        secret = user.pw_dir + "/.npmrc"
        with open(secret, "w") as f:
            f.write("canary\n")
        self.addCleanup(os.unlink, secret)
        for uid, want in (("", "canary\n"), (str(user.pw_uid), ""), ("x", "canary\n")):
            self.fill(0)
            p = subprocess.run(self.inside(["cat", secret]), cwd=self.work, capture_output=True, text=True,
                               env={**self.env(), "SUDO_UID": uid}, timeout=60, check=False)
            self.assertEqual(p.stdout, want, p.stderr)

    def test_the_home_directory_of_the_user_database(self):
        """F-015: what a file denies in ~ is denied wherever HOME leads"""
        home = pwd.getpwuid(os.geteuid()).pw_dir
        secret = home + "/.escape-denials"
        with open(secret, "w") as f:
            f.write("canary\n")
        self.addCleanup(os.unlink, secret)
        uid = os.geteuid()
        self.fill(uid)
        for denied, want in (("~/.escape-denials", ""), ("~/.other", "canary\n")):
            p = self.with_policy(uid, {"filesystem": {"denyRead": [denied]}}, "cat " + secret)
            self.assertEqual(p.stdout, want, p.stderr)

    def test_a_second_mount_where_an_earlier_run_has_taken_a_permission(self):
        """F-010: what cannot be looked at may be what is locked"""
        if os.geteuid() != 0:
            skipped.append("F-010: a second mount: not root")
            return
        for uid in users()[-1:]:
            for mode in ("000", "600"):
                self.prepare(uid)
                os.makedirs(self.work + "/sub/hooks2", exist_ok=True)
                self.hand_over(uid)
                pairs = [(self.work + "/.git/hooks", self.work + "/sub/hooks2")]
                for script in ("chmod %s sub" % mode, "chmod 755 sub; echo changed > sub/hooks2/pre-commit; echo ok"):
                    p = self.mounted(uid, pairs, self.inside(["sh", "-c", script]))
                os.chmod(self.work + "/sub", 0o755)
                self.assertEqual((p.stdout, self.read("work/.git/hooks/pre-commit")), ("ok\n", "canary\n"), p.stderr)

    def test_what_is_replaced_while_a_run_starts(self):
        """F-015: as an agent outside does with its settings, again and again; no run fails for it"""
        for uid in users():
            self.fill(uid)
            done, path = threading.Event(), self.home + "/.netrc"; d = self.home + "/d"; os.makedirs(d, exist_ok=True); new = d + "/netrc.new"

            def replace(uid=uid, done=done, path=path):
                while not done.is_set():
                    with open(new, "w") as f:
                        f.write("secret\n")
                    os.chown(new, uid, uid)
                    os.rename(new, path)
                    done.wait(0.0005)
            thread = threading.Thread(target=replace)
            thread.start()
            try:
                ps = [self.sh(uid, "cat ~/.netrc; echo ran") for _ in range(25)]
            finally:
                done.set()
                thread.join()
            self.assertEqual([(p.returncode, p.stdout) for p in ps], [(0, "ran\n")] * 25, {p.stderr for p in ps})

    def test_credentials_of_less_known_programs(self):
        """F-015: a sample of the table"""
        names = ["home/" + n for n in (".subversion/auth/x", ".step/secrets/key", ".acme.sh/account.conf",
                                       ".local/share/mkcert/rootCA-key.pem", ".config/pnpm/auth.ini", ".vnc/passwd")]
        for uid in users():
            self.fill(uid)
            for name in names + ["home/.local/share/mkcert/rootCA.pem"]:
                self.write(name)
            self.hand_over(uid)
            p = self.sh(uid, "cat " + " ".join(map(self.place, names)))
            self.assertEqual(p.stdout, "", uid)
            p = self.sh(uid, "cat " + self.place("home/.local/share/mkcert/rootCA.pem"))
            self.assertEqual(p.stdout, "canary\n", p.stderr)


if __name__ == "__main__":
    main()

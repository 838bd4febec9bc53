#!/usr/bin/python3
"""Files and descriptors: what takes a second hand outside, an earlier run or an odd environment."""
import fcntl
import os
import pty
import shutil
import stat
import subprocess
import sys
import termios
import time

from escapeworld import LIMIT, World, excused, main, skipped, users
from rows import EMPTY, GONE


class Files(World):
    REPLACED = ("home/.netrc", "home/.git-credentials", "home/.aws/credentials",
                "home/.config/gh/hosts.yml", "outside/denied/file")
    KEPT = ("home/plain", "home/.config/tool/rc", "outside/file")

    def replace_outside(self, uid):
        """As a login outside does: a new file under the old name, and files where there were none."""
        for name in self.REPLACED:
            where, rest = name.split("/", 1)
            path = os.path.join(getattr(self, where), rest)
            if rest in (".aws/credentials", "denied/file"):
                shutil.rmtree(os.path.dirname(path), True)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path + ".new", "w") as f:
                f.write("replaced\n")
            os.chmod(path + ".new", 0o644)
            os.rename(path + ".new", path)

    def read_after_replacing(self, uid, *options, bare=False):
        """What each name shows to a command that was running before it was replaced."""
        names = {n: os.path.join(getattr(self, n.split("/")[0]), n.split("/", 1)[1])
                 for n in self.REPLACED + self.KEPT}
        script = ("echo ready; read go; shift; for f; do head -c 99 \"$f\" 2> /dev/null "
                  "| tr -d '\\n'; echo; done")
        argv = ["sh", "-c", script, "sh", "x", *names.values()]
        p = subprocess.Popen(argv if bare else self.inside(argv, *options), cwd=self.work,
                             env=self.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             **self.identity(uid))
        self.assertEqual(p.stdout.readline(), "ready\n")
        self.replace_outside(uid)
        out, _ = p.communicate("go\n", timeout=LIMIT)
        self.assertEqual(p.returncode, 0)
        return dict(zip(names, out.split("\n")))

    def prepare_replacing(self, uid):
        for name in (".git-credentials", ".config/gh"):
            shutil.rmtree(os.path.join(self.home, name), True)
        if os.path.exists(self.home + "/.git-credentials"):
            os.unlink(self.home + "/.git-credentials")
        for path in (self.home + "/.config/tool/rc", self.home + "/plain",
                     self.outside + "/denied/file"):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f:
                f.write("kept\n")
        self.fill(uid)

    def test_hidden_files_stay_hidden_when_they_are_replaced(self):
        """F-015: the cover of a file goes with the file"""
        for uid in users():
            for options in ([], ["--fs", "strict", "--read", self.outside]):
                self.prepare_replacing(uid)
                bare = self.read_after_replacing(uid, bare=True)
                self.assertEqual({bare[n] for n in self.REPLACED}, {"replaced"})
                self.prepare_replacing(uid)
                got = self.read_after_replacing(uid, "--deny-read", self.outside + "/denied/file",
                                                *options)
                with self.subTest(uid=uid, options=options):
                    self.assertEqual({got[n] for n in self.REPLACED}, {""}, got)
                    self.assertEqual([got[n] for n in self.KEPT], ["kept", "kept", "canary"])

    def test_shadow_is_nobodys_in_strict_mode(self):
        """F-015 as root, who could read it: by default, and below --read of all that is around it"""
        for uid in users():
            self.fill(uid)
            probe = [self.probe, "read", "/etc/shadow"]
            grants = ["--fs", "strict", "--read", self.work, "--exec", self.work]
            if uid == 0:
                self.assertEqual(self.outcome(uid, probe), "OK")
            for options in (grants, grants + ["--read", "/etc"]):
                got = self.outcome(uid, self.inside(probe, *options))
                self.assertIn(got, GONE | EMPTY)
            got = self.outcome(uid, self.inside([self.probe, "read", "/etc/passwd"], *grants))
            self.assertEqual(got, "OK")

    MOVED = [
        ("XDG_CONFIG_HOME", "xdg", "xdg/gh/hosts.yml"), ("XDG_DATA_HOME", "data", "data/keyrings/k"),
        ("CARGO_HOME", "cargo", "cargo/credentials.toml"), ("KUBECONFIG", "no:kube/a:kube/b", "kube/b"),
        ("DOCKER_CONFIG", "docker", "docker/config.json"), ("GNUPGHOME", "gnupg", "gnupg/key"),
        ("AWS_SHARED_CREDENTIALS_FILE", "aws", "aws"), ("NPM_CONFIG_USERCONFIG", "npmrc", "npmrc"),
        ("npm_config_userconfig", "npmrc2", "npmrc2"), ("PIP_CONFIG_FILE", "pip", "pip"),
        ("NETRC", "netrc", "netrc"), ("GOOGLE_APPLICATION_CREDENTIALS", "key.json", "key.json"),
        ("KRB5CCNAME", "FILE:krb", "krb"),
    ]

    def test_credentials_that_a_variable_has_moved_are_hidden(self):
        """F-015: absolute and relative values, in the workspace and outside"""
        for uid in users():
            for top in (self.outside, self.work):
                for variable, value, file in self.MOVED:
                    with self.subTest(uid=uid, top=top, variable=variable):
                        self.check_moved(uid, top, variable, value, os.path.join(top, "m", file))

    def check_moved(self, uid, top, variable, value, path):
        shutil.rmtree(top + "/m", True)
        os.makedirs(os.path.dirname(path))
        for name in (path, top + "/m/other"):
            with open(name, "w") as f:
                f.write("secret\n")
        self.fill(uid)
        prefix = top + "/m/" if top == self.outside else "m/"
        words = [prefix + w for w in value.replace("FILE:", "").split(":")]
        env = dict(self.env(), **{variable: ("FILE:" if "FILE:" in value else "") + ":".join(words)})

        def read(argv, name):
            p = subprocess.run(argv + [name], cwd=self.work, env=env, capture_output=True, text=True,
                               timeout=LIMIT, check=False, stdin=subprocess.DEVNULL,
                               **self.identity(uid))
            return p.stdout
        self.assertEqual(read(["cat"], path), "secret\n")
        self.assertEqual(read(self.inside(["cat"]), path), "")
        self.assertEqual(read(self.inside(["cat"]), top + "/m/other"), "secret\n")
        self.assertEqual(read(self.inside(["cat"], "--read", path), path), "secret\n")

    def test_a_variable_that_would_hide_the_workspace(self):
        for uid in users():
            self.fill(uid)
            for value, want in (("/dev/null", 0), (self.work, 125), (os.path.dirname(self.work), 125)):
                env = dict(self.env(), GNUPGHOME=value)
                p = subprocess.run(self.inside(["sh", "-c", "echo x > /dev/null"]), cwd=self.work,
                                   env=env, capture_output=True, text=True, timeout=LIMIT,
                                   check=False, **self.identity(uid))
                self.assertEqual(p.returncode, want, p.stderr)
                self.assertEqual("GNUPGHOME" in p.stderr, want != 0)

    def test_a_workspace_without_permission_to_write(self):
        """F-011: its owner could take the permission; and one who gives it away leaves nothing"""
        for uid in users():
            self.fill(uid)
            before = sorted(os.listdir(self.work))
            for mode in ("555", "000"):
                p = self.run_as(uid, self.inside(["sh", "-c", "ls -A; chmod %s ." % mode]),
                                capture_output=True)
                self.assertEqual(p.returncode, 0, p.stderr)
                self.assertIn(".claude\n", p.stdout)
                self.assertEqual(stat.S_IMODE(os.stat(self.work).st_mode), int(mode, 8))
                os.chmod(self.work, 0o755)
                self.assertEqual(sorted(os.listdir(self.work)), before)
            os.chmod(self.work, 0o555)
            script = "chmod 755 . && mkdir .claude && echo x > .claude/settings.json"
            p = self.run_as(uid, self.inside(["sh", "-c", script]), capture_output=True)
            self.assertNotEqual(p.returncode, 0)
            self.assertEqual("chmod u+w" in p.stderr, uid != 0, p.stderr)
            os.chmod(self.work, 0o555)
            self.assertEqual(sorted(os.listdir(self.work)), before)
            bare = self.run_as(uid, ["sh", "-c", script])
            self.assertEqual(bare.returncode, 0)
            shutil.rmtree(self.work + "/.claude")

    def test_permissions_that_an_earlier_run_has_taken(self):
        """What stands below is not to be seen when the run starts; it is locked all the same."""
        tops = (".git/modules", "tools", "den", ".git/worktrees")
        files = (".git/modules/sub/hooks/post-checkout", "tools/hooks/pre-commit", "den/file",
                 ".git/worktrees/w/commondir")
        options = ("--deny-write", self.work + "/den/file")
        evil = ";".join("mkdir -p %s; echo evil > %s" % (os.path.dirname(f), f) for f in files)
        for uid in users():
            self.fill(uid)
            self.run_as(uid, ["git", "init", "-q", "."])
            self.run_as(uid, ["git", "config", "core.hooksPath", "tools/hooks"])
            for name in files + (".git/modules/sub/HEAD", ".git/modules/sub/config"):
                self.run_as(uid, ["mkdir", "-p", os.path.dirname(name)])
                self.run_as(uid, ["sh", "-c", "echo own > " + name])
            for argv in (self.inside(["chmod", "000", *tops], *options), ["chmod", "000", *tops]):
                self.run_as(uid, argv, capture_output=True)
                p = self.run_as(uid, self.inside(["sh", "-c", "chmod 755 %s; %s; echo ran"
                                                  % (" ".join(tops), evil)], *options),
                                capture_output=True)
                self.assertEqual(p.stdout, "ran\n", p.stderr)
                self.run_as(uid, ["chmod", "755", *tops])
                for name in files:
                    with open(os.path.join(self.work, name)) as f:
                        self.assertEqual(f.read(), "own\n", (uid, name))
            self.run_as(uid, ["git", "config", "include.path", "../den/file"])
            self.run_as(uid, ["chmod", "000", "den"])
            p = self.run_as(uid, self.inside(["echo", "ran"]), capture_output=True)
            self.assertEqual(p.returncode, 0 if uid == 0 else 125, p.stderr)
            self.run_as(uid, ["chmod", "755", "den"])
            self.run_as(uid, ["sh", "-c", evil])
            with open(self.work + "/tools/hooks/pre-commit") as f:
                self.assertEqual(f.read(), "evil\n")
            for top in (".git", "tools", "den"):
                shutil.rmtree(os.path.join(self.work, top))

    def test_a_second_name_of_what_is_protected(self):
        """F-009: .envrc by another name"""
        for uid in users():
            self.fill(uid)
            with open(self.work + "/.envrc", "w") as f:
                f.write("own\n")
            os.chown(self.work + "/.envrc", uid, uid)
            os.link(self.work + "/.envrc", self.work + "/second")
            for argv, want in ((self.inside(["sh", "-c", "echo x > second"]), "own\n"),
                               (["sh", "-c", "echo x > second"], "x\n")):
                self.run_as(uid, argv, capture_output=True)
                with open(self.work + "/.envrc") as f:
                    self.assertEqual(f.read(), want)
            os.unlink(self.work + "/second")
            p = self.run_as(uid, self.inside(["cat", ".envrc"]), capture_output=True)
            self.assertEqual(p.stdout, "x\n")
            os.unlink(self.work + "/.envrc")

    def test_a_second_name_of_a_hook(self):
        """F-009: the directory of hooks is locked, and a hook has a name outside of it"""
        for uid in users():
            self.fill(uid)
            mark = self.outside + "/mark"
            hook = ".git/hooks/post-checkout"
            write = "printf '#!/bin/sh\\ntouch %s\\n' > second" % mark
            self.run_as(uid, ["sh", "-c", "git init -q . && printf '#!/bin/sh\\n' > %s && chmod 755 %s"
                              % (hook, hook)])
            os.link(os.path.join(self.work, hook), self.work + "/second")
            for bare in (False, True):
                p = self.run_as(uid, ["sh", "-c", write] if bare else self.inside(["sh", "-c", write]),
                                capture_output=True)
                self.assertEqual(p.returncode, 0 if bare else 125, p.stderr)
                self.assertEqual(hook in p.stderr, not bare)
                self.run_as(uid, ["git", "checkout", "-q", "-b", "b%d" % bare])
                self.run_as(uid, [os.path.join(self.work, hook)])
                self.assertEqual(os.path.exists(mark), bare)
            os.unlink(mark)
            os.unlink(self.work + "/second")
            p = self.run_as(uid, self.inside(["cat", hook]), capture_output=True)
            self.assertEqual(p.returncode, 0, p.stderr)
            shutil.rmtree(self.work + "/.git")

    def test_a_second_name_of_a_credential_is_told(self):
        """F-015: it cannot be hidden, since nobody knows where it is"""
        for uid in users():
            for name in (".netrc", ".ssh/id_rsa"):
                self.fill(uid)
                path, second = os.path.join(self.home, name), self.outside + "/second"
                self.assertEqual(self.run_as(uid, self.inside(["cat", path]), capture_output=True).stderr
                                 .replace("cat: ", "").count("another name"), 0)
                os.link(path, second)
                p = self.run_as(uid, self.inside(["cat", second]), capture_output=True)
                self.assertEqual(p.stdout, "canary\n")
                self.assertIn(path + " has another name", p.stderr)
                os.unlink(second)

    def test_grants_through_a_link_of_an_earlier_run(self):
        """F-014: the next run is granted what the link leads to, if nobody looks"""
        for uid in users():
            self.fill(uid)
            target, file = self.home + "/.config/autostart", self.home + "/.config/autostart/x"
            self.run_as(uid, ["rm", "-rf", file, "sub"])
            # the earlier run
            self.assertEqual(self.run_as(uid, self.inside(["ln", "-s", target, "sub"])).returncode, 0)
            typed = self.work + "/sub"
            for argv in (self.inside(["touch", file], "--write", typed),
                         self.inside(["touch", file], "--write", "sub"),
                         self.inside(["touch", file], "-C", typed),
                         self.inside(["cat", self.home + "/.netrc"], "--read", typed),
                         self.inside(["touch", file], "--fs", "strict", "--write", typed)):
                p = self.run_as(uid, argv, capture_output=True)
                self.assertEqual((p.returncode, p.stdout), (125, ""), argv)
                self.assertIn("%s is a link" % typed, p.stderr)
                self.assertFalse(os.path.exists(file))
            # what the message says to type, if it is meant; and the same name when it is no link
            p = self.run_as(uid, self.inside(["touch", file], "--write", target), capture_output=True)
            self.assertEqual((p.returncode, os.path.exists(file)), (0, True), p.stderr)
            os.unlink(typed)
            os.mkdir(typed)
            os.chown(typed, uid, uid)
            p = self.run_as(uid, self.inside(["touch", "y"], "-C", typed), capture_output=True)
            self.assertEqual((p.returncode, os.listdir(typed)), (0, ["y"]), p.stderr)
            shutil.rmtree(typed)

    def test_grants_through_links_of_the_users_own(self):
        """Those that no command can have made: right in the home directory, or the administrator's"""
        for uid in users():
            self.fill(uid)
            away = self.outside + "/away"
            self.run_as(uid, ["rm", "-rf", away, self.home + "/src"])
            self.run_as(uid, ["mkdir", away])
            self.run_as(uid, ["ln", "-s", away, self.home + "/src"])
            for argv in (self.inside(["touch", away + "/x"], "--write", "~/src"),
                         self.inside(["touch", away + "/x"], "-C", self.home + "/src"),
                         self.inside(["touch", away + "/x"], "--read", "/var/run", "-C", away)):
                p = self.run_as(uid, argv, capture_output=True)
                self.assertEqual((p.returncode, os.listdir(away)), (0, ["x"]), p.stderr)
                os.unlink(away + "/x")

    SWAP = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
os.mkdir("data")
os.symlink(sys.argv[1], "link")
open("ready", "w").close()
while not os.path.exists("stop"):
    libc.renameat2(-100, b"data", -100, b"link", 2)
if os.path.islink("data"):
    libc.renameat2(-100, b"data", -100, b"link", 2)
"""

    def swapping(self, uid, target):
        """A run that exchanges a directory of its workspace and a link, until there is a "stop"."""
        shutil.rmtree(self.work + "/ws", True)
        os.mkdir(self.work + "/ws")
        os.chown(self.work + "/ws", uid, uid)
        argv = self.inside(["/usr/bin/python3", "-c", self.SWAP, target], "-C", self.work + "/ws")
        p = subprocess.Popen(argv, cwd=self.work, env=self.env(), stdin=subprocess.DEVNULL,
                             **self.identity(uid))
        self.addCleanup(p.kill)
        while not os.path.exists(self.work + "/ws/ready"):
            self.assertIsNone(p.poll())
            time.sleep(0.01)
        return p

    def test_grants_that_another_run_exchanges(self):
        """What is opened is what was judged, whatever leads there in between"""
        for uid in users():
            self.fill(uid)
            away, data = self.outside + "/away", self.work + "/ws/data"
            shutil.rmtree(away, True)
            os.mkdir(away)
            os.chown(away, uid, uid)
            hit = ["touch", away + "/hit"]
            runs = (self.inside(hit, "--write", data), self.inside(hit, "-C", data),
                    self.inside(hit, "--fs", "strict", "--write", data))
            other = self.swapping(uid, away)
            seen = set()
            # each may find the directory, and is granted that; or the link, or both, and ends
            for i in range(240):
                p = self.run_as(uid, runs[i % 3], capture_output=True)
                self.assertEqual(os.listdir(away), [], p.stderr)
                self.assertIn(p.returncode, (1, 125), p.stderr)
                seen.add(p.returncode)
                if i >= 60 and len(seen) == 2:
                    break
            self.assertEqual(seen, {1, 125})
            open(self.work + "/ws/stop", "w").close()
            self.assertEqual(other.wait(LIMIT), 0)
            # the same when nobody exchanges anything
            for option in "--write", "-C":
                p = self.run_as(uid, self.inside(["touch", data + "/x"], option, data),
                                capture_output=True)
                self.assertEqual((p.returncode, os.listdir(data)), (0, ["x"]), p.stderr)
                os.unlink(data + "/x")
            shutil.rmtree(self.work + "/ws")

    def test_links_of_an_earlier_run_lead_nowhere(self):
        """F-013: what we write ourselves, where a command has left a link, in this workspace or another"""
        options = ("--audit", "{}/log.jsonl"), ("--learn", "{}/learnt.json"), ("--report", "json:{}/r")
        for uid in users():
            self.fill(uid)
            away, other = self.outside + "/away", self.outside + "/other"
            shutil.rmtree(other, True)
            for d in (away, other, other + "/in"):
                os.makedirs(d, exist_ok=True)
                os.chown(d, uid, uid)
            for link in (self.work + "/.logs", self.home + "/own"):
                if os.path.lexists(link):
                    os.unlink(link)
            # the earlier runs
            self.assertEqual(self.run_as(uid, self.inside(["ln", "-s", away, ".logs"])).returncode, 0)
            left = self.inside(["sh", "-c", "ln -s %s logs; ln -s in beside" % away], "-C", other)
            self.assertEqual(self.run_as(uid, left).returncode, 0)
            # its user's own, where no command can have made it
            self.run_as(uid, ["ln", "-s", away, self.home + "/own"])
            for name, value in options:
                for link, to in ((".logs", None), (other + "/logs", None), (other + "/beside", other + "/in"),
                                 (self.home + "/own", away), (away, away)):
                    with self.subTest(uid=uid, option=name, link=link):
                        p = self.run_as(uid, self.inside(["true"], name, value.format(link)),
                                        capture_output=True)
                        self.assertEqual(p.returncode, 0 if to else 125, p.stderr)
                        self.assertEqual(len(os.listdir(away)), to == away)
                        if to:
                            self.assertEqual(len(os.listdir(to)), 1)
                            os.unlink(os.path.join(to, os.listdir(to)[0]))
            self.check_serve(uid, other + "/logs/s.jsonl", other + "/beside/s.jsonl")

    def check_serve(self, uid, barred, free):
        """It has no workspace, and the same question."""
        argv = [self.inside([])[0], "serve", "--no-config", "--dir", self.work + "/sock", "--audit"]
        p = self.run_as(uid, ["timeout", "5", *argv, barred], capture_output=True)
        self.assertEqual((p.returncode, os.path.exists(barred)), (125, False), p.stderr)
        self.run_as(uid, ["timeout", "1", *argv, free], capture_output=True)
        self.assertTrue(os.path.exists(free))
        os.unlink(free)

    def test_a_second_mount_of_the_home_directory(self):
        """F-015: only root can make one"""
        if os.geteuid() != 0:
            skipped.append("F-015: a second mount of the home directory: not root")
            return
        for uid in users():
            self.fill(uid)
            again = self.outside + "/again here"
            os.makedirs(again, exist_ok=True)
            script = ('mount --bind "$1" "$2" && shift 2 && exec setpriv --reuid "$1" --regid "$1" '
                      '--clear-groups sh -c \'shift; exec "$@"\' sh "$@"')
            for where in (self.home, self.outside):
                name = os.path.join(again, os.path.relpath(self.home, where), ".netrc")
                for argv, want in ((["cat", name], "canary\n"), (self.inside(["cat", name]), ""),
                                   (self.inside(["cat", self.home + "/.netrc"]), "")):
                    p = self.run_as(0, ["unshare", "-m", "sh", "-c", script, "sh", where, again,
                                        str(uid), *argv], capture_output=True)
                    self.assertEqual(p.stdout, want, p.stderr)

    def test_a_second_mount_of_what_is_hidden(self):
        """F-015: of the whole tree, and of nothing but a directory with keys"""
        if os.geteuid() != 0:
            skipped.append("F-015: a second mount of what is hidden: not root")
            return
        again = self.outside + "/again"
        os.makedirs(again, exist_ok=True)
        secret = self.outside + "/secret"
        os.makedirs(secret, exist_ok=True)
        with open(secret + "/file", "w") as f:
            f.write("canary\n")
        script = 'mount --%s "$1" "$2" && shift 2 && exec "$@"'
        for how, where, name in (("rbind", "/", "/etc/shadow"), ("rbind", "/", secret + "/file"),
                                 ("bind", secret, "/file"), ("bind", self.home + "/.ssh", "/id_rsa")):
            self.fill(0)
            for argv in (["cat", again + name],
                         self.inside(["cat", again + name], "--deny-read", secret)):
                p = self.run_as(0, ["unshare", "-m", "sh", "-c", script % how, "sh", where, again, *argv],
                                capture_output=True)
                self.assertEqual(p.stdout != "", argv[0] == "cat", (name, p.stderr))

    def test_a_second_mount_of_what_is_locked(self):
        """F-010: a workspace that is mounted in itself, and one by another grant"""
        if os.geteuid() != 0:
            skipped.append("F-010: a second mount of what is locked: not root")
            return
        script = ('mount --bind "$1" "$2" && shift 2 && exec setpriv --reuid "$1" --regid "$1" '
                  '--clear-groups sh -c \'shift; exec "$@"\' sh "$@"')
        for uid in users():
            self.fill(uid)
            subprocess.run(["git", "init", "-q", self.work], check=True)
            subprocess.run(["chown", "-R", str(uid), self.work], check=True)
            for again, options in ((self.work + "/again", []),
                                   (self.outside + "/again", ["--write", self.outside + "/again"])):
                os.makedirs(again, exist_ok=True)
                for name, written in ((".git/config", False), (".envrc", False), ("plain", True)):
                    argv = ["sh", "-c", "echo written > \"$1\"", "sh", again + "/" + name]
                    for bare in (True, False):
                        with open(self.work + "/" + name, "w") as f:
                            f.write("first\n")
                        os.chown(self.work + "/" + name, uid, -1)
                        self.run_as(0, ["unshare", "-m", "sh", "-c", script, "sh", self.work, again, str(uid),
                                        *(argv if bare else self.inside(argv, *options))])
                        with self.subTest(name, uid=uid, bare=bare), open(self.work + "/" + name) as f:
                            self.assertEqual(f.read(), "written\n" if bare or written else "first\n")

    def test_names_that_can_be_spelled_in_two_ways(self):
        """F-010: where the file system takes .ENVRC for .envrc, and the kernel does not know that"""
        if os.geteuid() != 0:
            skipped.append("F-010: a file system that takes two spellings for one: not root")
            return
        where = self.outside + "/case"
        os.makedirs(where, exist_ok=True)
        server = os.path.join(os.path.dirname(os.path.abspath(__file__)), "casefs.py")
        inner = ["sh", "-c", "for f in .git/CONFIG .ENVRC PLAIN; do echo '#written' > $f; done"]
        for uid in users():
            self.fill(uid)
            for argv, want in ((inner, "0 #written #written #written"),
                               (self.inside(inner), "125 #first #first #first"),
                               (self.inside(["true"], "--fs", "strict"), "0 #first #first #first"),
                               (self.inside(inner, "--accept-weaker=spelling"),
                                "0 #written #written #written"),
                               (self.inside(inner, "--accept-weaker=spelling", "--deny-read", "plain"),
                                "125 #first #first #first")):
                p = self.run_as(0, ["unshare", "-m", sys.executable, server, where, str(uid), *argv],
                                capture_output=True)
                if p.returncode == 77:
                    excused.append("F-010: the machine has no FUSE")
                    return
                with self.subTest(argv, uid=uid):
                    self.assertEqual(p.stdout.split("\n")[0], want, p.stderr)

    def automounted(self, uid, argv):
        """What it prints with an automounter at /net of its own; None if there can be none."""
        net = self.outside + "/net"
        os.makedirs(net, exist_ok=True)
        mounter = os.path.join(os.path.dirname(os.path.abspath(__file__)), "automounter.py")
        p = self.run_as(0, ["unshare", "-m", sys.executable, mounter, net, str(uid), *argv],
                        capture_output=True)
        return None if p.returncode == 77 else p.stdout

    def check_what_git_is_led_to(self, uid, net):
        """Names that the command leaves in .git are read outside, at the end."""
        repo = self.work + "/led"
        shutil.rmtree(repo, True)
        lead = ("cd %s && mkdir -p .git/worktrees/a .git/worktrees/b w sub .git/modules/s; N=%s; echo x > "
                ".git/worktrees/a/MERGE_RR; echo $N/host1.x.test/.git > .git/worktrees/a/gitdir; echo gitdir: $N/host2.x.test/d "
                "> w/.git; echo $PWD/w/.git > .git/worktrees/b/gitdir; echo $N/host3.x.test > .git/worktrees/b/commondir; "
                "echo ref: refs/heads/x | tee .git/worktrees/b/HEAD > .git/worktrees/a/HEAD; touch .git/worktrees/b/MERGE_RR; git "
                "update-index --add --cacheinfo 160000,%040d,sub; cp .git/index .git/worktrees/b; echo gitdir: "
                "$N/host4.x.test/d > sub/.git" % (repo, net, 1))
        self.assertEqual(self.run_as(uid, ["git", "init", "-q", repo], capture_output=True).returncode, 0)
        self.assertEqual(self.automounted(uid, self.inside(["sh", "-c", lead], "-C", repo)), "")
        for gone in ("/.git/worktrees/a/gitdir", "/.git/worktrees/b/gitdir", "/sub/.git"):
            self.assertFalse(os.path.lexists(repo + gone), gone)
        for put in ("/.git/sbx-net.away/gitdir", "/sub/.git.sbx-net"):  # the command has made them
            self.assertTrue(os.path.lexists(repo + put), put)

    def test_names_that_an_automounter_is_asked_for(self):
        """N-022: whoever looks a name up at /net has a program outside dial the host of that name"""
        if os.geteuid() != 0:
            skipped.append("N-022: an automounter: not root")
            return
        net = self.outside + "/net"
        tries = ["sh", "-c", "cat %s/known/file; exec 2>/dev/null; stat %s/host1.x.test; ls -d %s/host2.x.test/e; "
                 "cat %s/host3.x.test; true" % (net, net, net, net)]
        for uid in users():
            self.fill(uid)
            bare = self.automounted(uid, tries)
            if bare is None:
                excused.append("N-022: an automounter: the kernel has no autofs")
                return
            self.assertEqual(bare, "known\n" + "".join("asked for host%d.x.test\n" % i for i in (1, 2, 3)))
            for options in ([], ["--fs", "off"], ["--fs", "strict", "--read", net + "/known"],
                            ["--read", net + "/known/file"], ["-C", net + "/known", "--fs", "off"],
                            ["--write", self.outside] if uid == 0 else []):
                self.assertEqual(self.automounted(uid, self.inside(tries, *options)), "known\n", options)
            self.check_what_git_is_led_to(uid, net)
            # the twin: what the user names is there as ever
            named = self.automounted(uid, self.inside(["stat", "-c", "%n", net + "/host"], "--read", net))
            self.assertEqual(named, "asked for host\n")

    def test_a_home_directory_that_is_another_users(self):
        for uid in users():
            self.fill(uid)
            os.chown(self.home, 12345, 12345)
            os.chmod(self.home, 0o700)
            p = self.run_as(uid, self.inside(["true"]), capture_output=True)
            os.chmod(self.home, 0o755)
            self.assertEqual(p.returncode, 0 if uid == 0 else 125, p.stderr)
            self.assertEqual("HOME=" in p.stderr, uid != 0, p.stderr)

    def test_device_nodes_work_in_dev_only(self):
        """X-037: a node of a container's root, or of an old one"""
        node = os.path.join(self.outside, "null")
        try:
            os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        except PermissionError:
            skipped.append("X-037: no device node can be made here")
            return
        for uid in users():
            self.fill(uid)
            for flags in ("0", "1"):
                self.assertEqual(self.outcome(uid, [self.probe, "open", flags, node]), "OK")
                self.assertEqual(self.outcome(uid, self.inside([self.probe, "open", flags, node])),
                                 "EACCES")
                self.assertEqual(self.outcome(uid, self.inside([self.probe, "open", flags,
                                                                "/dev/null"])), "OK")

    def test_terminal_of_another_user_is_refused(self):
        """As after su: it can be written to, and read; and not be opened anew"""
        for uid in users():
            self.fill(uid)
            for owner, want in ((uid, 0), (12345, 0 if uid == 0 else 125)):
                master, slave = pty.openpty()
                os.chown(os.ttyname(slave), owner, -1)
                os.chmod(os.ttyname(slave), 0o620)
                p = subprocess.run(self.inside(["true"]), cwd=self.work, env=self.env(),
                                   stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE,
                                   text=True, timeout=LIMIT, check=False, **self.identity(uid))
                os.close(master)
                os.close(slave)
                self.assertEqual(p.returncode, want, p.stderr)
                if want:
                    self.assertIn("another user", p.stderr)

    READS = """
import os, sys
def no(what, *arguments):
    try:
        what(*arguments)
    except OSError:
        return
    sys.exit("read: %s %s" % (what.__name__, arguments))
os.write(1, b"written ")
os.set_blocking(1, False)
no(os.read, 1, 1)
for path in ("/proc/self/fd/1", "/dev/tty", sys.argv[1]):
    no(os.open, path, os.O_RDONLY)
os.write(1, b"done")
"""

    def test_terminal_of_another_user_is_written_to_and_not_read(self):
        """As after su, in its session: the command is given it for writing alone"""
        for uid in users():
            self.fill(uid)
            master, slave = pty.openpty()
            os.chown(os.ttyname(slave), 12345, -1)
            os.chmod(os.ttyname(slave), 0o620)

            def enter(slave=slave):
                os.setsid()
                fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            p = subprocess.run(self.inside(["/usr/bin/python3", "-c", self.READS, os.ttyname(slave)]),
                               cwd=self.work, env=self.env(), stdin=subprocess.DEVNULL, stdout=slave,
                               stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False,
                               preexec_fn=enter, **self.identity(uid))
            seen = os.read(master, 100)
            os.close(master)
            os.close(slave)
            self.assertEqual((p.returncode, p.stderr), (0, ""))
            self.assertEqual(seen, b"written done")


if __name__ == "__main__":
    main()

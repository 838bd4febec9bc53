#!/usr/bin/python3
"""What people do in a workspace, with placeholders in it: git, copies, archives; nothing stays."""
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from terminal import Terminal  # noqa: E402
from world import WorldCase, main, must_run  # noqa: E402

GIT = "git -c user.name=n -c user.email=e@x.test "
HELD = (".claude", ".mcp.json", ".vscode", ".envrc", ".sbx-net")


def tool(name):
    if shutil.which(name):
        return
    print("SKIP: %s is not installed" % name, file=sys.stderr)
    if must_run():
        raise AssertionError("%s is not installed" % name)
    raise unittest.SkipTest(name + " is not installed")


class Workspace(WorldCase):
    def setUp(self):
        self.dir = self.w.path("ws", self._testMethodName)
        os.mkdir(self.dir)
        os.chown(self.dir, self.w.uid, self.w.uid)

    def host(self, script):
        return self.w.run(["sh", "-ec", script], cwd=self.dir, check=True).stdout

    def sbx(self, script, *options, **kw):
        return self.w.sbx_run(["-C", self.dir, *options], ["sh", "-ec", script], **kw)

    def works(self, script, *options, **kw):
        done = self.sbx(script, *options, **kw)
        self.assertWorks(done)
        return done.stdout

    def assertWorks(self, done):
        """git looks the host's own name up, which is refused, and goes on."""
        said = [x for x in done.stderr.splitlines() if not x.startswith("sbx-net: refused ")]
        self.assertEqual((done.returncode, said), (0, []), done.args)

    def repository(self):
        self.host("git init -q . && echo a > a && mkdir d && echo b > d/b && git add . && " + GIT +
                  "commit -qm first && git init -q --bare ../$(basename $PWD).git && "
                  "git push -q ../$(basename $PWD).git HEAD")

    def names(self):
        return sorted(os.listdir(self.dir))

    # ---- where it lies

    def test_home_behind_a_directory_that_nobody_lists(self):
        """/home may be for root to list. What is in a home is there and its secrets are not."""
        closed = self.w.path("closed")
        home = os.path.join(closed, "home")
        os.makedirs(os.path.join(home, ".ssh"))
        for name in ("plain", ".ssh/id"):
            with open(os.path.join(home, name), "w", encoding="ascii") as f:
                f.write(name + "\n")
        for name in ("", ".ssh", "plain", ".ssh/id"):
            os.chown(os.path.join(home, name), self.w.uid, self.w.uid)
        os.chmod(closed, 0o711)
        env = dict(self.w.env(), HOME=home)
        look = "cat $HOME/plain; cat $HOME/.ssh/id || echo none; ls %s || echo closed" % closed
        bare = self.w.run(["sh", "-c", look], env=env)
        self.assertEqual(bare.stdout, "plain\n.ssh/id\nclosed\n", bare.stderr)
        done = self.sbx(look, env=env)
        self.assertEqual(done.stdout, "plain\nnone\nclosed\n", done.stderr)

    # ---- git

    def test_clone_into_an_empty_directory(self):
        self.repository()
        url = self.dir + ".git"
        empty = self.dir + "-empty"
        os.mkdir(empty)
        os.chown(empty, self.w.uid, self.w.uid)
        done = self.w.sbx_run(["-C", empty], ["git", "clone", "-q", url, "."])
        self.assertWorks(done)
        self.assertEqual(sorted(os.listdir(empty)), [".git", "a", "d"])

    def test_clone_beside_other_files(self):
        self.repository()
        self.works("git clone -q %s.git sub && cat sub/d/b" % self.dir)
        self.assertEqual(self.names(), [".git", "a", "d", "sub"])

    def test_init_where_there_are_files(self):
        self.host("echo a > a")
        out = self.works("git init -q . && git add . && " + GIT + "commit -qm x && git status -s && "
                         "git ls-files")
        self.assertEqual(out, "a\n")
        self.assertEqual(self.names(), [".git", "a"])

    def test_commit_and_branches(self):
        self.repository()
        out = self.works("echo c > c && git add -A && " + GIT + "commit -qm second && "
                         "git checkout -q -b other && git status -s && git log --format=%s && "
                         "git gc -q && git fsck")
        self.assertEqual(out, "second\nfirst\n")
        self.assertEqual(self.host("git ls-files"), "a\nc\nd/b\n")

    def test_what_git_keeps_between_commands(self):
        """Nothing of it is taken away at the end of a run, and nothing is told."""
        self.repository()
        self.host("git remote add r ../$(basename $PWD).git")
        self.works("git checkout -q -b other; echo o > a; " + GIT + "commit -qam other; "
                   "git checkout -q master || git checkout -q main; echo m > a; " + GIT + "commit -qam m; "
                   "echo s >> a; " + GIT + "stash -q; git worktree add -q w other; "
                   "git fetch -q r; git bisect start > /dev/null; "
                   "git notes list; git symbolic-ref refs/heads/alias HEAD")
        self.works("git bisect reset 2> /dev/null; " + GIT + "merge other > /dev/null || :")
        self.works("git status -s | grep -q UU && git merge --abort; "
                   + GIT + "rebase other > /dev/null 2>&1 || :; test -d .git/rebase-merge")
        out = self.host("git rebase --abort && " + GIT + "stash pop -q && cat a && cat w/a && "
                        "git rev-parse --abbrev-ref alias && git remote")
        self.assertEqual(out, "m\ns\no\n%s\nr\n" % self.host("git branch --show-current").strip())

    def test_a_first_checkout_of_a_remote_branch_is_a_whole_one(self):
        """It would set the branch's upstream in the locked configuration, and stop half way."""
        self.repository()
        self.host("git remote add r ../$(basename $PWD).git; git checkout -q -b topic; echo t > t; "
                  "git add t; " + GIT + "commit -qm topic; git push -q r topic; git checkout -q -; "
                  "git branch -qD topic; git fetch -q r")
        done = self.sbx("git checkout -q topic; git branch --show-current", "--env", "GIT_CONFIG_COUNT=0")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("could not lock config file", done.stderr)
        self.host("git checkout -qf HEAD; git branch -qD topic 2>/dev/null || :; rm -f t")
        self.assertEqual(self.works("git checkout -q topic; git branch --show-current; cat t"),
                         "topic\nt\n")
        self.assertEqual(self.host("git status -s"), "")

    # ---- copies and archives

    def copies(self, name, command, read="cat /tmp/x/a /tmp/x/d/b"):
        tool(name)
        self.repository()
        self.assertEqual(self.works(command + " >&2 && " + read), "a\nb\n")
        self.assertEqual(self.names(), [".git", "a", "d"])

    def test_cp_r(self):
        self.copies("cp", "cp -r . /tmp/x")

    def test_cp_a(self):
        self.copies("cp", "cp -a . /tmp/x")

    def test_rsync(self):
        self.copies("rsync", "rsync -a ./ /tmp/x")

    def test_tar(self):
        self.copies("tar", "mkdir /tmp/x && tar cf - . | tar xf - -C /tmp/x")

    def test_zip(self):
        self.copies("zip", "zip -qr /tmp/x.zip .",
                    "python3 -m zipfile -e /tmp/x.zip /tmp/x && cat /tmp/x/a /tmp/x/d/b")

    def test_copytree(self):
        self.copies("python3", "python3 -c 'import shutil; shutil.copytree(\".\", \"/tmp/x\"); "
                    "shutil.make_archive(\"/tmp/y\", \"zip\", \".\")'")

    def test_node(self):
        tool("node")
        if self.w.run(["node", "-e", "0"]).returncode:
            self.skipTest("node does not run here")
        self.copies("node", "node -e 'require(\"fs\").cpSync(\".\", \"/tmp/x\", {recursive: true})'")

    def test_a_copy_can_be_removed(self):
        self.copies("cp", "cp -a . /tmp/x; rm -r /tmp/x; cp -r . /tmp/x")

    # ---- histories

    def secrets_at_home(self):
        """Of programs that have one, each with a line that must not come to light."""
        for name in (".viminfo", ".lesshst", ".python_history", ".bash_history", ".sqlite_history"):
            path = os.path.join(self.w.home, name)
            with open(path, "w", encoding="ascii") as f:
                f.write("secret\n")
            os.chmod(path, 0o600)
            os.chown(path, self.w.uid, self.w.uid)
            self.addCleanup(os.remove, path)

    def test_programs_with_a_history_end_at_once(self):
        """Without a word of what they could not write, and without a key that vim waits for."""
        self.secrets_at_home()
        self.host("seq 100 > lines")
        os.mkdir(self.w.path("root-home"))  # root obeys nothing in another user's
        for argv, first, keys in ((["vim", "new"], "new", "ihello\x1b:wq\r"),
                                  (["less", "lines"], "29", "q"),
                                  (["/usr/bin/python3", "-q"], ">>>", "\x04"),
                                  (["bash", "--norc", "-i"], "$", "exit\r")):
            for uid in (None, 0):
                if not shutil.which(argv[0]) or (uid == 0 and argv[0] != "vim"):
                    continue
                with self.subTest(argv, uid=uid):
                    options = ["-C", self.dir] if uid is None else ["-q"]
                    t = Terminal(self.w, self.w.sbx_argv(options, argv), uid=uid,
                                 env={"HOME": self.w.home if uid is None else self.w.path("root-home")})
                    self.addCleanup(t.close)
                    t.expect(first)
                    t.send(keys)
                    self.assertEqual(t.wait(), 0)
                    self.assertNotRegex(t.plain(), r"E13|Errno|annot|denied|Read-only|secret")

    def test_histories_tell_nothing(self):
        self.secrets_at_home()
        home = self.w.home
        done = self.sbx("cat %s/.[vlpbs]*[oty]" % home)
        self.assertNotIn("secret", done.stdout)
        self.assertIn(".viminfo: Permission denied", done.stderr)
        self.assertNotEqual(self.sbx("chmod 600 %s/.viminfo" % home).returncode, 0)
        self.assertNotEqual(self.sbx("rm %s/.viminfo" % home, "--write", home).returncode, 0)
        self.assertEqual(self.works("cat %s/.viminfo" % home, "--read", home + "/.viminfo"), "secret\n")

    # ---- what lies elsewhere

    OUTSIDE = "sbx-net: if git failed: %s/.git lies outside of the working directory"

    def git_elsewhere(self, where, options):
        """What a run in another directory of the repository says, by its status."""
        script = "echo x > new && git add new && " + GIT + "commit -qm new"
        done = self.w.sbx_run(["-C", where, *options], ["sh", "-ec", script])
        return done.returncode, [x for x in done.stderr.splitlines() if "if git failed" in x]

    def test_git_that_would_write_its_configuration(self):
        """git's own words say that a file exists, which nobody finds."""
        self.repository()
        for script, told in (("git config --local a.b c || exit 128", True), ("git remote add o x", True),
                             ("git status > /dev/null", False), ("exit 1", False), ("exit 255", False),
                             ("curl -s http://evil.example; exit 128", False)):
            done = self.sbx(script)
            said = [x for x in done.stderr.splitlines() if "configuration" in x and "sbx-net: if git" in x]
            self.assertEqual(bool(said), told, (script, done.stderr))
            self.assertEqual("could not lock config file" in done.stderr, told, done.stderr)
        for argv, told in ((["config", "a.b", "c"], True), (["diff", "--quiet", "--no-index", "a", "d/b"], False)):
            done = self.w.sbx_run(["-C", self.dir], ["git", *argv])
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual("do that step outside" in done.stderr, told, done.stderr)
        done = self.w.sbx_run(["-q", "-C", self.dir], ["git", "config", "a.b", "c"])
        self.assertNotIn("sbx-net:", done.stderr)

    def stays_locked(self, where, grant):
        for script in ("echo x > $G/hooks/x", "echo x >> $G/config", "git config a.b c", "echo x > $G/commondir",
                       "mv $G/hooks $G/h", "mv $G $G.x", "rm $G/config", "ln -s /tmp $G/config.worktree"):
            done = self.w.sbx_run(["-C", where, "--env", "G=%s/.git" % self.dir, *grant], ["sh", "-ec", script])
            self.assertNotEqual(done.returncode, 0, script)
        self.assertEqual(self.host("(ls .git/hooks | grep -v sample; git config a.b; ls -d .git/commondir; "
                                   "git fsck) 2>/dev/null || true"), "")

    def test_git_below_the_top_of_its_repository(self):
        self.repository()
        below = self.dir + "/d"
        status, said = self.git_elsewhere(below, [])
        self.assertEqual((status, len(said)), (128, 1))
        self.assertTrue(said[0].startswith(self.OUTSIDE % self.dir), said)
        for remedy in ("start with -C %s, or --write %s/.git opens it" % (self.dir, self.dir),):
            self.assertIn(remedy, said[0])
        self.assertEqual(self.git_elsewhere(below, ["-q"]), (128, []))
        self.assertEqual(self.git_elsewhere(below, ["--write", self.dir + "/.git"]), (0, []))
        self.stays_locked(below, ["--write", self.dir + "/.git"])
        done = self.w.sbx_run(["-C", below], ["sh", "-c", "exit 1"])  # no sign of git
        self.assertEqual((done.returncode, done.stderr), (1, ""))

    def test_git_in_a_linked_working_tree(self):
        self.repository()
        self.host("git worktree add -q ../$(basename $PWD).linked")
        linked = self.dir + ".linked"
        status, said = self.git_elsewhere(linked, [])
        self.assertEqual((status, len(said)), (128, 1))
        self.assertIn("cannot be written; --write %s/.git opens it" % self.dir, said[0])
        self.assertEqual(self.git_elsewhere(linked, ["--write", self.dir + "/.git"]), (0, []))
        self.stays_locked(linked, ["--write", self.dir + "/.git"])

    def test_no_grant_is_proposed_that_a_command_has_made_up(self):
        self.repository()
        fake = self.w.path("ws", "fake")
        os.mkdir(fake)
        os.chown(fake, self.w.uid, self.w.uid)
        self.addCleanup(shutil.rmtree, fake)
        for target in (self.w.home, self.dir + "/.git"):
            with open(fake + "/.git", "w", encoding="ascii") as f:
                f.write("gitdir: %s\n" % target)
            done = self.w.sbx_run(["-C", fake], ["sh", "-c", "exit 128"])
            self.assertEqual((done.returncode, done.stderr), (128, ""))

    def test_root_in_the_checkout_of_another(self):
        """Without capabilities it cannot write there, and the start says what to do."""
        self.host("echo a > a")
        done = self.w.sbx_run(["-C", self.dir], ["touch", "b"], uid=0)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("%s belongs to user %d" % (self.dir, self.w.uid), done.stderr)
        self.assertIn("sudo -H -u '#%d'" % self.w.uid, done.stderr)
        self.assertNotIn("belongs to", self.w.sbx_run(["-q", "-C", self.dir], ["touch", "b"], uid=0).stderr)
        self.assertNotIn("belongs to", self.w.sbx_run(["-C", self.dir], ["touch", "b"]).stderr)
        os.chmod(self.dir, 0o777)
        done = self.w.sbx_run(["-C", self.dir], ["touch", "c"], uid=0)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    # ---- placeholders

    def test_absent_names_cannot_be_made(self):
        self.host("echo a > a")
        for name in HELD:
            with self.subTest(name):
                for script in ("echo x > {0}", "rm -rf {0}; echo x > {0}", "mv {0} y; mkdir {0}",
                               "chmod 755 {0}; echo x > {0}/x", "mv -T a {0}", "ln -sfT a {0}"):
                    done = self.sbx(script.format(name))
                    self.assertNotEqual(done.returncode, 0, script)
                self.assertFalse(os.path.lexists(os.path.join(self.dir, name)))
        self.assertEqual(self.host("cat a"), "a\n")
        self.works("mkdir .other && echo x > .other/x && echo y > .bashrc")  # the twin
        self.assertEqual(self.names(), [".bashrc", ".other", "a"])

    def test_parents_of_what_is_protected_stay(self):
        """At each level: who renames one makes another in its place, with what he likes in it."""
        self.repository()
        self.host(GIT + "init -q ../sub && cd ../sub && echo c > c && git add c && " + GIT + "commit -qm c && cd - &&"
                  "git -c protocol.file.allow=always submodule --quiet add ../sub deep/er/sub && "
                  + GIT + "commit -qm sub && mkdir -p e/f/g free/er && echo x > e/f/g/fixed && echo x > free/er/x")
        rename = "python3 -c 'import os, sys; os.rename(*sys.argv[1:])' %s moved"  # mv(1) would copy
        denied = ("--deny-write", self.dir + "/e/f/g/fixed")
        for path in ("e", "e/f", "e/f/g", "e/f/g/fixed", ".git", ".git/hooks", ".git/modules", ".git/modules/deep",
                     ".git/modules/deep/er", ".git/modules/deep/er/sub", "deep", "deep/er", "deep/er/sub"):
            with self.subTest(path):
                done = self.sbx(rename % path, *denied)
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr, r"\[Errno (16|18|30|1|13)\]")  # EBUSY EXDEV EROFS EPERM EACCES
                self.assertFalse(os.path.exists(self.dir + "/moved"))
        self.works(rename % "free/er" + " && mv moved free/er && " + rename % "free" + " && cat moved/er/x", *denied)
        self.works("mv e e2")  # nothing else has held it

    def envrc_branch(self):
        """A branch with two of the names, and none of them in the working tree."""
        self.repository()
        self.host("git branch -m master; git checkout -qb with && echo e > .envrc && mkdir .vscode && echo v > .vscode/s && "
                  "git add . && " + GIT + "commit -qm names && git checkout -q -")

    def test_a_missing_name_can_be_granted(self):
        """git checkout of a branch that brings it, and of one that takes it away"""
        self.envrc_branch()
        done = self.sbx("git checkout -q with")
        self.assertNotEqual(done.returncode, 0)
        self.assertNotEqual(self.host("git symbolic-ref --short HEAD"), "with\n")
        self.host("git reset -q --hard && git clean -qfd")
        self.sbx("git checkout -q with", "--write", self.dir + "/.envrc")
        self.assertEqual(self.names(), [".envrc", ".git", "a", "d"])  # that one alone
        self.host("git checkout -qf master; git clean -qfd")
        grants = ["--write", self.dir + "/.envrc", "--write", self.dir + "/.vscode/"]
        self.assertEqual(self.works("git checkout -q with && cat .envrc .vscode/s", *grants), "e\nv\n")
        self.assertEqual(self.host("git status --short"), "")
        self.sbx("git checkout -q -")
        self.assertEqual(self.host("cat .envrc .vscode/s"), "e\nv\n")  # they exist: locked
        self.host("git checkout -qf with")
        self.works("git checkout -q - && test ! -e .envrc && git checkout -q with && git checkout -q -", *grants)
        self.assertEqual(self.host("git status --short; ls -A .vscode"), "")  # a grant of its own, it stays
        self.host("rmdir .vscode")
        self.assertEqual(self.names(), [".git", "a", "d"])

    def test_a_grant_of_a_missing_name_opens_that_name_alone(self):
        self.repository()
        grant = ("--write", self.dir + "/.envrc")
        self.assertEqual(self.works("echo x > .envrc; mv .envrc y; mv y .envrc; cat .envrc", *grant), "x\n")
        self.host("rm .envrc")
        for script in ("echo x > .mcp.json", "mkdir .vscode/x", "mv .vscode y", "rmdir .claude",
                       "mkdir .envrc; mv .envrc .claude", "mkdir .envrc; mv -T .envrc .vscode",
                       "ln -s .git/config .envrc; echo x >> .envrc", "echo x > .git/config",
                       "ln .git/config .envrc", "mkdir .envrc; mv .git .envrc/", "echo x > .git/hooks/x"):
            with self.subTest(script):
                self.assertNotEqual(self.sbx(script, *grant).returncode, 0)
                self.host("rm -rf .envrc")
        self.assertEqual(self.names(), [".git", "a", "d"])
        self.assertEqual(self.host("git fsck 2>&1 && git status --short"), "")

    def test_a_missing_name_is_granted_by_settings_and_not_against_a_denial(self):
        self.host("echo a > a")
        settings = self.w.path("unlock.json")
        with open(settings, "w", encoding="ascii") as f:
            f.write('{"filesystem": {"allowWrite": ["%s/.envrc"]}}' % self.dir)
        self.addCleanup(os.remove, settings)
        self.works("echo x > .envrc", "-p", settings)
        self.host("rm .envrc")
        with open(settings, "w", encoding="ascii") as f:
            f.write('{"filesystem": {"allowWrite": ["%s/d/.envrc"]}}' % self.dir)
        done = self.sbx("echo ran", "-p", settings)
        self.assertEqual((done.returncode, done.stdout), (0, "ran\n"))
        self.assertIn("/d/.envrc' does not exist, so nothing is granted there", done.stderr)
        self.assertNotEqual(self.sbx("echo x > .envrc", "--write", self.dir + "/.envrc", "--deny-write",
                                     self.dir + "/.envrc").returncode, 0)
        for other in ("/.envrcs", "/d/.envrc", "/.git/hooks"):  # no name of the table, or not in a root
            done = self.sbx("echo ran", "--write", self.dir + other)
            self.assertEqual((done.returncode, done.stdout), (125, ""))
            self.assertIn("cannot open " + self.dir + other, done.stderr)
        self.assertEqual(self.names(), ["a"])

    def test_an_empty_workspace_is_the_commands_own(self):
        self.works("mkdir .vscode && echo x > .vscode/x && echo y > .envrc")
        self.assertEqual(self.names(), [".envrc", ".vscode"])

    def test_start_up_files_at_home(self):
        home = os.path.join(self.dir, "home")
        self.host("mkdir p home; echo a > p/a; echo own > home/.profile")
        kw = {"env": dict(self.w.env(), HOME=home)}
        options = ("-C", self.dir + "/p", "--write", self.dir)
        for script in ("echo x > ../home/.bashrc", "echo x >> ../home/.profile", "mv ../home ../h",
                       "mv ../home/.profile p", "rm -rf ../home/.zshrc; echo x > ../home/.zshrc",
                       "mkdir ../home/.ssh", "mkdir ../home/.config/sbx-net",
                       "echo x > ../home/.bash_aliases", "mkdir -p ../home/bin && echo x > ../home/bin/ls",
                       "mkdir -p ../home/.config/autostart && echo x > ../home/.config/autostart/x",
                       "mkdir -p ../home/.config/git && echo x > ../home/.config/git/config",
                       "mkdir -p ../home/.local/bin && echo x > ../home/.local/bin/ls",
                       "mv ../home/.config ../home/c && mkdir -p ../home/.config/systemd/user"):
            with self.subTest(script):
                self.assertNotEqual(self.sbx(script, *options, **kw).returncode, 0)
        self.assertEqual(os.listdir(home), [".profile"])
        self.assertEqual(self.host("cat home/.profile"), "own\n")
        self.works("cd ../home && mkdir -p .config/x && touch f && git init -q /tmp/r && "
                   "git -C /tmp/r status -s", *options, **kw)
        self.assertEqual(sorted(os.listdir(home)), [".config", ".profile", "f"])

    # ---- what git is led to

    # Each makes a git command that the user runs outside later run a script in the workspace.
    TRICKS = {
        "hooks of a submodule": "echo '#!/bin/sh\ntouch $M' > .git/modules/lib/sub/hooks/post-checkout; "
                                "chmod +x .git/modules/lib/sub/hooks/post-checkout",
        "configuration of a submodule": "printf '[core]\nfsmonitor = touch $M; false\n' >> "
                                        ".git/modules/lib/sub/config",
        "commondir of a submodule": "cp -r .git/modules/lib/sub x; echo $PWD/x > "
                                    ".git/modules/lib/sub/commondir; printf "
                                    "'[core]\nfsmonitor = touch $M; false\n' >> x/config",
        "the file of a submodule": "cp -r .git/modules/lib/sub x; printf '[core]\nfsmonitor = touch $M; "
                                   "false\nworktree = ../lib/sub\n' >> x/config; "
                                   "echo \"gitdir: ../../x\" > y; mv y lib/sub/.git",
        "the directory of a submodule": "mv lib/sub lib/old && mkdir lib/sub && git init -q lib/sub && "
                                        "cd lib/sub && echo a > a && git add a && git -c user.name=n -c "
                                        "user.email=e@x.test commit -qm x && git config core.fsmonitor "
                                        "'touch $M; false'",
        "a hooks path": "mkdir -p .githooks; echo '#!/bin/sh\ntouch $M' > .githooks/post-checkout; "
                        "chmod +x .githooks/post-checkout",
        "an included file": "printf '[core]\nfsmonitor = touch $M; false\n' >> .gitlocal",
        "what a filter runs": "echo 'touch $M; cat' > tools/clean",
        "where a hook leads": "echo '#!/bin/sh\ntouch $M' > tools/hook",
    }

    def led_repository(self):
        """A repository whose configuration leads into its own working tree."""
        self.repository()
        self.host("""
            git -c protocol.file.allow=always submodule --quiet add --name lib/sub $PWD.git lib/sub
            mkdir tools; echo cat > tools/clean; printf '#!/bin/sh\n' > tools/hook; chmod +x tools/hook
            echo '* filter=f' > .gitattributes
            git config filter.f.clean 'sh ./tools/clean'; git config include.path ../.gitlocal
            ln -s ../../tools/hook .git/hooks/post-commit
            git add .; %scommit -qm led""" % GIT)

    def use_outside(self, hooks):
        """What a user does in a repository, in submodules too. Whether the mark was made."""
        self.host("%s touch lib/sub/a a d/b; git status > /dev/null 2>&1 || :; "
                  "git add a > /dev/null 2>&1 || :; (cd lib/sub && git checkout -q -b new) || :; "
                  "git checkout -q -b new || :; echo z >> a; git add a; %scommit -qm z || :" %
                  ("git config core.hooksPath .githooks;" if hooks else "", GIT))
        return os.path.exists(self.dir + "/../mark")

    def trick(self, name, inside):
        shutil.rmtree(self.dir)
        shutil.rmtree(self.dir + ".git", True)
        os.mkdir(self.dir)
        os.chown(self.dir, self.w.uid, self.w.uid)
        mark = os.path.join(os.path.dirname(self.dir), "mark")
        if os.path.exists(mark):
            os.unlink(mark)
        self.led_repository()
        hooks = name == "a hooks path"
        if hooks:
            self.host("git config core.hooksPath .githooks")
        script = self.TRICKS[name].replace("$M", mark)
        if inside:
            self.sbx(script)
        else:
            self.w.run(["sh", "-c", script], cwd=self.dir)
        return self.use_outside(hooks)

    def test_git_is_led_to_nothing_of_the_commands(self):
        os.chown(os.path.dirname(self.dir), self.w.uid, self.w.uid)
        for name in self.TRICKS:
            with self.subTest(name):
                self.assertTrue(self.trick(name, False), "the trick does not work at all")
                self.assertFalse(self.trick(name, True))

    def test_work_in_a_submodule(self):
        self.led_repository()
        out = self.works("cd lib/sub; echo c > c; git add c; " + GIT + "commit -qm inner; cd ../..; "
                         "git add lib/sub; " + GIT + "commit -qm outer; git log --format=%s -1; "
                         "git -C lib/sub log --format=%s -1; git submodule --quiet foreach pwd | wc -l")
        self.assertEqual(out, "outer\ninner\n1\n")
        self.assertEqual(self.host("git status -s; git fsck"), "")

    def test_more_submodules_than_descriptors(self):
        """What the caller's limit lets be open is enough, and the command gets that limit again."""
        self.repository()
        self.host("for i in $(seq 120); do mkdir -p .git/modules/$i; echo x > .git/modules/$i/HEAD; done")
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
        try:
            out = self.works("ulimit -Sn; for d in .git/modules/*; do "
                             "! (echo x > $d/hooks/x) 2> /dev/null; done; ls .git/modules | wc -l")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.assertEqual(out, "512\n120\n")
        self.assertEqual(self.host("find .git/modules -name hooks"), "")

    # ---- and afterwards

    def start(self, script=":", *options, uid=None):
        proc = self.w.popen(self.w.sbx_argv(["-C", self.dir, *options],
                                            ["sh", "-c", script + "; echo up; sleep 1000"]), uid=uid,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(proc.stdout.close)
        self.assertEqual(proc.stdout.readline(), b"up\n")
        self.assertIn(".claude", self.names())
        return proc

    def await_names(self, want):
        deadline = time.monotonic() + 10
        while self.names() != want and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.names(), want)

    def test_supervisor_killed(self):
        self.host("echo a > a")
        proc = self.start()
        proc.kill()
        proc.wait()
        self.await_names(["a"])

    def test_everything_killed_at_once(self):
        self.host("echo a > a")
        self.kill_all(self.start())
        self.works("test -d .claude")
        self.await_names(["a"])

    def all_names(self):
        """Every name in the workspace, .git included"""
        return sorted(os.path.join(at, name) for at, dirs, files in os.walk(self.dir) for name in dirs + files)

    def test_nothing_stays_whatever_the_umask(self):
        self.repository()
        before = self.all_names()
        for umask in ("000", "022", "027", "077", "0777"):
            with self.subTest(umask):
                argv = self.w.sbx_argv(["-C", self.dir], ["sh", "-ec", "test -e .git/config.lock; test -d .claude"])
                done = self.w.run(["sh", "-c", "umask %s; exec \"$@\"" % umask, "sh", *argv])
                self.assertWorks(done)
                self.await_names([".git", "a", "d"])
                self.assertEqual(self.all_names(), before)

    def test_nothing_stays_whatever_an_access_list_says(self):
        tool("setfacl")
        self.repository()
        self.host("setfacl -d -m u::rwx,g::---,o::--- . .git && chmod g+s . .git")
        before = self.all_names()
        self.works("test -e .git/config.lock && test -d .claude")
        self.await_names([".git", "a", "d"])
        self.assertEqual(self.all_names(), before)
        self.kill_all(self.start())
        self.assertIn(".claude", self.names())
        self.works("true")
        self.await_names([".git", "a", "d"])
        self.assertEqual(self.all_names(), before)

    def kill_all(self, proc):
        for pid in {proc.pid, *self.w.processes(), *self.w.processes_with(self.dir)}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        proc.wait()
        self.assertEqual(self.w.wait_no_processes(), {})

    def test_what_a_run_of_another_user_has_left(self):
        """Root's in a checkout of somebody's, and the other way round"""
        self.repository()
        before = self.all_names()
        for first, second in ((0, None), (None, 0)):
            with self.subTest(first):
                self.kill_all(self.start(uid=first))
                self.assertIn(".claude", self.names())
                self.assertEqual(self.sbx("true", uid=second).returncode, 0)  # root is told whose it is
                self.await_names([".git", "a", "d"])
                self.assertEqual(self.all_names(), before)

    def test_directories_on_the_way_that_a_run_has_left(self):
        self.host("echo a > a")
        options = ["--deny-write", self.dir + "/x/y/z"]
        self.kill_all(self.start("test -d x/y", *options))
        self.assertIn("x", self.names())
        self.works("true", *options)
        self.await_names(["a"])
        # what somebody has put there since is kept
        self.kill_all(self.start("test -d x/y", *options))
        self.host("chmod u+w x/y && echo mine > x/y/mine")
        self.works("true", *options)
        self.await_names(["a", "x"])

    LOCKS = """
import fcntl, os, sys
kind, *dirs = sys.argv[1:]
fds = [os.open(d, os.O_RDONLY) for d in dirs]
while True:
    for fd in fds:
        fcntl.flock(fd, fcntl.LOCK_EX if kind == "ex" else fcntl.LOCK_SH)
    if kind != "flap":
        break
    print("locked", flush=True)
    for _ in range(200000):
        for fd in fds:
            for how in (fcntl.LOCK_SH, fcntl.LOCK_EX):
                try:
                    fcntl.flock(fd, how | fcntl.LOCK_NB)
                except BlockingIOError:
                    pass
print("locked", flush=True)
sys.stdin.read()
"""

    def lock_elsewhere(self, kind):
        """A command of a run in another directory, which may list this one"""
        other = self.w.path("ws", self._testMethodName + "." + kind)
        os.mkdir(other)
        os.chown(other, self.w.uid, self.w.uid)
        proc = self.w.popen(self.w.sbx_argv(["-C", other], ["python3", "-c", self.LOCKS, kind, self.dir,
                                                            self.dir + "/.git"]),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(proc.communicate)
        self.addCleanup(proc.kill)
        self.assertEqual(proc.stdout.readline(), b"locked\n")
        return proc

    def test_a_command_elsewhere_that_has_locked_the_directory(self):
        """It is no run here: nothing stays, and what the user makes next is not taken for a command's"""
        self.repository()
        before = self.all_names()
        self.lock_elsewhere("sh")
        self.works("test -d .claude")
        self.await_names([".git", "a", "d"])
        self.assertEqual(self.all_names(), before)
        self.host("echo mine > .git/NOTES; ln -s NOTES .git/mine")
        self.works("true")
        self.host("test -f .git/NOTES && test -L .git/mine")

    def test_a_command_elsewhere_that_has_locked_it_alone(self):
        self.repository()
        proc = self.lock_elsewhere("ex")
        done = self.sbx("true")
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"cannot lock \S+ to protect what is in it: process \d+ keeps it locked")
        pid = int(done.stderr.partition("process ")[2].split()[0])
        self.assertIn(pid, self.w.processes())
        proc.kill()
        proc.wait()
        self.assertEqual(self.w.wait_no_processes(), {})
        self.works("true")

    def test_a_command_elsewhere_that_takes_every_lock_in_turn(self):
        """A start may be refused, and waits for nobody"""
        self.repository()
        self.kill_all(self.start())
        self.lock_elsewhere("flap")
        begun = time.monotonic()
        for _ in range(20):
            self.assertIn(self.sbx("true").returncode, (0, 125))
        self.assertLess(time.monotonic() - begun, 60)

    def test_supervisor_killed_with_a_link_in_git(self):
        self.repository()
        link = self.dir + "/.git/FETCH_HEAD"
        proc = self.start("ln -s /etc/hosts .git/FETCH_HEAD")
        self.assertTrue(os.path.islink(link))
        proc.kill()
        proc.wait()
        self.await_names([".git", "a", "d"])
        self.assertFalse(os.path.islink(link))

    def test_everything_killed_with_a_link_in_git(self):
        """Nobody is there to remove it; the next run tells, and leaves what may be the user's."""
        self.repository()
        link = self.dir + "/.git/FETCH_HEAD"
        proc = self.start("ln -s /etc/hosts .git/FETCH_HEAD")
        self.kill_all(proc)
        done = self.sbx("true")
        self.assertIn(".git/FETCH_HEAD: a symbolic link", done.stderr)
        self.assertIn("killed with all its processes", done.stderr)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(self.sbx("true").stderr, "")

    def test_links_of_the_users_in_a_hooks_directory_in_git(self):
        """They stay when they come while the run lasts: the command cannot have made them."""
        self.repository()
        self.host("mkdir .git/my .git/other; git config core.hooksPath .git/my")
        proc = self.start("! ln -s /etc/hosts .git/my/theirs && ln -s /etc/hosts .git/other/theirs")
        self.host("ln -s ../../a .git/my/ours")
        proc.terminate()
        proc.wait()
        self.assertEqual(self.host("ls .git/my .git/other"), ".git/my:\nours\n\n.git/other:\n")

    def test_a_lock_that_somebody_takes_away_outside_is_told(self):
        """It cannot be held against that; the twin is every other test, where nothing is said."""
        self.repository()
        self.host("echo export A=1 > .envrc; echo a > .mcp.json")
        write = "echo evil > .envrc && mkdir -p .vscode/x && git config core.pager evil"
        proc = self.w.popen(self.w.sbx_argv(["-C", self.dir], ["sh", "-c", "! (" + write + ") && echo "
                            "up; until test -e go; do sleep 0.05; done; " + write + " && echo done"]),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(proc.stdout.close)
        self.addCleanup(proc.stderr.close)
        self.assertEqual(proc.stdout.readline(), b"up\n")
        self.host("echo b > new; mv new .envrc; rmdir .vscode .idea; rm .git/config.lock; "
                  "git config user.name u; echo c >> .mcp.json; touch go")
        self.assertEqual(proc.stdout.readline(), b"done\n")
        self.assertEqual(proc.wait(), 0)
        told = [x.split(" is not what it was")[0].split("/")[-1]
                for x in proc.stderr.read().decode().splitlines() if "is not what it was" in x]
        self.assertEqual(sorted(told), [".envrc", ".vscode", "config"])

    def test_a_taken_permission_hides_no_lock_that_was_taken_away(self):
        for end, told in (("true", "is not what it was"), ("chmod 000 .", "cannot be looked at")):
            with self.subTest(end):
                self.host("echo export A=1 > .envrc; rm -f go")
                proc = self.w.popen(self.w.sbx_argv(["-C", self.dir], ["sh", "-c", "echo up; until test -e "
                                    "go; do sleep 0.05; done; echo evil > .envrc && " + end]),
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.addCleanup(proc.stdout.close)
                self.addCleanup(proc.stderr.close)
                self.assertEqual(proc.stdout.readline(), b"up\n")
                self.host("echo b > new; mv new .envrc; touch go")
                self.assertEqual(proc.wait(), 0)
                os.chmod(self.dir, 0o755)
                with open(self.dir + "/.envrc") as f:
                    self.assertEqual(f.read(), "evil\n")
                self.assertIn(told, proc.stderr.read().decode())

    def test_what_is_granted_is_not_told_of(self):
        self.host("echo export A=1 > .envrc; mkdir -p .idea")
        for grants in (["--write", self.dir + "/.envrc", "--write", self.dir + "/.idea"], []):
            done = self.w.sbx_run(["-C", self.dir] + grants, ["sh", "-c", "rm -r .envrc .idea && mkdir .envrc .idea"])
            self.assertEqual(done.returncode == 0, grants != [], done.stderr)
            self.assertNotIn("is not what it was", done.stderr)
            self.host("rm -rf .envrc .idea; echo export A=1 > .envrc; mkdir -p .idea")

    def test_two_at_once(self):
        self.host("echo a > a")
        first, second = self.start(), self.start()
        first.terminate()
        first.wait()
        self.assertIn(".claude", self.names())
        second.terminate()
        second.wait()
        self.await_names(["a"])


if __name__ == "__main__":
    main()

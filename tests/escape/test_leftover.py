#!/usr/bin/python3
"""What a command leaves in a repository for git to follow or to run later, outside."""
import os
import shutil
import subprocess

from escapeworld import LIMIT, main, users
from gitworld import AWAY, GIT, REMOVED, GitWorld

# name: what the command does, what its user does later
LINKS = {
    "COMMIT_EDITMSG": ("ln -sf $V .git/COMMIT_EDITMSG", GIT + "commit -q --allow-empty -m new"),
    "configuration": ("ln -sf config .git/COMMIT_EDITMSG", GIT + "commit -q --allow-empty -m new"),
    "FETCH_HEAD": ("ln -sf $V .git/FETCH_HEAD", "git fetch -q . main"),
    "SQUASH_MSG": ("ln -sf $V .git/SQUASH_MSG", GIT + "merge -q --squash other"),
    "MERGE_MSG": ("ln -sf $V .git/MERGE_MSG", GIT + "merge -q --no-commit --no-ff other"),
    "logs/HEAD": ("ln -sf $V .git/logs/HEAD", GIT + "commit -q --allow-empty -m new"),
    "logs": ("rm -r .git/logs; ln -s $D .git/logs", GIT + "commit -q --allow-empty -m new"),
    "logs of branches": ("rm -r .git/logs/refs/heads; ln -s $D .git/logs/refs/heads", "git branch new"),
    "branches": ("ln -s $D .git/refs/heads/d", "git branch d/new"),
    "logs of a branch named as objects are": (
        "git checkout -q -b objects/ab/x; mkdir -p .git/logs/refs/heads/objects/ab; "
        "ln -sf $V .git/logs/refs/heads/objects/ab/x", GIT + "commit -q --allow-empty -m new"),
    "a worktree by the name of a lock file": (
        "mkdir .git/worktrees; ln -s $D '.git/worktrees/.#w'",
        "echo > $D/f; git worktree prune; [ -e $D/f ] || echo gone > $V; rm -f $D/f"),
    "an object": ("f=$(echo new | git hash-object --stdin | sed 's,^..,&/,'); mkdir -p .git/objects/${f%/*}; "
                  "ln -s $V .git/objects/$f", "touch -d 2001-01-01 $V; echo new > n; git add n; "
                  "[ $(stat -c %Y $V) -lt 1000000000 ] || echo later > $V"),
    "a taken permission": ("mkdir .git/logs/refs/d && ln -s $D .git/logs/refs/heads/d && "
                           "chmod 000 .git/logs/refs/heads",
                           "chmod 755 .git/logs/refs/heads && git branch d/new"),
}
TODO = "GIT_SEQUENCE_EDITOR=\"sed -i '1i break\\n%s'\" " + GIT + "rebase -q -i HEAD~1"
BARE = """rm .git/HEAD; cp .git/index .; mkdir objects refs; echo ref: refs/heads/main > HEAD
printf '[core]\nrepositoryformatversion = 0\nbare = false\nworktree = %s\nfsmonitor = touch %s/mark; false\n' $PWD $D > config"""

BARE_BY_COMMONDIR = """rm .git/HEAD; cp .git/index .; mkdir -p z/objects z/refs
echo ref: refs/heads/main > HEAD; echo z > commondir
printf '[core]\nrepositoryformatversion = 1\nbare = false\nfsmonitor = touch %s/mark; false\n[extensions]\nworktreeConfig = true\n' $D > z/config
printf '[core]\nbare = false\nworktree = %s\n' $PWD > config.worktree"""


# an index with whatever names, each with a blob
INDEX = r"""import hashlib, struct, sys
names = sorted((path.encode(), blob) for path, blob in zip(sys.argv[1::2], sys.argv[2::2]))
data = b"DIRC" + struct.pack(">II", 2, len(names))
for name, blob in names:
    entry = bytes(24) + struct.pack(">I", 0o100755)
    entry += bytes(12) + bytes.fromhex(blob) + struct.pack(">H", len(name)) + name
    data += entry + bytes(8 - len(entry) % 8)
with open(".git/index", "wb") as f:
    f.write(data + hashlib.sha1(data).digest())
"""


class Leftover(GitWorld):
    def try_link(self, uid, name, bare):
        by_command, by_user = LINKS[name]
        self.repository(uid)
        done = self.command(uid, by_command, bare)
        self.assertEqual(done.returncode, 0, done.stderr)
        if not bare:
            self.assertIn(REMOVED, done.stderr)
        self.host(uid, by_user, check=bare and name != "configuration")
        return self.harm()

    def test_links_in_git_are_not_followed_later(self):
        for uid in users():
            for name in LINKS:
                with self.subTest(uid=uid, name=name):
                    self.assertTrue(self.try_link(uid, name, True), "the trick does not work at all")
                    self.assertFalse(self.try_link(uid, name, False))

    # what the first run does, and the second when the first has ended
    OVERLAPS = {
        "made again": ("ln -sf $V .git/COMMIT_EDITMSG", "", "ln -sf $V .git/COMMIT_EDITMSG"),
        "moved away meanwhile": ("ln -sf $V .git/logs/HEAD", "mv .git/logs kept", "mv kept .git/logs"),
    }

    def start(self, uid, text, bare):
        argv = ["sh", "-c", self.script(text)]
        p = subprocess.Popen(argv if bare else self.inside(argv, "-C", self.repo), cwd=self.work,
                             env=self.env(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             **self.identity(uid))
        self.addCleanup(p.stderr.close)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        return p

    def overlap(self, uid, name, bare):
        wait = "; while [ ! -e %s ]; do sleep .02; done; "
        made, meanwhile, again = self.OVERLAPS[name]
        self.repository(uid)
        first = self.start(uid, made + "; touch first" + wait % "second" + "true", bare)
        self.wait_for(lambda: os.path.exists(self.repo + "/first"))
        second = self.start(uid, (meanwhile or "true") + "; touch second" + wait % "ended" + again, bare)
        first.communicate(timeout=LIMIT)
        with open(self.repo + "/ended", "w"):
            pass
        told = second.communicate(timeout=LIMIT)[1]
        self.assertEqual((second.returncode, REMOVED in told), (0, not bare), told)
        self.host(uid, GIT + "commit -q --allow-empty -m new")
        return self.harm()

    def test_two_runs_at_once_leave_no_link(self):
        for uid in users():
            for name in self.OVERLAPS:
                with self.subTest(uid=uid, name=name):
                    self.assertTrue(self.overlap(uid, name, True))
                    self.assertFalse(self.overlap(uid, name, False))

    def test_links_of_the_users_own_stay(self):
        for uid in users():
            self.repository(uid)
            self.host(uid, "ln -sf $V .git/COMMIT_EDITMSG; ln -sf $V .git/info/exclude")
            done = self.command(uid, "echo d > d && git add d && git status -s")
            self.assertEqual((done.stdout, done.stderr), ("A  d\n", ""))
            self.assertTrue(os.path.islink(self.repo + "/.git/COMMIT_EDITMSG"))
            self.assertTrue(os.path.islink(self.repo + "/.git/info/exclude"))
            self.assertFalse(self.harm())

    def test_lines_of_a_rebase_are_not_run_later(self):
        for uid in users():
            for bare in (True, False):
                self.repository(uid)
                done = self.command(uid, TODO % "exec touch $D/mark", bare)
                self.assertEqual("git rebase --continue" in done.stderr, not bare, done.stderr)
                self.host(uid, GIT + "rebase --continue")
                self.assertEqual(os.listdir(self.dir), ["mark"] if bare else [])
                self.assertEqual(self.host(uid, "git log --format=%s").stdout, "three\none\n")
            # the twin: what the user has begun goes on
            self.repository(uid)
            self.host(uid, TODO % "exec touch $D/mark")
            self.assertEqual(self.command(uid, "git status -s").stderr, "")
            self.host(uid, GIT + "rebase --continue")
            self.assertEqual(os.listdir(self.dir), ["mark"])

    # git-merge-STRATEGY with a slash in it is a path in the working tree
    EVIL = ("mkdir git-merge-x; printf '#!/bin/sh\\ntouch %s/mark\\n' $D > evil; chmod +x evil; ")
    STRATEGIES = {
        "rebase": (EVIL + "GIT_SEQUENCE_EDITOR=\"sed -i '1i break'\" " + GIT + "rebase -q -i other && "
                   "echo x/../evil > .git/rebase-merge/strategy", "rebase"),
        "cherry-pick": (EVIL + "cd .git; mkdir sequencer; git rev-parse HEAD | tee sequencer/head > "
                        "sequencer/abort-safety; printf '[options]\\nstrategy = x/../evil\\n' > "
                        "sequencer/opts; printf 'pick %s x\\npick %s x\\n' $(git rev-parse main other) > "
                        "sequencer/todo", "cherry-pick"),
    }

    # hidden by its size: git takes what stands before the first zero byte, or all of it
    STRATEGIES["a large rebase"] = (
        STRATEGIES["rebase"][0].replace("echo x/../evil >", "printf 'x/../evil\\0' >") +
        "; truncate -s 5M .git/rebase-merge/strategy", "rebase")
    STRATEGIES["a large cherry-pick"] = (
        STRATEGIES["cherry-pick"][0] + "; yes '##################' | head -c 5000000 >> sequencer/opts",
        "cherry-pick")
    STRATEGIES["several headers"] = (
        STRATEGIES["cherry-pick"][0].replace("[options]\\n", "[a][options]"), "cherry-pick")

    def test_no_program_of_the_commands_is_a_strategy(self):
        for uid in users():
            for name, (script, verb) in self.STRATEGIES.items():
                for bare in (True, False):
                    with self.subTest(uid=uid, name=name, bare=bare):
                        self.repository(uid)
                        done = self.command(uid, script, bare)
                        self.assertEqual(AWAY in done.stderr, not bare, done.stderr)
                        self.host(uid, GIT + verb + " --continue", check=False)
                        self.assertEqual(os.listdir(self.dir), ["mark"] if bare else [])

    def test_no_other_program_of_gits_is_a_strategy(self):
        """git-merge-file writes to the file that its first argument leads to."""
        script = ("GIT_SEQUENCE_EDITOR=\"sed -i '1i break'\" " + GIT + "rebase -q -i other && "
                  "echo file > .git/rebase-merge/strategy; ln -s $V $(git rev-parse main^); "
                  "ln -s $V $(git rev-parse HEAD); echo owned > $(git rev-parse main)")
        for uid in users():
            for bare in (True, False):
                self.repository(uid)
                done = self.command(uid, script, bare)
                self.assertEqual("a program of this name" in done.stderr, not bare, done.stderr)
                self.host(uid, GIT + "rebase --continue", check=False)
                self.assertEqual(self.harm(), bare)

    def test_options_of_git_am_write_no_file(self):
        script = ("git format-patch -q -1 other --stdout > p; printf x > b; ! " + GIT + "am p > am.log "
                  "2>&1; rm -f b; printf \" '--build-fake-ancestor=$V'\" > .git/rebase-apply/apply-opt; "
                  "echo 1 > .git/rebase-apply/next; echo 2 > .git/rebase-apply/last; "
                  "cp .git/rebase-apply/0001 .git/rebase-apply/0002; echo c2 > c2; git add c2")
        for uid in users():
            for bare in (True, False):
                self.repository(uid)
                done = self.command(uid, script, bare)
                self.assertEqual("git would pass options" in done.stderr, not bare, done.stderr)
                self.host(uid, GIT + "am --continue", check=False)
                self.assertEqual(self.harm(), bare)

    def test_a_prompt_runs_nothing_of_the_commands(self):
        """git's prompt puts what these files say into PS1, which bash expands."""
        where = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True)
        script = where.stdout.strip() + "/git-sh-prompt"
        if not os.path.exists(script):
            self.skipTest("git's prompt is elsewhere")
        shown = "bash -c '. %s; __git_ps1 x y; printf %%s \"${PS1@P}\"'" % script
        for uid in users():
            for name, other in (("rebase-merge/msgnum", "rebase-merge/end"),
                                ("rebase-merge/end", "rebase-merge/msgnum"),
                                ("rebase-apply/next", "rebase-apply/last"),
                                ("rebase-apply/last", "rebase-apply/next")):
                for bare in (True, False):
                    with self.subTest(uid=uid, name=name, bare=bare):
                        self.repository(uid)
                        done = self.command(
                            uid, "cd .git; mkdir %s; echo 1 > %s; echo \"\\$(touch $D/mark)\" > %s" % (
                                os.path.dirname(name), other, name), bare)
                        self.assertEqual(AWAY in done.stderr, not bare, done.stderr)
                        self.assertIn("REBASE", self.host(uid, shown).stdout)
                        self.assertEqual(os.listdir(self.dir), ["mark"] if bare else [])

    def test_a_prompt_of_zsh_writes_nothing_of_the_commands(self):
        """vcs_info hands git log the words of a file, which may be options."""
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        script = "mkdir .git/rebase-apply; cd .git/rebase-apply; echo 1 > next; echo --output=$V > rewritten"
        for uid in users():
            for bare in (True, False):
                with self.subTest(uid=uid, bare=bare):
                    self.repository(uid)
                    done = self.command(uid, script, bare)
                    self.assertEqual(AWAY in done.stderr, not bare, done.stderr)
                    shown = self.host(uid, "zsh -f -c 'autoload -Uz vcs_info; vcs_info; "
                                      "print -r -- \"$vcs_info_msg_0_\"'")
                    self.assertIn("am/rebase", shown.stdout)
                    self.assertEqual(self.harm(), bare)

    def test_removing_a_worktree_runs_nothing_of_the_commands(self):
        """git worktree remove, in the main working tree, has git status look at the other one."""
        add = "git worktree add -q wt other"
        evil = ("; mkdir evil; cp -r .git/objects .git/refs .git/HEAD evil; printf '[core]\\n"
                "repositoryformatversion = 0\\nfsmonitor = touch %s/mark; false\\n' $D > evil/config; "
                "echo $PWD/evil > .git/worktrees/wt/commondir")
        for uid in users():
            for bare in (True, False):
                with self.subTest(uid=uid, bare=bare):
                    self.repository(uid)
                    done = self.command(uid, add + evil, bare)
                    self.assertEqual("'git worktree remove' would obey" in done.stderr, not bare, done.stderr)
                    self.host(uid, "git worktree remove wt", check=False)
                    self.assertEqual(os.listdir(self.dir), ["mark"] if bare else [])
            # the twin: what git makes stays
            self.repository(uid)
            self.assertEqual(self.command(uid, add).stderr, "")
            self.host(uid, "git worktree remove wt")

    def test_the_web_server_is_none_of_the_commands(self):
        """git instaweb --start runs a server that is there, if its configuration is there too."""
        where = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True)
        if not os.path.exists(where.stdout.strip() + "/git-instaweb"):
            self.skipTest("no git instaweb")
        script = ("mkdir -p .git/gitweb/webrick; : > .git/gitweb/webrick.conf; cd .git/gitweb; "
                  "printf '#!/bin/sh\\ntouch %s/mark\\n' $D > webrick.rb; chmod +x webrick.rb")
        for uid in users():
            for bare in (True, False):
                with self.subTest(uid=uid, bare=bare):
                    self.repository(uid)
                    done = self.command(uid, script, bare)
                    self.assertEqual(done.returncode == 0, bare, done.stderr)
                    if bare:
                        self.host(uid, "timeout 10 git instaweb -d webrick -b true --start", check=False)
                    self.assertEqual(os.listdir(self.dir), ["mark"] if bare else [])
                    self.assertEqual(os.path.exists(self.repo + "/.git/gitweb"), bare)

    def test_repairing_worktrees_writes_nothing_elsewhere(self):
        script = ("mkdir -p .git/worktrees/x; cd .git/worktrees/x; echo $D/.git > gitdir; echo ../.. > "
                  "commondir; cp ../../HEAD .")
        for uid in users():
            for bare in (True, False):
                with self.subTest(uid=uid, bare=bare):
                    self.repository(uid)
                    done = self.command(uid, script, bare)
                    self.assertEqual("'git worktree repair' would" in done.stderr, not bare, done.stderr)
                    self.host(uid, "git worktree repair")
                    self.assertEqual(os.listdir(self.dir), [".git"] if bare else [])

    def test_a_place_that_is_missing_leads_nowhere_later(self):
        """One run leaves a linked worktree without its directory, the next one a link in that place."""
        for uid in users():
            for bare in (True, False):
                with self.subTest(uid=uid, bare=bare):
                    self.repository(uid)
                    done = self.command(uid, "git worktree add -q w other; rm -rf w", bare)
                    self.assertEqual("'git worktree repair' would" in done.stderr, not bare, done.stderr)
                    self.command(uid, "ln -s $D w", bare)
                    self.host(uid, "git worktree repair; touch $D/own; git worktree remove --force w || true")
                    self.assertEqual(os.listdir(self.dir), [] if bare else ["own"])

    def test_two_runs_do_not_make_a_line_the_users(self):
        for uid in users():
            for bare in (True, False):
                self.repository(uid)
                self.command(uid, TODO % "break" + "; echo \"exec touch $D/mark\" >> "
                             ".git/rebase-merge/done", bare)
                self.command(uid, "echo \"exec touch $D/mark\" >> .git/rebase-merge/git-rebase-todo", bare)
                self.host(uid, GIT + "rebase --continue; " + GIT + "rebase --continue", check=False)
                self.assertEqual(os.listdir(self.dir), ["mark"] if bare else [])

    def test_git_copies_no_secret_into_the_repository(self):
        """What is kept of a conflict: the next commit copies the file, and a later run could read it."""
        for uid in users():
            secret = self.home + "/.ssh/id_rsa"
            for how in ("", "ln -s %s s; " % secret, "ln -s %s d; " % os.path.dirname(secret)):
                path = {"": secret, "s": "s", "d": "d/id_rsa"}[how[-4:-2].strip() if how else ""]
                for bare in (True, False):
                    with self.subTest(uid=uid, path=path, bare=bare):
                        self.repository(uid)
                        done = self.command(uid, how + "n=%040d; mkdir -p .git/rr-cache/$n; "
                                            "touch .git/rr-cache/$n/preimage; "
                                            "printf '%%s\\t%s\\0' $n > .git/MERGE_RR" % (1, path), bare)
                        self.assertEqual(AWAY in done.stderr, not bare, done.stderr)
                        self.host(uid, GIT + "commit -q --allow-empty -m new")
                        got = self.host(uid, "cat .git/rr-cache/*/postimage", check=False).stdout
                        self.assertEqual(got, "canary\n" if bare else "")

    def write_index(self, uid, names, bare):
        with open(self.repo + "/index.py", "w") as f:
            f.write(INDEX)
        return self.command(uid, "echo owned > owned; B=$(git hash-object -w owned); python3 index.py %s" % names, bare)

    def test_no_name_in_the_index_leads_elsewhere(self):
        """To throw away what the command has done is the first that many a user does."""
        for uid in users():
            for later in ("git checkout -q .", "git restore ."):
                for bare in (True, False):
                    with self.subTest(uid=uid, later=later, bare=bare):
                        self.repository(uid)
                        self.host(uid, "rm $V")
                        done = self.write_index(uid, "../../../..$V $B $D/mark $B .git/hooks/post-merge $B", bare)
                        self.assertEqual((done.returncode, AWAY in done.stderr), (0, not bare), done.stderr)
                        self.host(uid, later, check=bare)
                        hook = self.repo + "/.git/hooks/post-merge"
                        self.assertEqual([os.path.exists(p) for p in (self.victim, self.dir + "/mark", hook)],
                                         [bare] * 3)

    def test_git_commits_no_secret_by_the_index(self):
        """A later run could read what git commit -a has taken from elsewhere."""
        for uid in users():
            for bare in (True, False):
                self.repository(uid)
                done = self.write_index(uid, "%s/.ssh/id_rsa $B" % self.home, bare)
                self.assertEqual((done.returncode, AWAY in done.stderr), (0, not bare), done.stderr)
                self.host(uid, GIT + "commit -q -a -m new", check=False)
                got = self.host(uid, "git cat-file blob $(echo canary | git hash-object --stdin)", check=False)
                self.assertEqual(got.stdout, "canary\n" if bare else "")

    # a repository in a directory, known to the index; git status outside looks into it
    FSMONITOR = "printf '[core]\\nfsmonitor = touch %s/mark; false\\n' $D >> "
    REPOSITORY = "git init -q %s; " + GIT + "-C %s commit -q --allow-empty -m x; "
    KNOWN = REPOSITORY % (("sub",) * 2) + "git add sub; "
    SPARSE = ("mkdir d k; touch d/f k/f; git add .; " + GIT + "commit -qm s; git sparse-checkout init --cone "
              "--sparse-index; git sparse-checkout set k")
    # the object of a directory that the index leaves out becomes another one
    SWAP = ("T=$(printf '160000 commit %s\\tsub\\n' $(git -C d/sub rev-parse HEAD) | git mktree --missing); "
            "python3 -c \"import hashlib, sys; o, t = [bytes.fromhex(x) for x in sys.argv[1:]]; "
            "d = open('.git/index', 'rb').read()[:-20].replace(o, t); "
            "open('.git/index', 'wb').write(d + hashlib.sha1(d).digest())\" $(git rev-parse HEAD:d) $T; ")
    LOOKED_INTO = {  # what the user has done, the command, and where the .git is afterwards
        "new": ("true", KNOWN + FSMONITOR + "sub/.git/config", "sub"),
        "deeper": ("true", REPOSITORY % (("p/b",) * 2) + "git add p/b; " + FSMONITOR + "p/b/.git/config", "p/b"),
        "missing": (KNOWN + "rm -rf sub/.git; " + GIT + "commit -qm sub", REPOSITORY % (("sub",) * 2) +
                    FSMONITOR + "sub/.git/config", "sub"),
        "a file": ("true", "git init -q --separate-git-dir=elsewhere sub; " + GIT + "-C sub commit -q --allow-empty "
                   "-m x; git add sub; " + FSMONITOR + "elsewhere/config", "sub"),
        "split": ("git config core.splitIndex true", KNOWN + "git update-index --split-index; git -C sub checkout -q "
                  "--orphan o; " + GIT + "-C sub commit -q --allow-empty -m y; git add sub; " +
                  FSMONITOR + "sub/.git/config", "sub"),
        "sparse": (SPARSE, REPOSITORY % (("d/sub",) * 2) + SWAP + FSMONITOR + "d/sub/.git/config", "d/sub"),
        "a git directory elsewhere": ("mv .git .repo; echo gitdir: .repo > .git; echo /.repo > .repo/info/exclude",
                                      KNOWN + FSMONITOR + "sub/.git/config", "sub"),
        "a git directory by a link": ("mv .git real; ln -s real .git; echo /real > real/info/exclude", KNOWN +
                                      FSMONITOR + "sub/.git/config", "sub"),
        "a working tree by configuration": (
            "mkdir src; git config core.worktree ../src", REPOSITORY % (("src/sub",) * 2) + "git --git-dir=.git "
            "--work-tree=src add sub; " + FSMONITOR + "src/sub/.git/config", "src/sub"),
        "a submodule with a configuration of its own": (
            "git init -q $D/../s; cd $D/../s; mkdir d; touch x d/y; git add .; " + GIT + "commit -qm s; cd $OLDPWD; git -c "
            "protocol.file.allow=always submodule --quiet add $D/../s s; rm -rf $D/../s; " + GIT + "commit -qm s; cd s; "
            "git sparse-checkout init --cone; git sparse-checkout set d", "cd s; " + REPOSITORY % (("d/sub",) * 2) +
            "git add d/sub; " + FSMONITOR + "d/sub/.git/config", "s/d/sub"),
        "a taken permission": ("true", KNOWN + FSMONITOR + "sub/.git/config; chmod 555 sub", "sub"),
    }

    def test_git_looks_into_no_repository_of_the_commands(self):
        """As a shell's prompt has it do, right after the run."""
        for uid in users():
            for name, (before, script, sub) in self.LOOKED_INTO.items():
                for bare in (True, False):
                    with self.subTest(uid=uid, name=name, bare=bare):
                        self.repository(uid)
                        self.host(uid, before)
                        done = self.command(uid, "(" + script + ") 2>/dev/null", bare)
                        self.assertEqual((done.returncode, "obey its configuration" in done.stderr),
                                         (0, not bare), done.stderr)
                        self.host(uid, "git status")
                        self.assertEqual(os.listdir(self.dir), ["mark"] if bare else [])
                        kept = "/.git" if bare else "/.git.sbx-net"
                        self.assertTrue(os.path.exists(self.repo + "/" + sub + kept))

    def test_nothing_is_renamed_out_of_the_commands_reach(self):
        """What looks after .git at the end has more rights than the command, which writes the index."""
        for uid in users():
            self.repository(uid)
            self.host(uid, "git worktree add -q -b new $D/wt; " + self.REPOSITORY % (("$D/wt/x",) * 2))
            done = self.command(uid, "GIT_INDEX_FILE=.git/worktrees/wt/index git update-index --add --cacheinfo "
                                "160000,$(git rev-parse HEAD),x")
            self.assertIn(AWAY, done.stderr)
            self.assertEqual(self.host(uid, "git -C $D/wt/x log --format=%s").stdout, "x\n")
            self.assertNotIn("x", self.host(uid, "cd $D/wt; git reset -q; git ls-files").stdout.split())

    def test_a_repository_that_cannot_be_looked_at_is_left_alone(self):
        """Not by an earlier command either: at the start it is the user's, whatever its permissions."""
        for uid in users():
            self.repository(uid)
            self.host(uid, self.KNOWN + "chmod 0 sub")
            done = self.command(uid, "true")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("sub", done.stderr)
            self.host(uid, "chmod 700 sub; ls -d sub/.git")

    def test_a_repository_of_the_users_is_locked(self):
        """One that is in the index at the start: its configuration stays, and git works in it."""
        for uid in users():
            for before in (self.KNOWN, "git init -q --separate-git-dir=elsewhere sub; " + GIT +
                           "-C sub commit -q --allow-empty -m x; git add sub"):
                for bare in (True, False):
                    self.repository(uid)
                    self.host(uid, before)
                    done = self.command(uid, "cd sub; " + GIT + "commit -q --allow-empty -m more; touch done; "
                                        "D=$D; c=$(git rev-parse --git-dir)/config; " + self.FSMONITOR + "$c", bare)
                    self.assertTrue(os.path.exists(self.repo + "/sub/done"), done.stderr)
                    self.assertNotIn("sbx-net", done.stderr)
                    self.host(uid, "git status")
                    self.assertEqual(os.listdir(self.dir), ["mark"] if bare else [])
                    self.assertEqual(self.host(uid, "git -C sub log -1 --format=%s").stdout, "more\n")

    # what git itself makes of an index, and of the configuration that it does so by
    INDICES = {
        "version 4": ("git config index.version 4; git config index.threads 4", ""),
        "split": ("git config core.splitIndex true", "git update-index --split-index; ls .git/sharedindex.*; "),
        "split, with a repository": ("git config core.splitIndex true; " + KNOWN + GIT + "commit -qm sub", ""),
        "sparse": ("git sparse-checkout init --cone --sparse-index; git sparse-checkout set many/1", ""),
        "SHA-256": ("rm -rf .git; git init -q --object-format=sha256; git add .; " + GIT + "commit -qm one", ""),
    }

    def test_an_index_of_gits_own_stays(self):
        for uid in users():
            for name, (before, inside) in self.INDICES.items():
                with self.subTest(uid=uid, name=name):
                    self.repository(uid)
                    self.host(uid, "mkdir -p many/1 many/2; touch many/1/a many/1/ab many/2/a; git add .; " +
                              GIT + "commit -qm four; " + before)
                    done = self.command(uid, "git status -s; %secho d > many/1/d; git add .; git mv a aa; %s"
                                        "commit -q -m five; echo e >> many/1/d; git add ." % (inside, GIT))
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(self.host(uid, "git status -s").stdout, "M  many/1/d\n")

    def test_the_next_commit_brings_no_stash_of_the_commands(self):
        for uid in users():
            for bare in (True, False):
                self.repository(uid)
                done = self.command(uid, "B=$(echo owned | git hash-object -w --stdin); "
                                    "export GIT_INDEX_FILE=.git/i; git read-tree HEAD; "
                                    "git update-index --add --cacheinfo 100644,$B,.envrc; T=$(git write-tree); "
                                    "I=$(" + GIT + "commit-tree -p HEAD -m i HEAD^{tree}); " + GIT +
                                    "commit-tree -p HEAD -p $I -m w $T > .git/MERGE_AUTOSTASH", bare)
                self.assertEqual((done.returncode, AWAY in done.stderr), (0, not bare), done.stderr)
                self.host(uid, GIT + "commit -q --allow-empty -m new")
                self.assertEqual(os.path.exists(self.repo + "/.envrc"), bare)

    def test_git_stash_takes_no_file_of_the_commands(self):
        """git adds files to an index by the number of its process, whatever is in that already."""
        plant = ("B=$(echo evil | git hash-object -w --stdin); GIT_INDEX_FILE=.git/i git update-index --add "
                 "--cacheinfo 100755,$B,.envrc; python3 -c 'import os\nfor i in range(65536): "
                 "os.link(\".git/i\", \".git/index.stash.%d\" % i)' || true; rm .git/i")
        for uid in users()[-1:]:  # 32,768 files
            for bare in (True, False):
                self.repository(uid)
                done = self.command(uid, plant, bare)
                self.assertEqual((done.returncode, AWAY in done.stderr), (0, not bare), done.stderr)
                self.host(uid, "echo mine > mine; %s stash -qu; git stash pop -q" % GIT)
                self.assertEqual(os.path.exists(self.repo + "/.envrc"), bare)

    def test_a_resolution_of_the_users_own_is_kept(self):
        for uid in users():
            self.repository(uid)
            self.host(uid, "git config rerere.enabled true; git checkout -q other; echo o > c; git add c; "
                      + GIT + "commit -qm o; ! " + GIT + "merge -q main > /dev/null 2>&1")
            self.assertEqual(self.command(uid, "echo merged > c && git add c").stderr, "")
            done = self.host(uid, GIT + "commit -qm merged")
            self.assertIn("Recorded resolution for 'c'", done.stderr)

    def test_a_resolution_in_a_linked_worktree_is_kept(self):
        for uid in users():
            self.repository(uid)
            self.host(uid, "git config rerere.enabled true; git worktree add -q -b wt wtree other; cd wtree; "
                      "echo o > c; git add c; " + GIT + "commit -qm o; ! " + GIT + "merge -q main > "
                      "/dev/null 2>&1; grep -q . ../.git/worktrees/wtree/MERGE_RR")
            self.assertEqual(self.command(uid, "cd wtree; echo merged > c && git add c").stderr, "")
            done = self.host(uid, "cd wtree; " + GIT + "commit -qm merged")
            self.assertIn("Recorded resolution for 'c'", done.stderr)

    def test_a_rebase_of_the_commands_goes_on_later(self):
        for uid in users():
            self.repository(uid)
            done = self.command(uid, TODO % "break")
            self.assertEqual((done.returncode, "sbx-net" in done.stderr), (0, False), done.stderr)
            self.host(uid, GIT + "rebase --continue && " + GIT + "rebase --continue")
            self.assertEqual(self.host(uid, "git status -s && git log --format=%s").stdout,
                             "three\none\n")

    def test_the_workspace_does_not_become_a_repository(self):
        for uid, script in ((u, s) for u in users() for s in (BARE, BARE_BY_COMMONDIR)):
            for bare in (True, False):
                self.repository(uid)
                done = self.command(uid, script, bare)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual("makes a repository" in done.stderr, not bare)
                self.host(uid, "git status", check=False)
                self.assertEqual(os.listdir(self.dir), ["mark"] if bare else [])

    def test_hooks_of_the_repository_around_are_not_the_commands(self):
        """The workspace is one directory of it."""
        script = "printf '#!/bin/sh\\ntouch %s/mark\\n' $D > app/.husky/pre-commit"
        for uid in users():
            for bare in (True, False):
                self.repository(uid)
                self.host(uid, "mkdir -p app/.husky && printf '#!/bin/sh\nexit 0\n' > app/.husky/pre-commit "
                          "&& chmod +x app/.husky/pre-commit && git config core.hooksPath app/.husky")
                argv = ["sh", "-c", self.script(script + "; touch app/done")]
                done = self.run_as(uid, argv if bare else self.inside(argv, "-C", self.repo + "/app"),
                                   capture_output=True)
                self.assertTrue(os.path.exists(self.repo + "/app/done"), done.stderr)
                self.host(uid, GIT + "commit -q --allow-empty -m new")
                self.assertEqual(os.listdir(self.dir), ["mark"] if bare else [])

    def test_programs_in_command_lines_are_not_the_commands(self):
        for uid in users():
            for value in ("./fm.sh;false", "FOO=1 ./fm.sh", "$(git rev-parse --show-toplevel)/fm.sh"):
                for bare in (True, False):
                    with self.subTest(uid=uid, value=value, bare=bare):
                        self.repository(uid)
                        self.host(uid, "printf '#!/bin/sh\n' > fm.sh; chmod +x fm.sh; "
                                  "git config core.fsmonitor '%s'" % value)
                        done = self.command(uid, "touch done; printf '#!/bin/sh\\ntouch %s/mark\\n' $D > fm.sh",
                                            bare)
                        self.assertTrue(os.path.exists(self.repo + "/done"), done.stderr)
                        self.host(uid, "git status")
                        self.assertEqual(os.listdir(self.dir), ["mark"] if bare else [])

    def test_hooks_of_a_remote_in_the_workspace_are_not_the_commands(self):
        for uid in users():
            for url in ("./r.git", "file://$PWD/r.git"):
                for bare in (True, False):
                    self.repository(uid)
                    self.host(uid, "git init -q --bare r.git; git remote add origin " + url)
                    self.command(uid, "touch done; printf '#!/bin/sh\\ntouch %s/mark\\n' $D > r.git/hooks/post-receive; "
                                 "chmod +x r.git/hooks/post-receive", bare)
                    self.assertTrue(os.path.exists(self.repo + "/done"))
                    self.host(uid, "git push -q origin main")
                    self.assertEqual(os.listdir(self.dir), ["mark"] if bare else [])

    def test_remotes_of_old_are_not_the_commands_to_name(self):
        for uid in users():
            for kind, text in (("remotes", "URL: $D/r.git"), ("branches", "$D/r.git")):
                for bare in (True, False):
                    self.repository(uid)
                    self.host(uid, "git init -q --bare $D/r.git")
                    done = self.command(uid, "mkdir -p .git/%s && echo \"%s\" > .git/%s/origin"
                                        % (kind, text, kind), bare)
                    self.assertEqual(done.returncode == 0, bare, done.stderr)
                    self.host(uid, "git push -q origin main", check=bare)
                    pushed = self.host(uid, "git -C $D/r.git rev-parse -q --verify refs/heads/main",
                                       check=False)
                    self.assertEqual(pushed.returncode == 0, bare)

    # a file system of its own, what the command does there, and what is left when there is room again
    FULL = """set -e; mount -t tmpfs -o nr_inodes=600,size=8m none "$1"; cd "$1"; git init -q; chown -R "$2" .
shift 2; "$@" || :; rm -f fill.*; ls -d .git/objects/info/alternates .git/tool 2> /dev/null || :"""
    FILL = """echo /x > .git/objects/info/alternates; mkdir .git/tool; echo x > .git/tool/x; i=0
while command : > fill.$i; do i=$((i + 1)); done; cat /dev/zero > fill.0; echo filled"""

    def test_a_full_file_system_keeps_nothing_in_git(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to mount")
        for uid in users():
            for bare in (True, False):
                self.repository(uid)
                user = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups"]
                argv = ["sh", "-c", self.FILL]
                p = self.run_as(0, ["unshare", "-m", "sh", "-c", self.FULL, "sh", self.dir, str(uid), *user,
                                    *(argv if bare else self.inside(argv))], capture_output=True)
                self.assertIn("filled", p.stdout, p.stderr)
                self.assertEqual("alternates" in p.stdout, bare, p.stderr)
                self.assertEqual("tool" in p.stdout, bare, p.stderr)
                self.assertEqual(p.stderr.count(AWAY), 0 if bare else 2, p.stderr)


if __name__ == "__main__":
    main()

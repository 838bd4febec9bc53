#!/usr/bin/python3
"""What git and others keep in a repository: it goes on outside, and what is not known is put away."""
import os
import re
import shutil
import subprocess

from escapeworld import excused, main, users
from gitworld import AWAY, GIT, GitWorld

CONFLICT = "git checkout -q other; echo o > c; git add c; " + GIT + "commit -qm o; git checkout -q main"
RESOLVE = "echo m > c; git add c; "
REMOTE = "git init -q --bare $D/r.git; git push -q $D/r.git main other; git remote add r file://$D/r.git"

# name: what the user has done, the command, the user afterwards, and what that shows
STATES = {
    "merge": (CONFLICT, "! git merge other", RESOLVE + GIT + "commit -qm merged; git log -1 --format=%p | wc -w", "2"),
    "merge without commit": ("true", "git merge -q --no-ff --no-commit other", GIT + "commit -qm merged; ls b", "b"),
    "squash": ("true", "git merge -q --squash other", GIT + "commit -q --no-edit; git log -1 --format=%s",
               "Squashed commit of the following:"),
    "rebase": (CONFLICT, "! " + GIT + "rebase other", RESOLVE + "GIT_EDITOR=true " + GIT +
               "rebase --continue >&2; git log --format=%s", "three o two one"),
    "rebase by am": (CONFLICT, "! " + GIT + "rebase --apply --signoff other", RESOLVE + GIT +
                     "rebase --continue >&2; git log --format=%s", "three o two one"),
    "rebase with a stash": (CONFLICT, "echo x > a; ! " + GIT + "rebase --autostash other", RESOLVE +
                            "GIT_EDITOR=true " + GIT + "rebase --continue >&2; cat a", "x"),
    "rebase that is given up": (CONFLICT, "! " + GIT + "rebase -X ours --no-ff other~1 && ! " + GIT + "rebase other "
                                "|| ! " + GIT + "rebase other", "git rebase --abort; git branch --show-current",
                                "main"),
    "rebase of merges": ("git merge -q --no-ff -m m other; echo e > e; git add e; git commit -qm e",
                         "GIT_SEQUENCE_EDITOR=\"sed -i '/^merge/i break'\" " + GIT + "rebase -q -i -r --root",
                         GIT + "rebase --continue >&2; git log --format=%p | wc -w; git show-ref rewritten || :", "5"),
    "fixups": ("for i in 1 2; do echo $i > c; git commit -qam \"fixup! three\"; done",
               "GIT_SEQUENCE_EDITOR=\"sed -i '2a break'\" " + GIT + "rebase -q -i --autosquash HEAD~3",
               GIT + "rebase --continue >&2; git log --format=%s", "three one"),
    "edit": ("true", "GIT_SEQUENCE_EDITOR=\"sed -i s/^pick/edit/\" " + GIT + "rebase -q -i HEAD~1",
             "git commit -q --amend -m new; git rebase --continue >&2; git log --format=%s", "new one"),
    "cherry-pick": (CONFLICT, "! " + GIT + "cherry-pick -x -X patience other other~1", RESOLVE + GIT +
                    "commit -qm o; " + GIT + "cherry-pick --continue >&2; git log --format=%s", "two o three one"),
    "revert": ("echo d > c; git commit -qam four", "! " + GIT + "revert --no-edit HEAD~1 HEAD~2",
               "git revert --abort; git log -1 --format=%s", "four"),
    "am": (CONFLICT, "git format-patch -q -2 other; ! " + GIT + "am -3 --signoff --whitespace=fix 000*",
           RESOLVE + GIT + "am --continue >&2; git log -2 --format=%s", "o two"),
    "bisect": ("true", "git bisect start HEAD HEAD~1 -- c", "git bisect log | head -n 1; git bisect reset", "# bad:"),
    "bisect with words": ("true", "git bisect start --first-parent --term-new=slow --term-old=fast; "
                          "git bisect slow; git bisect fast HEAD~1 || :", "git bisect terms --term-good; "
                          "git bisect reset", "fast"),
    "stash": ("true", "echo x > a; echo y > y; git add y; git stash -q", "git stash pop -q; cat a y", "x y"),
    "notes": ("git notes --ref=x add -m 1; git notes --ref=y add -m 2", "! git notes --ref=x merge y",
              "echo 3 > $(ls -d .git/NOTES_MERGE_WORKTREE/*); git notes merge --commit; git notes --ref=x show", "3"),
    "a worktree": ("true", "git worktree add -q --lock --reason 'a word' w other; cd w; echo w > w; git add w; "
                   "git commit -qm w", "git -C w log -1 --format=%s; git worktree unlock w; git worktree remove w", "w"),
    "gc": ("git tag -a -m t t; git branch x", "git gc -q; git repack -q -a -d --write-midx --write-bitmap-index; "
           "git commit-graph write --split --reachable; git pack-refs --all; git update-server-info",
           "git fsck --no-dangling; git rev-parse --abbrev-ref x", "x"),
    "gc in the background": ("true", "git -c gc.auto=1 gc -q --auto; git maintenance run -q", "git fsck --no-dangling "
                             "&& echo good", "good"),
    "fetch": (REMOTE, "git fetch -q r; git remote set-head r main; git fetch -q --tags --prune r",
              "git rev-parse --abbrev-ref r/HEAD; git merge -q FETCH_HEAD >&2; git fetch -q", "r/main"),
    "a shallow one": (REMOTE, "git fetch -q --depth=1 r; git fetch -q --unshallow r; git fetch -q --depth=1 r",
                      "git log --format=%s r/main; git fetch -q --unshallow r", "three"),
    "rerere": (CONFLICT + "; git config rerere.enabled true", "! git merge other; " + RESOLVE + GIT + "commit -qm m; "
               "git reset -q --hard HEAD~1; ! git merge other", "cat c; git rerere status", "m"),
    "branches": ("true", "git branch -m other y; git branch -c y z; git checkout -q --orphan o; git tag t main; "
                 "git symbolic-ref refs/heads/s refs/heads/z; git branch v1.; git replace -l",
                 "git branch --show-current; git rev-parse --abbrev-ref z; git rev-parse --abbrev-ref s", "o z z"),
    "lost and found": ("true", "echo x > x; git add x; git rm -q --cached x; git fsck --lost-found", "ls -d "
                       ".git/lost-found", ".git/lost-found"),
    "sparse": ("mkdir k; echo k > k/k; git add k; git commit -qm k; git sparse-checkout set k",
               "echo x > k/x; git sparse-checkout add --skip-checks . 2> /dev/null; git add k/x; git commit -qm x",
               "git status -s; git log -1 --format=%s", "x"),
    "patches by hand": ("true", "echo x >> a; printf 's\ny\nq\n' | git add -p > /dev/null; git commit -qm p", "git log "
                        "-1 --format=%s", "p"),
}


TOLD = {"rebase with a stash"}  # which git rebase --abort would apply, whatever is in it


class Names(GitWorld):
    def user(self, uid, text, check=True):
        """As host(), with a name for commits."""
        return self.host(uid, "git() { command git -c user.name=n -c user.email=e@x.test \"$@\"; }; " + text, check)

    def inside_git(self, uid, text, bare=False):
        return self.command(uid, "git() { command git -c user.name=n -c user.email=e@x.test \"$@\"; }; " + text, bare)

    def test_what_git_has_begun_goes_on_outside(self):
        for uid in users():
            for name, (before, script, after, shown) in STATES.items():
                with self.subTest(uid=uid, name=name):
                    self.repository(uid)
                    self.user(uid, before)
                    done = self.inside_git(uid, "R=$PWD; " + script + "; touch $R/.git/COMMIT_EDITMSG")
                    self.assertEqual((done.returncode, "sbx-net" in done.stderr), (0, name in TOLD), done.stderr)
                    said = self.user(uid, after).stdout
                    self.assertTrue(" ".join(said.split()).startswith(shown), said)
                    self.assertFalse(os.path.exists(self.repo + "/.git/sbx-net.away"))

    def test_large_files_are_kept(self):
        if not shutil.which("git-lfs"):
            excused.append("large files: git-lfs is not installed")
            return
        for uid in users():
            self.repository(uid)
            self.user(uid, "git lfs install --local > /dev/null; echo '*.bin filter=lfs diff=lfs merge=lfs -text' > "
                      ".gitattributes; git add .; git commit -qm lfs")
            done = self.inside_git(uid, "echo large > x.bin; git add x.bin; git commit -qm x; git lfs ls-files -n")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "x.bin\n", ""))
            self.assertIn("Git LFS fsck OK", self.host(uid, "rm x.bin; git checkout -q x.bin; cat x.bin | grep -q "
                                                       "large && git lfs fsck").stdout)

    def get_back(self, uid, stderr, count):
        """By the commands that are told."""
        told = re.findall(r"; to get it back: (mv \S+ \S+)$", stderr, re.M)
        self.assertEqual(len(told), count, stderr)
        for command in told:
            self.host(uid, command)

    def test_what_is_put_away_comes_back(self):
        for uid in users():
            self.repository(uid)
            done = self.command(uid, "mkdir .git/tool; echo x > .git/tool/x; echo y > .git/y")
            self.assertFalse(os.path.exists(self.repo + "/.git/tool"))
            self.get_back(uid, done.stderr, 2)
            self.assertEqual(self.host(uid, "cat .git/tool/x .git/y").stdout, "x\ny\n")
            self.assertEqual(self.command(uid, "true").stderr, "")

    # a submodule that the user has registered, from a host, and not fetched
    MODULE = ("git init -q $D/sub; git -C $D/sub commit -q --allow-empty -m sub; git init -q --bare $D/up.git; "
              "git -C $D/sub push -q $D/up.git HEAD:main; git -C $D/up.git symbolic-ref HEAD refs/heads/main; "
              "printf '[submodule \"sub\"]\n\tpath = sub\n\turl = %%s\n' %s > .gitmodules; "
              "git update-index --add --cacheinfo 160000,$(git -C $D/sub rev-parse HEAD),sub; "
              "git add .gitmodules; git commit -qm sub; git submodule init -q")
    UPDATE = ("git -c protocol.file.allow=always -c url.file://$D/up.git.insteadOf=https://a.example/up.git "
              "submodule --quiet update")

    def test_a_submodule_is_one_outside(self):
        for uid in users():
            self.repository(uid)
            self.user(uid, self.MODULE % "https://a.example/up.git")
            done = self.inside_git(uid, self.UPDATE + "; cd sub; git commit -q --allow-empty -m more")
            self.assertEqual((done.returncode, "sbx-net" in done.stderr), (0, False), done.stderr)
            self.assertEqual(self.host(uid, "git -C sub log --format=%s").stdout, "more\nsub\n")
            self.assertEqual(self.host(uid, "git status -s").stdout, " M sub\n")

    def test_a_submodule_from_a_path_comes_back(self):
        """A repository in the file system may be one whose hooks are the command's."""
        for uid in users():
            self.repository(uid)
            self.user(uid, self.MODULE % "file://$D/up.git")
            done = self.inside_git(uid, "git -c protocol.file.allow=always submodule --quiet update")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertFalse(os.path.exists(self.repo + "/.git/modules/sub"))
            self.get_back(uid, done.stderr, 2)
            self.assertEqual(self.host(uid, "git -C sub log --format=%s").stdout, "sub\n")

    # a submodule of the command's in @dir, whose configuration says more
    PLANT = ("mkdir -p .git/modules; git clone -q $D/up.git '%(dir)s'; mv '%(dir)s/.git' .git/modules/sub; "
             "echo gitdir: ../.git/modules/sub > '%(dir)s/.git'; printf '[core]\\nrepositoryformatversion = 0\\n"
             "bare = false\\nworktree = ../../../%(dir)s\\n%(more)s' %(args)s > .git/modules/sub/config; ")
    # a repository whose hook runs when somebody pushes to it
    PUSHED = ("git init -q --bare %(name)s; printf '#!/bin/sh\\ntouch %%s/mark\\n' $D > %(name)s/hooks/pre-receive; "
              "chmod +x %(name)s/hooks/pre-receive")

    # name: what the user has done, the command, and the user afterwards
    OBEYED = {
        "a section with a long name": (
            MODULE % "$D/up.git", PLANT % {"dir": "sub", "args": "0 $D", "more":
                                           "[%080d][core]fsmonitor = touch %s/mark; false\\n"}, "git status"),
        "a remote with a blank that is none": (
            MODULE % "$D/up.git", PLANT % {"dir": "sub", "args": "", "more":
                                           "[branch \"main\"]\\nremote = origin\\f\\nmerge = refs/heads/main\\n"} +
            PUSHED % {"name": "'sub/origin\f'"}, "cd sub; git commit -q --allow-empty -m x; git push"),
        "a remote without a URL": (
            MODULE % "$D/up.git", PLANT % {"dir": "sub", "args": "", "more":
                                           "[branch \"main\"]\\nremote = origin\\nmerge = refs/heads/main\\n"} +
            PUSHED % {"name": "sub/origin"}, "cd sub; git commit -q --allow-empty -m x; git push"),
        "an index in two parts": (
            MODULE % "$D/up.git", PLANT % {"dir": "sub", "args": "", "more": ""} + "cd sub; git init -q n; git -C n "
            "commit -q --allow-empty -m y; git add n 2> /dev/null; git update-index --split-index; printf "
            "'[core]\\nfsmonitor = touch %s/mark; false\\n' $D >> n/.git/config; rm -f ../.git/modules/sub/hooks/*",
            "git status"),
        "a directory with a blank that is none": (
            MODULE % "$D/up.git", PLANT % {"dir": "sub\v", "args": "", "more": ""} + "cd 'sub\v'; git init -q n; "
            "git -C n commit -q --allow-empty -m y; git add n 2> /dev/null; git commit -qm z; printf "
            "'[core]\\nfsmonitor = touch %s/mark; false\\n' $D >> n/.git/config; cd ..; git add 'sub\v' 2> /dev/null",
            "git status"),
        "a submodule that is fetched later": (
            MODULE % "$D/up.git", "mkdir -p .git/modules; git init -q --bare .git/modules/sub; cd .git/modules/sub; "
            "printf '[core]\\nbare = false\\nworktree = ../../../sub\\nfsmonitor = touch %s/mark; false\\n' $D "
            "> config; cp -r $D/up.git/objects $D/up.git/refs .; cp $D/up.git/HEAD .",
            "git -c protocol.file.allow=always submodule update --init; git status"),
        "hooks of one": (
            MODULE % "$D/up.git", "git clone -q --bare $D/up.git .git/modules/sub; cd .git/modules/sub; printf "
            "'[core]\\nbare = false\\nworktree = ../../../sub\\n' > config; mkdir -p hooks; printf "
            "'#!/bin/sh\\ntouch %s/mark\\n' $D > hooks/post-checkout; chmod +x hooks/post-checkout",
            "git -c protocol.file.allow=always submodule update --init"),
    }

    def test_a_submodule_of_the_commands_runs_nothing(self):
        for uid in users():
            for name, (before, script, after) in self.OBEYED.items():
                for bare in (True, False):
                    with self.subTest(uid=uid, name=name, bare=bare):
                        self.repository(uid)
                        self.user(uid, before)
                        done = self.inside_git(uid, script, bare)
                        self.assertEqual((done.returncode, AWAY in done.stderr), (0, not bare), done.stderr)
                        self.host(uid, after, check=False)
                        self.assertEqual("mark" in os.listdir(self.dir), bare)

    def test_a_prompt_shows_no_control_characters(self):
        where = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True)
        script = where.stdout.strip() + "/git-sh-prompt"
        if not os.path.exists(script):
            self.skipTest("git's prompt is elsewhere")
        for uid in users():
            for name, esc in (("HEAD", "\\033["), ("rebase-merge/head-name", "\\033["), ("HEAD", "\\302\\233")):
                for bare in (True, False):
                    self.repository(uid)
                    done = self.command(uid, "mkdir -p .git/%s; printf 'ref: refs/heads/%s2Jx\\n' > .git/%s" %
                                        (os.path.dirname(name), esc, name), bare)
                    self.assertEqual(AWAY in done.stderr, not bare, done.stderr)
                    shown = self.host(uid, "bash -c '. %s; __git_ps1 %%s'" % script, check=False)
                    self.assertEqual("\033" in shown.stdout or "\x9b" in shown.stdout, bare)

    def test_a_subject_in_a_prompt_is_plain(self):
        if not shutil.which("zsh"):
            excused.append("a subject in a prompt: zsh is not installed")
            return
        prompt = ("zsh -fc 'autoload -Uz vcs_info; zstyle :vcs_info:\\* actionformats %m; vcs_info; "
                  "print -r -- $vcs_info_msg_0_'")
        for uid in users():
            for bare in (True, False):
                self.repository(uid)
                self.user(uid, CONFLICT)
                done = self.inside_git(uid, "git rebase other 2> /dev/null; sed -i \"s/three/t$(printf '\\033[2J')/\" "
                                       ".git/rebase-merge/done", bare)
                self.assertEqual((done.returncode, "question marks" in done.stderr), (0, not bare), done.stderr)
                shown = self.host(uid, prompt).stdout
                self.assertIn("t\033[2J" if bare else "t?[2J", shown)

    def test_no_objects_come_from_elsewhere(self):
        for uid in users():
            for bare in (True, False):
                self.repository(uid)
                blob = self.host(uid, "git init -q $D/o; echo private | git -C $D/o hash-object -w --stdin").stdout
                done = self.command(uid, "echo $D/o/.git/objects > .git/objects/info/alternates", bare)
                self.assertEqual(AWAY in done.stderr, not bare, done.stderr)
                got = self.host(uid, "git cat-file -p " + blob.strip(), check=False)
                self.assertEqual(got.stdout, "private\n" if bare else "")

    def test_git_shows_no_other_objects(self):
        for uid, pack in ((u, p) for u in users() for p in ("", "; git pack-refs --all")):
            for bare in (True, False):
                self.repository(uid)
                done = self.command(uid, "git replace main other" + pack, bare)
                self.assertEqual((done.returncode, "another object" in done.stderr), (0, not bare), done.stderr)
                self.assertEqual(self.host(uid, "git log -1 --format=%s").stdout, "two\n" if bare else "three\n")


if __name__ == "__main__":
    main()

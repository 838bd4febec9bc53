#!/usr/bin/python3
"""What git outside would obey is locked, or held, by whichever way git comes to it."""
import os

from escapeworld import main, users
from gitworld import GIT, GitWorld

ADD = "git -c protocol.file.allow=always submodule --quiet "
OTHER = "git init -q $D/../n; " + GIT + "-C $D/../n commit -q --allow-empty -m x; "
REPOSITORY = "git init -q %s; " + GIT + "-C %s commit -q --allow-empty -m x; "
OBEY = "[core]\\nrepositoryformatversion = 0\\nfsmonitor = touch %s/mark; false\\n"
HOOK = "printf '#!/bin/sh\\ntouch %s/mark\\n' $D > $h; chmod +x $h"

# name: what the user has, where the workspace is, the command, the user afterwards
WAYS = {
    "a submodule of a repository of the index, not checked out": (
        "D=$(realpath $D); git init -q $D/../n; cd $D/../n; echo f > f; git add f; " + GIT + "commit -qm n; cd -; "
        "git init -q sub; cd sub; " + ADD + "add $D/../n nested; " + GIT + "commit -qm s; "
        "git submodule --quiet deinit nested; cd ..; git add sub", ".",
        "h=sub/.git/modules/nested/hooks/post-checkout; " + HOOK,
        "cd sub; " + ADD + "update --init"),
    "a repository of a split index": (
        REPOSITORY % ("sub", "sub") + "git add sub; " + GIT + "commit -qm sub; git update-index --split-index", ".",
        "printf '" + OBEY + "' $D >> sub/.git/config", "git status"),
    "one that a split index has replaced": (
        REPOSITORY % ("sub", "sub") + "git add sub; " + GIT + "commit -qm sub; git update-index --split-index; " +
        GIT + "-C sub commit -q --allow-empty -m y; git add sub", ".",
        "printf '" + OBEY + "' $D >> sub/.git/config", "git status"),
    "a submodule around the workspace, not checked out": (
        OTHER + "mkdir p; echo x > p/f; " + ADD + "add $D/../n p/sub; git add .; git submodule --quiet deinit -f p/sub",
        "p", "cd p; " + REPOSITORY % ("sub", "sub") + "printf '" + OBEY + "' $D >> sub/.git/config", "git status"),
    "a submodule of a linked worktree, not checked out": (
        OTHER + ADD + "add $D/../n sub; " + GIT + "commit -qm s; git worktree add -q -b wtb ../wt", "../wt",
        "cd ../wt; " + REPOSITORY % ("sub", "sub") + "printf '" + OBEY + "' $D >> sub/.git/config",
        "cd ../wt; git status"),
    "a git directory that has been moved away": (
        "git init -q --separate-git-dir=gd sub; " + GIT + "-C sub commit -q --allow-empty -m x; git add sub; "
        "mv gd ../gd", ".",
        "git init -q --bare gd; printf '" + OBEY + "' $D > gd/config; git config -f gd/config core.bare false",
        "git status"),
    "the common directory of a linked worktree in the index": (
        REPOSITORY % ("other", "other") + "git -C other worktree add -q ../sub; git add sub", ".",
        "printf '" + OBEY + "' $D >> other/.git/config", "git status"),
    "a linked worktree of a submodule": (
        "git init -q $D/../n; cd $D/../n; echo f > f; git add f; " + GIT + "commit -qm n; cd -; " + ADD +
        "add $D/../n sub; git -C sub worktree add -q ../subwt", ".",
        "cp -r .git/modules/sub g; printf '" + OBEY + "' $D > g/config; echo gitdir: ../g > subwt/.git",
        "cd subwt; git status"),
    "a bare repository, and .git in it": (
        "git clone -q --bare . ../b.git", "../b.git",
        "cd ../b.git; mkdir .git; cp -r HEAD objects refs packed-refs .git; printf '" + OBEY + "' $D > .git/config",
        "cd ../b.git; git status"),
    "a remote that is not there yet": (
        "mkdir stick; git remote add backup $PWD/stick/b.git", ".",
        "git init -q --bare stick/b.git; h=stick/b.git/hooks/pre-receive; " + HOOK, "git push -q backup main"),
}


class Ways(GitWorld):
    def setUp(self):
        super().setUp()
        self.clean = "rm -rf $D/../n ../wt ../gd ../b.git"

    def test_by_whichever_way_git_comes_to_it(self):
        for uid in users():
            for name, (before, where, inside, after) in WAYS.items():
                for bare in (True, False):
                    with self.subTest(uid=uid, name=name, bare=bare):
                        self.repository(uid)
                        self.host(uid, self.clean + "; D=$(realpath $D); set -e; " + before)
                        argv = ["sh", "-c", self.script(inside)]
                        done = self.run_as(uid, argv if bare else self.inside(argv, "-C", self.repo + "/" + where),
                                           capture_output=True)
                        self.host(uid, after, check=False)
                        self.assertEqual("mark" in os.listdir(self.dir), bare, done.stderr)

    def test_what_is_held_is_let_go(self):
        """Nothing is left of it, and nothing is told."""
        for uid in users():
            for name, (before, where, _, _) in WAYS.items():
                with self.subTest(uid=uid, name=name):
                    self.repository(uid)
                    self.host(uid, self.clean + "; D=$(realpath $D); set -e; " + before)
                    look = "cd %s; git status --porcelain=v2; find . | sort" % where
                    was = self.host(uid, look).stdout
                    argv = ["sh", "-c", "git status > /dev/null 2>&1; true"]
                    done = self.run_as(uid, self.inside(argv, "-C", self.repo + "/" + where), capture_output=True)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertEqual(self.host(uid, look).stdout, was)


if __name__ == "__main__":
    main()

"""A world with a repository of the user's, in which a command works, and then the user."""
import os
import shutil

from escapeworld import World

GIT = "git -c user.name=n -c user.email=e@x.test "
REMOVED, AWAY = "it has been removed", "it has been put away"


class GitWorld(World):
    def repository(self, uid):
        """A new one, and a directory and a file of the user's that are to stay as they are."""
        self.fill(uid)
        self.repo, self.dir = self.work + "/repo", self.outside + "/dir"
        self.victim = self.outside + "/victim"
        for path in (self.repo, self.dir):
            shutil.rmtree(path, True)
            os.mkdir(path)
            os.chown(path, uid, uid)
        with open(self.victim, "w") as f:
            f.write("own\n")
        os.chown(self.victim, uid, uid)
        self.host(uid, "git init -q -b main . && echo a > a && git add a && " + GIT + "commit -qm one && "
                  "git checkout -q -b other && echo b > b && git add b && " + GIT + "commit -qm two && "
                  "git checkout -q main && echo c > c && git add c && " + GIT + "commit -qm three")

    def script(self, text):
        return "cd %s; V=%s D=%s; %s" % (self.repo, self.victim, self.dir, text)

    def host(self, uid, text, check=True):
        p = self.run_as(uid, ["sh", "-c", self.script(text)], capture_output=True)
        if check:
            self.assertEqual(p.returncode, 0, p.stderr)
        return p

    def command(self, uid, text, bare=False):
        argv = ["sh", "-c", self.script(text)]
        return self.run_as(uid, argv if bare else self.inside(argv, "-C", self.repo),
                           capture_output=True)

    def harm(self):
        """Whether anything of the user's is other than it was."""
        with open(self.victim, errors="replace") as f, open(self.repo + "/.git/config") as config:
            return f.read() != "own\n" or os.listdir(self.dir) != [] or "new" in config.read()

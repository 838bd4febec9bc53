#!/usr/bin/python3
"""What shells, sessions and tools obey below a home directory, where a part of that can be written."""
import os
import shutil
import subprocess

from escapeworld import LIMIT, World, main, users

OBEYED = (".config/autostart/x.desktop", ".config/systemd/user/x.service", ".config/git/config",
          ".config/fish/config.fish", ".config/nvim/init.lua", ".local/bin/ls",
          ".local/share/systemd/user/x.service", ".local/share/dbus-1/services/x")
FREE = (".config/tool/rc", ".config/new", ".local/lib/x", ".local/share/tool/x")
WRITE = 'for f; do mkdir -p "$(dirname "$f")" && echo evil >> "$f"; done 2> /dev/null; true'


class HomeNames(World):
    def setUp(self):
        super().setUp()
        self.dots = os.path.join(self.outside, "dots")

    def fresh(self, uid):
        """Some of what is obeyed is there, some is missing."""
        shutil.rmtree(self.outside, True)
        for d in (".config/git", ".config/fish", ".local/bin"):
            os.makedirs(os.path.join(self.home, d))
        for d in ("nvim", "xdg/tool", "z"):
            os.makedirs(os.path.join(self.dots, d))
        for f in (self.home + "/.config/git/config", self.dots + "/bashrc", self.dots + "/README",
                  self.dots + "/gitconfig", self.dots + "/z/.zshrc", self.dots + "/env.sh"):
            with open(f, "w", encoding="ascii") as out:
                out.write("own\n")
        self.fill(uid)
        for d in (".ssh", ".aws"):
            shutil.rmtree(os.path.join(self.home, d))
        for d in (".config/autostart", ".config/systemd"):
            shutil.rmtree(os.path.join(self.home, d))

    def bash(self, uid, argv, cwd=None, **env):
        return subprocess.run(argv, cwd=cwd or self.work, env=dict(self.env(), **env), text=True,
                              capture_output=True, timeout=LIMIT, check=False,
                              stdin=subprocess.DEVNULL, **self.identity(uid))

    def written(self, top, names):
        """Those that hold what the command wrote."""
        out = set()
        for name in names:
            try:
                with open(os.path.join(top, name), encoding="ascii") as f:
                    if "evil" in f.read():
                        out.add(name)
            except FileNotFoundError:
                pass
        return out

    def attack(self, uid, top, names, options, cwd=None, **env):
        argv = ["sh", "-c", WRITE, "sh", *[os.path.join(top, n) for n in names]]
        p = self.bash(uid, self.inside(argv, *options) if options is not None else argv, cwd, **env)
        self.assertEqual(p.returncode, 0, p.stderr)
        return self.written(top, names)

    def test_a_part_of_the_home_is_granted(self):
        """F-014: each name is locked by itself, missing or not, and all else works"""
        for uid in users():
            self.fresh(uid)
            self.assertEqual(self.attack(uid, self.home, OBEYED + FREE, None), set(OBEYED + FREE))
            for options in (["--write", self.home], ["--write", self.home + "/.config", "--write",
                                                     self.home + "/.local"]):
                with self.subTest(uid=uid, options=options):
                    self.fresh(uid)
                    got = self.attack(uid, self.home, OBEYED + FREE, options)
                    self.assertEqual(got, set(FREE))
                    self.assertEqual(sorted(os.listdir(self.home + "/.config")),
                                     ["fish", "git", "new", "tool"])

    def test_a_part_of_the_home_is_the_workspace(self):
        for uid in users():
            for part in (".config", ".local"):
                with self.subTest(uid=uid, part=part):
                    self.fresh(uid)
                    names = [n for n in OBEYED + FREE if n.startswith(part)]
                    got = self.attack(uid, self.home, names, [], cwd=os.path.join(self.home, part))
                    self.assertEqual(got, set(names) & set(FREE))

    def test_granted_by_name(self):
        """The twin: what the user names is written"""
        for uid in users():
            self.fresh(uid)
            fish = self.home + "/.config/fish"
            for options in (["--write", fish], ["--write", self.home + "/.config", "--write", fish]):
                self.fresh(uid)
                got = self.attack(uid, self.home, OBEYED, options)
                self.assertEqual(got, {".config/fish/config.fish"})

    def test_such_a_directory_is_a_workspace_by_name_only(self):
        for uid in users():
            self.fresh(uid)
            fish, below = self.home + "/.config/fish", self.home + "/.config/fish/functions"
            self.bash(uid, ["mkdir", below])
            for cwd in (fish, below):
                p = self.bash(uid, self.inside(["touch", "x"]), cwd)
                self.assertEqual((p.returncode, os.path.exists(cwd + "/x")), (125, False))
                self.assertIn("--write " + cwd, p.stderr)
                for options in (["--write", "."], ["--write", cwd], ["--write", fish]):
                    p = self.bash(uid, self.inside(["touch", "x"], *options), cwd)
                    self.assertEqual((p.returncode, os.path.exists(cwd + "/x")), (0, True), p.stderr)
                    os.unlink(cwd + "/x")

    def test_links_from_the_home_into_the_workspace(self):
        """As those have who keep such files in a repository"""
        for uid in users():
            self.fresh(uid)
            for link, to in ((".bashrc", "bashrc"), (".config/nvim", "nvim"), (".vimrc", "new-vimrc")):
                self.bash(uid, ["ln", "-s", os.path.join(self.dots, to),
                                os.path.join(self.home, link)])
            names = ["bashrc", "nvim/init.lua", "new-vimrc", "README"]
            self.assertEqual(self.attack(uid, self.dots, names, [], cwd=self.dots), {"README"})
            self.assertFalse(os.path.exists(self.dots + "/new-vimrc"))
            got = self.attack(uid, self.dots, names, ["--write", "bashrc", "--write", "nvim"],
                              cwd=self.dots)
            self.assertEqual(got, {"README", "bashrc", "nvim/init.lua"})

    def test_where_variables_have_moved_it(self):
        for uid in users():
            for env, names in (({"XDG_CONFIG_HOME": self.dots + "/xdg"},
                                ["xdg/git/config", "xdg/systemd/user/x.service"]),
                               ({"XDG_DATA_HOME": self.dots + "/xdg"}, ["xdg/systemd/user/x"]),
                               ({"ZDOTDIR": self.dots + "/z"}, ["z/.zshrc", "z/.zshenv"]),
                               ({"GIT_CONFIG_GLOBAL": self.dots + "/gitconfig"}, ["gitconfig"]),
                               ({"GIT_CONFIG_GLOBAL": "gitconfig"}, ["gitconfig"]),
                               ({"BASH_ENV": self.dots + "/env.sh", "GIT_CONFIG_GLOBAL": "/dev/null"},
                                ["env.sh"])):
                free = ["xdg/tool/rc", "z/x", "README"]
                for options, cwd in ((["--write", self.outside], None), ([], self.dots)):
                    if cwd is None and env.get("GIT_CONFIG_GLOBAL") == "gitconfig":
                        continue
                    with self.subTest(uid=uid, env=env, cwd=cwd):
                        self.fresh(uid)
                        got = self.attack(uid, self.dots, names + free, options, cwd, **env)
                        self.assertEqual(got, set(free))
            self.fresh(uid)  # ENV is a word, not a file, as often as not
            p = self.bash(uid, self.inside(["sh", "-c", "ls; echo x > production"]), self.dots,
                          ENV="production")
            self.assertEqual((p.returncode, "production" in p.stdout), (0, False), p.stderr)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Whose home directory it is: root with another user's, by sudo, and the administrator's "~/".

/etc of the world's host is a copy, so that the user has a home directory in its passwd, and so that
there can be an /etc/sbx-net/settings.json.
"""
import json
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import WorldCase, main, setup_world  # noqa: E402


def setUpModule():
    w = setup_world()
    w.run(["sh", "-c", 'cp -a /etc "$1" && mkdir "$1/sbx-net" && mount --bind "$1" /etc && '
           'echo "tester:x:$2:$2::$3:/bin/sh" >> "$1/passwd"', "sh", w.path("etc"), str(w.uid), w.home],
          uid=0, check=True, stderr=None)


class WhoseHome(WorldCase):
    def setUp(self):
        self.managed = self.w.path("etc", "sbx-net", "settings.json")
        self.root_home = self.w.path("root-home")
        self.target = self.w.path("target")  # root's, granted by nobody but a settings file
        self.clean()
        self.addCleanup(self.clean)
        for d in (self.root_home, self.target):
            os.makedirs(d)
        os.chmod(self.w.home, 0o755)  # root's command has no capabilities
        self.addCleanup(os.chmod, self.w.home, 0o700)

    def clean(self):
        for top in (self.root_home, self.target, self.w.path("st")):
            shutil.rmtree(top, True)
        self.w.run(["sh", "-c", 'rm -rf "$1"/.[a-z]* "$1"/* "$2"/.[a-z]* "$2"/*', "sh", self.w.home,
                    self.w.ws], uid=0)
        if os.path.exists(self.managed):
            os.unlink(self.managed)

    def put(self, path, text, uid=None, mode=0o644):
        uid = self.w.uid if uid is None else uid
        d = os.path.dirname(path)
        while not os.path.isdir(d):
            self.w.run(["install", "-d", "-o", str(uid), os.path.dirname(path)], uid=0, check=True)
        for p in (d, os.path.dirname(d)):
            if p.startswith(self.w.home + "/"):
                os.chown(p, uid, uid)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        os.chown(path, uid, uid)
        os.chmod(path, mode)
        return path

    def sbx(self, script, *options, uid=0, cwd=None, **env):
        return self.w.run([self.w.sbx, "run", "--ask", "never", *options, "--", "sh", "-c", script, "sh",
                           self.target], uid=uid, cwd=cwd, env=dict(self.w.env(uid), **env))

    GRANT = '{"filesystem": {"allowWrite": ["%s"]}}'
    WRITE = 'echo x > "$1/new" && echo WRITTEN'

    def written(self, done):
        made = os.path.exists(self.target + "/new")
        self.assertEqual("WRITTEN" in done.stdout, made)
        if made:
            os.unlink(self.target + "/new")
        return made

    def test_root_obeys_no_settings_of_another_user(self):
        theirs = self.put(self.w.home + "/.config/sbx-net/settings.json", self.GRANT % self.target)
        own = self.put(self.root_home + "/.config/sbx-net/settings.json", self.GRANT % self.target, 0)
        # the twin: root's own
        self.assertTrue(self.written(self.sbx(self.WRITE, HOME=self.root_home)))
        for env in ({"HOME": self.w.home}, {"HOME": self.root_home, "XDG_CONFIG_HOME":
                                            self.w.home + "/.config"}):
            with self.subTest(env):
                done = self.sbx(self.WRITE, **env)
                self.assertFalse(self.written(done))
                self.assertEqual(done.returncode, 125)
                self.assertIn("HOME=/root", done.stderr)
                self.assertIn("user %d's" % self.w.uid, done.stderr)
                self.assertEqual(self.sbx("true", "--no-config", **env).returncode, 0)
        os.unlink(own)  # root's name for the other's
        os.symlink(theirs, own)
        self.assertEqual(self.sbx("true", HOME=self.root_home).returncode, 125)
        # the user's own run obeys them
        os.chown(self.target, self.w.uid, self.w.uid)
        self.assertTrue(self.written(self.sbx(self.WRITE, uid=self.w.uid)))

    def test_root_with_another_users_home_and_no_settings(self):
        """As in a container of a CI job: nothing is said, nothing is made there"""
        done = self.sbx("echo ran", HOME=self.w.home)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "ran\n", ""))
        self.assertEqual(os.listdir(self.w.home), [])

    def test_no_trust_in_what_another_user_has_written(self):
        project = self.put(self.w.ws + "/.sbx-net/settings.json", self.GRANT % self.target)
        st = self.w.path("st")
        self.put(st + "/x", "x")
        done = self.sbx("true", "--trust-project", uid=self.w.uid, XDG_STATE_HOME=st)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.sbx(self.WRITE, cwd=self.w.ws, HOME=self.root_home, XDG_STATE_HOME=st)
        self.assertFalse(self.written(done))
        self.assertIn(project + ": not trusted", done.stderr)
        # the twins: its own user's trust, and root's own
        os.chown(self.target, self.w.uid, self.w.uid)
        self.assertTrue(self.written(self.sbx(self.WRITE, uid=self.w.uid, XDG_STATE_HOME=st)))
        os.chown(self.target, 0, 0)
        done = self.sbx("true", "--trust-project", cwd=self.w.ws, HOME=self.root_home)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.written(self.sbx(self.WRITE, cwd=self.w.ws, HOME=self.root_home)))
        # who is no root obeys nobody else either
        os.chown(self.target, self.w.uid, self.w.uid)
        os.chown(st + "/sbx-net", 0, 0)
        os.chmod(st + "/sbx-net", 0o755)
        for name in os.listdir(st + "/sbx-net"):
            os.chmod(os.path.join(st, "sbx-net", name), 0o644)
        done = self.sbx(self.WRITE, uid=self.w.uid, XDG_STATE_HOME=st)
        self.assertFalse(self.written(done))
        self.assertIn("not trusted", done.stderr)

    def test_root_writes_nothing_where_another_user_has_it_lead(self):
        self.put(self.w.ws + "/.sbx-net/settings.json", self.GRANT % self.target)
        self.put(self.w.home + "/.local/state/x", "x")
        for link in (True, False):
            if link:
                os.symlink(self.target, self.w.home + "/.local/state/sbx-net")
            done = self.sbx("true", "--trust-project", cwd=self.w.ws, HOME=self.w.home)
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn("HOME=/root", done.stderr)
            self.assertEqual(os.listdir(self.target), [])
            if link:
                os.unlink(self.w.home + "/.local/state/sbx-net")
            self.assertEqual(os.listdir(self.w.home + "/.local/state"), ["x"])

    def test_credentials_of_who_has_called_sudo(self):
        path = self.put(self.w.home + "/.npmrc", "token\n")
        plain = self.put(self.w.home + "/plain", "plain\n")
        read = "cat %s %s 2> /dev/null; true" % (path, plain)
        self.assertEqual(self.sbx(read).stdout, "token\nplain\n")  # nobody knows whose it is
        for env in ({"SUDO_UID": str(self.w.uid)}, {"SUDO_HOME": self.w.home},
                    {"PKEXEC_UID": str(self.w.uid)}, {"DOAS_USER": "tester"}):
            with self.subTest(env):
                done = self.sbx(read, **env)
                self.assertEqual((done.stdout, done.stderr, done.returncode), ("plain\n", "", 0))
                self.assertEqual(self.sbx(read, "--read", path, **env).stdout, "token\nplain\n")
        for odd in ("", "x", "-1", "99999999999999999999", "4294967295"):
            self.assertEqual(self.sbx("echo ran", SUDO_UID=odd).stdout, "ran\n")

    def test_the_administrators_home_is_each_of_the_users(self):
        secret = self.put(self.w.home + "/priv/x", "secret\n")
        plain = self.put(self.w.home + "/plain", "plain\n")
        deep = self.put(self.w.home + "/w/a/.env", "env\n")
        locked = self.put(self.w.home + "/locked", "locked\n")
        self.put(self.managed, json.dumps({"filesystem": {
            "denyRead": ["~/priv/**", "~/w/**/.env"], "denyWrite": ["~/locked"]}}), 0)
        for env in ({}, {"HOME": "/nonexistent"}, {"HOME": self.w.path("st")}, {"HOME": ""}):
            with self.subTest(env):
                done = self.sbx("cat %s %s %s 2> /dev/null; echo x >> %s; echo y > %s.new" %
                                (secret, deep, plain, locked, locked), "--write", self.w.home,
                                uid=self.w.uid, **env)
                self.assertEqual((done.stdout, done.returncode), ("plain\n", 0), done.stderr)
                with open(locked, encoding="ascii") as f:
                    self.assertEqual(f.read(), "locked\n")


if __name__ == "__main__":
    main()

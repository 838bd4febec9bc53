#!/usr/bin/python3
"""--allow-from: what a tool is configured for may be reached, and nothing else."""
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import HOST4, PATH, WorldCase, main, setup_world, teardown_world, v4  # noqa: E402,F401


def setUpModule():
    setup_world()


def tearDownModule():
    teardown_world()


class AllowFrom(WorldCase):
    def fetch(self, options, *tools, host="good.example", cwd=None):
        """curl with made tools in front of the real ones; each is (name, shell script)."""
        bin_dir = self.w.path("tools-" + self.id().rsplit(".", 1)[1])
        os.makedirs(bin_dir, exist_ok=True)
        for name, script in tools:
            path = os.path.join(bin_dir, name)
            with open(path, "w", encoding="ascii") as f:
                f.write("#!/bin/sh\n" + script + "\n")
            os.chmod(path, 0o755)
        env = self.w.env()
        env["PATH"] = bin_dir + ":" + env["PATH"]
        return self.w.curl(options, "-f", "http://%s/" % host, env=env, cwd=cwd)

    def test_what_the_tool_names_is_allowed_and_told(self):
        npm = ("npm", 'test "$PWD" = / || exit 1\necho http://good.example/npm/')
        done = self.fetch(["--allow-from", "npm"], npm)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "sbx-net: --allow-from npm: good.example:80\n")
        done = self.fetch(["--allow-from", "npm"], npm, host="other.example")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("refused other.example:80", done.stderr)
        self.assertNotEqual(self.fetch([], npm).returncode, 0)

    def test_each_tool_is_asked_for_its_own_configuration(self):
        """Real ones where they are here; all of them have good.example for their registry."""
        home = self.w.path("toolhome")
        os.makedirs(os.path.join(home, ".cargo"), exist_ok=True)
        url = "https://user:secret@good.example/x/"
        files = {".npmrc": "registry=https://good.example/x/\n@a:registry=http://wild.example:81/\n",
                 "pip.conf": "[global]\nindex-url = %s\nextra-index-url = http://wild.example:81/\n"
                             % url,
                 ".cargo/config.toml": "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\n"
                                       "registry = \"sparse+%s\"\n" % url}
        for name, text in files.items():
            with open(os.path.join(home, name), "w", encoding="ascii") as f:
                f.write(text)
        env = dict(self.w.env(), HOME=home, PIP_CONFIG_FILE=os.path.join(home, "pip.conf"),
                   GOPROXY=url + ",direct", GOSUMDB="off", GOTOOLCHAIN="local",
                   NPM_CONFIG_USERCONFIG=os.path.join(home, ".npmrc"))
        for tool, extra in (("npm", 1), ("pip", 1), ("cargo", 0), ("go", 0)):
            if tool != "cargo" and not shutil.which(tool, path=PATH):
                print("NOT RUN: not installed: " + tool, file=sys.stderr)
                continue
            with self.subTest(tool):
                done = self.w.run([self.w.sbx, "run", "--no-config", "--allow-from", tool, "--",
                                   *self.w.curl_argv("-f", "https://good.example/")], env=env)
                self.assertEqual(done.returncode, 0, done.stderr)
                said = done.stderr.splitlines()
                self.assertIn("sbx-net: --allow-from %s: good.example:443" % tool, said)
                self.assertEqual(("sbx-net: --allow-from %s: wild.example:81" % tool) in said,
                                 bool(extra), said)
                self.assertEqual(len(said), 1 + extra, said)
                self.assertNotIn("secret", done.stderr)

    def test_apt_has_the_sites_of_its_sources(self):
        done = self.fetch(["--allow-from", "apt"], (
            "apt-get", 'test "$*" = "indextargets --format \\$(SITE)" || exit 1\n'
            'echo http://good.example/debian; echo http://good.example/debian'))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "sbx-net: --allow-from apt: good.example:80\n")

    def test_deny_wins(self):
        done = self.fetch(["--allow-from", "npm", "-d", "good.example"],
                          ("npm", "echo http://good.example/"))
        self.assertIn("refused good.example:80 (denied", done.stderr)

    def test_remotes_of_the_working_directory(self):
        repo = os.path.join(self.w.ws, "remotes")
        for args in (["init", "-q", repo],
                     ["-C", repo, "remote", "add", "origin", "http://good.example/r.git"]):
            self.w.run(["git", *args], check=True)
        done = self.fetch(["--allow-from", "git"], cwd=repo)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--allow-from git: good.example:80", done.stderr)

    def test_no_address_of_this_machine_by_a_repositorys_word(self):
        """A remote is whoever's who made the repository; --allow of an address opens it."""
        repo = os.path.join(self.w.ws, "hostile")
        self.w.run(["git", "init", "-q", repo], check=True)
        for i, host in enumerate(("127.0.0.1:18081", "10.1.2.3", "169.254.169.254", "localhost:18081", HOST4)):
            self.w.run(["git", "-C", repo, "remote", "add", "r%d" % i, "http://%s/r.git" % host], check=True)
        for host, port in (("127.0.0.1", 18081), ("10.1.2.3", 80), ("169.254.169.254", 80), (HOST4, 80)):
            o = self.w.oracle()
            url = "http://%s:%d/" % (host, port)
            done = self.w.curl(["--allow-from", "git"], "-f", "--noproxy", "", url, cwd=repo)
            with self.subTest(host):
                self.assertEqual(done.returncode, 22, done.stdout)
                self.assertIn("--allow-from git: %s:%d is left out" % (host, port), done.stderr)
                self.assertIn("--allow %s:%d\n" % (host, port), done.stderr)
                self.assertIn("--allow-from git: localhost:18081 is left out", done.stderr)
                self.assertEqual(o.accepts(), [])
        self.w.run(["git", "-C", repo, "remote", "add", "pub", "http://%s/r.git" % v4(1)], check=True)
        for options in (["--allow-from", "git"], ["-a", "10.1.2.3"]):  # the twins
            url = "http://%s/" % (v4(1) if "git" in options else "10.1.2.3")
            done = self.w.curl(options, "-f", "--noproxy", "", url, cwd=repo)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_nothing_configured_allows_nothing(self):
        done = self.fetch(["--allow-from", "npm"], ("npm", "echo undefined"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--allow-from npm: its configuration names no host", done.stderr)
        self.assertIn("refused good.example:80", done.stderr)

    def test_a_tool_that_cannot_be_asked_stops_the_start(self):
        done = self.fetch(["--allow-from", "go"], ("go", "exit 127"))
        self.assertEqual(done.returncode, 125)
        self.assertIn("--allow-from go", done.stderr)

    def test_why_and_check_ask_the_tool_too(self):
        bin_dir = self.w.path("tools-why")
        os.makedirs(bin_dir)
        with open(os.path.join(bin_dir, "npm"), "w", encoding="ascii") as f:
            f.write("#!/bin/sh\necho http://good.example/npm/\n")
        os.chmod(f.name, 0o755)
        env = dict(self.w.env(), PATH=bin_dir + ":" + os.environ["PATH"])
        for command, status, said in (("why", 0, "allowed good.example:80"),
                                      ("check", 0, "1 allowed")):
            words = [self.w.sbx, command, "--allow-from", "npm"]
            done = self.w.run(words + (["good.example:80"] if command == "why" else []), env=env)
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(said, done.stdout)
        done = self.w.run([self.w.sbx, "why", "good.example:80"], env=env)
        self.assertEqual(done.returncode, 1, done.stdout)

    def test_usage(self):
        self.assertEqual(self.fetch(["--allow-from", "rpm"]).returncode, 64)


if __name__ == "__main__":
    main()

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


class Hired(WorldCase):
    """The tools are run outside of the sandbox: none that a command of a run may have written."""

    def setUp(self):
        name = self.id().rsplit(".", 1)[1]
        self.escaped = os.path.join(self.w.home, "ESCAPED")
        self.addCleanup(self.forget)
        # a project below the home directory
        self.ws = os.path.join(self.w.home, "project-" + name)
        self.w.run(["mkdir", self.ws], cwd="/", check=True)
        self.addCleanup(shutil.rmtree, self.ws)
        self.bin = os.path.join(self.w.home, "bin-" + name)

    def forget(self):
        if os.path.exists(self.escaped):
            os.unlink(self.escaped)

    def made(self, path, text):
        self.w.run(["mkdir", "-p", os.path.dirname(path)], cwd="/", check=True)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        os.chmod(path, 0o755)
        return path

    def plant(self, *paths):
        """By a command of an earlier run."""
        text = "#!/bin/sh\ngrep Seccomp: /proc/self/status >>%s\necho http://evil.example/\n" % self.escaped
        script = "for p; do mkdir -p $(dirname $p); printf '%s' \"$TEXT\" >$p; chmod 755 $p; done"
        done = self.w.sbx_run(["--env", "TEXT=" + text], ["sh", "-c", script, "sh", *paths], cwd=self.ws)
        self.assertEqual(done.returncode, 0, done.stderr)
        for path in paths:
            self.assertTrue(os.path.exists(os.path.join(self.ws, path)))

    def ask(self, tool, path=None, command="run", options=(), **env):
        env = dict(self.w.env(), **env)
        if path:
            env["PATH"] = path.replace("@", self.ws) + ":" + env["PATH"]
        argv = [self.w.sbx, command, "--no-config", *options, "--allow-from", tool]
        argv += {"run": ["--", "true"], "why": ["evil.example:80"], "check": []}[command]
        done = self.w.run(argv, env=env, cwd=self.ws)
        self.assertFalse(os.path.exists(self.escaped), done.stderr)
        self.assertNotIn("--allow-from %s: evil.example" % tool, done.stderr)
        return done

    def test_no_tool_of_the_workspace(self):
        names = ["npm", "node", "apt-get", "pip", "python3", "cargo", "go", "git", "sh", "cat", "grep", "env", "bash"]
        self.plant(*[".venv/bin/" + x for x in names])
        os.symlink(".venv/bin", os.path.join(self.ws, "link"))
        os.symlink(os.path.join(self.ws, ".venv/bin"), self.bin)
        paths = ("@/.venv/bin", ".venv/bin", "@/link", self.bin, "@/../%s/.venv/bin" % os.path.basename(self.ws))
        rows = [(x, paths[0], "run") for x in ("npm", "apt", "pip", "cargo", "go")]
        rows += [("git", x, "run") for x in paths] + [("git", paths[0], x) for x in ("why", "check")]
        for tool, path, command in rows:
            with self.subTest(tool, path=path, command=command):
                self.ask(tool, path, command)

    def test_a_tool_that_only_the_workspace_has(self):
        self.plant(".venv/bin/go")
        real = os.path.join(self.ws, ".venv/bin/go")
        for path, said in (("@/.venv/bin", real), (".venv/bin", ".venv/bin/go")):
            done = self.w.run([self.w.sbx, "run", "--allow-from", "go", "--", "echo", "ran"], cwd=self.ws,
                              env=dict(self.w.env(), PATH=path.replace("@", self.ws)))
            self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
            self.assertIn("--allow-from go: %s is not run outside of the sandbox: " % said, done.stderr)
            self.assertIn("--allow HOST", done.stderr)

    def test_a_tool_that_a_grant_has(self):
        self.made(os.path.join(self.bin, "npm"), "#!/bin/sh\necho http://good.example/\n")
        self.addCleanup(shutil.rmtree, self.bin)
        env = {"PATH": self.bin, "HOME": self.w.home}
        for options, code in ((["--write", self.bin], 125), (["--write", self.bin + "/npm"], 125), ([], 0)):
            done = self.w.run([self.w.sbx, "run", *options, "--allow-from", "npm", "--", "/bin/true"], cwd=self.ws, env=env)
            with self.subTest(options):
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual("good.example:80" in done.stderr, code == 0, done.stderr)

    def test_what_settings_grant(self):
        self.made(os.path.join(self.bin, "npm"), "#!/bin/sh\necho http://good.example/\n")
        self.addCleanup(shutil.rmtree, self.bin)
        policy = self.w.write("granted.json", '{"filesystem":{"allowWrite":["%s"]}}' % self.bin)
        done = self.w.run([self.w.sbx, "run", "--policy", policy, "--allow-from", "npm", "--", "/bin/true"], cwd=self.ws,
                          env={"PATH": self.bin, "HOME": self.w.home})
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertIn("npm is not run outside of the sandbox: it lies in " + self.bin, done.stderr)

    def test_tools_of_the_users_own(self):
        """~/.local/bin, nvm, pyenv, cargo: scripts, links and interpreters in the home directory."""
        tree = os.path.join(self.bin, "lib")
        self.addCleanup(shutil.rmtree, self.bin)
        self.made(os.path.join(tree, "npm-cli"), "#!/usr/bin/env mynode\nbasename $0\necho http://good.example/\n")
        self.made(os.path.join(tree, "mynode"), "#!/usr/bin/env bash\n. $1\n")
        for name, to in (("npm", "npm-cli"), ("mynode", "mynode")):
            os.symlink("lib/" + to, os.path.join(self.bin, name))
        done = self.ask("npm", self.bin)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "sbx-net: --allow-from npm: good.example:80\n")

    def test_an_interpreter_of_the_workspace(self):
        self.plant(".venv/bin/python3", ".venv/bin/node")
        self.addCleanup(shutil.rmtree, self.bin)
        said = "is not run outside of the sandbox: "
        for first in ("#!/usr/bin/env node", "#!%s/.venv/bin/python3" % self.ws, "#!/usr/bin/env -S python9 -u"):
            self.made(os.path.join(self.bin, "npm"), first + "\n")
            done = self.w.run([self.w.sbx, "run", "--allow-from", "npm", "--", "echo", "ran"], cwd=self.ws,
                              env={"PATH": "%s/.venv/bin:%s" % (self.ws, self.bin), "HOME": self.w.home})
            with self.subTest(first):
                self.assertFalse(os.path.exists(self.escaped))
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                self.assertIn("%s/npm %s" % (self.bin, said), done.stderr)

    def test_what_a_projects_npm_has_set(self):
        """Real npm where it is here; npm run hands its project's configuration on."""
        self.addCleanup(shutil.rmtree, self.bin)
        self.made(os.path.join(self.bin, "npm"), "#!/bin/sh\nenv >%s/env\nenv | grep -i registry=\n" % self.bin)
        npm = {"npm_config_registry": "http://evil.example/", "NPM_CONFIG_REGISTRY": "http://evil.example/",
               "npm_config_@x:registry": "http://evil.example/", "INIT_CWD": self.ws, "npm_package_x": "registry="}
        for mark in ("npm_lifecycle_event", "npm_config_local_prefix", "INIT_CWD"):
            done = self.ask("npm", self.bin, **dict(npm, **{mark: "/x"}))
            self.assertIn("names no host", done.stderr)
            with open(os.path.join(self.bin, "env"), encoding="ascii") as f:
                self.assertNotRegex(f.read(), "(?im)^npm_|^INIT_CWD")
        done = self.ask("npm", self.bin, npm_config_registry="http://good.example/")  # the user's own
        self.assertEqual(done.stderr, "sbx-net: --allow-from npm: good.example:80\n")

    def test_npm_run(self):
        if not shutil.which("npm", path=PATH):
            self.skipTest("npm is not installed")
        self.made(os.path.join(self.ws, ".npmrc"), "registry=https://evil.example/\n@a:registry=https://evil.example/\n")
        self.made(os.path.join(self.ws, "package.json"),
                  '{"name":"x","version":"1.0.0","scripts":{"s":"%s run --no-config --allow-from npm -- true"}}' % self.w.sbx)
        done = self.w.run(["npm", "run", "s"], cwd=self.ws)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--allow-from npm: ", done.stderr)
        self.assertNotIn("evil.example", done.stderr)

    def test_variables_that_lead_into_the_workspace(self):
        """As direnv, or a project's wrapper, sets them; and the twin outside of it."""
        conf = {"pip.conf": "[global]\nindex-url = https://%s/\n",
                "npmrc": "registry=https://%s/\n", "cargo/config.toml": "[source.m]\nregistry = \"https://%s/\"\n"}
        away = os.path.join(self.bin, "conf")
        self.addCleanup(shutil.rmtree, self.bin)
        for top, host in ((self.ws, "evil.example"), (away, "good.example")):
            for name, text in conf.items():
                self.made(os.path.join(top, name), text % host)
        self.made(os.path.join(self.ws, "home/.cargo/config.toml"), conf["cargo/config.toml"] % "evil.example")
        for tool, name, file in (("pip", "PIP_CONFIG_FILE", "pip.conf"), ("cargo", "CARGO_HOME", "cargo"),
                                 ("npm", "NPM_CONFIG_USERCONFIG", "npmrc")):
            if tool != "cargo" and not shutil.which(tool, path=PATH):
                continue
            with self.subTest(tool):
                self.ask(tool, **{name: os.path.join(self.ws, file)})
                done = self.ask(tool, **{name: os.path.join(away, file)})
                self.assertEqual(done.stderr, "sbx-net: --allow-from %s: good.example:443\n" % tool)
        self.ask("cargo", HOME=os.path.join(self.ws, "home"))
        os.symlink(os.path.join(self.ws, "cargo/config.toml"), os.path.join(away, "cargo/config"))
        self.assertIn("--allow-from cargo: not read: %s/cargo/config: " % away,
                      self.ask("cargo", CARGO_HOME=os.path.join(away, "cargo")).stderr)


if __name__ == "__main__":
    main()

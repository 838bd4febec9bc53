#!/usr/bin/python3
"""Layers of settings with a managed file on top: who may loosen what, sentence by sentence.

/etc of the world's host is a copy, so that there can be an /etc/sbx-net/settings.json.
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import WorldCase, main, setup_world, v4  # noqa: E402


def setUpModule():
    w = setup_world()
    w.run(["sh", "-c", 'cp -a /etc "$1" && rm -rf "$1/sbx-net" && mkdir "$1/sbx-net" && mount --bind "$1" /etc', "sh",
           w.path("etc")], uid=0, check=True, stderr=None)


class ManagedCase(WorldCase):
    def setUp(self):
        self.managed_file = self.w.path("etc", "sbx-net", "settings.json")
        self.user_dir = os.path.join(self.w.home, ".config")
        self.project_dir = os.path.join(self.w.ws, ".sbx-net")
        self.addCleanup(self.clean)
        self.clean()

    def clean(self):
        for path in (self.user_dir, self.project_dir, os.path.join(self.w.home, ".local")):
            shutil.rmtree(path, ignore_errors=True)
        if os.path.lexists(self.managed_file):
            os.unlink(self.managed_file)

    def put(self, path, value, owner=None, mode=0o644):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(value if isinstance(value, str) else json.dumps(value))
        os.chmod(path, mode)
        if owner:
            for p in (path, os.path.dirname(path), os.path.dirname(os.path.dirname(path))):
                if p.startswith((self.w.home, self.w.ws)):
                    os.chown(p, owner, owner)
        return path

    def managed(self, value, mode=0o644):
        return self.put(self.managed_file, value, mode=mode)

    def user(self, value):
        return self.put(os.path.join(self.user_dir, "sbx-net", "settings.json"), value, self.w.uid)

    def project(self, value):
        return self.put(os.path.join(self.project_dir, "settings.json"), value, self.w.uid)

    def sbx(self, options, command):
        return self.w.run([self.w.sbx, "run", "--ask", "never", *options, "--", *command])

    def status(self, host, *options):
        """What a GET gets: the status, and the code of a refusal."""
        done = self.sbx(options, self.w.curl_argv("-i", "http://%s/" % host))
        self.err = done.stderr
        head = done.stdout.partition("\n\n")[0].lower()  # text: read with plain line ends
        code = [x.split(": ")[1] for x in head.split("\n") if x.startswith("sbx-net-code")]
        return code[0] if code else head[9:12]

    def writes(self, path, *options):
        """Whether the command can write there."""
        done = self.sbx(options, ["sh", "-c", 'echo x > "$1"/new', "sh", path])
        made = os.path.join(path, "new")
        if os.path.exists(made):
            os.unlink(made)
            return True
        self.assertNotEqual(done.returncode, 0)
        return False

    def unix_sockets(self, *options):
        done = self.sbx(options, ["/usr/bin/python3", "-c",
                                  "import socket; socket.socket(socket.AF_UNIX)"])
        return done.returncode == 0

    def own_dir(self, name):
        path = self.w.path(name)
        os.makedirs(path, exist_ok=True)
        os.chown(path, self.w.uid, self.w.uid)
        return path


class Lists(ManagedCase):
    def test_a_run_that_holds_the_place_of_the_file_stops_nobody_elses(self):
        """Root's, with a grant of /etc: what is made there for it must not look like a file."""
        for there in (False, True):
            with self.subTest(there):
                self.hold_the_place(there)

    def hold_the_place(self, there):
        """@there: the directory is, without a file"""
        if not there:
            os.rmdir(os.path.dirname(self.managed_file))
        proc = self.w.popen([self.w.sbx, "run", "--ask", "never", "--write", "/etc", "--", "sh", "-c",
                             "echo up; ! echo x > /etc/sbx-net/settings.json && cat"], uid=0,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(os.makedirs, os.path.dirname(self.managed_file), exist_ok=True)
        with proc.stdin, proc.stdout:
            self.assertEqual(proc.stdout.readline(), b"up\n")
            self.assertTrue(os.path.isdir(os.path.dirname(self.managed_file)))
            done = self.sbx([], ["echo", "fine"])
            self.assertEqual((done.stdout, done.returncode), ("fine\n", 0), done.stderr)
        self.assertEqual(proc.wait(), 0)
        self.assertEqual(os.path.exists(os.path.dirname(self.managed_file)), there)
        os.makedirs(os.path.dirname(self.managed_file), exist_ok=True)

    def test_lists_of_all_layers_are_combined(self):
        self.managed({"network": {"allowedDomains": ["good.example"],
                                  "deniedDomains": ["evil.example"]}})
        self.user({"network": {"allowedDomains": ["other.example", "evil.example"]}})
        self.project({"network": {"allowedDomains": ["www.example", "v4only.example"],
                                  "deniedDomains": ["bad.wild.example"]}})
        opts = ["-a", "a.wild.example", "-a", "bad.wild.example", "--trust-project"]
        for host, want in (("good.example", "200"), ("other.example", "200"),
                           ("v4only.example", "200"), ("a.wild.example", "200"),
                           ("evil.example", "denied"), ("bad.wild.example", "denied"),
                           ("dual.example", "not-listed")):
            with self.subTest(host):
                self.assertEqual(self.status(host, *opts), want)

    def test_managed_domains_only(self):
        self.managed({"network": {"allowManagedDomainsOnly": True,
                                  "allowedDomains": ["good.example", "other.example"]}})
        self.user({"network": {"allowedDomains": ["evil.example"], "onUnknownHost": "ask"}})
        self.project({"network": {"allowedDomains": ["evil.example"]}})
        named = self.put(self.w.path("named.json"),
                         {"network": {"allowedDomains": ["evil.example"],
                                      "strictAllowlist": False}})
        names = self.put(self.w.path("names.list"), "evil.example\n")
        for opts in ([], ["-a", "evil.example"], ["-a", "*"], ["-p", named],
                     ["--allow-list", names], ["--trust-project"], ["--only", "evil.example"],
                     ["--no-config", "-a", "evil.example"]):
            with self.subTest(opts):
                o = self.w.oracle()
                self.assertNotEqual(self.status("evil.example", *opts), "200")
                self.assertQuiet(o)
                self.assertNotIn("with: --allow", self.err)
                if "--only" not in opts:
                    self.assertIn("only the administrator can allow it, in "
                                  "/etc/sbx-net/settings.json", self.err)
                if "-a" in opts or "--allow-list" in opts:
                    self.assertIn("/etc/sbx-net/settings.json allows managed domains only",
                                  self.err)
        self.assertEqual(self.status("good.example"), "200")
        self.assertEqual(self.status("good.example", "--only", "good.example"), "200")
        self.assertEqual(self.status("other.example", "--only", "good.example"), "only")
        self.assertEqual(self.status("good.example", "-d", "good.example"), "denied")
        self.assertEqual(self.status("evil.example"), "strict")
        self.managed({"network": {"allowedDomains": ["good.example"]}})  # the twin
        self.assertEqual(self.status("evil.example", "-a", "evil.example"), "200")

    def test_managed_domains_only_counts_in_the_managed_file_only(self):
        self.user({"network": {"allowManagedDomainsOnly": True}})
        self.assertEqual(self.status("good.example", "-a", "good.example"), "200")

    def test_no_config_keeps_what_the_managed_file_tightens(self):
        self.managed({"network": {"allowedDomains": ["other.example"],
                                  "deniedDomains": ["evil.example"]}})
        self.user({"network": {"allowedDomains": ["www.example"]}})
        opts = ["--no-config", "-a", "good.example", "-a", "evil.example"]
        for host, want in (("good.example", "200"), ("evil.example", "denied"),
                           ("other.example", "not-listed"), ("www.example", "not-listed")):
            with self.subTest(host):
                self.assertEqual(self.status(host, *opts), want)


    def test_no_config_is_named_where_it_drops_a_managed_entry(self):
        self.managed({"network": {"allowedDomains": ["other.example", "*.wild.example:80"]}})
        for host, named in (("other.example", True), ("a.wild.example", True), ("www.example", False)):
            curl = self.w.curl_argv("-s", "http://%s/" % host)
            with self.subTest(host):
                done = self.sbx(["--no-config"], curl)
                self.assertIn("refused %s:80 (not on the allow list)" % host, done.stderr)
                self.assertEqual("/etc/sbx-net/settings.json:1 allows it, and --no-config drops" in
                                 done.stderr, named, done.stderr)
        done = self.sbx([], self.w.curl_argv("-s", "http://other.example/"))  # the twin
        self.assertNotIn("refused", done.stderr)


class Switches(ManagedCase):
    STRICT = {"network": {"strictAllowlist": True}}
    LOOSE = {"network": {"strictAllowlist": False}}

    def test_a_boolean_comes_from_the_highest_layer_that_sets_it(self):
        named = self.w.path("switch.json")
        for managed, line, project, user, want in (
                (None, None, None, None, "not-listed"), (None, None, None, True, "strict"),
                (None, None, False, True, "strict"),     # a project never loosens
                (None, None, True, False, "strict"), (None, False, None, True, "not-listed"),
                (None, True, None, False, "strict"), (True, False, False, False, "strict"),
                (False, None, None, True, "not-listed"), (False, True, None, None, "not-listed")):
            with self.subTest((managed, line, project, user)):
                self.clean()
                opts = []
                for value, put in ((managed, self.managed), (project, self.project),
                                   (user, self.user)):
                    if value is not None:
                        put(self.STRICT if value else self.LOOSE)
                if line is not None:
                    self.put(named, self.STRICT if line else self.LOOSE)
                    opts = ["-p", named]
                self.assertEqual(self.status("evil.example", "--trust-project", *opts), want)
        # the option is the caller's own, and tightens
        self.managed(self.LOOSE)
        self.assertEqual(self.status("evil.example", "--strict"), "strict")

    def test_file_confinement_is_switched_off_by_the_user_only(self):
        there = self.own_dir("elsewhere")
        off = {"filesystem": {"disabled": True}}
        self.assertFalse(self.writes(there))
        self.project(off)
        self.assertFalse(self.writes(there, "--trust-project"))
        self.clean()
        self.user(off)
        self.assertTrue(self.writes(there))
        self.assertTrue(self.writes(there, "--fs", "off"))
        # where the managed file configures files, nobody below it does
        for value in ({"denyWrite": ["/srv/nowhere"]}, {"disabled": False},
                      {"allowManagedReadPathsOnly": True}):
            with self.subTest(value):
                self.managed({"filesystem": value})
                self.assertFalse(self.writes(there))
                self.assertFalse(self.writes(there, "--fs", "off"))
                for options, told in ((["--fs", "off"], 1), ([], 0)):
                    done = self.sbx(options, ["true"])
                    self.assertEqual(done.stderr.count("--fs off has no effect"), told, done.stderr)
        self.managed({"filesystem": {"disabled": True}})
        self.assertTrue(self.writes(there))

    def test_unix_sockets(self):
        self.assertFalse(self.unix_sockets())
        self.assertTrue(self.unix_sockets("--allow-unix-sockets"))
        self.project({"network": {"allowAllUnixSockets": True}})
        self.assertFalse(self.unix_sockets("--trust-project"))
        self.user({"network": {"allowAllUnixSockets": True}})
        self.assertTrue(self.unix_sockets())
        self.user({"network": {"allowUnixSockets": ["/run/one.sock"]}})
        self.assertTrue(self.unix_sockets())
        for argv in (["run", "--ask", "never", "--", "true"], ["check"],
                     ["import", "srt", os.path.join(self.user_dir, "sbx-net", "settings.json")]):
            done = self.w.run([self.w.sbx, *argv])
            self.assertEqual(done.stderr.count("any path opens every unix socket"), 1, done.stderr)
        self.user({"network": {"allowAllUnixSockets": True}})
        self.assertNotIn("any path", self.w.run([self.w.sbx, "check"]).stderr)
        self.managed({"network": {"allowAllUnixSockets": False}})
        self.assertFalse(self.unix_sockets())
        self.assertFalse(self.unix_sockets("--allow-unix-sockets"))


class Repository(ManagedCase):
    """What an administrator requires, a repository cannot loosen, whoever trusts it."""
    REQUIRED = ({"network": {"allowManagedDomainsOnly": True, "allowedDomains": ["good.example"]}},
                {"sandbox": {"allowUnsandboxedCommands": False,
                             "network": {"allowedDomains": ["good.example"]}}})

    def test_a_trusted_project_only_tightens_then(self):
        there = self.own_dir("granted")
        self.project({"network": {"allowedDomains": ["evil.example"], "allowUnixSockets": ["/x"],
                                  "deniedDomains": ["other.example"]},
                      "filesystem": {"allowWrite": [there]}, "environment": {"pass": ["SEEN"]}})
        env = dict(self.w.env(), SEEN="yes")

        def seen():
            done = self.w.run([self.w.sbx, "run", "--ask", "never", "--trust-project", "--", "sh",
                               "-c", "echo $SEEN"], env=env)
            return done.stdout.strip()
        self.assertEqual(self.status("evil.example", "--trust-project"), "200")  # the twin
        self.assertTrue(self.writes(there, "--trust-project"))
        self.assertTrue(self.unix_sockets("--trust-project"))
        self.assertEqual(seen(), "yes")
        for value in self.REQUIRED:
            with self.subTest(list(value)):
                self.managed(value)
                self.assertNotEqual(self.status("evil.example", "--trust-project"), "200")
                self.assertEqual(self.status("other.example", "--trust-project"), "denied")
                self.assertEqual(self.status("good.example", "--trust-project"), "200")
                self.assertFalse(self.writes(there, "--trust-project"))
                self.assertFalse(self.unix_sockets("--trust-project"))
                self.assertEqual(seen(), "")

    def test_an_untrusted_project_keeps_only_what_tightens(self):
        there = self.own_dir("granted2")
        secret = self.put(os.path.join(self.w.ws, "secret"), "s", self.w.uid)
        self.addCleanup(os.unlink, secret)
        self.project({"network": {"allowedDomains": ["evil.example"], "allowUnixSockets": ["/x"],
                                  "deniedDomains": ["good.example"], "allowPrivate": ["*"]},
                      "filesystem": {"allowWrite": [there], "denyRead": ["secret"]}})
        opts = ["-a", "good.example", "-a", "other.example"]
        self.assertEqual(self.status("evil.example", *opts), "not-listed")
        self.assertIn("not trusted", self.err)
        self.assertEqual(self.status("good.example", *opts), "denied")
        self.assertEqual(self.status("other.example", *opts), "200")
        self.assertFalse(self.writes(there))
        self.assertFalse(self.unix_sockets())
        self.assertNotEqual(self.sbx([], ["cat", secret]).stdout, "s")

    def test_trust_is_asked_for_again_when_the_file_changes(self):
        value = {"network": {"allowedDomains": ["good.example"]}}
        path = self.project(value)
        self.assertEqual(self.status("good.example"), "not-listed")
        self.assertEqual(self.status("good.example", "--trust-project"), "200")
        self.assertEqual(self.status("good.example"), "200")  # remembered
        with open(path, "a", encoding="utf-8") as f:
            f.write("\n")  # one byte is another file
        self.assertEqual(self.status("good.example"), "not-listed")
        self.assertIn("--trust-project", self.err)
        self.project(value)  # the very bytes that were trusted
        self.assertEqual(self.status("good.example"), "200")
        # the same bytes elsewhere are another project's
        moved = self.own_dir("moved")
        shutil.copytree(self.project_dir, os.path.join(moved, ".sbx-net"))
        self.assertEqual(self.status("good.example", "-C", moved), "not-listed")

    def test_grants_of_a_repository_stop_at_what_is_denied_above(self):
        """Also by a link that leads there; one in the repository itself leads nowhere."""
        there = self.own_dir("forbidden")
        link, own = os.path.join(self.w.home, "way-in"), os.path.join(self.w.ws, "way-in")
        for name in (link, own):
            os.symlink(there, name)
            self.addCleanup(os.unlink, name)
        self.put(os.path.join(there, "secret"), "s", self.w.uid)
        self.project({"filesystem": {"allowWrite": [there, "way-in"]}})
        self.assertFalse(self.writes(there, "--trust-project"))
        self.clean()
        self.project({"filesystem": {"allowWrite": [there, link], "allowRead": [link]}})
        self.assertTrue(self.writes(there, "--trust-project"))  # the twin
        for put in (self.user, self.managed):
            with self.subTest(put.__name__):
                put({"filesystem": {"denyRead": [there]}})
                self.assertFalse(self.writes(there, "--trust-project"))
                done = self.sbx(["--trust-project"], ["cat", link + "/secret"])
                self.assertNotEqual(done.stdout, "s")
                self.clean()
                self.project({"filesystem": {"allowWrite": [there, link]}})


class Files(ManagedCase):
    def test_broken_managed_file_stops_the_start(self):
        for value, mode in (("{", 0o644), ("", 0o644), ("[]", 0o644), ({"nework": {}}, 0o644),
                            ({}, 0o666), ({}, 0o664), ({}, 0)):
            with self.subTest(value, mode=mode):
                path = self.managed(value, mode)
                for opts in ([], ["--no-config"]):
                    done = self.sbx(opts, ["echo", "ran"])
                    self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                    self.assertIn(path.replace(self.w.path("etc"), "/etc"), done.stderr)
        self.managed({})
        self.assertEqual(self.sbx([], ["echo", "ran"]).stdout, "ran\n")

    def test_a_link_in_the_place_of_the_managed_file(self):
        """To nothing, to a user's file, to root's in a user's directory: an error, and never "no file"."""
        lock = {"network": {"allowManagedDomainsOnly": True}}
        mine = self.put(os.path.join(self.own_dir("mine"), "m.json"), lock)
        roots = self.put(self.w.path("etc", "sbx-net", "roots.json"), lock)
        users = self.put(self.w.path("etc", "sbx-net", "users.json"), lock)
        os.chown(users, self.w.uid, self.w.uid)
        for path in (roots, users):
            self.addCleanup(os.unlink, path)
        for to, want in (("/nonexistent", "a link to nothing"), (mine, "must be root's"),
                         (users, "must be root's"),
                         (os.path.join(self.w.ws, "none"), "a link to nothing")):
            with self.subTest(to):
                self.clean()
                os.symlink(to.replace(self.w.path("etc"), "/etc"), self.managed_file)
                done = self.sbx(["-a", "evil.example"], ["echo", "ran"])
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                self.assertIn(want, done.stderr)
        self.clean()  # the twins: none, and a link to a file of root's beside it
        self.assertEqual(self.status("evil.example", "-a", "evil.example"), "200")
        os.symlink("roots.json", self.managed_file)
        self.assertNotEqual(self.status("evil.example", "-a", "evil.example"), "200")

    def test_the_managed_file_is_roots(self):
        there = os.path.dirname(self.managed_file)
        self.addCleanup(os.chown, there, 0, 0)
        self.addCleanup(os.chmod, there, 0o755)
        for what in (self.managed_file, there):
            with self.subTest(what):
                self.managed({})
                os.chown(what, self.w.uid, self.w.uid)
                done = self.sbx([], ["echo", "ran"])
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                self.assertIn("must be root's", done.stderr)
                os.chown(what, 0, 0)
        os.chmod(there, 0o777)
        self.assertEqual(self.sbx([], ["echo", "ran"]).returncode, 125)
        os.chmod(there, 0o755)
        self.assertEqual(self.sbx([], ["echo", "ran"]).stdout, "ran\n")  # the twin

    def test_a_file_of_two_shapes_loses_nothing(self):
        """What would stand where nobody reads it stops the start, in every layer."""
        named = self.w.path("two.json")
        denial = {"network": {"deniedDomains": ["evil.example"]}}
        for value in (dict(denial, permissions={}), dict(denial, sandbox={}),
                      {"permissions": {}, "filesystem": {"denyRead": ["~/x"]}},
                      {"sandbox": {}, "allowUnsandboxedCommands": False},
                      {"network.deniedDomains": ["evil.example"], "network": {}},
                      {"permissions": {"deny": "WebFetch(domain:evil.example)"}},
                      {"permissions": {"Deny": ["WebFetch(domain:evil.example)"]}},
                      {"permissions": {"deny": ["webfetch(domain:evil.example)"]}},
                      {"permissions": {"deny": ["WebFetch(domain:evil.example) "]}},
                      dict(denial, sandbox=None), dict(denial, permissions=[])):
            for put in (self.managed, self.user, self.project,
                        lambda x: self.put(named, x)):
                with self.subTest(value, put=put):
                    self.clean()
                    opts = ["-p", put(value)] if put(value) == named else []
                    done = self.sbx(["-a", "evil.example", *opts], ["echo", "ran"])
                    self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        for value in (denial, {"sandbox": denial}, {"permissions": {"deny": [
                "WebFetch(domain:evil.example)", "Bash(rm:*)"]}, "model": "x"}):
            for put in (self.managed, self.user, self.project):
                with self.subTest(value, put=put):
                    self.clean()
                    put(value)
                    self.assertEqual(self.status("evil.example", "-a", "evil.example"), "denied")

    def test_a_slip_in_our_own_places_is_an_error_whatever_the_shape(self):
        slips = ({"ripgrep": {}, "network": {"deniedDomain": []}},
                 {"sandbox": {"network": {"deniedDomain": []}}})
        for value in slips:
            for put in (self.managed, self.user, self.project):
                with self.subTest(value, put=put):
                    self.clean()
                    put(value)
                    done = self.sbx([], ["echo", "ran"])
                    self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                    self.assertIn("did you mean 'network.deniedDomains'", done.stderr)
            self.clean()  # a file that is named for once may be newer than we are
            done = self.sbx(["-p", self.put(self.w.path("slip.json"), value)], ["echo", "ran"])
            self.assertEqual(done.stdout, "ran\n", done.stderr)
            self.assertIn("did you mean 'network.deniedDomains'", done.stderr)

    def test_broken_files_of_the_other_layers(self):
        for put in (self.user, self.project):
            for text in ("{", "", '{"network": {"allowedDomains": [1]}}', '{"nework": {}}',
                         '{"network": {"allowedDomains": ["*.*.x"]}}'):
                with self.subTest(put.__name__, text=text):
                    path = put(text)
                    done = self.sbx(["-a", "good.example"], ["echo", "ran"])
                    self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                    self.assertIn(os.path.basename(os.path.dirname(path)) + "/settings.json",
                                  done.stderr)
                    done = self.sbx(["--no-config"], ["echo", "ran"])  # then it is not read
                    self.assertEqual(done.stdout, "ran\n")
            self.clean()

    def test_no_file_of_a_stranger_is_obeyed_by_the_terminal(self):
        """What a repository calls its keys and files is told, and not sent to the terminal."""
        esc = "\x1b]0;x\x07\x9b31m\u202e"
        for value in ({esc: 1}, {"network": {esc: 1}}, {"network": {"denyListFiles": [esc]}},
                      {"network": {"deniedDomains": [esc]}}, {"sandbox": {esc: 1}},
                      {"network": {"deniedDomainReasons": {esc: "x"}}},
                      '{"a": "%s"}' % esc, "{%s" % esc):
            with self.subTest(value):
                path = self.project(value)
                for done in (self.sbx([], ["true"]), self.w.run([self.w.sbx, "check"]),
                             self.w.run([self.w.sbx, "why", "good.example"])):
                    self.assertIn("settings.json", done.stderr + done.stdout)
                    told = done.stderr.replace("\n", "") + done.stdout.replace("\n", "")
                    self.assertTrue(told.isprintable(), ascii(told))
        self.assertIn(path, done.stderr)

    def test_why_and_check_name_rule_file_and_line(self):
        self.managed('{\n "network": {\n  "deniedDomains": [\n   "evil.example"]}}')
        self.user('{"network":\n {"allowedDomains": ["good.example",\n  "evil.example",\n'
                  '  "good.example", "*.github.io", "github.com:1-65535"]}}')

        def why(host):
            return self.w.run([self.w.sbx, "why", host]).stdout
        self.assertRegex(why("evil.example"), r"rule: evil.example \(/etc/sbx-net/settings.json:4\)")
        self.assertRegex(why("good.example"),
                         r"allowed good.example:443\nrule: good.example \(.*/settings.json:2\)")
        self.assertRegex(why("x.test"), r"refused x.test:443 \(not on the allow list\)")
        done = self.w.run([self.w.sbx, "check", "--strict"])
        self.assertEqual(done.returncode, 1)
        for line in (r"settings.json:3: .evil.example. never allows anything: denied by",
                     r"settings.json:4: .good.example. stands on the list already",
                     r"settings.json:4: .\*.github.io. allows names that anybody can get",
                     r"settings.json:4: .github.com:1-65535. names every port"):
            self.assertRegex(done.stdout, line)
        # and the proxy says the same as `why`
        for host in ("evil.example", "good.example", "x.test"):
            self.assertEqual(self.status(host) == "200", why(host).startswith("allowed"))
        self.assertTrue(v4(1))


if __name__ == "__main__":
    main()

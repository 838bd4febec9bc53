#!/usr/bin/python3
"""A command that could write what its policy is read from would write its own permissions.

Each trick is tried by a command inside; what tells is the file on the host afterwards, and whether
the proxy then let a host through that the policy does not name.
"""
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import WorldCase, main  # noqa: E402

NARROW = {"network": {"allowedDomains": ["good.example"]}}
WIDE = {"network": {"allowedDomains": ["good.example", "evil.example"]}}
# what a live reload needs to be noticed
REACH = "sleep 0.4; curl -sS -m 5 -f http://evil.example/ && echo REACHED"

# {f}: the file, {d}: the directory it is in, {w}: the wider text
TRICKS = (
    "cp {w} {f}",
    "cat {w} > {f}",
    "cp {w} {f}.new; mv {f}.new {f}",
    "rm -f {f}; cp {w} {f}",
    "mv {f} {f}.old; cp {w} {f}",
    "cp {w} {d}/w; ln -f {d}/w {f}",
    "ln -sf {w} {f}",
    "ln {f} {d}/other && cat {w} > {d}/other",
    "chmod 666 {f}; cat {w} >> {f}",
    "truncate -s 0 {f}; cat {w} > {f}",
    "mv {d} {d}.old; mkdir {d}; cp {w} {f}",
    "cp -r {d} {d}.new; cp {w} {d}.new/$(basename {f}); mv {d} {d}.old; mv {d}.new {d}",
    "rm -rf {d}; mkdir -p {d}; cp {w} {f}",
    "rmdir {f}; cp {w} {f}",
)


class PolicyFiles(WorldCase):
    def setUp(self):
        self.dir = self.w.path("ws", self._testMethodName)
        self.wide = self.dir + "-wide"  # outside
        self.make(self.dir)

    def make(self, path):
        os.mkdir(path)
        os.chown(path, self.w.uid, self.w.uid)
        return path

    def write(self, path, text):
        text = text if isinstance(text, str) else json.dumps(text)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        os.chown(path, self.w.uid, self.w.uid)
        return path

    def link(self, target, path):
        os.symlink(target, path)
        os.lchown(path, self.w.uid, self.w.uid)
        return path

    def argv(self, options, script):
        return [self.w.sbx, "run", "--ask", "never", "-C", self.dir, *options, "--", "sh", "-c", script]

    def tricks(self, path, options=(), wide=WIDE, env=None, absent=False):
        """None of them changes @path, or what may be reached."""
        self.write(self.wide, wide)
        env = dict(self.w.env(), **(env or {}))
        before = None if absent else open(path, encoding="ascii").read()
        target = os.path.realpath(path)
        names = {"f": path, "d": os.path.dirname(path), "w": self.wide}
        script = "".join("(%s)\n" % trick.format(**names) for trick in TRICKS)
        oracle = self.w.oracle()
        done = self.w.run(self.argv(options, "exec 2> /dev/null\n" + script + REACH), env=env)
        self.assertNotIn("REACHED", done.stdout)
        self.assertNotEqual(done.returncode, 125, done.stderr)
        self.assertEqual(oracle.requests(), [])
        self.assertEqual(os.path.realpath(path), target)
        if absent:
            self.assertFalse(os.path.lexists(path))
            return
        with open(path, encoding="ascii") as f:
            self.assertEqual(f.read(), before)

    def test_the_tricks_work_elsewhere(self):
        """The twin: on files that no policy is read from."""
        self.write(self.wide, WIDE)
        for i, trick in enumerate(TRICKS[:-1]):
            d = self.make(os.path.join(self.dir, "d%d" % i))
            path = self.write(os.path.join(d, "p.json"), NARROW)
            done = self.w.run(self.argv(["--no-config"], trick.format(f=path, d=d, w=self.wide)))
            with self.subTest(trick):
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(path, encoding="ascii") as f:
                    self.assertIn("evil", f.read())

    def test_a_change_from_outside_counts(self):
        """The twin: what the tricks are after happens when somebody outside does it."""
        path = self.write(os.path.join(self.dir, "p.json"), NARROW)
        timer = threading.Timer(0.5, self.write, (path, WIDE))
        timer.start()
        done = self.w.run(self.argv(
            ["--no-config", "-p", path],
            "for i in $(seq 100); do curl -sfS -m 5 http://evil.example/ 2> /dev/null && break; "
            "sleep 0.1; done"))
        timer.join()
        self.assertIn("hello", done.stdout, done.stderr)

    def test_policy(self):
        d = self.make(os.path.join(self.dir, "conf"))
        path = self.write(os.path.join(d, "p.json"), NARROW)
        self.tricks(path, ["--no-config", "-p", path])

    def test_policy_by_a_relative_path(self):
        path = self.write(os.path.join(self.dir, "p.json"), NARROW)
        self.tricks(path, ["--no-config", "-p", os.path.relpath(path, self.w.ws)])

    def test_policy_below_a_grant(self):
        more = self.make(self.dir + "-more")
        d = self.make(os.path.join(more, "conf"))
        path = self.write(os.path.join(d, "p.json"), NARROW)
        self.tricks(path, ["--no-config", "-p", path, "--write", more])

    def test_policy_that_is_granted_itself(self):
        path = self.write(os.path.join(self.dir, "p.json"), NARROW)
        self.tricks(path, ["--no-config", "-p", path, "--write", path])

    def test_lists(self):
        allow = self.write(os.path.join(self.make(self.dir + "/allow"), "a.list"), "good.example\n")
        deny = self.write(os.path.join(self.make(self.dir + "/deny"), "d.list"), "evil.example\n")
        self.tricks(allow, ["--no-config", "--allow-list", allow],
                    wide="good.example\nevil.example\n")
        self.tricks(deny, ["--no-config", "--deny-list", deny, "-a", "evil.example"], wide="x.test\n")

    def test_lists_of_a_policy(self):
        d = self.make(os.path.join(self.dir, "lists"))
        allow = self.write(os.path.join(d, "a.list"), "good.example\n")
        path = self.write(os.path.join(self.dir, "p.json"), {"network": {"allowListFiles": [allow]}})
        self.tricks(allow, ["--no-config", "-p", path], wide="good.example\nevil.example\n")

    def test_links(self):
        """A link in a link's directory: each name on the way counts."""
        d = self.make(os.path.join(self.dir, "real"))
        self.write(os.path.join(d, "p.json"), NARROW)
        self.link("real", os.path.join(self.dir, "one"))
        self.link("one/p.json", os.path.join(self.dir, "two.json"))
        for path in ("real/p.json", "one/p.json", "two.json"):
            self.tricks(os.path.join(self.dir, path),
                        ["--no-config", "-p", os.path.join(self.dir, "two.json")])
        self.assertEqual(os.readlink(os.path.join(self.dir, "one")), "real")
        self.assertEqual(os.readlink(os.path.join(self.dir, "two.json")), "one/p.json")

    def test_user_settings_that_lead_into_the_workspace(self):
        home = self.make(self.dir + "-home")
        config = self.make(os.path.join(home, ".config"))
        own = self.make(os.path.join(config, "sbx-net"))
        path = self.write(os.path.join(self.dir, "s.json"), NARROW)
        self.link(path, os.path.join(own, "settings.json"))
        self.tricks(path, env={"HOME": home})

    def test_user_settings_in_a_writable_home(self):
        home = self.make(self.dir + "-home")
        config = self.make(os.path.join(home, ".config"))
        path = os.path.join(config, "sbx-net", "settings.json")
        self.tricks(path, ["--write", home], env={"HOME": home}, absent=True)
        self.make(os.path.dirname(path))
        self.tricks(path, ["--write", home], env={"HOME": home}, absent=True)
        self.write(path, NARROW)
        self.tricks(path, ["--write", home], env={"HOME": home})

    def test_xdg_directories_in_the_workspace(self):
        for variable, name in (("XDG_CONFIG_HOME", "settings.json"), ("XDG_STATE_HOME", "trusted")):
            base = self.make(os.path.join(self.dir, variable))
            path = os.path.join(base, "sbx-net", name)
            self.tricks(path, env={variable: base}, absent=True)
            self.make(os.path.dirname(path))
            self.write(path, NARROW if name == "settings.json" else "x\n")
            self.tricks(path, env={variable: base})

    def test_project_settings(self):
        d = self.make(os.path.join(self.dir, ".sbx-net"))
        path = self.write(os.path.join(d, "settings.json"), NARROW)
        home = self.make(self.dir + "-home")
        self.tricks(path, ["--trust-project"], env={"HOME": home})

    def test_project_settings_that_are_missing(self):
        home = self.make(self.dir + "-home")
        path = os.path.join(self.dir, ".sbx-net", "settings.json")
        self.tricks(path, ["--trust-project"], env={"HOME": home}, absent=True)

    def test_what_a_project_names_is_not_opened_unless_it_is_a_file(self):
        """A writer that waits at a pipe elsewhere would be let go; of a device, worse"""
        home = self.make(self.dir + "-home")
        pipe = home + "/pipe"
        os.mkfifo(pipe, 0o666)
        os.chown(pipe, self.w.uid, self.w.uid)
        own = self.make(os.path.join(self.dir, ".sbx-net"))
        settings = own + "/settings.json"
        for text in (None, {"network": {"denyListFiles": [pipe]}}, {"network": {"allowListFiles": [pipe]}}):
            with self.subTest(text):
                if text is None:
                    self.link(pipe, settings)
                else:
                    self.write(settings, text)
                writer = self.w.popen(["sh", "-c", 'echo precious > "$1"', "sh", pipe])
                try:
                    done = self.w.run(self.argv([], "echo RAN"), env=dict(self.w.env(), HOME=home))
                    allows = "allowListFiles" in str(text)  # which nobody trusts: of no effect
                    self.assertEqual(done.returncode, 0 if allows else 125, done.stderr)
                    self.assertIn("not trusted" if allows else "a pipe", done.stderr)
                    self.assertIsNone(writer.poll())  # it waits as it did
                finally:
                    got = self.w.run(["cat", pipe]).stdout  # the control: this lets it go
                    writer.wait(10)
                self.assertEqual(got, "precious\n")
                os.unlink(settings)

    def test_nothing_of_what_a_projects_link_leads_to_is_told(self):
        """Its log may be public; the line is told. A link to settings is one."""
        home = self.make(self.dir + "-home")
        own = self.make(os.path.join(self.dir, ".sbx-net"))
        self.link(home + "/x", own + "/settings.json")
        for text in ("SECRET=1\n", "{}\nSECRET\n", '{"a": SECRET}', '{"SECRET": 1, "SECRET": 2}',
                     "[\"SECRET", '"SECRET"'):
            self.write(home + "/x", text)
            done = self.w.run(self.argv([], "echo RAN"), env=dict(self.w.env(), HOME=home))
            self.assertEqual((done.returncode, done.stdout), (125, ""), text)
            self.assertIn("settings.json:", done.stderr)
            self.assertNotIn("SECRET", done.stderr)
        self.write(home + "/x", {"network": {"deniedDomains": ["good.example"]}})
        done = self.w.run(self.argv(["-a", "good.example"], "curl -sS -f http://good.example/"),
                          env=dict(self.w.env(), HOME=home))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("refused good.example", done.stderr)

    def test_files_off(self):
        d = self.make(os.path.join(self.dir, "conf"))
        path = self.write(os.path.join(d, "p.json"), NARROW)
        self.tricks(path, ["--no-config", "--fs", "off", "-p", path])

    def test_a_second_name(self):
        path = self.write(os.path.join(self.dir, "p.json"), NARROW)
        os.link(path, os.path.join(self.dir, "q.json"))
        done = self.w.run(self.argv(["--no-config", "-p", path], "true"))
        self.assertEqual(done.returncode, 125)
        self.assertIn(path, done.stderr)

    def test_what_is_missing_is_said_once(self):
        path = self.write(os.path.join(self.dir, "p.json"),
                          '{"filesystem": {"allowWrite": ["/nonexistent/x"]}}')
        done = self.w.run(self.argv(["--no-config", "-p", path], "true"))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("does not exist, so nothing is granted"), 1, done.stderr)

    def audit_log(self, where, after=""):
        """What is in an audit log when the command has tried to change it; nothing is forged, lost or cut."""
        path = os.path.join(self.dir, "audit.log")
        self.write(self.wide, "forged\n")
        script = "".join("(%s)\n" % trick.format(f=path, d=self.dir, w=self.wide)
                         for trick in TRICKS[:10] + ("printf x >> {f}", "rm -f {f}", "ln -sf /x {f}"))
        argv = self.argv(["--no-config", "--audit", where], "curl -s http://evil.example/\n" + script +
                         "curl -s http://worse.example/")
        self.w.run(["sh", "-c", '"$@" ' + after.format(f=path), "sh", *argv])
        with open(path, encoding="ascii") as f:
            said = [json.loads(x) for x in f]
        self.assertEqual({x.get("host") for x in said if x["event"] == "decision"},
                         {"evil.example", "worse.example"})

    def test_audit_log(self):
        self.audit_log(os.path.join(self.dir, "audit.log"))

    def test_audit_log_by_descriptor(self):
        for where, after in (("fd:3", "3> {f}"), ("fd:5", "5>> {f}"), ("/dev/fd/3", "3>> {f}")):
            with self.subTest(where + after):
                self.audit_log(where, after)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Settings files: the schema against the parser, other programs' files, and `import`.

Needs no world and no root: check, why and import only read.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
DATA = os.path.join(HERE, "..", "data")
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import ran  # noqa: E402
import schema  # noqa: E402

SBX = os.environ.get("SBX_NET", os.path.join(ROOT, "build", "cli", "sbx-net"))
OWN_KINDS = {"LIST", "NAMED", "FLAG", "SECTION"}


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory(prefix="sbx-settings-")
        self.addCleanup(self.tmp.cleanup)
        os.mkdir(os.path.join(self.tmp.name, "home"))

    def sbx(self, *args):
        env = {"PATH": os.environ["PATH"], "HOME": os.path.join(self.tmp.name, "home")}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                env[name] = os.environ[name]
        return subprocess.run([SBX, *args], cwd=self.tmp.name, env=env, text=True,
                              capture_output=True, timeout=60)

    def write(self, value, name="s.json"):
        path = os.path.join(self.tmp.name, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(value if isinstance(value, str) else json.dumps(value))
        return path

    def why(self, path, host):
        done = self.sbx("why", "--no-config", "-p", path, host)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout.split("\n")[0].split(" ")[0]


def table():
    """{path: kind} of the parser's table of keys that are ours."""
    with open(os.path.join(ROOT, "policy", "settings_keys.c"), encoding="utf-8") as f:
        text = f.read()
    text = text[text.index("table[] = {"):text.index("What other programs' files have")]
    out = {m[2]: m[1] for m in re.finditer(r"^\t(LIST|NAMED|FLAG|SECTION)\(\"([^\"]+)\"", text,
                                           re.M)}
    for m in re.finditer(r"^\t\{ \{ \"([^\"]+)\".*?(KIND_\w+)", text, re.M | re.S):
        out[m[1]] = m[2]
    return out


GOOD = {"LIST": ["a.example"], "NAMED": ["x", {"name": "y"}, {"path": "z"}], "FLAG": True,
        "SECTION": {}, "KIND_REASONS": {"b.example": "no"}, "KIND_UNKNOWN_HOST": "ask",
        "KIND_UPSTREAM": "http://p.example:3128", "KIND_SNI_CHECK": "strict", "KIND_NONE": "x"}
# values that the list's own meaning wants
SPECIAL = {"network.allowListFiles": [], "network.denyListFiles": [],
           "network.allowLocal": ["127.0.0.1:3000"],
           "network.forwardRecordTypes": ["MX", "TXT", "SRV", "SSHFP", "TLSA", "CAA"]}
WRONG = [None, 1, "?", True, {}, [], [""], [1], {"x": 1}, [{"x": "y"}], [["a"]]]


class Schema(Case):
    def setUp(self):
        super().setUp()
        with open(os.path.join(ROOT, "docs", "settings.schema.json"), encoding="utf-8") as f:
            self.schema = json.load(f)

    def keys(self):
        out = set()
        for name, s in self.schema["properties"].items():
            out.add(name)
            out |= {name + "." + k for k in s.get("properties", {})}
        return out

    def test_same_keys(self):
        self.assertEqual(self.keys() - {"network.learned"}, set(table()) - {"network.learned"})
        self.assertGreater(len(table()), 25)

    def nest(self, path, value):
        section, _, key = path.partition(".")
        return {section: {key: value}} if key else {section: value}

    def agree(self, value):
        """The parser and the schema say the same of a file."""
        done = self.sbx("check", "--no-config", self.write(value))
        errors = schema.errors(self.schema, value)
        self.assertEqual(done.returncode in (0, 1), not errors, (value, errors, done.stderr))
        return not errors

    def test_right_values(self):
        for path, kind in table().items():
            with self.subTest(path):
                self.assertTrue(self.agree(self.nest(path, SPECIAL.get(path, GOOD[kind]))))

    def test_wrong_values(self):
        refused = 0
        for path, kind in table().items():
            if kind == "KIND_NONE":
                continue
            for value in WRONG:
                # patterns, files and addresses are the policy's to judge, not the schema's
                if value == "?" and kind == "KIND_UPSTREAM":
                    continue
                with self.subTest(path, value=value):
                    refused += not self.agree(self.nest(path, value))
        self.assertGreater(refused, 200)

    def test_unknown_keys(self):
        for value in ({"nework": {}}, {"network": {"allowedDomain": []}}, {"filesystem": {"x": 1}},
                      {"allowedDomains": []}):
            self.assertFalse(self.agree(value))
        done = self.sbx("check", "--no-config", self.write({"network": {"allowedDomain": []}}))
        self.assertIn("did you mean 'network.allowedDomains'", done.stderr)
        self.assertIn("s.json:1", done.stderr)


class Foreign(Case):
    """Files as users of other programs have them mean here what they mean there."""

    def expect(self, path, rows):
        for host, want in rows:
            with self.subTest(host):
                self.assertEqual(self.why(path, host), want)

    CLAUDE = [("github.com:443", "allowed"), ("api.github.com:22", "allowed"),
              ("a.b.github.com:443", "allowed"), ("uploads.github.com:443", "refused"),
              ("packages.example.org:443", "allowed"), ("packages.example.org:80", "refused"),
              ("docs.example.com:443", "allowed"), ("paste.example.net:443", "refused"),
              ("example.com:443", "refused"), ("notgithub.com:443", "refused")]
    SRT = [("github.com:443", "allowed"), ("api.github.com:443", "allowed"),
           ("gist.github.com:443", "refused"), ("github.com:22", "refused"),
           ("api.example.com:8443", "allowed"), ("api.example.com:443", "refused"),
           ("localhost:5432", "allowed"), ("localhost:5433", "refused"),
           ("other.example:443", "refused")]
    CODEX = [("github.com:443", "allowed"), ("api.github.com:443", "refused"),
             ("example.com:443", "allowed"), ("a.example.com:443", "allowed"),
             ("upload.example.com:443", "refused"), ("raw.example.org:443", "allowed"),
             ("not-mine.example:443", "refused")]

    def test_claude(self):
        path = os.path.join(DATA, "claude-settings.json")
        self.expect(path, self.CLAUDE)
        done = self.sbx("check", "--no-config", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        for key in ("excludedCommands", "network.httpProxyPort"):  # named, never silent
            self.assertIn("'%s'" % key, done.stderr)

    def test_srt(self):
        path = os.path.join(DATA, "srt-settings.json")
        self.expect(path, self.SRT)
        done = self.sbx("check", "--no-config", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        for key in ("ignoreViolations", "enableWeakerNestedSandbox", "mandatoryDenySearchDepth"):
            self.assertIn("'%s'" % key, done.stderr)
        why = self.sbx("why", "--no-config", "-p", path, "gist.github.com")
        self.assertIn("paste service", why.stdout)

    def imported(self, kind, name):
        done = self.sbx("import", kind, os.path.join(DATA, name))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), self.write(done.stdout, "imported.json")

    def test_import_claude(self):
        value, path = self.imported("claude", "claude-settings.json")
        self.expect(path, self.CLAUDE)
        self.assertEqual(value["filesystem"]["denyRead"][:1], ["./.env"])
        self.assertIn("~/.kube/config", value["filesystem"]["denyRead"])
        self.assertIn("/srv/shared", value["filesystem"]["allowWrite"])
        self.assertIn("~/.cache/build", value["filesystem"]["allowWrite"])
        self.assertEqual(value["network"]["allowUnixSockets"], ["/run/agent.sock"])

    def test_import_srt(self):
        value, path = self.imported("srt", "srt-settings.json")
        self.expect(path, self.SRT)
        self.assertEqual(value["network"]["deniedDomainReasons"],
                         {"gist.github.com": "paste service"})
        self.assertEqual(value["filesystem"]["allowWrite"], [".", "/tmp"])
        self.assertEqual(value["filesystem"]["denyWrite"], [".env", "config/production.json"])

    def test_import_codex(self):
        value, path = self.imported("codex", "codex-config.toml")
        self.expect(path, self.CODEX)
        self.assertEqual(value, {"network": {
            "allowedDomains": ["github.com", "**.example.com", "raw.example.org"],
            "deniedDomains": ["upload.example.com"], "allowUnixSockets": ["/run/agent.sock"]}})

    def test_imports_conform_to_the_schema(self):
        with open(os.path.join(ROOT, "docs", "settings.schema.json"), encoding="utf-8") as f:
            of_ours = json.load(f)
        for kind, name in (("claude", "claude-settings.json"), ("srt", "srt-settings.json"),
                           ("codex", "codex-config.toml")):
            self.assertEqual(schema.errors(of_ours, self.imported(kind, name)[0]), [])

    def test_an_import_holds_no_control(self):
        """The text may be a stranger's, and a terminal be reading."""
        value = "/x\x1b[31m\x7f\x9b1mé"
        path = self.write(json.dumps({"filesystem": {"denyRead": [value]}}), "odd.json")
        done = self.sbx("import", "srt", path)
        self.assertEqual(json.loads(done.stdout)["filesystem"]["denyRead"], [value])
        self.assertTrue(done.stdout.replace("\n", "").isprintable(), ascii(done.stdout))
        self.assertIn("é", done.stdout)

    def test_import_refuses(self):
        for kind, text in (("codex", "default_permissions = \"x\"\n"),
                           ("codex", "[permissions.network]\nallowed_domains = \"a.example\"\n"),
                           ("codex", "[permissions.network]\nallowed_domains = [\"a b\"]\n"),
                           ("codex", "[permissions.network]\nallowed_domains = [1]\n"),
                           ("codex", "[permissions.network.domains]\n\"a.example\" = \"maybe\"\n"),
                           ("codex", "[features.network_proxy]\ndomains = {\"a.example\" = \"allow\""
                                     ", 'a.example' = 'deny'}\n"),
                           ("codex", "a = \n"), ("codex", "a = 1 2\n"), ("codex", "[a\n"),
                           ("codex", "a = \"\\q\"\n"), ("codex", "a = [1, 2\n"),
                           ("codex", "a = \"x\nb\"\n"), ("codex", "a = tru\n"),
                           ("srt", "{"), ("srt", "[]"), ("claude", ""),
                           ("srt", "{\"network\":{\"allowedDomains\":[\"http://x\"]}}")):
            with self.subTest(text):
                path = self.write(text, "foreign")
                done = self.sbx("import", kind, path)
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                self.assertIn("foreign", done.stderr)
        self.assertEqual(self.sbx("import", "srt", "/nonexistent").returncode, 125)
        self.assertEqual(self.sbx("import", "other", "x").returncode, 64)
        self.assertEqual(self.sbx("import").returncode, 64)

    def said(self, kind, text, name="foreign"):
        """The policy (None if it failed) and what was said."""
        done = self.sbx("import", kind, self.write(text, name))
        self.assertIn(done.returncode, (0, 125))
        return json.loads(done.stdout) if done.returncode == 0 else None, done.stderr

    def test_codex_workspace_write(self):
        text = ("model = \"x\"\nsandbox_mode = \"workspace-write\"\n[sandbox_workspace_write]\n"
                "network_access = %s\nwritable_roots = [\"/srv/a\", \"~/b\", \"c\"]\n"
                "exclude_slash_tmp = true\n")
        for access in ("true", "false"):
            value, err = self.said("codex", text % access)
            self.assertEqual(value, {"network": {}, "filesystem": {
                "allowWrite": ["/srv/a", "~/b"]}})
            for word in ("'c'", "exclude_slash_tmp", "not taken over: model\n"):
                self.assertIn(word, err)
            self.assertEqual("no list of hosts" in err, access == "true", err)
            self.assertNotIn("is empty", err)
            self.assertNotIn(":0:", err)
        value, err = self.said("codex", "[sandbox_workspace_write]\nnetwork_access = false\n"
                               "[features.network_proxy]\ndomains = {\"a.example\" = \"allow\"}\n")
        self.assertEqual(value, {"network": {}})
        self.assertIn("not enabled", err)
        for mode, warned in (("read-only", True), ("danger-full-access", True),
                             ("workspace-write", False)):
            _, err = self.said("codex", "sandbox_mode = \"%s\"\n" % mode)
            self.assertEqual(mode in err, warned, err)
        value, err = self.said("codex", text.replace("workspace-write", "read-only") % "false")
        self.assertEqual(value, {"network": {}})
        self.assertIn("writable_roots do not hold", err)
        keys = "".join("k%d = 1\n" % i for i in range(20000))
        self.assertRegex(self.said("codex", keys)[1], r"over: k0, k1, .{300,500} \.\.\.\n")
        self.assertIsNone(self.said("codex", "sandbox_workspace_write = 1\n")[0])
        value, err = self.said("codex", "[sandbox_workspace_write]\nnetwork_access = \"yes\"\n")
        self.assertIsNone(value)
        self.assertIn("true or false", err)

    def test_an_empty_import_says_so(self):
        for kind, text in (("codex", "model = \"x\"\n"), ("claude", "{\"model\": \"x\"}"),
                           ("srt", "{}")):
            value, err = self.said(kind, text)
            self.assertEqual(value, {"network": {}})
            self.assertIn("the policy is empty", err)
        _, err = self.said("srt", "{\"network\": {\"allowedDomains\": [\"a.example\"]}}")
        self.assertEqual(err, "")

    def test_the_wrong_kind_is_told(self):
        claude = "{\"sandbox\": {\"network\": {\"allowedDomains\": [\"a.example\"]}}}"
        srt = "{\"network\": {\"allowedDomains\": [\"a.example\"]}}"
        for kind, text, name, hint in (("srt", claude, "s.json", "'claude'"),
                                       ("claude", srt, "s.json", "'srt'"),
                                       ("codex", " \n" + claude, "s.json", "looks like JSON"),
                                       ("claude", "a = 1\n", "c.toml", "'import codex'")):
            value, err = self.said(kind, text, name)
            self.assertIsNone(value)
            self.assertIn(hint, err)
        for kind, text in (("claude", claude), ("srt", srt)):
            self.assertEqual(self.said(kind, text), (
                {"network": {"allowedDomains": ["a.example"]}}, ""))

    def test_import_names_the_rules_that_it_drops(self):
        path = os.path.join(DATA, "claude-settings.json")
        err = self.sbx("import", "claude", path).stderr
        for rule, line in (("Bash(git push:*)", 13), ("Bash(curl:*)", 19)):
            self.assertIn("%s:%d: '%s' is not taken over" % (path, line, rule), err)
        self.assertNotIn("Bash(make", err)
        # a run that only reads the file as it is has said so often enough
        self.assertNotIn("Bash(", self.sbx("check", "--no-config", path).stderr)

    def test_codex_without_network(self):
        done = self.sbx("import", "codex", self.write(
            "default_permissions = \"w\"\n[permissions.w.network]\nenabled = false\n"
            "domains = { \"a.example\" = \"allow\", \"b.example\" = \"deny\" }\n", "c.toml"))
        self.assertEqual(json.loads(done.stdout), {"network": {"deniedDomains": ["b.example"]}})
        self.assertIn("not enabled", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2, testRunner=ran.Runner)

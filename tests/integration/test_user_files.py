#!/usr/bin/python3
"""Whole settings files in the shape that users of two other programs publish theirs in.

tests/data/claude-user.json and srt-user.json have the keys, the wildcards and the odds and ends that
are found in such files. They load as they are, and mean the same: what they allow is reached and
written, what they deny is neither read nor written, and a warning names each key without effect.
"""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import WorldCase, main  # noqa: E402

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data")
PROJECT = (".env", ".env.local", "src/main.c", "src/deep/server.pem", "top.pem", "secrets/db",
           "secrets/a/b", ".github/workflows/ci.yml", "LICENSE", "dist/app.lock", "dist/app.js",
           "config/prod.tfvars", "config/app.toml", ".npmrc")
HOME = ("tokens/t", "keys/id_rsa", "keys/id_rsa.pub", "keys/config", "keys/x.key", "notes/n",
        "cache/tool/c", "share/s/f", ".bashrc")
# prints for each path: r if its text can be read, w if it can be written
LOOK = r"""
for p in "$@"; do
    out=-
    [ "$(cat "$p" 2>/dev/null)" = "text" ] && out=r
    if (printf text >"$p") 2>/dev/null; then out="${out}w"; fi
    echo "$p $out"
done
"""


class UserFiles(WorldCase):
    def setUp(self):
        for base, names in ((self.w.ws, PROJECT), (self.w.home, HOME)):
            for name in names:
                path = os.path.join(base, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as f:
                    f.write("text")
        for base in (self.w.ws, self.w.home):
            for d, dirs, files in os.walk(base):
                for name in dirs + files:
                    os.chown(os.path.join(d, name), self.w.uid, self.w.uid)
        self.addCleanup(self.tidy)

    def tidy(self):
        for base in (self.w.ws, self.w.home):
            for name in os.listdir(base):
                path = os.path.join(base, name)
                if os.path.isdir(path):
                    shutil.rmtree(path)
                else:
                    os.unlink(path)

    def load(self, name):
        path = self.w.path(name)
        shutil.copy(os.path.join(DATA, name), path)
        os.chmod(path, 0o644)
        return path

    def look(self, path, *more):
        """{path: what can be done}, "~/" for the home directory."""
        names = list(PROJECT) + [os.path.join(self.w.home, n) for n in HOME] + list(more)
        done = self.w.sbx_run(["-p", path, "-q"], ["sh", "-c", LOOK, "sh", *names])
        self.assertEqual(done.returncode, 0, done.stderr)
        out = dict(x.rsplit(" ", 1) for x in done.stdout.splitlines())
        self.assertEqual(len(out), len(names))
        return {k.replace(self.w.home, "~"): v for k, v in out.items()}, done.stderr

    def verdicts(self, path, rows):
        for host, want in rows.items():
            with self.subTest(host):
                done = self.w.run([self.w.sbx, "why", "--no-config", "-p", path, host])
                self.assertEqual(done.stdout.split(" ")[0], want, done.stderr)

    def warned(self, stderr):
        return set(re.findall(r"'([A-Za-z.]+)' has no effect here", stderr))

    def test_claude(self):
        path = self.load("claude-user.json")
        self.verdicts(path, {
            "github.com": "allowed", "api.github.com": "refused", "gist.github.com": "refused",
            "raw.githubusercontent.test:22": "allowed", "githubusercontent.test": "refused",
            "registry.example.com:443": "allowed", "registry.example.com:80": "refused",
            "docs.example.com": "allowed", "paste.example.net": "refused",
            "elsewhere.test": "refused"})
        got, stderr = self.look(path)
        self.assertEqual(got, {
            ".env": "-", ".env.local": "-", "src/main.c": "rw", "src/deep/server.pem": "-",
            "top.pem": "-", "secrets/db": "-", "secrets/a/b": "-",
            ".github/workflows/ci.yml": "r", "LICENSE": "r", "dist/app.lock": "r",
            "dist/app.js": "rw", "config/prod.tfvars": "rw", "config/app.toml": "rw",
            ".npmrc": "rw", "~/tokens/t": "-", "~/keys/id_rsa": "-", "~/keys/id_rsa.pub": "-",
            "~/keys/config": "r", "~/keys/x.key": "-", "~/notes/n": "r", "~/cache/tool/c": "rw",
            "~/share/s/f": "rw", "~/.bashrc": "r"})
        self.assertEqual(self.warned(stderr), {"failIfUnavailable", "autoAllowBashIfSandboxed",
                                               "allowUnsandboxedCommands",
                                               "enableWeakerNestedSandbox", "excludedCommands"})

    def test_srt(self):
        path = self.load("srt-user.json")
        self.verdicts(path, {
            "github.com": "allowed", "api.github.com": "allowed", "evil.github.com": "refused",
            "registry.example.com:80": "allowed", "localhost:3000": "allowed",
            "localhost:3001": "refused", "elsewhere.test": "refused"})
        got, stderr = self.look(path)
        self.assertEqual(got, {
            ".env": "-", ".env.local": "rw", "src/main.c": "rw", "src/deep/server.pem": "rw",
            "top.pem": "-", "secrets/db": "rw", "secrets/a/b": "rw",
            ".github/workflows/ci.yml": "r", "LICENSE": "r", "dist/app.lock": "rw",
            "dist/app.js": "rw", "config/prod.tfvars": "-", "config/app.toml": "rw",
            ".npmrc": "r", "~/tokens/t": "-", "~/keys/id_rsa": "-", "~/keys/id_rsa.pub": "-",
            "~/keys/config": "r", "~/keys/x.key": "r", "~/notes/n": "r", "~/cache/tool/c": "rw",
            "~/share/s/f": "r", "~/.bashrc": "r"})
        self.assertEqual(self.warned(stderr), {
            "allowPty", "filesystem.allowGitConfig", "ignoreViolations", "mandatoryDenySearchDepth",
            "enableWeakerNestedSandbox", "enableWeakerNetworkIsolation"})

    def test_a_grant_inside_of_what_is_denied_stays_hidden_and_is_told(self):
        path = self.w.write("inside.json", '{"filesystem": {"denyRead": ["~/keys"], '
                            '"allowRead": ["~/keys/config", "~/notes/n"]}}')
        script = 'cat "$1/keys/config" 2>/dev/null; cat "$1/notes/n"'
        done = self.w.sbx_run(["-p", path], ["sh", "-c", script, "sh", self.w.home])
        self.assertEqual(done.stdout, "text")
        self.assertIn("keys/config' stays hidden: reading '%s/keys' is denied" % self.w.home,
                      done.stderr)
        self.assertNotIn("notes", done.stderr)

    def test_a_pattern_that_is_too_much_stops_the_start(self):
        """What cannot be hidden whole is not hidden in part."""
        many = os.path.join(self.w.ws, "many")
        os.makedirs(many)
        for i in range(4200):
            os.close(os.open(os.path.join(many, "%d.key" % i), os.O_CREAT))
        path = self.w.write("many.json", '{"filesystem": {"denyRead": ["%s/*.key"]}}' % many)
        done = self.w.sbx_run(["-p", path], ["echo", "ran"])
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("many/*.key", done.stderr)


if __name__ == "__main__":
    main()

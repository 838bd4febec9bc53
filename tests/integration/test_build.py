#!/usr/bin/python3
"""A build as people do it: git clone, package install, download, compile; learnt, and asked about."""
import contextlib
import hashlib
import io
import json
import os
import shutil
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from terminal import Terminal  # noqa: E402
from world import WorldCase, main, need, setup_world  # noqa: E402

MAIN = """#include <stdio.h>
#include "version.h"
int main(void)
{
	puts("built " VERSION);
	return 0;
}
"""
MAKEFILE = """app: main.c deps/version.txt
	printf '#define VERSION "%s"\\n' "$$(cat deps/version.txt)" >version.h
	gcc -Wall -o $@ main.c
deps/version.txt:
	PIP_CERT=$(CA) PIP_CONFIG_FILE=/dev/null PIP_NO_CACHE_DIR=1 /usr/bin/python3 -m pip install \\
		-q --disable-pip-version-check --root-user-action=ignore --no-deps --retries 0 \\
		--timeout 20 --target deps --index-url https://pkg.example/tree/simple/ sbx-hello
	curl -sSf --cacert $(CA) -o /dev/null https://good.example/bytes/1000
	cp deps/sbx_hello.py $@
"""
BUILD = """
rm -rf app && git -c http.sslCAInfo=$CA clone -q https://www.example/git/repo.git app &&
make -s -C app CA=$CA && app/app
"""
NEEDED = ["good.example:443", "pkg.example:443", "www.example:443"]


def wheel(tree):
    """A package of one file, as plain files below /tree/simple/."""
    name, out = "sbx_hello-1.0-py3-none-any.whl", io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        meta = "sbx_hello-1.0.dist-info/"
        z.writestr("sbx_hello.py", "1.0")
        z.writestr(meta + "METADATA", "Metadata-Version: 2.1\nName: sbx-hello\nVersion: 1.0\n")
        z.writestr(meta + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(meta + "RECORD", "")
    where = os.path.join(tree, "simple", "sbx-hello")
    os.makedirs(where, exist_ok=True)
    with open(os.path.join(where, name), "wb") as f:
        f.write(out.getvalue())
    with open(os.path.join(where, "index.html"), "w", encoding="ascii") as f:
        f.write('<a href="%s#sha256=%s">%s</a>' % (
            name, hashlib.sha256(out.getvalue()).hexdigest(), name))


def setUpModule():
    need("git", "make", "gcc", "pip3", "curl")
    w = setup_world(with_nginx=True)
    w.git_repo(files={"main.c": MAIN, "Makefile": MAKEFILE})
    wheel(w.path("tree"))


class Build(WorldCase):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.w.home, "build.json")
        self.forget()
        self.addCleanup(self.forget)

    def forget(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.file)
        shutil.rmtree(os.path.join(self.w.ws, "app"), True)
        shutil.rmtree(os.path.join(self.w.home, ".local"), True)

    def argv(self, *options, more=""):
        return [self.w.sbx, "run", "--no-config", *options, "--env", "CA=" + self.w.ca, "--",
                "sh", "-c", BUILD + more]

    def build(self, *options, **kw):
        return self.w.run(self.argv(*options, **kw), cwd=self.w.ws)

    def test_learnt_policy_suffices_and_is_minimal(self):
        done = self.build("--learn", self.file)
        self.assertEqual((done.returncode, done.stdout), (0, "built 1.0\n"), done.stderr)
        with open(self.file, encoding="utf-8") as f:
            network = json.load(f)["network"]
        self.assertCountEqual(network["allowedDomains"], NEEDED)
        programs = {k: v["program"] for k, v in network["learned"].items()}
        self.assertIn("git-remote-http", programs["www.example:443"])
        self.assertRegex(programs["pkg.example:443"], "make.* > python3")
        self.assertRegex(programs["good.example:443"], "make.* > curl$")
        for mode in ("--strict", "--locked"):
            done = self.build("-p", self.file, mode)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "built 1.0\n", ""))
        for entry in NEEDED:
            less = dict(network, allowedDomains=[n for n in NEEDED if n != entry])
            with open(self.file, "w", encoding="utf-8") as f:
                json.dump({"network": less}, f)
            done = self.build("-p", self.file, "--strict")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("refused " + entry, done.stderr)

    def test_locked_refuses_drift(self):
        with open(self.file, "w", encoding="utf-8") as f:
            json.dump({"network": {"allowedDomains": NEEDED}}, f)
        done = self.build("-p", self.file, "--locked",
                          more="curl -sS -o /dev/null http://other.example/; true")
        self.assertEqual((done.returncode, done.stdout), (77, "built 1.0\n"), done.stderr)
        self.assertIn("refused other.example:80", done.stderr)

    def test_three_answers_and_then_none(self):
        t = Terminal(self.w, self.argv(), cwd=self.w.ws)
        self.addCleanup(t.close)
        for host in ("www.example:443", "pkg.example:443", "good.example:443"):
            self.assertIn(host, t.expect(" deny"))
            t.send("a")
            t.expect("allow once")
            t.send("p")
        self.assertEqual(t.wait(60), 0)
        self.assertIn("built 1.0", t.plain())
        again = Terminal(self.w, self.argv(), cwd=self.w.ws)
        self.addCleanup(again.close)
        self.assertEqual(again.wait(60), 0)
        self.assertNotIn("wants to reach", again.plain())
        self.assertIn("built 1.0", again.plain())
        listed = self.w.run([self.w.sbx, "grants", "list"], cwd=self.w.ws).stdout
        self.assertEqual(sorted(n for n in NEEDED if n in listed), NEEDED, listed)
        done = self.w.run([self.w.sbx, "grants", "revoke", "pkg.example:443"], cwd=self.w.ws)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.build()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("refused pkg.example:443", done.stderr)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Reports: each format parses, says the same, and holds nothing that a stranger wrote as markup."""
import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import schema  # noqa: E402
from world import WorldCase, main, setup_world, teardown_world  # noqa: E402,F401

SCRIPT = """
for u in http://good.example/ http://good.example/ http://evil.example/ http://lo4.example/ \
		http://gone.example/; do
	curl -sS -m 5 -o /dev/null "$u"
done
: '<b>|`</b>'
exit 0
"""
# What SARIF 2.1.0 requires (3.13 to 3.52), and code scanning beyond it: a place for each result.
TEXT = {"type": "string", "pattern": "."}


def objects(required):
    return {"type": "object", "required": list(required), "properties": required}


def several(of):
    return {"type": "array", "items": of}


SARIF = objects({"version": {"enum": ["2.1.0"]}, "runs": several(objects({
    "tool": objects({"driver": objects({"name": TEXT, "rules": several(objects({
        "id": TEXT, "shortDescription": objects({"text": TEXT})}))})}),
    "results": several(objects({
        "ruleId": TEXT, "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": objects({"text": TEXT}),
        "occurrenceCount": {"type": "integer", "minimum": 1},
        "locations": several(objects({"physicalLocation": objects({
            "artifactLocation": objects({"uri": {
                "type": "string", "pattern": "^(file:///)?([A-Za-z0-9._~/-]|%[0-9A-F]{2})+$"}}),
            "region": objects({"startLine": {"type": "integer", "minimum": 1}})})})),
    }))})), "$schema": TEXT})
FORMATS = ("text", "markdown", "json", "junit", "sarif")


def setUpModule():
    setup_world()


def tearDownModule():
    teardown_world()


class Reports(WorldCase):
    def setUp(self):
        super().setUp()
        self.policy = self.w.write("report-policy.json", json.dumps({"network": {
            "allowedDomains": ["good.example", "lo4.example", "gone.example"],
            "deniedDomains": ["evil.example"]}}, indent=1))

    def path(self, name):
        return os.path.join(self.w.home, name)

    def run_all(self, *more, status=0):
        """Every format of one run; the audit log is of that run only."""
        self.from_log = False
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path("audit.log"))
        options = ["-p", self.policy, "--audit", self.path("audit.log"), *more]
        for f in FORMATS:
            options += ["--report", f + ":" + self.path("report." + f)]
        done = self.w.sbx_run(options, ["sh", "-c", SCRIPT])
        self.assertEqual(done.returncode, status, done.stderr)
        return {f: self.read("report." + f) for f in FORMATS}

    def read(self, name):
        with open(self.path(name), encoding="ascii") as f:
            return f.read()

    def saved(self, fmt):
        self.from_log = True
        done = self.w.run([self.w.sbx, "report", fmt, self.path("audit.log")])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def check_json(self, text):
        doc = json.loads(text)
        self.assertEqual((doc["allowed"], doc["refused"], doc["failed"]), (2, 2, 1))
        rows = {t["host"]: t for t in doc["targets"]}
        self.assertEqual(set(rows), {"good.example", "evil.example", "lo4.example", "gone.example"})
        evil = rows["evil.example"]
        self.assertEqual((evil["outcome"], evil["code"], evil["port"], evil["rule"], evil["origin"]),
                         ("refused", "denied", 80, "evil.example", self.policy))
        self.assertGreater(evil["line"], 1)
        self.assertIn("refused evil.example:80", evil["text"])
        good = rows["good.example"]
        self.assertEqual((good["outcome"], good["count"]), ("allowed", 2))
        self.assertGreater(good["bytes_down"], 0)
        self.assertEqual(rows["lo4.example"]["code"], "loopback")
        self.assertEqual(rows["gone.example"]["outcome"], "failed")

    def check_junit(self, text):
        suite = ElementTree.fromstring(text).find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("errors")),
                         ("4", "2", "1"))
        cases = {c.get("name"): c for c in suite.findall("testcase")}
        failure = cases["evil.example:80 (denied)"].find("failure")
        self.assertEqual(failure.get("type"), "denied")
        self.assertIn("refused evil.example:80", failure.get("message"))
        self.assertEqual(len(cases["good.example:80 (ok)"]), 0)
        self.assertIsNotNone(cases["gone.example:80 (connect-failed)"].find("error"))

    def check_sarif(self, text):
        self.assertEqual(schema.errors(SARIF, json.loads(text)), [])
        run, = json.loads(text)["runs"]
        rules = [r["id"] for r in run["tool"]["driver"]["rules"]]
        results = {r["ruleId"]: r for r in run["results"]}
        self.assertEqual(set(results), {"denied", "loopback", "connect-failed"})
        for r in run["results"]:
            self.assertEqual(rules[r["ruleIndex"]], r["ruleId"])
        for r in run["results"]:
            at = r["locations"][0]["physicalLocation"]
            uri = at["artifactLocation"]["uri"]
            self.assertTrue(os.path.exists(uri.removeprefix("file://")), uri)
            if uri == "file://" + self.policy:
                continue
            # a saved log does not say which files were in use, and is one itself
            self.assertEqual((uri, self.from_log), ("file://" + self.path("audit.log"), True))
            line = json.loads(self.read("audit.log").splitlines()[at["region"]["startLine"] - 1])
            self.assertEqual((line["event"], line["code"], line["text"]),
                             ("decision", r["ruleId"], r["message"]["text"]))
        place = results["denied"]["locations"][0]["physicalLocation"]
        self.assertEqual(place["artifactLocation"]["uri"], "file://" + self.policy)
        for r in run["results"]:
            self.assertGreater(len(r["locations"]), 0)
        prints = [r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]]
        self.assertEqual(len(set(prints)), len(prints))
        self.assertGreater(place["region"]["startLine"], 1)
        self.assertEqual(results["connect-failed"]["level"], "warning")

    def check_markdown(self, text):
        rows = [r for r in text.splitlines() if r.startswith("| ") and "<code>" in r]
        self.assertEqual(len(rows) % 4, 0)
        for row in rows:
            self.assertEqual(row.count("|"), 9, row)
        self.assertTrue(rows[0].startswith("| **refused** | "), rows)
        self.assertIn("**2 refused**", text)

    def check_text(self, text):
        self.assertIn("2 allowed, 2 refused, 1 not reached", text)
        self.assertRegex(text, r"(?m)^refused +1 .* denied +evil\.example:80  \(sh > curl\)$")

    def test_each_format_at_the_end_and_from_a_saved_audit(self):
        said = self.run_all()
        for f in FORMATS:
            with self.subTest(f):
                getattr(self, "check_" + f)(said[f])
                getattr(self, "check_" + f)(self.saved(f))

    def test_a_saved_log_says_what_was_said(self):
        """Also where the log does not have the policy: what --locked keeps, and what --only needs."""
        for options in (["--locked"], ["--only", "good.example", "--only", "gone.example"]):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path("report.markdown"))
            with self.subTest(options):
                said = self.run_all(*options, status=77 if "--locked" in options else 0)
                saved = {f: self.saved(f) for f in FORMATS}
                self.assertEqual(*([(t["host"], t["code"], t["text"]) for t in
                                    json.loads(x["json"])["targets"]] for x in (said, saved)))
                self.assertEqual(*(x["markdown"].split("To allow", 1)[1:] for x in (said, saved)))
                self.assertEqual(*([e.attrib for e in ElementTree.fromstring(x["junit"]).iter()
                                    if e.tag in ("failure", "error")] for x in (said, saved)))
                if "--locked" in options:
                    self.assertIn("--locked: add to %s: 127.0.0.1:80" % self.policy, saved["json"])
                    self.assertNotIn("--allow", saved["json"] + saved["markdown"])
                else:
                    self.assertIn("\n```\n--only lo4.example:80\n```\n", saved["markdown"])

    def test_markdown_can_be_copied_from(self):
        text = self.run_all("--only", "good.example", "--no-config")["markdown"]
        copied = re.search(r"(?ms)^```\n(.*?)\n```$", text[text.rindex("###"):]).group(1)
        words = shlex.split(copied.replace("\\\n", ""))
        self.assertEqual(words[::2], ["--only"] * (len(words) // 2))
        self.assertEqual(sorted(words[1::2]), ["gone.example:80", "lo4.example:80"])
        done = self.w.sbx_run(["-p", self.policy, "--only", "good.example", *words], ["true"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("### Network access\n\n<code>sh -c ", text)

    def test_a_log_that_others_wrote_gives_nothing_to_copy(self):
        line = {"event": "decision", "verdict": "deny", "code": "not-listed", "host": "x.example",
                "port": 80, "via": "connect", "text": "```\nrm -rf ~"}
        for remedy, shown in (("--allow x.example:80", True), ("--allow x; rm", False),
                              ("--allow '[2001:db8::1]:80' --only x.example", True),
                              ("--allow '[2001:db8::1]:80", False), ("--allow 'x'; rm", False),
                              ("--allow '[::1]:80'$(rm)", False), ("--allow  '' x", False),
                              ("```\n# x", False), ("rm x", False)):
            path = self.w.write("odd.log", json.dumps(dict(line, remedy=remedy)) + "\n")
            done = self.w.run([self.w.sbx, "report", "markdown", path])
            self.assertEqual(done.returncode, 0)
            self.assertEqual(remedy in done.stdout, shown, done.stdout)
            self.assertEqual("To allow" in done.stdout, shown)

    def test_a_log_that_others_wrote_moves_no_cursor(self):
        """A log may come from elsewhere; what it says of programs is shown, and obeyed by no terminal."""
        line = {"event": "decision", "verdict": "deny", "code": "not-listed", "host": "evil.example",
                "port": 443, "via": "connect", "text": "no evil.example", "program": "a\x1b[2J\x07\u202eb \\x41"}
        path = os.path.join(self.w.ws, "foreign.jsonl")
        with open(path, "w", encoding="utf-8") as f:
            f.write(json.dumps(line) + "\n")
        self.addCleanup(os.unlink, path)
        for fmt in FORMATS:
            with self.subTest(fmt):
                done = self.w.run([self.w.sbx, "report", fmt, path])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("evil.example", done.stdout)
                self.assertRegex(done.stdout, r"\A[\n -~]*\Z")
        self.assertIn("(a\\x1b[2J\\x07\\xe2\\x80\\xaeb \\x5cx41)",
                      self.w.run([self.w.sbx, "report", "text", path]).stdout)

    def test_refusals_do_not_crowd_out_what_was_reached(self):
        """They cost the command nothing; and what is left out is told of, in each format."""
        def told(verdict, code, host, **more):
            return json.dumps(dict({"event": "decision", "verdict": verdict, "code": code,
                                    "host": host, "port": 443, "via": "connect"}, **more)) + "\n"
        flood = [told("deny", "not-listed", "n%d.example" % i, text="no n%d.example" % i)
                 for i in range(4200)]
        flood += [told("allow", "dns-failed", "m%d.example" % i, text="no m%d.example" % i)
                  for i in range(4150)]
        path = self.w.write("flood.log", "".join(flood) + told("allow", "ok", "reached.example"))
        for fmt in FORMATS:
            with self.subTest(fmt):
                done = self.w.run([self.w.sbx, "report", fmt, path])
                self.assertEqual(done.returncode, 0, done.stderr)
                if fmt != "sarif":  # of which only what was not reached is a matter
                    self.assertTrue("reached.example" in done.stdout)
                self.assertTrue("m4000.example" in done.stdout)
                if fmt == "json":
                    self.assertEqual(json.loads(done.stdout)["left_out"], 104 + 54)
                else:
                    self.assertTrue("158 decisions about further targets" in done.stdout)
                if fmt == "junit":
                    suite = ElementTree.fromstring(done.stdout).find("testsuite")
                    self.assertEqual(len(suite.findall("testcase")), int(suite.get("tests")))
                    self.assertEqual((suite.get("tests"), suite.get("skipped")), ("8194", "1"))
                if fmt == "sarif":
                    run, = json.loads(done.stdout)["runs"]
                    note, = run["invocations"][0]["toolExecutionNotifications"]
                    self.assertEqual((note["level"], len(run["results"])), ("warning", 8192))

    def test_the_command_cannot_write_markup(self):
        text = self.run_all()["markdown"]
        self.assertNotIn("<b>", text)
        self.assertNotIn("`</b>", text)
        self.assertEqual(len(re.findall("</?code>", text)) % 2, 0)

    def test_what_a_command_chose_is_no_link(self):
        """GFM makes links of what looks like an address, in inline HTML too."""
        path = self.path("link.md")
        done = self.w.sbx_run(["--report", "markdown:" + path], [
            "sh", "-c", "curl -s http://www.evil.example/; : WWW.a.example b@evil.example"])
        self.assertEqual(done.returncode, 0, done.stderr)
        text = self.read("link.md")
        self.assertIn("&#119;ww.evil.example&#58;80", text)  # the target, refused
        for code in re.findall("<code>(.*?)</code>", text):
            self.assertNotRegex(code, r"(?i)://|www\.|[^>]@")
        if shutil.which("cmark-gfm"):
            html = self.w.run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", path]).stdout
            self.assertIn("<code>www.evil.example:80</code>", html)
            self.assertIn("http://www.evil.example/; : WWW.a.example b<span>@</span>evil.example",
                          html)
            self.assertNotIn("<a ", html)

    def test_a_second_run_replaces_but_markdown_is_appended_to(self):
        first = self.run_all()
        said = self.run_all()
        json.loads(said["json"])
        ElementTree.fromstring(said["junit"])
        self.assertTrue(said["markdown"].startswith(first["markdown"]))
        self.assertGreater(len(said["markdown"]), len(first["markdown"]))

    def test_a_report_is_added_to_what_the_output_holds(self):
        """Standard error may be the log of a job: what is in it already is not ours to empty."""
        for to in ("", ":/dev/stderr", ":/dev/fd/2", ":fd:2", ":/proc/self/fd/2"):
            with open(self.path("job.log"), "w", encoding="ascii") as log:
                log.write("before\n")
                log.flush()
                done = self.w.sbx_run(["--report", "text" + to], ["sh", "-c", "echo said >&2"],
                                      stderr=log)
            self.assertEqual(done.returncode, 0, to)
            self.assertRegex(self.read("job.log"),
                             r"\Abefore\nsaid\n0 allowed, 0 refused.*\n\Z", to)
        done = self.w.sbx_run(["--report", "text:fd:99"], ["true"])
        self.assertEqual(done.returncode, 64)
        self.assertIn("descriptor 99 is not open", done.stderr)

    def test_nothing_happened(self):
        done = self.w.sbx_run(["--report", "json:" + self.path("none.json"), "--report", "junit:" +
                               self.path("none.xml"), "--report", "text"], ["true"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(self.read("none.json"))["targets"], [])
        self.assertEqual(ElementTree.fromstring(self.read("none.xml"))[0].get("tests"), "0")
        self.assertIn("0 allowed, 0 refused", done.stderr)

    def test_the_command_cannot_forge_a_report(self):
        """Where a CI job reads it afterwards: in the working directory, there before or not."""
        reports = {"json": "egress.json", "junit": "out/egress.xml", "markdown": "out/sub/egress.md"}
        for options in ([], ["--fs", "off"], ["--write", self.w.ws]):
            for before in (False, True):
                self.w.run(["sh", "-ec", "rm -rf ./*; mkdir -p out/sub; for f; do echo old > $f; done",
                            "sh", *(reports.values() if before else [])], cwd=self.w.ws)
                with self.subTest(options=options, before=before):
                    self.check_forged(reports, options)

    def check_forged(self, reports, options):
        flags = [x for k, v in reports.items() for x in ("--report", k + ":" + v)]
        done = self.w.sbx_run([*flags, *options], ["sh", "-c", """
curl -sS -o /dev/null http://evil.example/
for f; do
	for way in 'echo forged > $f' 'mv $f $f.old' 'rm -f $f' 'ln -sf x $f' 'mv out out2'; do
		(eval "$way") 2> /dev/null; mkdir -p out/sub; (echo forged > $f) 2> /dev/null
	done
done
touch mine out/mine""", "sh", *reports.values()], cwd=self.w.ws)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in reports.values():
            with open(os.path.join(self.w.ws, name), encoding="ascii") as f:
                text = f.read()
            self.assertIn("evil.example", text)
            self.assertNotIn("forged\n", text)
        self.assertTrue(os.path.exists(self.w.ws + "/out/mine"))

    def test_a_report_that_others_replace_is_told(self):
        for way, told in (("mv r.json r2", "r2"), ("rm r.json", ""), ("cp r.json x; mv x r.json", "")):
            with self.subTest(way):
                one = self.w.popen([self.w.sbx, "run", "--no-config", "--report", "json:r.json", "--",
                                    "sh", "-c", "echo up; while ! [ -e go ]; do sleep 0.05; done"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=self.w.ws)
                self.assertEqual(one.stdout.readline(), "up\n")
                self.w.run(["sh", "-ec", way + "; touch go"], cwd=self.w.ws)
                _, err = one.communicate(timeout=20)
                self.assertEqual(one.returncode, 125, err)
                self.assertRegex(err, "'r.json' was moved, replaced or removed.*" + told)
                self.w.run(["sh", "-c", "rm -rf ./*"], cwd=self.w.ws)

    def test_a_pipe_with_a_name_and_a_device(self):
        """What the command writes into a pipe would be read as ours; a device is everybody's."""
        self.w.run(["mkfifo", "p"], cwd=self.w.ws, check=True)
        fd = os.open(self.w.ws + "/p", os.O_RDONLY | os.O_NONBLOCK)
        try:
            done = self.w.sbx_run(["--report", "json:p", "--report", "text:/dev/null"],
                                  ["sh", "-c", "(echo forged > p) 2> /dev/null; echo x > /dev/null"],
                                  cwd=self.w.ws)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(os.read(fd, 65536))["targets"], [])
        finally:
            os.close(fd)
            os.unlink(self.w.ws + "/p")

    def test_what_cannot_be_written_is_said(self):
        done = self.w.sbx_run(["--report", "json:/nonexistent/x"], ["touch", self.w.ws + "/ran"])
        self.assertEqual(done.returncode, 125)
        self.assertFalse(os.path.exists(self.w.ws + "/ran"))
        done = self.w.sbx_run(["--report", "json:/dev/full"], ["true"])
        self.assertEqual(done.returncode, 125)
        self.assertIn("cannot write the report", done.stderr)

    def test_usage(self):
        for value in ("yaml", "json:", ""):
            self.assertEqual(self.w.sbx_run(["--report", value], ["true"]).returncode, 64)
        for args in ([], ["yaml", "x"], ["json:x", "y"], ["a", "b", "c"]):
            self.assertEqual(self.w.run([self.w.sbx, "report", *args]).returncode, 64)
        self.assertEqual(self.w.run([self.w.sbx, "report", "/nonexistent"]).returncode, 125)

    def test_lines_that_are_no_json_are_counted(self):
        path = self.w.write("odd.log", '{"event":"decision"\nx\n[]\n{"event":"new"}\n'
                            '{"event":"decision","verdict":"deny","code":"denied","host":"a\\nb",'
                            '"port":1,"via":"connect"}\n')
        done = self.w.run([self.w.sbx, "report", path])
        self.assertEqual(done.returncode, 0)
        self.assertIn("3 lines are no JSON objects", done.stderr)
        self.assertIn("0 refused", done.stdout)

    def test_a_file_that_is_no_log_is_an_error(self):
        path = self.w.write("policy.json", '{\n  "network": {}\n}\n')
        done = self.w.run([self.w.sbx, "report", path])
        self.assertEqual((done.returncode, done.stdout), (125, ""))
        self.assertIn("is no audit log", done.stderr)


if __name__ == "__main__":
    main()

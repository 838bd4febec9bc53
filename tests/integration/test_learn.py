#!/usr/bin/python3
"""--learn writes the smallest policy that suffices; --locked keeps a run to it."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import WorldCase, main, setup_world, teardown_world  # noqa: E402,F401

FETCH = """
for u in http://good.example/ https://good.example/ http://www.example/; do
	curl -sSf -m 10 -o /dev/null $CA "$u" || exit 1
done
curl -sSf -m 10 --noproxy '*' -o /dev/null http://v4only.example/ || exit 1
"""
NEEDED = ["good.example:80", "good.example:443", "v4only.example:80", "www.example:80"]


def setUpModule():
    setup_world()


def tearDownModule():
    teardown_world()


class Learn(WorldCase):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.w.home, "learnt-%s.json" % self.id().rsplit(".", 1)[1])

    def fetch(self, *options, more=""):
        return self.w.sbx_run([*options, "--env", "CA=--cacert %s" % self.w.ca],
                              ["sh", "-c", FETCH + more])

    def learnt(self):
        with open(self.file, encoding="utf-8") as f:
            return json.load(f)

    def allowed(self):
        return self.learnt()["network"]["allowedDomains"]

    def test_the_file_is_as_any_other_that_the_user_makes(self):
        mask = os.umask(0)
        os.umask(mask)
        for mode in (0o666 & ~mask, 0o600):
            done = self.w.sbx_run(["--learn", self.file], ["true"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(oct(os.stat(self.file).st_mode & 0o777), oct(mode))
            os.chmod(self.file, 0o600)

    def test_what_was_learnt_suffices_and_is_minimal(self):
        done = self.fetch("--learn", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertCountEqual(self.allowed(), NEEDED)
        self.assertIn("learnt 4 new of 4 targets", done.stderr)
        for seen in self.learnt()["network"]["learned"].values():
            self.assertEqual(seen["program"], "sh > curl")
            self.assertRegex(seen["first"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        again = self.fetch("-p", self.file, "--strict")
        self.assertEqual((again.returncode, again.stderr), (0, ""))
        for entry in NEEDED:  # none of them can be missing
            less = self.learnt()
            less["network"]["allowedDomains"].remove(entry)
            path = self.w.write("less.json", json.dumps(less))
            done = self.fetch("-p", path, "--strict")
            self.assertNotEqual(done.returncode, 0, entry)
            self.assertIn("refused " + entry.replace("v4only.example:80", "v4only.example"),
                          done.stderr)

    def test_the_address_that_a_name_led_to_is_learnt(self):
        """An allowed name that leads to a listed address needs both entries the next time, too."""
        def fetch(*options):
            return self.w.curl([*options], "-o", "/dev/null", "http://lo4.example/")
        self.assertIn("127.0.0.1:80", fetch("-a", "lo4.example").stderr)
        self.assertEqual(fetch("--learn", self.file, "-a", "127.0.0.1:80").returncode, 0)
        self.assertCountEqual(self.allowed(), ["lo4.example:80", "127.0.0.1:80"])
        again = fetch("-p", self.file, "--locked")
        self.assertEqual((again.returncode, again.stderr), (0, ""))

    def test_what_is_refused_stays_refused_and_is_not_learnt(self):
        done = self.fetch("--learn", self.file, "-d", "evil.example", more="""
for u in http://evil.example/ http://lo4.example/ http://meta.example/ http://10.1.2.3/ \
		http://missing.corp.test/; do
	curl -sS -m 5 -f -o /dev/null "$u" && exit 2
done
exit 0
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertCountEqual(self.allowed(), NEEDED)
        for code in ("denied", "leads to this machine", "metadata", "private"):
            self.assertIn(code, done.stderr)

    def test_an_existing_file_is_merged(self):
        with open(self.file, "w", encoding="utf-8") as f:
            json.dump({"network": {"deniedDomains": ["evil.example"],
                                   "allowedDomains": ["*.example:80"]}}, f)
        os.chmod(self.file, 0o666)
        done = self.fetch("--learn", self.file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.allowed(), ["*.example:80", "good.example:443"])
        self.assertEqual(self.learnt()["network"]["deniedDomains"], ["evil.example"])
        first = self.learnt()["network"]["learned"]["good.example:443"]["first"]
        self.assertEqual(self.fetch("--learn", self.file).returncode, 0)
        self.assertEqual(self.allowed(), ["*.example:80", "good.example:443"])
        self.assertEqual(self.learnt()["network"]["learned"]["good.example:443"]["first"], first)

    EVIL = '{"network": {"allowedDomains": ["*"]}}'

    def test_the_command_cannot_teach_by_writing_the_file(self):
        """Nor by bringing another one, or another directory, in its place; the rest is the command's."""
        for name in ("own.json", "out/own.json"):
            for options in ([], ["--fs", "off"], ["--write", self.w.ws]):
                with self.subTest(name, options=options):
                    done = self.w.sbx_run(["--learn", name, *options], ["sh", "-c", """
for way in 'echo "$E" > $F' 'mv $F $F.old' 'rm -f $F' 'ln -sf x $F' 'mv out out2'; do
	(eval "$way") 2> /dev/null; mkdir -p out; (echo "$E" > $F) 2> /dev/null
done
curl -sS -o /dev/null http://good.example/ && touch out/mine mine"""],
                                          cwd=self.w.ws, env=dict(self.w.env(), F=name, E=self.EVIL))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("next time: -p " + name, done.stderr)
                    with open(os.path.join(self.w.ws, name), encoding="utf-8") as f:
                        self.assertEqual(json.load(f)["network"]["allowedDomains"],
                                         ["good.example:80"])
                    self.assertTrue(os.path.exists(self.w.ws + "/out/mine"))
                    self.w.run(["sh", "-c", "rm -rf own.json* out* mine"], cwd=self.w.ws)
                    os.mkdir(self.w.ws + "/out")
                    os.chown(self.w.ws + "/out", self.w.uid, self.w.uid)

    def test_a_file_that_others_replace_is_told(self):
        """Nobody is sent to a file that this run has not written."""
        for way in ("mv d e && mkdir d && cp evil d/l", "rm -r d && ln -s e d && mkdir -p e && cp evil e/l"):
            with self.subTest(way):
                self.w.run(["sh", "-c", "rm -rf d e; mkdir d; echo \"$E\" > evil"], cwd=self.w.ws,
                           env=dict(self.w.env(), E=self.EVIL))
                one = self.w.popen([self.w.sbx, "run", "--no-config", "--learn", "d/l", "--", "sh", "-c",
                                    "echo up; while ! [ -e go ]; do sleep 0.05; done"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   cwd=self.w.ws)
                self.assertEqual(one.stdout.readline(), "up\n")
                self.w.run(["sh", "-c", way + "; touch go"], cwd=self.w.ws)
                _, err = one.communicate(timeout=20)
                self.assertEqual(one.returncode, 125, err)
                self.assertNotIn("next time", err)
                self.w.run(["sh", "-c", "rm -rf d e go evil"], cwd=self.w.ws)

    def test_the_first_two_runs_at_once(self):
        """There is no file yet that one of them could hold."""
        held = os.path.join(self.w.ws, "hold")
        open(held, "w", encoding="utf-8").close()
        one = self.w.popen([self.w.sbx, "run", "--no-config", "--learn", self.file, "--", "sh", "-c",
                            "echo up; while [ -e hold ]; do sleep 0.05; done; "
                            "curl -sS -o /dev/null http://good.example/"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.w.ws)
        self.assertEqual(one.stdout.readline(), "up\n")
        two = self.w.sbx_run(["--learn", self.file], ["touch", "ran"], cwd=self.w.ws)
        self.assertEqual(two.returncode, 125)
        self.assertIn("another run learns in", two.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.w.ws, "ran")))
        os.unlink(held)
        _, err = one.communicate(timeout=20)
        self.assertEqual(one.returncode, 0, err)
        self.assertEqual(self.allowed(), ["good.example:80"])
        two = self.w.sbx_run(["--learn", self.file],
                             ["curl", "-sS", "-o", "/dev/null", "http://www.example/"])
        self.assertEqual(two.returncode, 0, two.stderr)
        self.assertEqual(self.allowed(), ["good.example:80", "www.example:80"])

    def test_nothing_is_left_of_a_run_that_did_not_start(self):
        done = self.w.sbx_run(["--learn", self.file, "--publish", "1=1"], ["true"])
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertFalse(os.path.exists(self.file))
        open(self.file, "w", encoding="utf-8").close()  # an empty file is the user's
        done = self.w.sbx_run(["--learn", self.file, "--publish", "1=1"], ["true"])
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertTrue(os.path.exists(self.file))
        done = self.w.sbx_run(["--learn", self.file], ["true"])
        self.assertEqual((done.returncode, self.allowed()), (0, []))

    def test_a_broken_or_foreign_file_stops_the_start(self):
        for text in ("{", "[]", '{"sandbox": {}}', '{"network": {"allowedDomains": "x"}}'):
            with self.subTest(text):
                path = os.path.join(self.w.home, "broken.json")
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
                done = self.w.sbx_run(["--learn", path], ["touch", self.w.ws + "/ran"])
                self.assertEqual(done.returncode, 125)
                self.assertIn("broken.json", done.stderr)
                self.assertFalse(os.path.exists(self.w.ws + "/ran"))
        done = self.w.sbx_run(["--learn", "/nonexistent/x.json"], ["true"])
        self.assertEqual(done.returncode, 125)

    def test_locked_refuses_drift(self):
        with open(self.file, "w", encoding="utf-8") as f:
            json.dump({"network": {"allowedDomains": NEEDED}}, f)
        done = self.fetch("--locked", "-p", self.file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = self.fetch("--locked", "-p", self.file, more="""
curl -sS -m 5 -o /dev/null http://other.example/; exit 0""")
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("refused other.example:80", done.stderr)
        self.assertIn("--locked: add to %s: other.example:80\n" % self.file, done.stderr)
        self.assertNotIn("--allow", done.stderr)
        self.assertNotIn("strict", done.stderr.splitlines()[0])
        self.assertIn("exit status 77: --locked keeps to %s" % self.file,
                      done.stderr.splitlines()[-1])
        done = self.fetch("--locked", "-p", self.file, more="exit 3")
        self.assertEqual(done.returncode, 3)

    def diff(self, a, b):
        a, b = (self.w.write(n, json.dumps(v)) for n, v in (("a.json", a), ("b.json", b)))
        done = self.w.run([self.w.sbx, "policy", "diff", a, b])
        return done.returncode, done.stdout

    def test_policy_diff(self):
        a = {"network": {"allowedDomains": ["a.example", "b.example:443"], "strictAllowlist": True}}
        b = {"network": {"allowedDomains": ["b.example:443", "c.example"],
                         "deniedDomains": ["x.example"], "onUnknownHost": "deny"}}
        self.assertEqual(self.diff(a, a), (0, ""))
        self.assertEqual(self.diff(a, b), (1, "- network.allowedDomains a.example\n"
                                           "+ network.allowedDomains c.example\n"
                                           "+ network.deniedDomains x.example\n"
                                           "~ network.strictAllowlist true -> unset\n"
                                           "~ network.onUnknownHost unset -> deny\n"))
        self.assertEqual(self.diff(a, [])[0], 125)
        urls = [{"network": {"upstreamProxy": "http://%sproxy.example:8080" % x}}
                for x in ("", "me:a@b@", "me:c@")]
        self.assertEqual(self.diff(urls[0], {}), (1, "~ network.upstreamProxy "
                                                  "http://proxy.example:8080 -> unset\n"))
        for one, other in ((urls[0], urls[1]), (urls[1], urls[2])):  # shown, but not the password
            self.assertEqual(self.diff(one, other), (1, "~ network.upstreamProxy http://%sproxy.example:8080"
                                                     " -> http://...@proxy.example:8080\n" %
                                                     ("" if one is urls[0] else "...@")))
        for args in ([], ["diff"], ["diff", "a"], ["x", "a", "b"]):
            self.assertEqual(self.w.run([self.w.sbx, "policy", *args]).returncode, 64)

    def test_options_that_contradict(self):
        for options in (["--learn", self.file, "--strict"], ["--locked"],
                        ["--locked", "-p", self.file, "-a", "x.example"],
                        ["--learn", self.file, "--locked", "-p", self.file]):
            with self.subTest(options):
                self.assertEqual(self.w.sbx_run(options, ["true"]).returncode, 64)
        done = self.w.sbx_run(["--locked", "-p", self.file, "-a", "x.example"], ["true"])
        self.assertIn("add it to that file", done.stderr)

    def test_siblings_are_proposed(self):
        script = "for h in a.wild i.wild a.wild foo_bar.wild; do " \
                 "curl -sS -m 10 -o /dev/null http://$h.example/; done"
        done = self.w.sbx_run(["--learn", self.file], ["sh", "-c", script])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('3 names in', done.stderr)
        self.assertIn('"*.wild.example:80"', done.stderr)
        self.assertNotIn("*.wild.example:80", self.allowed())


    def test_a_full_disk_keeps_what_was_there(self):
        """And says so: what was needed is not in the file."""
        old = self.w.write("old.json", json.dumps({"network": {"allowedDomains": ["old.test:80"]}}))
        run = ("%s run --no-config --ask never --learn /mnt/l.json -- curl -s -o /dev/null "
               "http://good.example/" % self.w.sbx)
        for fill, status in (("", 0), ("head -c 4096 /dev/zero > /mnt/fill; ", 125)):
            script = ("mount -t tmpfs -o size=8k none /mnt; cp %s /mnt/l.json; %s%s; rc=$?; "
                      "cat /mnt/l.json; ls -A /mnt >&2; exit $rc" % (old, fill, run))
            done = self.w.run(["unshare", "-m", "sh", "-c", script], uid=0)
            self.assertEqual(done.returncode, status, done.stderr)
            allowed = json.loads(done.stdout)["network"]["allowedDomains"]
            if fill:
                self.assertEqual(allowed, ["old.test:80"])
                self.assertIn("cannot write '/mnt/l.json'", done.stderr)
                self.assertTrue(done.stderr.endswith("\nfill\nl.json\n"), done.stderr)
            else:
                self.assertEqual(sorted(allowed), ["good.example:80", "old.test:80"])


if __name__ == "__main__":
    main()

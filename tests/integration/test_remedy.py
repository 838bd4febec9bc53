#!/usr/bin/python3
"""What a refusal says to type works: the same request passes when it is typed, at once."""
import os
import re
import shlex
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import HOST4, WorldCase, main, v4, v6  # noqa: E402


class Remedies(WorldCase):
    def fetch(self, options, url):
        """Through the proxy variables, whatever NO_PROXY says; also: is the 403 the same sentence?"""
        done = self.w.sbx_run(options, ["sh", "-c", "curl -sS -m 20 --noproxy '' -w '%%{http_code}' "
                                        "%s" % shlex.quote(url)])
        return done.stdout, done.stderr

    def remedy(self, said):
        m = re.search(r"; allow (?:also )?with: (--[^\n]*)$", said, re.M)
        self.assertIsNotNone(m, said)
        # a shell to which a pattern without files is an error, as it is to zsh
        done = self.w.run(["bash", "-O", "failglob", "-c", "printf '%s\\n' " + m.group(1)])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def check(self, url, options=(), steps=1, reached=""):
        """Follows the advice for so many steps; then the server has been reached."""
        options = list(options)
        o = self.w.oracle()
        for _ in range(steps):
            body, said = self.fetch(options, url)
            self.assertTrue(body.endswith("403"), (body, said))
            self.assertIn(self.remedy(said), [self.remedy(body[:-3].rstrip())])
            self.assertEqual(o.accepts(), [])
            options += self.remedy(said)
        body, said = self.fetch(options, url)
        self.assertEqual((body[-3:], said), ("200", ""), options)
        self.assertIn([a for a, _ in o.accepts()], [[r] for r in reached.split()], url)
        return options

    def test_a_name(self):
        self.check("http://good.example/", reached="%s %s" % (v4(1), v6(1)))
        self.check("http://good.example/", ["--strict"], reached="%s %s" % (v4(1), v6(1)))
        self.check("http://good.example/", ["--only", "else.example"], reached="%s %s" % (v4(1), v6(1)))

    def test_this_machines_loopback(self):
        options = self.check("http://127.0.0.1/", reached="127.0.0.1")
        self.assertEqual(options, ["--allow", "127.0.0.1:80"])
        options = self.check("http://localhost/", reached="127.0.0.1 ::1")
        self.assertEqual(options, ["--allow", "localhost:80"])
        self.assertEqual(self.check("http://[::1]/", reached="::1"), ["--allow", "[::1]:80"])
        self.check("http://[::ffff:127.0.0.1]/", reached="127.0.0.1")
        self.check("http://127.0.0.1/", ["--only", "else.example"], reached="127.0.0.1")

    def test_names_of_the_hosts_file(self):
        """It is known where they lead: name and address at once, and no query."""
        options = self.check("http://testhost/", reached="127.0.1.1")
        self.assertEqual(options, ["--allow", "testhost:80", "--allow", "127.0.1.1:80"])
        options = self.check("http://hosts-lo.example/", ["--strict"], reached="127.0.0.1")
        self.assertEqual(options[1:], ["--allow", "hosts-lo.example:80", "--allow", "127.0.0.1:80"])
        options = self.check("http://hosts-good.example/", reached=v4(1))
        self.assertEqual(options, ["--allow", "hosts-good.example:80"])

    def test_a_name_that_has_to_be_asked_for_takes_a_second_step(self):
        options = self.check("http://ten.example/", steps=2, reached="10.1.2.3")
        self.assertEqual(options, ["--allow", "ten.example:80", "--allow-private", "ten.example"])
        self.check("http://own4.example/", steps=2, reached=HOST4)

    def test_addresses(self):
        self.check("http://10.1.2.3/", reached="10.1.2.3")
        self.check("http://10.1.2.3/", ["-a", "*"], reached="10.1.2.3")
        self.check("http://10.1.2.3/", ["--only", "*"], reached="10.1.2.3")
        self.check("http://%s/" % HOST4, reached=HOST4)

    def test_what_no_option_allows_says_so(self):
        for options, url, what in (
                (["-d", "*.example", "-a", "*"], "http://good.example/",
                 "; nothing allows it while that entry stands"),
                (["-a", "*"], "http://169.254.169.254/",
                 "; only an entry for that very address allows it")):
            body, said = self.fetch(options, url)
            self.assertIn(what, said)
            self.assertIn(what, body)
            self.assertNotIn("allow with", said)
        # and that is so
        body, _ = self.fetch(["-a", "169.254.169.254"], "http://169.254.169.254/")
        self.assertEqual(body[-3:], "200")

    def test_why_says_the_same(self):
        done = self.w.run([self.w.sbx, "why", "--no-config", "testhost:80"])
        self.assertEqual(self.remedy(done.stdout.splitlines()[0]),
                         ["--allow", "testhost:80", "--allow", "127.0.1.1:80"])
        done = self.w.run([self.w.sbx, "why", "--no-config", *self.remedy(
            done.stdout.splitlines()[0]), "testhost:80"])
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    main()

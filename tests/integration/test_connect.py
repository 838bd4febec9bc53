#!/usr/bin/python3
"""sbx-net connect: stdin and stdout to a target, for ProxyCommand; refusals on stderr."""
import hashlib
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from origins import AFTER_EOF, ECHO, RESET  # noqa: E402
from world import BIG, WorldCase, main, v4, v6  # noqa: E402

GOOD = ["-a", "good.example", "-a", v4(1), "-a", "[%s]" % v6(1), "-q"]


class Connect(WorldCase):
    def connect(self, host, port, options=GOOD, shell=None, **kw):
        command = [self.w.sbx, "connect", host, str(port)]
        if shell:
            command = ["sh", "-c", shell, "sh", *command]
        return self.w.sbx_run(options, command, **kw)

    def test_allowed(self):
        for host in ("good.example", "GOOD.example.", v4(1), v6(1)):
            with self.subTest(host):
                done = self.connect(host, 80, input="GET / HTTP/1.0\r\nHost: x.example\r\n\r\n")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.endswith("hello from net x.example\n"), done.stdout)
                self.assertEqual(done.stderr, "")

    def test_no_capture(self):
        done = self.connect("good.example", 80, [*GOOD, "--no-capture"],
                            input="GET / HTTP/1.0\r\nHost: x.example\r\n\r\n")
        self.assertTrue(done.stdout.endswith("hello from net x.example\n"), done.stderr)

    def test_every_byte_both_ways(self):
        data = os.urandom(BIG)
        done = self.connect("good.example", ECHO, input=data)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(hashlib.sha256(done.stdout).digest(), hashlib.sha256(data).digest())

    def test_half_close(self):
        """The answer that comes after our end of file arrives, all of it."""
        data = os.urandom(BIG)
        done = self.connect("good.example", AFTER_EOF, input=data)
        self.assertEqual(done.returncode, 0, done.stderr)
        said, _, rest = done.stdout.partition(b"\n")
        self.assertEqual(said.decode(), "%d %s" % (BIG, hashlib.sha256(data).hexdigest()))
        self.assertEqual(len(rest), BIG)

    def test_refused(self):
        for options, host, reason in (
                (GOOD, "evil.example", "not on the allow list"),
                ([*GOOD, "-d", "good.example"], "good.example", "denied"),
                (["-a", "good.example:443", "-q"], "good.example", "not on the allow list"),
                (["-a", "*", "-q"], "127.0.0.1", "leads to this machine"),
                (["-a", "*", "-q"], "169.254.169.254", "metadata")):
            with self.subTest(host):
                o = self.w.oracle()
                done = self.connect(host, 80, options, input="x")
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn("sbx-net connect: refused %s:80" % host, done.stderr)
                self.assertIn(reason, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertQuiet(o)

    def test_cannot_reach(self):
        done = self.connect("gone.example", 80, ["-a", "gone.example", "-q"])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("cannot reach gone.example:80", done.stderr)

    def test_far_side_breaks(self):
        done = self.connect("good.example", RESET, input="x")
        self.assertNotEqual(done.returncode, 0)

    def test_reader_that_goes_away(self):
        done = self.connect("good.example", 80, shell=(
            'printf "GET /big HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n" | "$@" | head -c 10'))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout), 10)

    def test_outside_of_a_run(self):
        done = self.w.run([self.w.sbx, "connect", "good.example", "80"])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("inside sbx-net run", done.stderr)

    def test_mistyped(self):
        for args in ([], ["good.example"], ["good.example", "0"], ["good.example", "65536"],
                     ["good.example", "http"], ["good.example", "080"], ["a b", "80"],
                     ["0x7f.1", "80"], ["good.example", "80", "81"]):
            done = self.w.run([self.w.sbx, "connect", *args])
            self.assertEqual((done.returncode, done.stdout), (64, ""), args)


if __name__ == "__main__":
    main()

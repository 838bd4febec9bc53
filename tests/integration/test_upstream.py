#!/usr/bin/python3
"""The run's own network: a parent proxy that is the only way out, and DNS servers of the settings
(CONFORMANCE F)."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import GATE4, WorldCase, main, setup_world, teardown_world, v4  # noqa: E402

PARENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "parentproxy.py")
PORT = 3129
ONLY = "only.parent.example"  # no DNS server knows it
TO = "http://%s:%d" % (GATE4, PORT)
TLS_PORT = 3130
TLS_HOST = "good.example"  # its certificate names it, and not GATE4
TLS_TO = "https://%s:%d" % (TLS_HOST, TLS_PORT)


def start_parent(w, log, port, *tls):
    names = {ONLY: v4(1), "good.example": v4(1), "lo4.example": v4(1)}
    proc = w.daemon(["/usr/bin/python3", PARENT, json.dumps(names), log, str(port), *tls],
                    w.internet, stdout=subprocess.PIPE)
    assert proc.stdout.readline() == b"ready\n"


class Upstream(WorldCase):
    @classmethod
    def setUpClass(cls):
        from world import _world
        w = _world[0]
        cls.log = w.path("parent.log")
        start_parent(w, cls.log, PORT)

    def setUp(self):
        open(self.log, "w").close()

    def lines(self):
        with open(self.log) as f:
            return [json.loads(x) for x in f]

    def get(self, options, url="http://%s/" % ONLY, *args, **kw):
        return self.w.curl(["-a", ONLY, *options], "-o", "-", "-k", "-w", "%{http_code}", *args,
                           url, **kw)

    def test_only_way_out(self):
        """Without the parent the name does not exist; with it every way in works."""
        self.assertIn("does not resolve", self.get([]).stdout)
        ways = {"http": [], "socks5h": ["-x", "socks5h://127.0.0.1:3128"],
                "capture": ["--noproxy", "*"]}
        for to in (TO, TO.replace("http", "socks5h")):
            for way, args in ways.items():
                for scheme in ("http", "https"):
                    with self.subTest(to=to, way=way, scheme=scheme):
                        done = self.get(["--upstream-proxy", to], "%s://%s/" % (scheme, ONLY),
                                        *args)
                        self.assertEqual(done.stdout, "hello from net %s\n200" % ONLY,
                                         done.stderr)
        said = [x[0] for x in self.lines()]
        self.assertIn("GET http://%s/ HTTP/1.1" % ONLY, said)
        self.assertIn("CONNECT %s:443 HTTP/1.1" % ONLY, said)
        self.assertIn("socks 3 %s 443" % ONLY, said)

    def test_environment_and_credentials(self):
        with_secret = TO.replace("http://", "http://me:s3cret@")
        env = dict(self.w.env(), HTTPS_PROXY=with_secret, http_proxy=with_secret)
        done = self.get(["-vv"], env=env)
        self.assertIn("hello from net", done.stdout)
        self.assertEqual(self.lines()[0][1], ["Proxy-Authorization: Basic bWU6czNjcmV0"])
        for secret in ("s3cret", "bWU6czNjcmV0"):
            self.assertNotIn(secret, done.stderr)
        inside = self.w.sbx_run([], ["env"], env=env)
        self.assertNotIn("s3cret", inside.stdout)
        # pid 1 inside shows our command line
        inside = self.w.sbx_run(["--upstream-proxy", with_secret], ["cat", "/proc/1/cmdline"])
        self.assertIn("--upstream-proxy", inside.stdout)
        self.assertNotIn("s3cret", inside.stdout)
        self.assertIn("hello from net", self.get(["--upstream-proxy", with_secret]).stdout)
        self.assertEqual(self.lines()[-1][1], ["Proxy-Authorization: Basic bWU6czNjcmV0"])
        # "none" wins over it
        self.assertNotIn("hello", self.get(["--upstream-proxy", "none"], env=env).stdout)
        # and so does NO_PROXY
        env["NO_PROXY"] = "parent.example"
        self.assertNotIn("hello", self.get([], env=env).stdout)

    def test_policy_first(self):
        options = ["--upstream-proxy", TO, "-d", "evil.example", "-a", "*.example"]
        for host in ("evil.example", "169.254.169.254", "10.1.2.3", "evil.test"):
            with self.subTest(host):
                done = self.w.curl(options, "-o", "/dev/null", "-w", "%{http_code}",
                                   "http://%s/" % host)
                self.assertEqual(done.stdout, "403", done.stderr)
        self.assertEqual(self.lines(), [])

    def test_no_query_of_ours(self):
        o = self.w.oracle()
        self.assertIn("hello", self.get(["--upstream-proxy", TO]).stdout)
        self.assertEqual(o.queries(), [])

    def test_dead_parent(self):
        start = time.monotonic()
        done = self.w.curl(["-a", ONLY, "--upstream-proxy", "http://%s:1" % GATE4], "-o",
                           "/dev/null", "-w", "%{http_code}", "http://%s/" % ONLY)
        self.assertEqual(done.stdout, "502")
        self.assertIn("the upstream proxy cannot be reached", done.stderr)
        self.assertNotIn("nothing listens there", done.stderr)
        self.assertLess(time.monotonic() - start, 15)

    def test_parent_that_does_not_know(self):
        done = self.w.curl(["-a", "else.example", "--upstream-proxy", TO], "-o", "/dev/null", "-w",
                           "%{http_code} %{http_connect}", "https://else.example/")
        self.assertIn("502", done.stdout)

    def test_settings(self):
        path = self.w.write("up.json", json.dumps({"network": {"upstreamProxy": TO}}))
        path = path or self.w.path("up.json")
        self.assertIn("hello", self.get(["-p", path]).stdout)
        self.assertNotIn("hello", self.get(["-p", path, "--upstream-proxy", "none"]).stdout)

    def test_unusable(self):
        for url in ("socks5://p.example", "ftp://x", "http://x:0"):
            done = self.w.sbx_run(["--upstream-proxy", url], ["true"])
            self.assertEqual(done.returncode, 64, url)

    def test_resolvers_of_the_settings(self):
        for servers, want in (["127.0.0.1:1"], 502), ([GATE4], 200):
            path = self.w.path("res.json")
            self.w.write("res.json", json.dumps({"network": {"resolvers": servers}}))
            done = self.w.curl(["-a", "good.example", "-p", path], "-o", "/dev/null", "-w",
                               "%{http_code}", "http://good.example/")
            self.assertEqual(done.stdout, str(want), done.stderr)
        self.w.write("res.json", json.dumps({"network": {"resolvers": ["dns.example"]}}))
        done = self.w.sbx_run(["-p", self.w.path("res.json")], ["true"])
        self.assertEqual(done.returncode, 125)
        self.assertIn("dns.example", done.stderr)

    def test_unknown_allow_is_refused(self):
        self.w.write("unk.json", json.dumps({"network": {"onUnknownHost": "allow"}}))
        done = self.w.sbx_run(["-p", self.w.path("unk.json")], ["true"])
        self.assertEqual(done.returncode, 125)
        self.assertIn("onUnknownHost", done.stderr)


# Reads a tunnel to its end; says how many bytes came and how it ended.
TO_THE_END = r"""
import socket, sys
s = socket.create_connection(("127.0.0.1", 3128), 20)
s.sendall(("CONNECT %s:443 HTTP/1.1\r\n\r\n" % sys.argv[1]).encode())
n, how, head = 0, "end", b""
try:
    while not head.endswith(b"\r\n\r\n"):
        head += s.recv(1)
    while (data := s.recv(65536)):
        n += len(data)
except ConnectionResetError:
    how = "reset"
print(n, how)
"""


class TlsUpstream(WorldCase):
    """The way to the parent itself is TLS."""
    @classmethod
    def setUpClass(cls):
        from world import _world
        w = _world[0]
        cls.log = w.path("tls-parent.log")
        start_parent(w, cls.log, TLS_PORT, w.path("cert.pem"), w.path("key.pem"))

    def setUp(self):
        open(self.log, "w").close()

    def lines(self):
        with open(self.log) as f:
            return [json.loads(x) for x in f]

    def env(self, ca="ca.pem"):
        return dict(self.w.env(), SSL_CERT_FILE=self.w.path(ca))

    def get(self, to, url="http://%s/" % ONLY, *args, ca="ca.pem", options=()):
        return self.w.curl(["-a", ONLY, "--upstream-proxy", to, *options], "-o", "-", "-k", "-w",
                           "%{http_code}", *args, url, env=self.env(ca))

    def test_only_way_out(self):
        ways = {"http": [], "socks5h": ["-x", "socks5h://127.0.0.1:3128"],
                "capture": ["--noproxy", "*"]}
        for way, args in ways.items():
            for scheme in ("http", "https"):
                with self.subTest(way=way, scheme=scheme):
                    done = self.get(TLS_TO.replace("//", "//me:s3cret@"),
                                    "%s://%s/" % (scheme, ONLY), *args, options=["-vv"])
                    self.assertEqual(done.stdout, "hello from net %s\n200" % ONLY, done.stderr)
                    self.assertNotIn("s3cret", done.stderr)
        said = [x[0] for x in self.lines()]
        self.assertIn("GET http://%s/ HTTP/1.1" % ONLY, said)
        self.assertIn("CONNECT %s:443 HTTP/1.1" % ONLY, said)
        self.assertEqual(self.lines()[0][1], ["Proxy-Authorization: Basic bWU6czNjcmV0"])

    def test_certificate_of_another_host(self):
        done = self.get("https://%s:%d" % (GATE4, TLS_PORT))
        self.assertTrue(done.stdout.endswith("502"), done.stdout)
        self.assertIn("certificate is not accepted", done.stderr)
        self.assertEqual(self.lines(), [])

    def test_certificate_of_an_unknown_authority(self):
        done = self.get(TLS_TO, ca="cert.pem")
        self.assertTrue(done.stdout.endswith("502"), done.stdout)
        self.assertIn("certificate is not accepted", done.stderr)
        self.assertEqual(self.lines(), [])

    def test_parent_without_tls(self):
        """One that speaks first, and one that waits for the end of a request."""
        for port, status in (25, "502"), (80, "504"):
            start = time.monotonic()
            done = self.get("https://%s:%d" % (TLS_HOST, port))
            self.assertTrue(done.stdout.endswith(status), done.stdout)
            self.assertLess(time.monotonic() - start, 15)

    def test_no_certificates_no_start(self):
        for name in ("nothing.pem", "resolv.conf"):
            done = self.w.sbx_run(["--upstream-proxy", TLS_TO], ["echo", "ran"], env=self.env(name))
            self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
            self.assertIn(name, done.stderr)
        # the twin: who does not go that way needs none
        done = self.w.sbx_run([], ["echo", "ran"], env=self.env("nothing.pem"))
        self.assertEqual(done.stdout, "ran\n")

    def test_a_cut_is_no_end(self):
        for name, how in ("whole.example", "end"), ("cut.example", "reset"):
            done = self.w.sbx_run(["-a", name, "--upstream-proxy", TLS_TO],
                                  ["/usr/bin/python3", "-c", TO_THE_END, name], env=self.env())
            self.assertEqual(done.stdout, "300000 %s\n" % how, done.stderr)


def setUpModule():
    setup_world()


def tearDownModule():
    teardown_world()


if __name__ == "__main__":
    main()

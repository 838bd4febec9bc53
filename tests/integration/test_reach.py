#!/usr/bin/python3
"""What an allowed command reaches, and what a refused one is told: real curl, oracles outside."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import GATE4, WorldCase, main, v4, v6  # noqa: E402

GOOD = ["-a", "good.example"]
SOCKS5 = ["-x", "socks5h://127.0.0.1:3128"]
SOCKS4 = ["-x", "socks4a://127.0.0.1:3128"]
WAYS = {"http": ([], "http"), "https": ([], "https"), "socks5h": (SOCKS5, "https"),
        "socks5h-plain": (SOCKS5, "http"), "socks4a": (SOCKS4, "https"),
        "socks4a-plain": (SOCKS4, "http")}


class Reach(WorldCase):
    def assertHello(self, done, host):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "hello from net %s\n" % host)
        self.assertEqual(self.refusal_lines(done.stderr), [])

    def test_allowed_every_way(self):
        for way, (args, scheme) in WAYS.items():
            with self.subTest(way):
                o = self.w.oracle()
                self.assertHello(self.w.curl(GOOD, *args, scheme + "://good.example/"),
                                 "good.example")
                port = 443 if scheme == "https" else 80
                self.assertIn(o.accepts(), ([(v4(1), port)], [(v6(1), port)]))

    def test_allowed_as_root(self):
        for way, (args, scheme) in WAYS.items():
            with self.subTest(way):
                self.assertHello(self.w.curl(GOOD, *args, scheme + "://good.example/", uid=0),
                                 "good.example")

    def test_refused_as_root(self):
        o = self.w.oracle()
        done = self.w.curl(GOOD, "-o", "/dev/null", "-w", "%{http_code}", "http://evil.example/",
                           uid=0)
        self.assertEqual(done.stdout, "403")
        self.assertQuiet(o)

    def test_stderr_that_nobody_reads(self):
        """A full pipe, or none, holds nothing up: 1,500 refusals and an allowed request."""
        script = ("import socket\n"
                  "def ask(host):\n"
                  "    s = socket.create_connection(('127.0.0.1', 3128), 20)\n"
                  "    s.sendall(b'CONNECT %s:80 HTTP/1.1\\r\\n\\r\\n' % host)\n"
                  "    return s.recv(12)[9:]\n"
                  "for i in range(1500): assert ask(b'n%d.%s.example' % (i, b'x' * 60)) == b'403'\n"
                  "assert ask(b'good.example') == b'200'\n")
        argv = self.w.sbx_argv(GOOD, ["/usr/bin/python3", "-c", script])
        full_r, full_w = os.pipe()
        closed_r, closed_w = os.pipe()
        os.close(closed_r)
        try:
            for fd in (full_w, closed_w):
                proc = self.w.popen(argv, stderr=fd)
                self.assertEqual(proc.wait(60), 0)
        finally:
            for fd in (full_r, full_w, closed_w):
                os.close(fd)

    def test_ipv6_only(self):
        for way, (args, scheme) in WAYS.items():
            with self.subTest(way):
                o = self.w.oracle()
                self.assertHello(self.w.curl(["-a", "v6only.example"], *args,
                                             scheme + "://v6only.example/"), "v6only.example")
                self.assertEqual({a for a, _ in o.accepts()}, {v6(4)})

    def test_dual_stack_with_dead_ipv6(self):
        for name in ("dual.example", "dual-gone.example"):
            for way, (args, scheme) in WAYS.items():
                with self.subTest(way, name=name):
                    o = self.w.oracle()
                    self.assertHello(self.w.curl(["-a", name], "--max-time", "8", *args,
                                                 "%s://%s/" % (scheme, name)), name)
                    self.assertEqual({a for a, _ in o.accepts()}, {v4(5)})

    def test_second_address_when_the_first_is_dead(self):
        self.assertHello(self.w.curl(["-a", "two.example"], "--max-time", "8",
                                     "http://two.example/"), "two.example")

    def test_good_a_with_failing_aaaa(self):
        for name in ("aaaafail-r.odd.example", "aaaaslow-r.odd.example"):
            with self.subTest(name):
                self.assertHello(self.w.curl(["-a", name], "--max-time", "8",
                                             "http://%s/" % name), name)

    def test_many_addresses_by_tcp(self):
        name = "many-r.odd.example"
        self.assertHello(self.w.curl(["-a", name], "http://%s/" % name), name)

    def test_cname(self):
        self.assertHello(self.w.curl(["-a", "cn-good.example"], "https://cn-good.example/"),
                         "cn-good.example")

    def test_hosts_file(self):
        o = self.w.oracle()
        self.assertHello(self.w.curl(["-a", "hosts-good.example"], "http://hosts-good.example/"),
                         "hosts-good.example")
        self.assertEqual(o.queries(), [])

    def test_literal_addresses(self):
        four, six = v4(1), "[%s]" % v6(1)
        for pattern, host in ((four, four), (six, six), ("51.15.10.0/24", four),
                              ("[2a01:4f8:10::]/64", six), (four + ":80", four)):
            with self.subTest(pattern):
                o = self.w.oracle()
                self.assertHello(self.w.curl(["-a", pattern], "http://%s/" % host), host)
                self.assertEqual(o.accepts(), [(host.strip("[]"), 80)])
                self.assertEqual(o.queries(), [])
        for pattern, host in ((v4(2), four), ("51.15.11.0/24", four), (four, v4(2)),
                              (four + ":443", four), ("good.example", four), (four, six)):
            with self.subTest(pattern, refused=host):
                o = self.w.oracle()
                done = self.w.curl(["-a", pattern], "-o", "/dev/null", "-w", "%{http_code}",
                                   "http://%s/" % host)
                self.assertEqual(done.stdout, "403")
                self.assertQuiet(o)

    def test_literal_over_tls_and_socks(self):
        self.assertHello(self.w.curl(["-a", v4(1)], "https://%s/" % v4(1)), v4(1))
        self.assertHello(self.w.curl(["-a", v4(1)], "-x", "socks5://127.0.0.1:3128",
                                     "http://%s/" % v4(1)), v4(1))
        six = "[%s]" % v6(1)
        self.assertHello(self.w.curl(["-a", six], *SOCKS5, "http://%s/" % six), six)

    def test_ports(self):  # T-009, as decided; H-055
        for pattern, port, ok in (("good.example:8080", 8080, True),
                                  ("good.example:8080", 80, False),
                                  ("good.example:8000-8100", 8080, True),
                                  ("good.example:8000-8079", 8080, False),
                                  ("good.example:80,8080", 8080, True),
                                  ("good.example:80,443", 8080, False),
                                  ("good.example", 3000, True)):
            with self.subTest(pattern, port=port):
                done = self.w.curl(["-a", pattern], "-o", "/dev/null", "-w", "%{http_code}",
                                   "http://good.example:%d/" % port)
                self.assertEqual(done.stdout, "200" if ok else "403")

    def test_port_order_in_socks(self):  # T-010
        o = self.w.oracle()
        done = self.w.curl(["-a", "good.example:20480"], *SOCKS5, "http://good.example:20480/")
        self.assertHello(done, "good.example:20480")
        self.assertEqual([p for _, p in o.accepts()], [20480])

    def test_wildcards(self):
        for pattern, host, ok in (("*.wild.example", "a.wild.example", True),
                                  ("*.wild.example", "a.b.c.wild.example", True),
                                  ("*.wild.example", "wild.example", False),
                                  ("**.wild.example", "wild.example", True),
                                  ("**.wild.example", "a.wild.example", True),
                                  ("*.wild.example", "evilwild.example", False),
                                  ("**.wild.example", "evilwild.example", False),
                                  ("*", "evil.example", True)):
            with self.subTest(pattern, host=host):
                done = self.w.curl(["-a", pattern], "-o", "/dev/null", "-w", "%{http_code}",
                                   "http://%s/" % host)
                self.assertEqual(done.stdout, "200" if ok else "403")

    def test_resolver_option(self):
        self.assertHello(self.w.curl(GOOD + ["--resolver", GATE4], "http://good.example/"),
                         "good.example")
        name = "ttl-opt.odd.example"
        self.assertHello(self.w.curl(["-a", name, "--resolver", GATE4 + ":5353"],
                                     "http://%s/" % name), name)
        done = self.w.curl(GOOD + ["--resolver", GATE4 + ":5354"], "-o", "/dev/null", "-w",
                           "%{http_code}", "http://good.example/")
        self.assertIn(done.stdout, ("502", "504"))

    def test_search_list_is_not_used(self):  # D-015, D-016
        # resolv.conf of the world has "search corp.test" and both names exist there
        for name in ("intranet", "nosuch.example"):
            with self.subTest(name):
                o = self.w.oracle()
                done = self.w.curl(["-a", name], "-o", "/dev/null", "-w", "%{http_code}",
                                   "http://%s/" % name)
                self.assertIn(done.stdout, ("502", "504"))
                self.assertEqual(o.accepts(), [])
                self.assertEqual({n for _, n in o.queries()}, {name})


class Refused(WorldCase):
    LINE = ("refused evil.example:%d (not on the allow list); "
            "allow with: --allow evil.example:%d")

    def test_plain_http(self):
        o = self.w.oracle()
        done = self.w.curl(GOOD, "-i", "http://evil.example/")
        head, _, body = done.stdout.replace("\r\n", "\n").partition("\n\n")
        lines = head.split("\n")
        self.assertRegex(lines[0], r"^HTTP/1\.1 403 ")
        headers = {x.split(":")[0].lower(): x.split(": ", 1)[1] for x in lines[1:]}
        self.assertEqual(headers["sbx-net-code"], "not-listed")
        self.assertTrue(headers["content-type"].startswith("text/plain"))
        self.assertEqual(headers["connection"].lower(), "close")
        self.assertEqual(int(headers["content-length"]), len(body))
        self.assertIn(self.LINE % (80, 80), body)
        self.assertLess(body.count("\n"), 2)
        self.assertEqual(self.refusal_lines(done.stderr), ["sbx-net: " + self.LINE % (80, 80)])
        self.assertQuiet(o)

    def test_connect(self):  # D-001, S-034
        o = self.w.oracle()
        done = self.w.curl(GOOD, "-D", "-", "-w", "%{http_connect}", "https://evil.example/")
        self.assertEqual(done.returncode, 56, done.stderr)
        self.assertTrue(done.stdout.endswith("403"), done.stdout)
        self.assertIn("sbx-net-code: not-listed", done.stdout.lower())
        self.assertEqual(self.refusal_lines(done.stderr), ["sbx-net: " + self.LINE % (443, 443)])
        self.assertQuiet(o)

    def test_socks(self):
        for way in (SOCKS5, SOCKS4, ["-x", "socks5://127.0.0.1:3128", "--resolve",
                                     "evil.example:443:" + v4(66)]):
            with self.subTest(way[1]):
                o = self.w.oracle()
                done = self.w.curl(GOOD, *way, "https://evil.example/")
                self.assertEqual(done.returncode, 97, done.stderr)
                self.assertEqual(len(self.refusal_lines(done.stderr)), 1, done.stderr)
                self.assertQuiet(o)

    def test_line_once_a_target(self):
        done = self.w.curl(GOOD, "http://evil.example/", "http://evil.example/2",
                           "http://evil.example:8080/", "http://other.example/")
        self.assertEqual(self.refusal_lines(done.stderr), [
            "sbx-net: refused %s (not on the allow list); allow with: --allow %s" % (x, x)
            for x in ("evil.example:80", "evil.example:8080", "other.example:80")])

    def test_quiet(self):
        done = self.w.curl(GOOD + ["-q"], "-o", "/dev/null", "-w", "%{http_code}",
                           "http://evil.example/")
        self.assertEqual((done.stdout, self.refusal_lines(done.stderr)), ("403", []))

    def test_the_remedy_works(self):
        done = self.w.curl(GOOD, "-s", "http://evil.example/")
        remedy = self.refusal_lines(done.stderr)[0].partition("allow with: ")[2].split()
        done = self.w.curl(GOOD + remedy, "http://evil.example/")
        self.assertEqual(done.stdout, "hello from net evil.example\n")

    def test_remedies_added_one_after_the_other_lead_there(self):
        options = list(GOOD)
        for lead in ("; allow with: ", "; allow also with: "):  # the name, then its address
            done = self.w.curl(options, "-s", "http://ten.example/")
            line = self.refusal_lines(done.stderr)[0]
            self.assertIn(lead, line)
            options += line.partition(lead)[2].split()
        done = self.w.curl(options, "http://ten.example/")
        self.assertEqual(done.stdout, "hello from net ten.example\n")
        self.assertEqual(self.refusal_lines(done.stderr), [])

    def test_empty_list_allows_nothing(self):
        for url in ("http://good.example/", "https://good.example/", "http://%s/" % v4(1)):
            with self.subTest(url):
                o = self.w.oracle()
                done = self.w.curl([], "-o", "/dev/null", "-w", "%{http_code}%{http_connect}", url)
                self.assertIn("403", done.stdout)
                self.assertQuiet(o)

    def test_deny_wins(self):  # H-045, H-046, H-054
        for options, host in (
                (["-a", "good.example", "-d", "good.example"], "good.example"),
                (["-d", "good.example", "-a", "good.example"], "good.example"),
                (["-a", "*.wild.example", "-d", "bad.wild.example"], "bad.wild.example"),
                (["-a", "*", "-d", "*.deny.example"], "x.deny.example"),
                (["-a", "bad.wild.example", "-d", "*.wild.example"], "bad.wild.example"),
                (["-a", "good.example", "-d", "*"], "good.example"),
                (["-a", "good.example", "-d", "*:80"], "good.example"),
                (["-a", "good.example", "-d", "GOOD.Example."], "good.example")):
            with self.subTest(options):
                o = self.w.oracle()
                done = self.w.curl(options, "-i", "http://%s/" % host)
                self.assertIn("403", done.stdout.split("\n")[0])
                self.assertIn("sbx-net-code: denied", done.stdout.lower())
                self.assertQuiet(o)
        # the same paths with one thing changed
        for options, host in ((["-a", "*.wild.example", "-d", "bad.wild.example"],
                               "a.wild.example"),
                              (["-a", "good.example", "-d", "*:8080"], "good.example"),
                              (["-a", "*", "-d", "*.deny.example"], "good.example")):
            with self.subTest(options, twin=host):
                done = self.w.curl(options, "http://%s/" % host)
                self.assertEqual(done.stdout, "hello from net %s\n" % host)

    def test_denied_by_address(self):
        # the name is allowed, the address it leads to is denied; its other address is not
        o = self.w.oracle()
        done = self.w.curl(["-a", "v4only.example", "-d", v4(3)], "-i", "http://v4only.example/")
        self.assertIn("403", done.stdout.split("\n")[0])
        self.assertEqual(o.accepts(), [])
        done = self.w.curl(["-a", "good.example", "-d", v4(1)], "http://good.example/")
        self.assertEqual(done.stdout, "hello from net good.example\n")

    def test_strict_code(self):
        done = self.w.curl(GOOD + ["--strict"], "-i", "http://evil.example/")
        self.assertIn("sbx-net-code: strict", done.stdout.lower())
        done = self.w.curl(GOOD + ["--strict"], "http://good.example/")
        self.assertEqual(done.stdout, "hello from net good.example\n")

    def test_trailing_dot_and_case(self):  # H-014, H-016, H-017
        for host in ("good.example.", "GOOD.EXAMPLE", "gOoD.eXaMpLe."):
            with self.subTest(host):
                done = self.w.curl(GOOD, "-o", "/dev/null", "-w", "%{http_code}",
                                   "http://%s/" % host)
                self.assertEqual(done.stdout, "200")
        for host in ("bad.wild.example.", "BAD.wild.EXAMPLE."):
            with self.subTest(host):
                done = self.w.curl(["-a", "*.wild.example", "-d", "bad.wild.example"], "-o",
                                   "/dev/null", "-w", "%{http_code}", "http://%s/" % host)
                self.assertEqual(done.stdout, "403")


class FirstCall(WorldCase):
    def test_200_of_200(self):
        url = "http://good.example/"
        failed = []
        for i in range(200):
            done = self.w.curl(GOOD, url)
            if done.returncode or done.stdout != "hello from net good.example\n":
                failed.append((i, done.returncode, done.stdout, done.stderr))
        self.assertEqual(failed, [])


if __name__ == "__main__":
    main()

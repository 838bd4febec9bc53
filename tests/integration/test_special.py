#!/usr/bin/python3
"""Allowed names that lead where nothing may go: this machine, metadata, private networks."""
import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from raw import RawCase, connect, http, socks4a, socks5  # noqa: E402
from world import CNAMES, HOST4, HOST6, SPECIAL, main, v4  # noqa: E402

WAYS = {"connect": connect, "http": http, "socks5": socks5, "socks4a": socks4a}
CN = {"cn-lo.example": {"loopback"}, "cn-meta.example": {"metadata"},
      "cn-own.example": {"own-address"}, "cn-lo6.example": {"loopback"}}
BARE_UNREACHABLE = {"zeronet.example", "compat.example", "link6.example", "multi4.example",
                    "multi6.example", "broad.example", "ownbroad.example"}


class Special(RawCase):
    def allowed(self, names):
        return [x for n in names for x in ("-a", n)]

    def test_bare_program_reaches_them(self):
        """The positive twin: without sbx-net every one of these answers."""
        for name, (addr, _) in SPECIAL.items():
            if name in BARE_UNREACHABLE:
                continue
            with self.subTest(name):
                o = self.w.oracle()
                self.w.connect(addr, 80).close()
                self.assertEqual(len(o.accepts()), 1)

    def refuse_all(self, expected, allow):
        for port in (80, 443):
            cases = {"%s %s:%d" % (way, name, port): make(name, port)
                     for name in expected for way, make in WAYS.items()}
            o = self.w.oracle()
            results, stderr = self.raw(allow, cases, stderr=True)
            self.assertEqual(o.accepts(), [])
            asked = {n for _, n in o.queries()}
            lines = self.refusal_lines(stderr)
            for name, codes in expected.items():
                if asked is not None and not name.startswith("hosts-"):
                    with self.subTest(name, port=port):
                        self.assertIn(name, asked)
                        mine = [x for x in lines if x.startswith("sbx-net: refused %s:%d ("
                                                                 % (name, port))]
                        self.assertEqual(len(mine), 1, mine)
                for way in WAYS:
                    with self.subTest(name, way=way, port=port):
                        self.assertDenied(results["%s %s:%d" % (way, name, port)], codes)

    def test_special_names(self):  # D-002
        names = list(SPECIAL)
        for some in names[::2], names[1::2]:  # a run tells no more than so many
            self.refuse_all({n: SPECIAL[n][1] for n in some}, self.allowed(some))

    def test_special_names_under_allow_all(self):
        some = {n: SPECIAL[n][1] for n in ("lo4.example", "mapped.example", "meta.example",
                                           "azure.example", "own4.example", "ten.example")}
        self.refuse_all(some, ["-a", "*"])

    def test_cnames(self):
        self.refuse_all(CN, self.allowed(CN))
        self.assertEqual(set(CN) | {"cn-good.example"}, set(CNAMES))

    def test_hosts_file(self):  # D-011
        name = "hosts-lo.example"
        o = self.w.oracle()
        results = self.raw(["-a", name], {way: make(name, 80) for way, make in WAYS.items()})
        for way, r in results.items():
            with self.subTest(way):
                self.assertDenied(r, {"loopback"})
        self.assertQuiet(o)

    def test_local_names(self):  # D-012
        o = self.w.oracle()
        for options in ([], ["-a", "*"]):
            for name in ("localhost", "x.localhost", "ip6-localhost", "testhost"):
                results = self.raw(options, {w: make(name, 80) for w, make in WAYS.items()})
                for way, r in results.items():
                    with self.subTest(name, way=way, options=options):
                        self.assertDenied(r, None)
        self.assertEqual(o.accepts(), [])

    def test_literals(self):
        """The same addresses as literals, with everything allowed and with nothing allowed.

        "*" lists no private or special literal: those may read "not-listed" too.
        """
        for options in (["-a", "*"], []):
            cases, want = {}, {}
            for name, (addr, codes) in SPECIAL.items():
                for way, make in WAYS.items():
                    text = "[%s]" % addr if ":" in addr and way in ("connect", "http") else addr
                    cases["%s %s" % (way, addr)] = make(text, 80)
                    want["%s %s" % (way, addr)] = codes
                cases["bytes " + addr] = self.socks5_addr(addr, 80)
                want["bytes " + addr] = codes
            o = self.w.oracle()
            results = self.raw(options, cases)
            for key, r in results.items():
                with self.subTest(key, options=options):
                    self.assertDenied(r, want[key] | {"not-listed"} if options else None)
            self.assertQuiet(o)

    @staticmethod
    def socks5_addr(addr, port):
        import socket
        family = socket.AF_INET6 if ":" in addr else socket.AF_INET
        return [b"\5\1\0", b"\5\1\0" + (b"\4" if family == socket.AF_INET6 else b"\1") +
                socket.inet_pton(family, addr) + struct.pack(">H", port)]

    def test_mixtures_reach_the_public_address_only(self):  # D-004
        names = ["mix-lo6.example", "mix-mapped.example", "mix-lo4.example", "mix-ten.example"]
        for name in names:
            for way, make in WAYS.items():
                with self.subTest(name, way=way):
                    o = self.w.oracle()
                    r = self.raw(["-a", name], {"x": make(name, 80, get=True)})["x"]
                    self.assertIn(b"hello from net", r["recv"])
                    self.assertEqual(o.accepts(), [(v4(7), 80)])

    def test_rebinding(self):  # D-005
        name = "rebind-x.odd.example"
        script = ("curl -s -o /dev/null -w '%%{http_code} ' http://%s/; sleep 1.2; "
                  "curl -s -o /dev/null -w '%%{http_code} ' http://%s/" % (name, name))
        o = self.w.oracle()
        done = self.w.sbx_run(["-a", name], ["sh", "-c", script])
        self.assertEqual(done.stdout, "200 403 ", done.stderr)
        self.assertEqual(o.accepts(), [(v4(1), 80)])

    def test_strange_answers(self):  # D-010, D-019, D-020
        names = ["loop-s.odd.example", "other-s.odd.example", "junk-s.odd.example",
                 "fail-s.odd.example", "chain-0.odd.example", "nosuch.odd.example"]
        o = self.w.oracle()
        results = self.raw(self.allowed(names), {n: connect(n, 80, timeout=30) for n in names})
        for name, r in results.items():
            with self.subTest(name):
                self.assertRegex(r["recv"][:13], rb"^HTTP/1\.1 50[24]")
                self.assertIn(b"sbx-net-code: dns-failed", r["recv"].lower())
        self.assertEqual(o.accepts(), [])

    def test_own_address_appears_later(self):
        extra = "51.15.20.1"
        script = ("import sys,subprocess\n"
                  "c=['curl','-s','-o','/dev/null','-w','%{http_code}\\n','--max-time','3',"
                  "'http://later.example/']\n"
                  "print('ready', flush=True)\nsys.stdin.readline()\n"
                  "subprocess.run(c)\n")
        import subprocess
        proc = self.w.popen(self.w.sbx_argv(["-a", "later.example"], ["/usr/bin/python3", "-c", script]),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)
        try:
            self.assertEqual(proc.stdout.readline(), b"ready\n")
            o = self.w.oracle()
            self.w.ip(self.w.host, "addr add %s/32 dev veth0" % extra)
            out, err = proc.communicate(b"go\n", timeout=30)
            self.assertEqual((out, o.accepts()), (b"403\n", []), err)
        finally:
            proc.kill()
            proc.wait()
            self.w.ip(self.w.host, "addr del %s/32 dev veth0" % extra)

    def test_own_addresses_are_where_we_think(self):
        done = self.w.run(["ip", "-j", "addr", "show"])
        have = {a["local"] for i in json.loads(done.stdout) for a in i["addr_info"]}
        self.assertLessEqual({HOST4, HOST6}, have)


if __name__ == "__main__":
    main()

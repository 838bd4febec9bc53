#!/usr/bin/python3
"""Programs that know no proxy: the DNS stub, captured connections, forwards and local ports."""
import hashlib
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from origins import AFTER_EOF, BIG, RESET, pattern  # noqa: E402
from world import HOST4, WorldCase, main, v4, v6  # noqa: E402

# Runs inside, without proxy variables. Commands as JSON on stdin, results as JSON on stdout.
PROBE = r"""
import concurrent.futures, hashlib, json, socket, ssl, struct, sys, time
for name in list(__import__('os').environ):
    if name.lower().endswith('_proxy'):
        del __import__('os').environ[name]

def get(host, port, tls=None, path='/', shut=False, data=None, family=0):
    s = None
    try:
        if ':' in host or host[0].isdigit():
            s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET)
            s.settimeout(15)
            s.connect((host, port))
        else:
            s = socket.create_connection((host, port), timeout=15)
        if tls:
            s = ssl.create_default_context(cafile=tls).wrap_socket(s, server_hostname=host)
        s.sendall(data.encode() if data else b'GET %s HTTP/1.0\r\nHost: %s\r\n\r\n' % (
            path.encode(), host.encode()))
        if shut:
            s.shutdown(socket.SHUT_WR)
        out = b''
        while True:
            d = s.recv(65536)
            if not d:
                break
            out += d
            if data and not shut:
                break
        body = out.partition(b'\r\n\r\n')[2] if not data else out
        return {'ok': body[:300].decode('latin1'), 'size': len(body),
                'sha': hashlib.sha256(body).hexdigest()}
    except OSError as e:
        return {'error': type(e).__name__, 'text': str(e)}
    finally:
        if s:
            s.close()

def dns(name, qtype, server='8.8.8.8', tcp=False, raw=None, edns=False):
    q = raw.encode('latin1') if raw is not None else struct.pack('>HHHHHH', 0x1234, 0x100, 1, 0, 0,
        1 if edns else 0) + b''.join(bytes([len(x)]) + x.encode() for x in name.split('.') if x) + \
        b'\0' + struct.pack('>HH', qtype, 1) + (b'\0\0\x29\x04\xd0\0\0\0\0\0\0' if edns else b'')
    family = socket.AF_INET6 if ':' in server else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM)
    s.settimeout(3)
    try:
        s.connect((server, 53))
        if tcp:
            s.sendall(struct.pack('>H', len(q)) + q)
            n = b''
            while len(n) < 2 or len(n) < 2 + struct.unpack('>H', n[:2])[0]:
                d = s.recv(4096)
                if not d:
                    return {'error': 'EOF'}
                n += d
            a = n[2:]
        else:
            s.send(q)
            a = s.recv(4096)
    except OSError as e:
        return {'error': type(e).__name__}
    ident, flags, qd, an, ns, ar = struct.unpack('>HHHHHH', a[:12])
    out = {'id': ident, 'rcode': flags & 15, 'answers': []}
    p = 12
    def skip(p):
        while a[p]:
            if a[p] >= 0xc0:
                return p + 2
            p += a[p] + 1
        return p + 1
    for _ in range(qd):
        p = skip(p) + 4
    for _ in range(an):
        p = skip(p)
        t, c, ttl, n = struct.unpack('>HHIH', a[p:p + 10])
        d = a[p + 10:p + 10 + n]
        p += 10 + n
        if t == 1:
            d = socket.inet_ntoa(d)
        elif t == 12:
            labels, i = [], 0
            while d[i]:
                labels.append(d[i + 1:i + 1 + d[i]].decode())
                i += d[i] + 1
            d = '.'.join(labels)
        else:
            d = d.hex()
        out['answers'].append([t, d])
    return out

def lookup(name):
    try:
        return sorted({x[4][0] for x in socket.getaddrinfo(name, 80, type=socket.SOCK_STREAM)})
    except OSError as e:
        return {'error': type(e).__name__}

def serve(port, addr='127.0.0.1'):
    s = socket.create_server((addr, port), family=socket.AF_INET6 if ':' in addr else
                             socket.AF_INET)
    import threading
    def loop():
        while True:
            c, _ = s.accept()
            c.recv(100)
            c.sendall(b'HTTP/1.0 200 OK\r\n\r\ninside')
            c.close()
    threading.Thread(target=loop, daemon=True).start()
    return {'ok': True}

def many(n, workers, *args, **kw):
    with concurrent.futures.ThreadPoolExecutor(workers) as e:
        all = list(e.map(lambda _: json.dumps(get(*args, **kw)), range(n)))
    return {x: all.count(x) for x in set(all)}

calls = {f.__name__: f for f in (get, dns, lookup, serve, many)}
out = []
for name, args, kw in json.load(sys.stdin):
    out.append(calls[name](*args, **kw))
json.dump(out, sys.stdout)
"""


def call(name, *args, **kw):
    return [name, list(args), kw]


class CaptureCase(WorldCase):
    def setUp(self):
        if self.not_yet("--no-capture"):
            self.skipTest("no capture in this version")

    def probe(self, options, *calls, stderr=False, **kw):
        done = self.w.sbx_run(options, ["/usr/bin/python3", "-c", PROBE], input=json.dumps(calls),
                              timeout=120, **kw)
        self.assertEqual(done.returncode, 0, done.stderr[-1500:])
        out = json.loads(done.stdout)
        return (out, done.stderr) if stderr else out

    def assertReset(self, result):
        self.assertIn(result.get("error"), ("ConnectionResetError", "ConnectionRefusedError",
                                            "BrokenPipeError"), result)


class Connections(CaptureCase):
    def test_allowed_names(self):
        ports = (80, 443, 8080, 3000, 20480)
        for uid in (None, 0):
            o = self.w.oracle()
            got = self.probe(["-a", "good.example"], *(
                call("get", "good.example", p, tls=self.w.ca if p == 443 else None)
                for p in ports), uid=uid)
            for port, r in zip(ports, got):
                with self.subTest(port, uid=uid):
                    self.assertEqual(r.get("ok"), "hello from net good.example\n", r)
            self.assertEqual([p for _, p in o.accepts()], list(ports))

    def test_odd_port(self):
        o = self.w.oracle()
        got = self.probe(["-a", "good.example"], call("get", "good.example", 31337, data="hi"))
        self.assertTrue(got[0].get("ok", "").startswith("banner 31337\n"), got)
        self.assertEqual([p for _, p in o.accepts()], [31337])

    def test_ipv6_only_and_dead_ipv6(self):
        names = ("v6only.example", "dual.example", "dual-gone.example")
        got = self.probe([x for n in names for x in ("-a", n)],
                         *(call("get", n, 80) for n in names))
        for name, r in zip(names, got):
            self.assertEqual(r.get("ok"), "hello from net %s\n" % name, r)

    def test_refused_name(self):
        o = self.w.oracle()
        got, stderr = self.probe(["-a", "good.example"], call("get", "evil.example", 80),
                                 call("lookup", "evil.example"), stderr=True)
        self.assertEqual(got[0].get("error"), "gaierror")
        self.assertEqual(got[1].get("error"), "gaierror")
        self.assertQuiet(o)
        lines = [x for x in self.refusal_lines(stderr) if " evil.example " in x]
        self.assertEqual(len(lines), 1, stderr)

    def test_refused_port(self):
        o = self.w.oracle()
        got, stderr = self.probe(["-a", "good.example:80"], call("get", "good.example", 443),
                                 call("get", "good.example", 31337, data="x"),
                                 call("get", "good.example", 80), stderr=True)
        self.assertReset(got[0])
        self.assertReset(got[1])
        self.assertEqual(got[2].get("ok"), "hello from net good.example\n")
        self.assertEqual([p for _, p in o.accepts()], [80])
        for port in (443, 31337):
            self.assertIn("sbx-net: refused good.example:%d (not on the allow list); allow with: "
                          "--allow good.example:%d" % (port, port), stderr)

    def test_literals(self):
        o = self.w.oracle()
        got = self.probe(["-a", v4(1), "-a", "[%s]:80" % v6(1)], call("get", v4(1), 80),
                         call("get", v4(1), 31337, data="x"), call("get", v6(1), 80))
        self.assertEqual(got[0].get("ok"), "hello from net %s\n" % v4(1), got)
        self.assertTrue(got[1].get("ok", "").startswith("banner 31337\n"), got)
        self.assertEqual(got[2].get("ok"), "hello from net %s\n" % v6(1), got)
        self.assertEqual(len(o.accepts()), 3)
        refused = [(v4(66), 80), (v4(66), 31337), (v6(0x66), 80), (v6(1), 8080), ("10.1.2.3", 80),
                   ("169.254.169.254", 80), (HOST4, 80), ("0.0.0.0", 80), ("127.0.0.1", 80),
                   ("::1", 80), ("127.9.9.9", 8080), ("198.19.255.254", 80), ("198.18.0.1", 80),
                   ("::ffff:" + v4(66), 80), ("64:ff9b::7f00:1", 80), ("255.255.255.255", 80),
                   ("224.0.0.1", 80), ("fe80::1", 80)]
        for options in (["-a", v4(1), "-a", "[%s]:80" % v6(1)],
                        ["-a", "*", "-d", v4(66), "-d", "[%s]" % v6(0x66), "-d",
                         "[%s]:8080" % v6(1)]):
            o = self.w.oracle()
            got = self.probe(options, *(call("get", a, p) for a, p in refused))
            for (addr, port), r in zip(refused, got):
                with self.subTest(addr, port=port):
                    self.assertIn("error", r)
            self.assertQuiet(o)

    def test_names_that_lead_to_forbidden_places(self):
        names = ("lo4.example", "lo6.example", "mapped.example", "meta.example", "azure.example",
                 "ten.example", "own4.example", "nat64.example", "cn-lo.example")
        o = self.w.oracle()
        got, stderr = self.probe([x for n in names for x in ("-a", n)],
                                 *(call("get", n, 80) for n in names), stderr=True)
        for name, r in zip(names, got):
            with self.subTest(name):
                self.assertReset(r)
                self.assertIn("sbx-net: refused %s:80 (" % name, stderr)
        self.assertEqual(o.accepts(), [])

    def test_denied_wins(self):
        got = self.probe(["-a", "*.wild.example", "-d", "bad.wild.example"],
                         call("get", "bad.wild.example", 80), call("get", "a.wild.example", 80))
        self.assertIn("error", got[0])
        self.assertIn("ok", got[1])

    def test_dead_targets(self):
        got = self.probe(["-a", "good.example", "-a", "gone.example", "-a", "nosuch.example"],
                         call("get", "good.example", 9), call("get", "gone.example", 80),
                         call("get", "nosuch.example", 80), call("get", "good.example", 80))
        for r in got[:3]:
            self.assertReset(r)
        self.assertIn("ok", got[3])

    def test_whole_downloads(self):
        sha = hashlib.sha256(pattern(BIG)).hexdigest()
        got = self.probe(["-a", "good.example"],
                         call("many", 40, 4, "good.example", 443, tls=self.w.ca, path="/big"),
                         call("many", 60, 8, "good.example", 80, path="/big"))
        for results, n in zip(got, (40, 60)):
            self.assertEqual([(json.loads(k).get("sha"), c) for k, c in results.items()],
                             [(sha, n)])

    def test_half_close(self):
        got = self.probe(["-a", "good.example"], call("get", "good.example", AFTER_EOF, data="abc",
                                                      shut=True))[0]
        self.assertTrue(got["ok"].startswith("3 " + hashlib.sha256(b"abc").hexdigest()), got)
        self.assertEqual(got["size"], 3 + 64 + BIG)

    def test_reset_is_a_reset(self):
        got = self.probe(["-a", "good.example"], call("get", "good.example", RESET, data="x",
                                                      shut=True))[0]
        # ENOTCONN is the same reset, when it comes before the probe has closed its side
        if "[Errno 107]" not in got.get("text", ""):
            self.assertEqual(got.get("error"), "ConnectionResetError", got)

    def test_own_servers(self):
        """What listens inside is reached inside, also on ports that are captured."""
        o = self.w.oracle()
        got = self.probe(["-a", "good.example"], call("serve", 8000), call("get", "127.0.0.1", 8000),
                         call("serve", 5433, "0.0.0.0"), call("get", "127.0.0.1", 5433),
                         call("serve", 8001, "::1"), call("get", "::1", 8001),
                         call("get", "good.example", 80))
        for n in (1, 3, 5):
            self.assertEqual(got[n].get("ok"), "inside", got)
        self.assertIn("hello", got[6].get("ok", ""))
        self.assertEqual([p for _, p in o.accepts()], [80])

    def test_first_call_100_of_100(self):
        script = ("import socket; s = socket.create_connection(('good.example', 80), 10); "
                  "s.sendall(b'GET / HTTP/1.0\\r\\nHost: x\\r\\n\\r\\n'); print(s.recv(15))")
        failed = []
        for i in range(100):
            done = self.w.sbx_run(["-a", "good.example"], ["/usr/bin/python3", "-S", "-c", script])
            if done.stdout != "b'HTTP/1.1 200 OK'\n":
                failed.append((i, done.stdout, done.stderr))
        self.assertEqual(failed, [])


class Stub(CaptureCase):
    A, PTR, MX, TXT, AAAA, SRV, HTTPS, ANY = 1, 12, 15, 16, 28, 33, 65, 255

    def test_answers(self):  # D-021
        o = self.w.oracle()
        got = self.probe(["-a", "good.example", "-a", "other.example"],
                         call("dns", "good.example", self.A),
                         call("dns", "GOOD.example", self.A, server="127.0.0.53"),
                         call("dns", "good.example", self.A, server="2001:4860:4860::8888"),
                         call("dns", "good.example", self.A, tcp=True),
                         call("dns", "good.example", self.A, tcp=True, server="::1"),
                         call("dns", "good.example", self.A, edns=True),
                         call("dns", "other.example", self.A))
        first = got[0]["answers"]
        self.assertEqual(len(first), 1)
        self.assertRegex(first[0][1], r"^198\.1[89]\.\d+\.\d+$")
        for r in got[1:6]:
            self.assertEqual((r["rcode"], r["answers"]), (0, first))
        self.assertNotEqual(got[6]["answers"], first)
        addr = first[0][1]
        reverse = ".".join(addr.split(".")[::-1]) + ".in-addr.arpa"
        got = self.probe(["-a", "good.example"], call("dns", "good.example", self.A),
                         call("dns", reverse, self.PTR))
        self.assertEqual(got[1]["answers"], [[12, "good.example"]], got)
        self.assertQuiet(o)

    def test_no_data(self):
        types = (self.AAAA, self.MX, self.TXT, self.SRV, self.HTTPS)
        got = self.probe(["-a", "good.example"], *(call("dns", "good.example", t) for t in types))
        for t, r in zip(types, got):
            with self.subTest(t):
                self.assertEqual((r.get("rcode"), r.get("answers")), (0, []))

    def test_denied(self):
        types = (self.A, self.AAAA, self.MX, self.TXT, self.HTTPS, self.ANY)
        o = self.w.oracle()
        got = self.probe(["-a", "good.example"], *(
            call("dns", "secret-data.evil.test", t, tcp=tcp) for t in types
            for tcp in (False, True)))
        for r in got:
            self.assertEqual((r.get("rcode"), r.get("answers")), (3, []), r)
        self.assertQuiet(o)

    def test_odd_names_do_not_leave(self):
        names = ("good.example.evil.test", "a" * 63 + ".evil.test", "localhost", "x.localhost",
                 "254.169.254.169.in-addr.arpa", "evil.test", "intranet", "127.0.0.1", "metadata")
        o = self.w.oracle()
        got = self.probe(["-a", "good.example"], *(call("dns", n, self.A) for n in names))
        for name, r in zip(names, got):
            with self.subTest(name):
                self.assertTrue("error" in r or r["rcode"] or
                                all(a[1].startswith("127.") for a in r["answers"]), r)
        self.assertQuiet(o)

    def test_malformed(self):
        raws = ["\x12\x34\x01\x00\x00\x01", "\x12\x34" + "\xff" * 30,
                "\x12\x34\x01\0\0\1\0\0\0\0\0\0\xc0\x0c\0\1\0\1",
                "\x12\x34\x01\0\0\2\0\0\0\0\0\0\4good\7example\0\0\1\0\1",
                "\x12\x34\x81\0\0\1\0\0\0\0\0\0\4good\7example\0\0\1\0\1"]
        o = self.w.oracle()
        got = self.probe(["-a", "good.example"], *(call("dns", "", 1, raw=r) for r in raws),
                         call("dns", "good.example", self.A))
        for r in got[:-1]:
            self.assertTrue("error" in r or r["rcode"] or not r["answers"], r)
        self.assertEqual(len(got[-1]["answers"]), 1)
        self.assertQuiet(o)

    def test_lookup_by_libc(self):
        got = self.probe(["-a", "good.example"], call("lookup", "good.example"),
                         call("lookup", "evil.example"), call("lookup", "localhost"))
        self.assertEqual(len(got[0]), 1)
        self.assertTrue(got[0][0].startswith("198.1"))
        self.assertEqual(got[1].get("error"), "gaierror")
        self.assertLessEqual(set(got[2]), {"127.0.0.1", "::1"})

    def test_lookup_by_libc_with_options(self):
        """By TCP and with EDNS as resolv.conf may say, and for IPv4 if there is IPv4 (AI_ADDRCONFIG)."""
        for options in ("use-vc", "edns0", "use-vc edns0", "single-request trust-ad"):
            with self.subTest(options):
                done = self.w.sbx_run(["-q", "-a", "good.example", "--env", "RES_OPTIONS"], [
                    "sh", "-c", "getent ahostsv4 good.example; getent ahostsv4 evil.example || echo no"],
                    env={**self.w.env(), "RES_OPTIONS": options})
                self.assertRegex(done.stdout, r"^198\.1[89]\.", done.stderr)
                self.assertTrue(done.stdout.endswith("no\n"), done.stdout)


class ForwardedRecords(CaptureCase):
    """network.forwardRecordTypes; dig decodes what comes, dnsmasq's log says what was asked."""

    def dig(self, options, *queries, types=None):
        """What dig prints for each query inside, by +short or by the code of the answer."""
        settings = os.path.join(self.w.ws, "forward.json")
        if types is not None:
            with open(settings, "w", encoding="utf-8") as f:
                json.dump({"network": {"forwardRecordTypes": types}}, f)
            os.chmod(settings, 0o644)
            options = ["-p", settings, *options]
        script = "".join("dig +time=3 +tries=1 @192.0.2.53 %s; echo; echo ==\n" % q for q in queries)
        done = self.w.sbx_run(["-q", *options], ["sh", "-c", script])
        self.assertEqual(done.returncode, 0, done.stderr)
        return [x.strip() for x in done.stdout.split("==\n")][:-1]

    ALL = ["MX", "TXT", "SRV", "SSHFP", "TLSA", "CAA"]

    def test_records_of_allowed_names(self):
        o = self.w.oracle()
        got = self.dig(["-a", "**.mail.example"], "+short MX mail.example", "+short TXT mail.example",
                       "+short SRV _imaps._tcp.mail.example", "+short CAA mail.example",
                       "+short SSHFP mail.example", "+tcp +short TXT mail.example",
                       "+noedns +short MX mail.example", "TLSA mail.example",
                       "TXT nowhere.mail.example", types=self.ALL)
        self.assertEqual(got[0], "10 mx1.wild.example.")
        self.assertEqual(got[1], '"v=spf1 ip4:%s -all"' % v4(66))
        self.assertEqual(got[2], "5 0 993 mx1.wild.example.")
        self.assertEqual(got[3], '0 issue "ca.example"')
        self.assertIn("4 2 " + "AB" * 28, got[4])
        self.assertEqual(got[5], got[1])
        self.assertEqual(got[6], got[0])
        for nothing in got[7:]:
            self.assertIn("status: NOERROR", nothing)
            self.assertIn("ANSWER: 0", nothing)
        asked = o.queries()
        self.assertEqual({n for _, n in asked}, {"mail.example", "_imaps._tcp.mail.example",
                                                 "nowhere.mail.example"})
        self.assertEqual({t for t, _ in asked} & {"A", "AAAA", "HTTPS", "SVCB", "ANY"}, set())
        self.assertEqual(o.accepts(), [])

    def test_long_records(self):
        """600 bytes fit EDNS; without it, and beyond 1,232 bytes, dig comes again over TCP."""
        got = self.dig(["-a", "**.mail.example"], "+short TXT big.mail.example",
                       "+noedns +short TXT big.mail.example",
                       "+noedns +ignore TXT big.mail.example", "+short TXT huge.mail.example",
                       types=["TXT"])
        self.assertEqual(got[0].replace('" "', "").strip('"'), "".join(c * 150 for c in "abcd"))
        self.assertIn(got[0], got[1])
        self.assertRegex(got[2], "flags:[a-z ]* tc")
        self.assertEqual(got[3].replace('" "', "").strip('"'), "".join(c * 190 for c in "abcde"))

    def test_nothing_of_other_names(self):
        names = ("evil.test", "other.example", "mail.example.evil.test", "x.mail.example")
        o = self.w.oracle()
        got = self.dig(["-a", "mail.example", "-d", "**.evil.test", "-a", "**.test"], *(
            "%s %s" % (t, n) for n in names for t in self.ALL), types=self.ALL)
        for said in got:
            self.assertIn("status: NXDOMAIN", said)
        self.assertQuiet(o)
        # a name that --learn lets through, or that somebody would be asked about, is not listed
        o = self.w.oracle()
        for options in (["--learn", os.path.join(self.w.ws, "learnt.json")],
                        ["--ask", "exec:/bin/true"]):
            got = self.dig(options, "TXT other.example", types=self.ALL)
            self.assertIn("status: NOERROR", got[0])
            self.assertIn("ANSWER: 0", got[0])
        self.assertQuiet(o)

    def test_addresses_never_come_through(self):
        o = self.w.oracle()
        got = self.dig(["-a", "mail.example"], "+short A mail.example", "AAAA mail.example",
                       "HTTPS mail.example", "SVCB mail.example", "ANY mail.example",
                       "NS mail.example", "-t TYPE65280 mail.example", "MX mail.example",
                       types=self.ALL)
        self.assertRegex(got[0], r"^198\.1[89]\.")
        for said in got[1:4] + got[5:7]:
            self.assertIn("ANSWER: 0", said)
        for said in got:
            self.assertNotIn(v4(1), said)
        self.assertIn("ADDITIONAL: 1", got[7])  # EDNS, and no address of the MX
        self.assertEqual(o.queries(), [("MX", "mail.example")])
        for bad in ("A", "AAAA", "HTTPS", "ANY", "NS", "mx"):
            settings = self.w.write("bad.json", '{"network":\n {"forwardRecordTypes": ["%s"]}}' % bad)
            done = self.w.sbx_run(["-p", settings], ["true"])
            self.assertEqual(done.returncode, 125)
            self.assertIn("bad.json:2: network.forwardRecordTypes", done.stderr)

    def test_without_the_setting_nobody_is_asked(self):
        o = self.w.oracle()
        for types in (None, [], ["CAA"]):
            for said in self.dig(["-a", "mail.example"], "MX mail.example", "TXT mail.example",
                                 types=types):
                self.assertIn("status: NOERROR", said)
                self.assertIn("ANSWER: 0", said)
        self.assertQuiet(o)

    def test_wildcards_admit_a_bounded_number_of_names(self):
        """A zone's owner reads what is asked: no more names leave than connections could ask for."""
        o = self.w.oracle()
        self.dig(["-a", "*.wild.example"], "-f /dev/stdin <<EOF\n%sEOF\ntrue" % "".join(
            "n%d.wild.example TXT +tries=1 +time=1\n" % i for i in range(1200)), types=["TXT"])
        names = {n for _, n in o.queries()}
        self.assertGreater(len(names), 100)
        self.assertLessEqual(len(names), 1000)

    def test_an_upstream_proxy_is_not_passed_by(self):
        o = self.w.oracle()
        got = self.dig(["-a", "mail.example", "--upstream-proxy", "http://%s:3128" % v4(10)],
                       "MX mail.example", types=["MX"])
        self.assertIn("ANSWER: 0", got[0])
        self.assertEqual([n for _, n in o.queries() if n == "mail.example"], [])

    def test_audit_tells_of_each(self):
        log = os.path.join(self.w.ws, "forward-audit.jsonl")
        self.dig(["-a", "mail.example", "--audit", log], "MX mail.example", "TXT mail.example",
                 types=["MX"])
        with open(log, encoding="utf-8") as f:
            events = [json.loads(x) for x in f]
        self.assertEqual([(e["verdict"], e["host"], e["via"]) for e in events
                          if e.get("event") == "decision"], [("allow", "mail.example", "dns")])


class NoCapture(CaptureCase):
    def test_off(self):
        o = self.w.oracle()
        options = ["--no-capture", "-a", "good.example", "-a", v4(1)]
        got = self.probe(options, call("lookup", "good.example"), call("get", "good.example", 80),
                         call("get", v4(1), 80), call("dns", "good.example", 1),
                         call("dns", "good.example", 1, tcp=True))
        for r in got:
            self.assertIn("error", r)
        self.assertQuiet(o)
        done = self.w.curl(options, "http://good.example/")
        self.assertEqual(done.stdout, "hello from net good.example\n", done.stderr)


class LocalPorts(CaptureCase):
    def test_the_hosts_port(self):
        for entry in ("127.0.0.1:3000", "localhost:3000"):
            with self.subTest(entry):
                o = self.w.oracle()
                got = self.probe(["-a", entry], call("get", "127.0.0.1", 3000),
                                 call("get", "127.0.0.1", 8080), call("get", "127.0.0.2", 3000))
                self.assertIn("hello from host", got[0].get("ok", ""), got)
                self.assertIn("error", got[1])
                self.assertIn("error", got[2])
                self.assertIn(o.accepts(), ([("127.0.0.1", 3000)], [("::1", 3000)]))
        o = self.w.oracle()
        got = self.probe([], call("get", "127.0.0.1", 3000))
        self.assertIn("error", got[0])
        self.assertQuiet(o)

    def test_forward(self):
        if self.not_yet("--forward", "5000=good.example:80"):
            return
        o = self.w.oracle()
        got = self.probe(["-a", "good.example", "--forward", "5000=good.example:80", "--forward",
                          "5001=evil.example:80"], call("get", "127.0.0.1", 5000),
                         call("get", "127.0.0.1", 5001))
        self.assertIn("hello from net", got[0].get("ok", ""), got)
        self.assertIn("error", got[1])
        self.assertEqual([p for _, p in o.accepts()], [80])
        for bad in ("5000", "5000=", "x=good.example:80", "0=good.example:80", "5000=good.example",
                    "5000=good.example:0", "70000=good.example:80"):
            with self.subTest(bad):
                done = self.w.sbx_run(["-a", "good.example", "--forward", bad], ["true"])
                self.assertIn(done.returncode, (64, 125))

    def test_allowed_ports_that_are_ours(self):
        """A service of the host at a port where something of ours listens inside: that is told."""
        for port, who in ((3128, "our proxy"), (53, "our name server")):
            with self.subTest(port):
                done = self.w.sbx_run(["-a", "127.0.0.1:%d" % port], ["true"])
                self.assertIn("127.0.0.1:%d: opens nothing inside" % port, done.stderr)
                self.assertIn(who, done.stderr)
                self.assertIn("--forward PORT=127.0.0.1:%d" % port, done.stderr)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = self.w.sbx_run(["-a", "127.0.0.1:%d" % port, "--forward",
                                       "5000=127.0.0.1:%d" % port], ["true"])
                self.assertNotIn("opens nothing", done.stderr)
        done = self.w.sbx_run(["-a", "127.0.0.1:3000"], ["true"])
        self.assertNotIn("opens nothing", done.stderr)

    def test_loopback_without_a_port_is_told(self):
        """What `check` says of it, where it is typed."""
        said = "opens no port on the sandbox's own loopback; name the port, as in localhost:5432"
        for entry in "localhost", "127.0.0.1", "127.0.0.0/8", "[::1]":
            with self.subTest(entry):
                done = self.w.sbx_run(["-a", entry], ["true"])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("--allow %s: %s" % (entry, said), done.stderr)
        for entry in "localhost:3000", "good.example", "*":
            with self.subTest(entry):
                self.assertNotIn("opens no port", self.w.sbx_run(["-a", entry], ["true"]).stderr)


class OwnNames(CaptureCase):
    """Names that mean this machine lead to the command's own servers, and never to the host's."""

    SCRIPT = """/usr/bin/python3 -c '
import http.server, os, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"inside\\n")
    def log_message(self, *a): pass
s = http.server.HTTPServer(("0.0.0.0", 8080), H)
if os.fork():
    sys.exit()
for fd in (0, 1, 2):
    os.close(fd)
s.serve_forever()'
for n in "$@"; do curl -sS -m 10 "http://$n:8080/" 2>&1 || true; done
"""
    TARGETS = ["localhost", "127.0.0.1", "testhost", "hosts-lo.example"]

    def fetch(self, options, names, unset=False):
        prefix = ["env", *(x for v in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
                           for x in ("-u", v))] if unset else []
        done = self.w.sbx_run(options, [*prefix, "sh", "-c", self.SCRIPT, "sh", *names])
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines(), done.stderr

    def test_looked_up_they_are_the_commands_own(self):
        own = os.uname().nodename
        for options, names in (([], [*self.TARGETS, own]), (["-a", "*"], [*self.TARGETS, own]),
                               (["--no-capture"], self.TARGETS)):
            with self.subTest(options):
                o = self.w.oracle()
                got, err = self.fetch(options, names, unset=True)
                self.assertEqual(got, ["inside"] * len(names), err)
                self.assertNotIn("refused", err)
                self.assertQuiet(o)

    def test_through_the_proxy_they_are_refused(self):
        """NO_PROXY has localhost and no more: an entry hides what lies below it, too."""
        for options, code in (([], "not on the allow list"), (["-a", "*"], "")):
            with self.subTest(options):
                o = self.w.oracle()
                got, err = self.fetch(options, self.TARGETS)
                self.assertEqual(got[:2], ["inside"] * 2, err)  # localhost
                self.assertNotIn("inside", got[2:])
                for name in self.TARGETS[2:]:
                    self.assertIn("refused %s:8080 (%s" % (name, code), err)
                self.assertEqual(o.accepts(), [])
                self.assertEqual(o.queries(), [])

    def test_the_nodename_by_the_proxy_has_a_hint(self):
        """Where the hosts file does not have it, too: who names this machine wants a server inside."""
        own = os.uname().nodename
        done = self.w.sbx_run([], ["curl", "-sS", "-m", "10", "http://%s:8080/" % own])
        self.assertIn("own servers are at localhost:8080)", done.stderr)
        done = self.w.sbx_run([], ["curl", "-sS", "-m", "10", "http://evil.example:8080/"])
        self.assertIn("refused evil.example:8080", done.stderr)
        self.assertNotIn("localhost", done.stderr)

    def test_the_host_stays_closed(self):
        """Also by a client that heeds no NO_PROXY, and where nothing listens inside."""
        names = [*self.TARGETS, os.uname().nodename]
        for unset in ("", "env -u http_proxy -u HTTP_PROXY -u all_proxy -u ALL_PROXY "):
            o = self.w.oracle()
            done = self.w.sbx_run(["-q", "-a", "*"], ["sh", "-c", "".join(
                "%scurl -sS -m 10 --noproxy x http://%s:%d/ 2>&1; " % (unset, n, port)
                for n in names for port in (8080, 3000))])
            self.assertNotIn("hello", done.stdout)
            self.assertEqual(o.accepts(), [])
        # the twin: the host's servers are there
        with self.w.connect("127.0.0.1", 8080, ns=self.w.host) as s:
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            self.assertIn(b"hello from host", s.recv(4096) + s.recv(4096))

    def test_an_address_with_two_names(self):
        """Which one a program meant is told by TLS: any that is allowed, and no other."""
        names = ["hosts-good.example", "hosts-also.example"]
        script = "for n in %s; do curl -sSk -m 10 --noproxy '*' https://$n/ 2>&1; done" % (
            " ".join(names))
        for options in ([x for n in names for x in ("-a", n)], ["-a", "*.example"]):
            done = self.w.sbx_run(options, ["sh", "-c", script])
            self.assertEqual(done.stdout.splitlines(), ["hello from net " + n for n in names],
                             done.stderr)
        o = self.w.oracle()
        done = self.w.sbx_run(["-a", names[0]], ["sh", "-c", script])
        self.assertEqual(done.stdout.splitlines()[0], "hello from net " + names[0], done.stderr)
        self.assertNotIn("hello from net " + names[1], done.stdout)
        self.assertIn("TLS asked for another name", done.stderr)
        self.assertEqual(len(o.requests()), 1)

    def test_hosts_file_names_elsewhere_follow_the_policy(self):
        """Programs read the file themselves: what they dial then stands for the name, too."""
        name = "hosts-good.example"
        for unset in (False, True):
            with self.subTest(captured=unset):
                for options in (["-a", name], ["-a", name + ":8080"], ["-a", "*"],
                                ["-a", v4(1)] if unset else ["-a", name]):
                    got, err = self.fetch(options, [name], unset=unset)
                    self.assertEqual(got, ["hello from net hosts-good.example:8080"], err)
                for options, why in (([], "not on the allow list"),
                                     (["-a", name + ":80"], "not on the allow list"),
                                     (["-a", "*", "-d", name], "denied")):
                    o = self.w.oracle()
                    got, err = self.fetch(options, [name], unset=unset)
                    self.assertNotIn("hello", " ".join(got))
                    self.assertIn("refused hosts-good.example:8080 (" + why, err)
                    self.assertQuiet(o)
                o = self.w.oracle()  # the address is denied, whatever it is called
                got, err = self.fetch(["-a", name, "-d", v4(1)], [name], unset=unset)
                self.assertNotIn("hello", " ".join(got))
                self.assertIn("denied", err)
                self.assertEqual(o.accepts(), [])


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""The audit log: its schema, its sinks, its hash chain, and that nothing it meets holds up a run."""
import json
import os
import re
import socket
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "support"))
import schema  # noqa: E402
from raw import Pieces, RawCase  # noqa: E402
from world import WorldCase, main, setup_world, teardown_world  # noqa: E402,F401

ALLOW = ["-a", "good.example", "-a", "dead.example:81", "-a", "lo4.example"]
SCRIPT = """
for u in http://good.example/ http://evil.example/ https://evil.test/ http://lo4.example/ \
	http://10.1.2.3/ http://missing.example.corp.test/; do
	curl -sS -m 5 -o /dev/null "$u"
done
curl -sS -m 5 --noproxy '*' -o /dev/null http://good.example/
curl -sS -m 5 --noproxy '*' -o /dev/null http://evil.example/
curl -sS -m 5 --socks5-hostname 127.0.0.1:3128 --noproxy x -o /dev/null http://evil.example/
exec 3<>/dev/tcp/127.0.0.1/3128
printf 'CONNECT "event":"x.example:443 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3
cat <&3 >/dev/null
exit 0
"""


def setUpModule():
    setup_world()


def tearDownModule():
    teardown_world()


def lines(path):
    with open(path, encoding="ascii") as f:
        return [json.loads(line) for line in f]


class Audit(WorldCase):
    def log(self, name):
        return os.path.join(self.w.home, name)

    def busy(self, *options, **kw):
        done = self.w.sbx_run([*ALLOW, *options], ["bash", "-c", SCRIPT], **kw)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def verify(self, path, *options):
        return self.w.run([self.w.sbx, "audit", "verify", *options, path])

    def test_every_line_conforms_to_the_schema(self):
        path = self.log("schema.log")
        self.busy("--audit", path)
        with open(os.path.join(ROOT, "..", "docs", "audit.schema.json"), encoding="ascii") as f:
            rules = json.load(f)
        kinds, codes, vias = set(), set(), set()
        for line in lines(path):
            self.assertEqual(schema.errors(rules, line), [], line)
            kind = rules["$defs"][line["event"]]["properties"]
            if line["event"] != "start":
                self.assertEqual([k for k in kind if k in line], list(line), "order of keys")
            kinds.add(line["event"])
            codes.add(line.get("code"))
            vias.add(line.get("via"))
        self.assertLessEqual({"decision", "close"}, kinds)
        self.assertLessEqual({"ok", "not-listed", "loopback", "bad-host"}, codes)
        self.assertLessEqual({"connect", "http", "dns", "capture", "socks5"}, vias)
        line["verdict"] = "perhaps"
        self.assertNotEqual(schema.errors(rules, line), [], "the check checks nothing")

    def test_the_program_of_a_decision(self):
        """Parents too; also of what is refused at once, and of a connection that was captured."""
        path = self.log("program.log")
        self.w.sbx_run(["-a", "good.example", "--audit", path], ["sh", "-c", """
curl -sS -o /dev/null http://good.example/; curl -sS -o /dev/null http://good.example/
curl -sS -o /dev/null http://other.example/
curl -sS -o /dev/null --noproxy '*' http://good.example:8080/
curl -sS -m 5 -o /dev/null --noproxy '*' http://192.0.2.77/
curl -sS -m 5 -o /dev/null --noproxy '*' http://evil.example/
RES_OPTIONS=use-vc getent hosts evil.test; true"""])
        found = {(d["host"], d["port"], d["verdict"], d["code"]): d for d in reversed(lines(path))
                 if d["event"] == "decision"}
        for kind in (("good.example", 80, "allow", "ok"), ("other.example", 80, "deny", "not-listed"),
                     ("good.example", 8080, "allow", "ok"), ("192.0.2.77", 80, "deny", "not-listed"),
                     # names, by a datagram and over TCP
                     ("evil.example", 0, "deny", "not-listed"),
                     ("evil.test", 0, "deny", "not-listed")):
            self.assertIn(kind, found)
            self.assertEqual(found[kind].get("program"),
                             "sh > getent" if kind[0] == "evil.test" else "sh > curl", found[kind])
            self.assertGreater(found[kind]["pid"], 1)
        # The second of the same kind: it may have been another program.
        self.assertEqual([d.get("program") for d in lines(path) if d["event"] == "decision" and
                          (d["host"], d["port"]) == ("good.example", 80)], ["sh > curl", None])

    def test_file_is_private_and_appended_to(self):
        path = self.log("mode.log")
        self.busy("--audit", path)
        first = lines(path)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.busy("--audit", path)
        self.assertEqual(lines(path)[:len(first)], first)
        self.assertGreater(len(lines(path)), len(first))

    def test_descriptor(self):
        r, w = os.pipe()
        try:
            self.busy("--audit", "fd:%d" % w, pass_fds=[w])
        finally:
            os.close(w)
        with os.fdopen(r, encoding="ascii") as f:
            self.assertIn("decision", {json.loads(line)["event"] for line in f})

    def test_a_full_disk_neither_blocks_nor_opens(self):
        full = os.open("/dev/full", os.O_WRONLY)
        try:
            done = self.busy("--audit", "fd:%d" % full, pass_fds=[full])
        finally:
            os.close(full)
        self.assertIn("lines are lost", done.stderr)
        self.assertRegex(done.stderr, r"audit log: [1-9]\d* lines were lost")
        self.assertIn("refused evil.example:80", done.stderr)

    def on_a_disk(self, size):
        """40 refusals with the log on a disk of `size`: its lines, and what was said."""
        script = ("mount -t tmpfs -o size=" + size + " none /mnt && %s"
                  "; rc=$?; cat /mnt/a.log; exit $rc")
        run = "%s run --no-config --ask never -a x.example --audit /mnt/a.log -- sh -c '%s'" % (
            self.w.sbx, "for i in $(seq 40); do curl -s -o /dev/null http://h$i.example/; done; exit 3")
        done = self.w.run(["unshare", "-m", "sh", "-c", script % run], uid=0)
        self.assertEqual(done.returncode, 3, done.stderr)
        return [json.loads(s) for s in done.stdout.split("\n")[:-1]], done.stderr

    def test_a_small_disk_keeps_whole_lines(self):
        want, said = self.on_a_disk("1m")
        self.assertNotIn("lost", said)
        whole, said = self.on_a_disk("4k")
        self.assertIn("lines are lost", said)
        self.assertGreater(len(whole), 2)
        self.assertLess(len(whole), 40)
        lost = int(re.search(r"audit log: (\d+) lines were lost", said).group(1))
        self.assertEqual(len(whole) + lost, len(want), want)

    def test_what_is_no_file_is_refused(self):
        """An earlier run may have planted it; what the caller opens himself is his own choice."""
        path, precious = self.log("planted"), self.log("precious")
        os.mkfifo(path, 0o666)
        os.chmod(path, 0o666)
        done = self.w.sbx_run(["--audit", path], ["true"], timeout=20)
        self.assertEqual(done.returncode, 125)
        self.assertIn("not a regular file", done.stderr)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        writer = os.open(path, os.O_WRONLY)
        try:
            self.busy("--audit", "fd:%d" % writer, pass_fds=[writer])
            self.assertIn(b'"event":"decision"', os.read(reader, 65536))
        finally:
            os.close(reader)
            os.close(writer)
        os.unlink(path)
        for target in (precious, "nowhere"):
            os.symlink(target, path)
            done = self.w.sbx_run(["--audit", path], ["true"])
            self.assertEqual(done.returncode, 125)
            self.assertIn("symbolic link", done.stderr)
            os.unlink(path)
        self.assertFalse(os.path.exists(precious))

    def test_a_reader_that_goes_away_does_not_end_the_run(self):
        r, w = os.pipe()
        os.close(r)
        try:
            self.assertIn("lines are lost", self.busy("--audit", "fd:%d" % w, pass_fds=[w]).stderr)
        finally:
            os.close(w)

    def test_journal(self):
        path = self.log("journal.sock")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(path)
            os.chmod(path, 0o777)
            s.setblocking(False)
            self.busy("--audit", "journald:" + path)
            entries = []
            while True:
                try:
                    entries.append(s.recv(65536).decode("ascii"))
                except BlockingIOError:
                    break
        fields = [dict(f.split("=", 1) for f in e.rstrip("\n").split("\n")) for e in entries]
        denied = [f for f in fields if f.get("SBX_NET_HOST") == "evil.example"]
        self.assertTrue(denied)
        self.assertEqual(denied[0]["PRIORITY"], "4")
        self.assertEqual(denied[0]["MESSAGE"], "decision: deny evil.example:80 (not-listed)")
        self.assertTrue(any(f["SBX_NET_EVENT"] == "close" for f in fields))
        done = self.w.sbx_run(["--audit", "journald:/nonexistent/s"], ["true"])
        self.assertEqual(done.returncode, 125)
        self.assertIn("journal", done.stderr)

    def test_chain(self):
        path = self.log("chain.log")
        self.busy("--audit", path, "--audit-chain")
        done = self.verify(path)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.busy("--audit", path, "--audit-chain")
        done = self.verify(path)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(": %d lines, the chain holds" % len(lines(path)), done.stdout)
        with open(path, encoding="ascii") as f:
            text = f.read()
        rows = text.splitlines(True)
        for what, changed, at in (
                ("a line out", rows[:2] + rows[3:], 3), ("another host", [
                    rows[0], rows[1].replace("good.example", "evil.example"), *rows[2:]], 2),
                ("two lines swapped", [rows[1], rows[0], *rows[2:]], 1),
                ("half a line", [*rows[:-1], rows[-1][:-9]], len(rows)), ("nothing", [], None)):
            with self.subTest(what):
                broken = self.w.write("broken.log", "".join(changed), 0o666)
                done = self.verify(broken)
                self.assertEqual(done.returncode, 1, done.stdout)
                if at:
                    self.assertIn(":%d:" % at, done.stdout)
        done = self.w.sbx_run(["--audit", broken, "--audit-chain"], ["true"])
        self.assertEqual(done.returncode, 0, "an empty file begins a chain")
        other = self.w.write("other.log", "hello\n", 0o666)
        done = self.w.sbx_run(["--audit", other, "--audit-chain"], ["true"])
        self.assertEqual(done.returncode, 125)
        self.assertIn("does not end in a line of a chain", done.stderr)

    def test_lines_cut_off_the_end(self):
        """They leave a chain that holds; a hash that was kept tells."""
        path = self.log("cut.log")
        self.busy("--audit", path, "--audit-chain")
        done = self.verify(path)
        kept = lines(path)[-1]["chain"]
        self.assertTrue(done.stdout.endswith("last %s\n" % kept), done.stdout)
        with open(path, encoding="ascii") as f:
            rows = f.read().splitlines(True)
        done = self.verify(path, "--last", kept)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(": line %d has the hash" % len(rows), done.stdout)
        for n in (1, 2, len(rows) - 1):
            cut = self.w.write("cut-short.log", "".join(rows[:-n]))
            self.assertEqual(self.verify(cut).returncode, 0)  # the chain alone does not tell
            done = self.verify(cut, "--last", kept)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("none of %d lines has the hash %s" % (len(rows) - n, kept), done.stdout)
        self.busy("--audit", path, "--audit-chain")  # it goes on, and holds what it held
        done = self.verify(path, "--last=" + kept)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn(": line %d has the hash" % len(rows), done.stdout)
        for bad in ("", kept[1:], kept[:-1] + "g", kept.upper() + "A"):
            done = self.verify(path, "--last", bad)
            self.assertEqual(done.returncode, 64, done.stdout)
            self.assertIn("--last: needs the 64 digits", done.stderr)

    def test_a_chain_takes_no_line_without_a_seal(self):
        log = os.path.join(self.w.home, "sealed.jsonl")
        run = lambda *options: self.w.sbx_run(["--audit", log, *options], ["true"])
        self.assertEqual(run("--audit-chain").returncode, 0)
        with open(log, encoding="utf-8") as f:
            before = f.read()
        done = run()
        self.assertEqual(done.returncode, 125)
        self.assertIn("is a chain: add --audit-chain", done.stderr)
        with open(log, encoding="utf-8") as f:
            self.assertEqual(f.read(), before)
        self.assertEqual(run("--audit-chain").returncode, 0)
        self.assertEqual(self.w.run([self.w.sbx, "audit", "verify", log]).returncode, 0)

    def test_a_log_without_a_chain_is_told_from_a_broken_one(self):
        path = self.w.write("plain.log", '{"event":"start"}\n')
        done = self.verify(path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("no chain begins here", done.stdout)

    def test_descriptors_that_the_caller_has_not_opened(self):
        """Those of ours that come to stand there later are nobody's log."""
        for fd in (3, 4, 7, 11, 900):
            done = self.w.run([self.w.sbx, "run", "--no-config", "--audit", "fd:%d" % fd, "--", "true"])
            self.assertEqual(done.returncode, 64, done.stderr)
            self.assertIn("descriptor %d is not open; add %d>FILE" % (fd, fd), done.stderr)
        log = self.log("given.log")
        done = self.w.run(["sh", "-c", "exec '%s' run --no-config --audit fd:3 -- true 3>'%s'"
                           % (self.w.sbx, log)])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(log, encoding="ascii") as f:
            self.assertIn("start", f.read())

    def test_usage(self):
        done = self.w.run([self.w.sbx, "run", "--no-config", "--audit-chain", "--", "true"])
        self.assertEqual(done.returncode, 64)
        self.assertIn("add --audit FILE", done.stderr)
        for args in (["audit"], ["audit", "verify"], ["audit", "x", "y"], ["audit", "verify", "a", "b"]):
            self.assertEqual(self.w.run([self.w.sbx, *args]).returncode, 64)
        self.assertEqual(self.verify("/nonexistent").returncode, 125)
        self.assertEqual(self.w.run([self.w.sbx, "audit", "--help"]).returncode, 0)


class GivenUp(WorldCase):
    """What has left for a client that does not wait for it is told as what others wait for is."""
    SCRIPT = r"""
import socket, struct, time
def ask(target, wait, reset):
    s = socket.create_connection(('127.0.0.1', 3128))
    s.sendall(b'CONNECT %s HTTP/1.1\r\n\r\n' % target)
    time.sleep(wait)
    if reset:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    s.close()
for i in range(5):
    ask(b'secret-%d.wild.example:443' % i, 0, i % 2)
ask(b'dead.example:1001', .3, True)
ask(b'dead.example:1002', .3, False)
s = socket.create_connection(('dead.example', 1003))
time.sleep(.3)
s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
s.close()
s = socket.create_connection(('127.0.0.1', 3128))
s.sendall(b'CONNECT good.example:80 HTTP/1.1\r\n\r\n')
s.recv(1)
time.sleep(.3)  # for the look-ups before
s = [socket.create_connection(('127.0.0.1', 3128)) for i in range(2)]
s[0].sendall(b'CONNECT dead.example:1004 HTTP/1.1\r\n\r\n')
time.sleep(.3)  # and with the end of the run
"""

    def test_what_nobody_waits_for(self):
        log, report = os.path.join(self.w.home, "given-up.log"), os.path.join(self.w.home, "given-up")
        o = self.w.oracle()
        done = self.w.sbx_run(["-a", "*.wild.example", "-a", "dead.example", "-a", "good.example",
                               "--audit", log, "--report", "json:" + report],
                              ["/usr/bin/python3", "-c", self.SCRIPT])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("cannot reach dead", done.stderr, "said to a person, who has not waited")
        asked = {q[1] for q in o.queries() if "secret" in q[1]}
        want = {("secret-%d.wild.example" % i, 443) for i in range(5)}
        self.assertEqual(asked, {name for name, _ in want}, "the questions have not left")
        want |= {("dead.example", port) for port in range(1001, 1005)}
        told = [(d["host"], d["port"]) for d in lines(log) if d["event"] == "decision"]
        self.assertEqual(sorted(told), sorted(want | {("good.example", 80)}), "each once")
        for d in lines(log):
            if d.get("host") == "dead.example":
                self.assertEqual((d["verdict"], d["code"], d["rule"]),
                                 ("allow", "connect-failed", "dead.example"))
                self.assertIn("(given up before it was connected)", d["text"])
        with open(report, encoding="ascii") as f:
            rows = {(t["host"], t["port"]) for t in json.load(f)["targets"]}
        self.assertEqual(rows, want | {("good.example", 80)})


class Malformed(RawCase):
    """What no target could be read from is a decision as well."""
    HELLO = b"\5\1\0"
    CASES = {  # what was sent: how it came, what was wrong
        "fold": ([b"GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n x: y\r\n\r\n"], "http"),
        "line": ([b"GET  http://good.example/ HTTP/1.1\r\nHost: x\r\n\r\n"], "http"),
        "version": ([b"CONNECT good.example:443 HTTP/1.9\r\n\r\n"], "http"),
        "smuggled": ([b"POST http://good.example/ HTTP/1.1\r\nHost: good.example\r\nContent-Length: 1"
                      b"\r\nTransfer-Encoding: chunked\r\n\r\n"], "http"),
        "head": ([b"GET http://good.example/ HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 20000 + b"\r\n\r\n"],
                 "http"),
        "tls": ([b"\x16\3\1\2\0\1\0\1\xfc\3\3"], "http"),
        "method": ([b"\5\1\2"], "socks5"),
        "bind": ([HELLO, b"\5\2\0\3\x0cgood.example\0\x50"], "socks5"),
        "reserved": ([HELLO, b"\5\1\1\3\x0cgood.example\0\x50"], "socks5"),
        "type": ([HELLO, b"\5\1\0\5\x0cgood.example\0\x50"], "socks5"),
        "bind4": ([b"\4\2\0\x50\0\0\0\1u\0good.example\0"], "socks4a"),
        "user": ([b"\4\1\0\x50\0\0\0\1" + b"u" * 600], "socks4a"),
    }

    def attempt(self, cases, mode, path):
        pieces = {k: Pieces(p, [2] if len(p) > 1 else []) for k, (p, _) in cases.items()}
        pieces["twin"] = Pieces([b"CONNECT good.example:80 HTTP/1.1\r\n\r\n"], [1], shut=True)
        o = self.w.oracle()
        results, said = self.raw(["-a", "good.example", "--audit", path], pieces, mode, stderr=True)
        self.assertEqual(len(o.accepts()), 1)  # of the twin
        for key, r in results.items():
            self.assertEnded(r)
        return [x for x in lines(path) if x["event"] == "decision"], said

    def test_one_line_each(self):
        with open(os.path.join(ROOT, "..", "docs", "audit.schema.json"), encoding="ascii") as f:
            rules = json.load(f)
        found = []
        for mode in "whole", "bytes":
            path = os.path.join(self.w.home, "malformed-%s.log" % mode)
            decisions, said = self.attempt(self.CASES, mode, path)
            for line in decisions:
                self.assertEqual(schema.errors(rules, line), [], line)
            bad = [x for x in decisions if x["code"] == "bad-request"]
            self.assertEqual(len(bad), len(self.CASES), bad)
            self.assertEqual(len(decisions), len(bad) + 1)
            for line in bad:
                self.assertEqual((line["verdict"], line["host"], line["port"]), ("deny", "", 0))
                self.assertIn("sbx-net: refused a request (malformed: %s)\n" % line["asked"], said)
            found.append(sorted((x["via"], x["asked"]) for x in bad))
            self.assertEqual(sorted(x["via"] for x in bad), sorted(v for _, v in self.CASES.values()))
        self.assertEqual(found[0], found[1])

    def test_a_storm_is_few_lines_on_stderr(self):
        storm = {"%s %d" % (k, n): v for n in range(100) for k, v in self.CASES.items() if k != "head"}
        path = os.path.join(self.w.home, "storm.log")
        decisions, said = self.attempt(storm, "whole", path)
        self.assertEqual(sum(x["code"] == "bad-request" for x in decisions), len(storm))
        self.assertLess(said.count("\n"), 40)
        self.assertIn("%d refusals" % len(storm), said)


if __name__ == "__main__":
    main()

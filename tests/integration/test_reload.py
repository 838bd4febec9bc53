#!/usr/bin/python3
"""A policy that changes under a running command (CONFORMANCE 103; VECTORS H-050, D-026)."""
import errno
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import GATE4, WorldCase, main, v4  # noqa: E402

PARENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "parentproxy.py")

# Asks and answers by lines: "HOST" -> HTTP status of a GET; "hold HOST" opens a tunnel and keeps
# it; "held" -> whether its far end still answers; "keep HOST", "kept HOST": two requests of one
# connection; "tls HOST NAME" -> whether a TLS server behind HOST:443 answers a request for NAME.
COMMAND = r'''
import socket, ssl, sys

def request(s, host, close):
    s.sendall(b"GET http://%s/ HTTP/1.1\r\nHost: x\r\n%s\r\n" % (
        host.encode(), b"Connection: close\r\n" if close else b""))
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += s.recv(1)
    length = [x for x in head.lower().split(b"\r\n") if x.startswith(b"content-length:")]
    s.recv(int(length[0].split()[1]), socket.MSG_WAITALL)
    return head[9:12].decode()

def tls(host, name):
    s = socket.create_connection(("127.0.0.1", 3128), 20)
    s.sendall(b"CONNECT %s:443 HTTP/1.1\r\n\r\n" % host.encode())
    s.recv(39, socket.MSG_WAITALL)
    try:
        t = ssl._create_unverified_context().wrap_socket(s, server_hostname=name)
        t.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        return "yes" if t.recv(100) else "no"
    except OSError:
        return "no"

def ask(host):
    s = socket.create_connection(("127.0.0.1", 3128), 20)
    s.sendall(b"GET http://%s/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % host.encode())
    return s.recv(12)[9:].decode()

held, many, opened = None, [], {}
for line in sys.stdin:
    word = line.split()
    if word[0] == "write":  # a file of the workspace, with its directory; no text: it goes
        import os
        os.makedirs(os.path.dirname(word[1]) or ".", exist_ok=True)
        if word[2:]:
            with open(word[1], "w") as f:
                f.write(" ".join(word[2:]) + "\n")
        else:
            os.unlink(word[1])
        out = "done"
    elif word[0] == "chmod":
        import os
        if word[2] not in opened:  # what cannot be searched cannot be named either
            opened[word[2]] = os.open(word[2], os.O_RDONLY)
        os.fchmod(opened[word[2]], int(word[1], 8))
        out = "done"
    elif word[0] == "lease":  # what becomes of one for reading and one for writing
        import fcntl, os, signal
        signal.signal(signal.SIGIO, signal.SIG_IGN)  # somebody wants the file: let them wait
        leased, out = os.open(word[1], os.O_RDONLY), ""
        for kind in (fcntl.F_RDLCK, fcntl.F_WRLCK):
            try:
                fcntl.fcntl(leased, fcntl.F_SETLEASE, kind)
                out += "held "
            except OSError as e:
                out += "%d " % e.errno
        out = out.strip()
    elif word[0] == "hold":
        held = socket.create_connection(("127.0.0.1", 3128), 20)
        held.sendall(b"CONNECT %s:80 HTTP/1.1\r\n\r\n" % word[1].encode())
        out = held.recv(4096)[9:12].decode()
    elif word[0] == "crowd":  # more connections than there are descriptors, each in its first line
        for _ in range(int(word[1])):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", 3128))
            many.append(s)
        for s in many:
            try:
                s.send(b"G")
            except OSError:
                pass
        out = "done"
    elif word[0] == "leave":
        for s in many:
            s.close()
        out = "done"
    elif word[0] == "held":
        try:
            held.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            out = "yes" if held.recv(4096) else "no"
        except OSError:
            out = "no"
    elif word[0] == "keep":
        kept = socket.create_connection(("127.0.0.1", 3128), 20)
        out = request(kept, word[1], False)
    elif word[0] == "kept":
        out = request(kept, word[1], False)
    elif word[0] == "tls":
        out = tls(word[1], word[2])
    else:
        out = ask(word[0])
    print(out, flush=True)
'''


OWN = "51.15.20.1"  # of later.example; none of this machine's until a test adds it


class Reload(WorldCase):
    path = None

    def start(self, settings, *options, env=None):
        os.makedirs(self.w.path("pol"), exist_ok=True)
        os.chmod(self.w.path("pol"), 0o755)
        self.path = self.path or self.w.path("pol", "live.json")
        self.put(settings)
        time.sleep(0.02)  # a file of the same tick as the start is read twice, and told twice
        self.proc = self.w.popen(
            self.w.sbx_argv(["-v", "-p", self.path, *options], ["/usr/bin/python3", "-c", COMMAND]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.open_log(), text=True, env=env)
        self.addCleanup(self.stop)
        self.assertEqual(self.ask("evil.example"), "403")  # it runs, and its files are watched

    def open_log(self):
        self.log = self.w.path("reload.err")
        f = open(self.log, "w", encoding="utf-8")
        self.addCleanup(f.close)
        return f

    def stop(self):
        if self.proc.poll() is None:
            self.proc.stdin.close()
            try:
                self.proc.wait(20)
            except subprocess.TimeoutExpired:
                self.proc.kill()
                self.proc.wait()
        self.proc.stdout.close()

    def put(self, settings):
        """Replaces the file in one step, as editors do."""
        text = settings if isinstance(settings, str) else json.dumps({"network": settings})
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path + ".new", 0o644)
        os.rename(self.path + ".new", self.path)

    def ask(self, line):
        self.proc.stdin.write(line + "\n")
        self.proc.stdin.flush()
        return self.proc.stdout.readline().strip()

    def wait_for(self, text, times=1):
        """Until stderr has said it so often."""
        end = time.monotonic() + 20
        while True:
            with open(self.log, encoding="utf-8") as f:
                said = f.read()
            if said.count(text) >= times:
                return
            self.assertLess(time.monotonic(), end, "never said %r: %s" % (text, said[-2000:]))
            time.sleep(0.01)

    def change(self, settings, times):
        self.put(settings)
        self.wait_for("reload: ", times)

    def test_changes_reach_new_connections(self):
        self.start({"allowedDomains": ["good.example"]})
        self.assertEqual((self.ask("good.example"), self.ask("other.example")), ("200", "403"))
        self.change({"allowedDomains": ["good.example", "other.example"]}, 1)  # block then allow
        self.assertEqual((self.ask("good.example"), self.ask("other.example")), ("200", "200"))
        self.change({"allowedDomains": ["other.example"], "deniedDomains": ["good.example"]}, 2)
        o = self.w.oracle()  # D-026: resolved and vetted before, and denied at once
        self.assertEqual(self.ask("good.example"), "403")
        self.assertQuiet(o)
        self.assertEqual(self.ask("other.example"), "200")
        self.change({"allowedDomains": []}, 3)  # an empty list denies all
        self.assertEqual((self.ask("good.example"), self.ask("other.example")), ("403", "403"))
        self.change({"allowedDomains": ["good.example"]}, 4)
        self.assertEqual(self.ask("good.example"), "200")

    def test_replaced_where_the_command_can_write_is_not_read_again(self):
        """The lock goes with the file that was renamed over; the command could write the new one."""
        self.path = self.w.path("ws", "guarded.json")
        self.addCleanup(os.remove, self.path)
        self.start({"allowedDomains": ["good.example"]})
        self.put({"allowedDomains": ["good.example", "evil.example"]})
        self.wait_for("is another file now")
        self.assertEqual(self.ask("evil.example"), "403")

    def test_changed_in_place_where_the_command_can_write_is_read_again(self):
        self.path = self.w.path("ws", "inplace.json")
        self.addCleanup(os.remove, self.path)
        self.start({"allowedDomains": ["other.example"]})
        self.assertEqual(self.ask("good.example"), "403")
        with open(self.path, "w", encoding="utf-8") as f:
            f.write('{"network": {"allowedDomains": ["good.example", "www.example"]}}')
        self.wait_for("reload: 2 allowed")  # a reload of what was there may come before
        self.assertEqual(self.ask("good.example"), "200")

    def test_broken_file_keeps_the_policy(self):  # H-050
        self.start({"allowedDomains": ["good.example"]})
        for n, text in enumerate(("{", "", "{\"network\": {\"allowedDomains\": [\"*.*.x\"]}}",
                                  "{\"nework\": {}}", "{\"network\": {\"deniedDomains\": 1}}"), 1):
            with self.subTest(text):
                self.put(text)
                self.wait_for("the policy stays as it was", n)
                self.assertEqual(self.ask("good.example"), "200")
                self.assertEqual(self.ask("other.example"), "403")
        os.unlink(self.path)  # a named file that is gone is broken, too
        self.wait_for("the policy stays as it was", 6)
        self.assertEqual(self.ask("good.example"), "200")
        self.change({"allowedDomains": ["other.example"]}, 7)
        self.assertEqual((self.ask("good.example"), self.ask("other.example")), ("403", "200"))

    def test_written_in_place(self):
        self.start({"allowedDomains": ["good.example"]})
        with open(self.path, "w", encoding="utf-8") as f:
            f.write('{"network": {"allowedDomains": ["other.example", "www.example"]}}')
        self.wait_for("reload: 2 allowed")  # a reload of what was there may come before
        self.assertEqual((self.ask("good.example"), self.ask("other.example")), ("403", "200"))

    def untrusted(self, text):
        """A project's file and its list, which belong to whoever runs the command."""
        there = os.path.join(self.w.ws, ".sbx-net")
        os.makedirs(there, exist_ok=True)
        self.addCleanup(shutil.rmtree, there, True)
        for name, content in ((there + "/settings.json", text),
                              (os.path.join(self.w.ws, "deny.txt"), "other.example\n")):
            with open(name, "w", encoding="utf-8") as f:
                f.write(content)
            os.chown(name, self.w.uid, self.w.uid)
        os.chown(there, self.w.uid, self.w.uid)

    def start_with_project(self, *before):
        os.makedirs(self.w.path("pol"), exist_ok=True)
        os.chmod(self.w.path("pol"), 0o755)
        self.path = self.w.path("pol", "live.json")
        self.put({"allowedDomains": ["good.example", "other.example", "www.example"]})
        time.sleep(0.02)  # as in start()
        self.proc = self.w.popen(
            [*before, self.w.sbx, "run", "--ask", "never", "-v", "-p", self.path, "--", "/usr/bin/python3",
             "-c", COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.open_log(),
            text=True)
        self.addCleanup(self.stop)
        self.assertEqual(self.ask("evil.example"), "403")

    def test_an_untrusted_project_holds_no_revocation_up(self):
        """What the command writes into it counts at the next start: neither an error nor a change."""
        text = json.dumps({"network": {"denyListFiles": ["deny.txt"]}})
        for attack in ("", "write deny.txt", "write deny.txt {", "write deny.txt www.example"):
            with self.subTest(attack):
                self.untrusted(text)
                self.start_with_project()
                self.assertEqual(
                    [self.ask(x) for x in ("good.example", "www.example", "other.example")],
                    ["200", "200", "403"])
                if attack:
                    self.assertEqual(self.ask(attack), "done")
                self.change({"allowedDomains": ["good.example", "other.example"]}, 1)
                self.assertEqual(
                    [self.ask(x) for x in ("good.example", "www.example", "other.example")],
                    ["200", "403", "403"])
                self.stop()
                self.doCleanups()

    def test_a_project_that_comes_later_holds_no_revocation_up(self):
        there = os.path.join(self.w.ws, ".sbx-net")
        self.start_with_project()
        self.assertEqual(self.ask("www.example"), "200")
        self.assertEqual(self.ask("write .sbx-net/settings.json {"), "done")
        self.addCleanup(shutil.rmtree, there)
        self.change({"allowedDomains": ["good.example"]}, 1)
        self.assertEqual((self.ask("good.example"), self.ask("www.example")), ("200", "403"))
        self.stop()
        done = self.w.run([self.w.sbx, "run", "--", "true"])  # the twin: a start reads it
        self.assertEqual(done.returncode, 125, done.stderr)

    def test_a_crowd_holds_no_revocation_up(self):
        """The last descriptors are kept for the policy, whatever the command has taken."""
        self.start_with_project("prlimit", "--nofile=256:256")
        self.assertEqual(self.ask("www.example"), "200")
        self.assertEqual(self.ask("crowd 240"), "done")
        self.wait_for("no descriptor left")
        self.w.ip(self.w.host, "addr add %s/32 dev veth0" % OWN)
        self.addCleanup(self.w.ip, self.w.host, "addr del %s/32 dev veth0" % OWN)
        self.change({"allowedDomains": ["good.example", "later.example"]}, 1)
        self.assertEqual(self.ask("leave"), "done")
        self.assertEqual((self.ask("good.example"), self.ask("www.example"), self.ask("later.example")),
                         ("200", "403", "403"))
        with open(self.log, encoding="utf-8") as f:
            said = f.read()
        self.assertNotIn("stays as it was", said)
        self.assertNotIn("own addresses:", said)

    # ---- one file that cannot be read, and the others

    def list_in_workspace(self, text, name="lists/live.list"):
        """A list file below a directory that is the command's; it goes with the test."""
        path = os.path.join(self.w.ws, name)
        there = os.path.dirname(path)
        os.makedirs(there, exist_ok=True)
        if there != self.w.ws:
            self.addCleanup(shutil.rmtree, there)
        self.write_in_place(path, text)
        for x in (path, there):
            os.chown(x, self.w.uid, self.w.uid)
        return path

    def write_in_place(self, path, text):
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def asked(self, *names):
        return " ".join(self.ask(x + ".example") for x in names)

    def becomes(self, answers, *names):
        """Until the command is told this: what was changed has then been read."""
        end = time.monotonic() + 20
        while self.asked(*names) != answers:
            self.assertLess(time.monotonic(), end, self.asked(*names))
            time.sleep(0.02)

    def test_a_taken_permission_holds_no_revocation_up(self):
        """Neither one of another file nor one of the very file that the name no longer leads to."""
        for directory in ("lists", "."):
            with self.subTest(directory):
                path = self.list_in_workspace("good.example\nwww.example\n")
                self.start({"allowedDomains": ["other.example", "v4only.example"]}, "--allow-list", path)
                self.assertEqual(self.asked("good", "www", "other", "evil"), "200 200 200 403")
                self.assertEqual(self.ask("chmod 0 " + directory), "done")
                self.assertNotEqual(self.w.run(["cat", path], cwd="/").returncode, 0)
                self.put({"allowedDomains": ["v4only.example", "evil.example"]})
                self.wait_for("its name cannot be followed")
                # revoked; kept; and nothing is new while one file may say something else by now
                self.becomes("403", "other")
                self.assertEqual(self.asked("good", "www", "v4only", "evil"), "200 200 200 403")
                self.write_in_place(path, "good.example\n")
                self.becomes("403", "www")
                self.assertEqual(self.asked("good", "v4only", "evil"), "200 200 403")
                self.assertEqual(self.ask("chmod 755 " + directory), "done")  # the twin
                self.becomes("200", "evil")
                self.assertEqual(self.asked("good", "www", "other"), "200 403 403")
                with open(self.log, encoding="utf-8") as f:
                    self.assertEqual(f.read().count("its name cannot be followed"), 1)
                self.stop()
                self.doCleanups()

    def test_taking_a_permission_is_no_change(self):
        """The command cannot keep us busy with it: nothing is read for that alone."""
        path = self.list_in_workspace("good.example\n")
        self.start({"allowedDomains": ["other.example"]}, "--allow-list", path)
        self.becomes("200", "good")
        time.sleep(0.5)  # what a new state directory has made due has been done
        with open(self.log, encoding="utf-8") as f:
            before = f.read().count("reload: ")
        for _ in range(3):
            self.assertEqual(self.ask("chmod 0 lists"), "done")
            time.sleep(0.4)  # longer than two looks are apart
            self.assertEqual(self.ask("chmod 755 lists"), "done")
            time.sleep(0.4)
        with open(self.log, encoding="utf-8") as f:
            self.assertEqual(f.read().count("reload: "), before)
        self.write_in_place(path, "good.example\nwww.example\n")  # the twin
        self.becomes("200", "www")

    def test_a_replaced_or_removed_list_holds_no_revocation_up(self):
        for text in ("good.example\nwww.example\nevil.example\n", None):
            with self.subTest(text):
                path = self.list_in_workspace("good.example\nwww.example\n")
                self.start({"allowedDomains": ["other.example"]}, "--allow-list", path)
                self.assertEqual(self.asked("good", "www", "other", "evil"), "200 200 200 403")
                if text:
                    self.write_in_place(path + ".new", text)
                    os.rename(path + ".new", path)
                else:
                    os.unlink(path)
                self.wait_for("is another file now")
                self.put({"allowedDomains": []})
                self.becomes("403", "other")
                self.assertEqual(self.asked("good", "www", "evil"), "200 200 403")
                self.stop()
                self.doCleanups()

    def test_a_broken_list_holds_no_revocation_up_and_opens_nothing(self):
        """Where the command has no part in it: the halves of a change that do not fit."""
        path = self.w.path("deny.list")
        self.addCleanup(os.remove, path)
        self.write_in_place(path, "evil.example\n")
        self.start({"allowedDomains": ["good.example", "*.example"],
                    "deniedDomains": ["www.example"]}, "--deny-list", path)
        self.assertEqual(self.asked("good", "other", "www", "evil"), "200 200 403 403")
        # www is to be open, evil and other are not: but that has a fault in its line
        self.write_in_place(path, "other.example\nevil.example x\n")
        self.wait_for("deny.list:2: ")
        self.put({"allowedDomains": ["*.example"], "deniedDomains": ["good.example"]})
        self.becomes("403", "good")
        self.assertEqual(self.asked("other", "www", "evil"), "200 403 403")
        self.write_in_place(path, "other.example\nevil.example\n")
        self.becomes("200", "www")
        self.assertEqual(self.asked("good", "other", "evil"), "403 403 403")

    def test_a_list_that_is_being_written(self):
        """Each beginning of a list is a list; what it denies no more, and allows, has to wait."""
        deny, allow = self.w.path("deny.list"), self.w.path("allow.list")
        self.addCleanup(os.remove, deny)
        self.addCleanup(os.remove, allow)
        self.write_in_place(deny, "# denied\nevil.example\n")
        self.write_in_place(allow, "other.example\nevil.testing.example\n")
        self.start({"allowedDomains": ["*.example"]}, "--deny-list", deny, "--allow-list", allow)
        self.assertEqual(self.asked("other", "www", "evil"), "200 200 403")
        with open(deny, "w", encoding="ascii") as d, open(allow, "w", encoding="ascii") as a:
            for out, text in ((d, "www.example\n"), (a, "other.example\nevil.test")):
                out.write(text)
                out.flush()
            self.becomes("403", "www")  # at once
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                self.assertEqual((self.ask("evil.example"), self.ask("evil.test")), ("403", "403"))
                time.sleep(0.05)
            d.write("evil.example\n")
            a.write("ing.example\n")
        time.sleep(3)
        self.assertEqual((self.asked("www", "evil"), self.ask("evil.test")), ("403 403", "403"))
        self.write_in_place(deny, "www.example\n")  # the twin: it is shorter, and stays so
        self.write_in_place(allow, "other.example\nevil.test")
        self.becomes("200", "evil")
        self.assertEqual(self.asked("other", "www"), "200 403")
        end = time.monotonic() + 15  # a last line without an end has to wait longer
        while self.ask("evil.test") != "200":
            self.assertLess(time.monotonic(), end)
            time.sleep(0.2)

    def test_an_unreadable_file_holds_no_revocation_up(self):
        """Outside of what the command can write, where a file is read by its name."""
        path = self.w.path("pol", "second.json")
        os.makedirs(self.w.path("pol"), exist_ok=True)
        self.addCleanup(os.remove, path)
        self.write_in_place(path, '{"network": {"allowedDomains": ["www.example"]}}')
        os.chmod(path, 0o644)
        self.start({"allowedDomains": ["good.example", "other.example"]}, "-p", path)
        self.assertEqual(self.asked("good", "www", "other", "evil"), "200 200 200 403")
        os.chmod(path, 0)
        self.wait_for("second.json': Permission denied")
        self.put({"allowedDomains": ["good.example", "evil.example"]})
        self.becomes("403", "other")
        self.assertEqual(self.asked("good", "www", "evil"), "200 200 403")
        os.chmod(path, 0o644)  # the twin
        self.becomes("200", "evil")
        self.assertEqual(self.asked("good", "www", "other"), "200 200 403")

    def test_a_list_that_is_named_later_is_none_of_the_commands(self):
        """It was not locked when the command began, which may have written it."""
        inside, outside = os.path.join(self.w.ws, "own.list"), self.w.path("pol", "later.list")
        self.start({"allowedDomains": ["good.example", "other.example"]})
        self.assertEqual(self.ask("write own.list evil.example"), "done")
        self.addCleanup(os.remove, inside)
        self.put({"allowedDomains": ["good.example"], "allowListFiles": [inside]})
        self.wait_for("it is read in the next run")
        self.assertEqual(self.asked("good", "other", "evil"), "200 403 403")
        self.write_in_place(outside, "evil.example\n")  # the twin
        self.addCleanup(os.remove, outside)
        self.put({"allowedDomains": ["good.example"], "allowListFiles": [outside]})
        self.becomes("200", "evil")
        self.assertEqual(self.asked("good", "other"), "200 403")

    def test_no_lease_holds_a_revocation_up(self):
        """Whoever owns a file can lease it, to read is enough; then who opens it waits, or fails."""
        path = self.list_in_workspace("www.example\n")
        self.start({"allowedDomains": ["good.example", "other.example"]}, "--allow-list", path)
        os.chown(self.path, self.w.uid, self.w.uid)
        self.assertEqual(self.asked("good", "other", "www"), "200 200 200")
        refused = "%d %d" % (errno.EAGAIN, errno.EAGAIN)
        self.assertEqual([self.ask("lease " + x) for x in (self.path, path)], [refused, refused])
        self.write_now(self.path, '{"network": {"allowedDomains": ["good.example"]}}')
        self.becomes("403", "other")
        self.write_now(path, "\n")
        self.becomes("403", "www")
        self.assertEqual(self.asked("good"), "200")
        bare = self.w.popen(["/usr/bin/python3", "-c", COMMAND], stdin=subprocess.PIPE,  # the twin
                            stdout=subprocess.PIPE, text=True)
        self.addCleanup(bare.wait)
        with bare.stdin, bare.stdout:
            bare.stdin.write("lease %s\n" % path)
            bare.stdin.flush()
            self.assertEqual(bare.stdout.readline().split()[0], "held")
            self.assertRaises(BlockingIOError, self.write_now, path, "good.example\n")
        bare.wait()
        self.write_now(path, "good.example\n")

    def write_now(self, path, text):
        """As write_in_place(), but never waits for a lease to be given back."""
        with open(os.open(path, os.O_WRONLY | os.O_NONBLOCK), "w", encoding="utf-8") as f:
            f.truncate()
            f.write(text)

    def test_tunnels_outlast_a_denial(self):
        self.start({"allowedDomains": ["good.example"]})
        self.assertEqual(self.ask("hold good.example"), "200")
        self.change({"deniedDomains": ["good.example"]}, 1)
        self.assertEqual(self.ask("good.example"), "403")
        self.assertEqual(self.ask("held"), "yes")

    def test_cut_revoked_ends_them(self):
        self.start({"allowedDomains": ["good.example", "other.example"]}, "--cut-revoked")
        self.assertEqual(self.ask("hold good.example"), "200")
        self.change({"allowedDomains": ["good.example"]}, 1)  # not revoked: it stays
        self.assertEqual(self.ask("held"), "yes")
        self.change({"allowedDomains": ["other.example"]}, 2)
        self.assertEqual(self.ask("held"), "no")

    def test_list_file(self):
        path = self.w.path("ws", "live.list")
        with open(path, "w", encoding="utf-8") as f:
            f.write("good.example\n")
        os.chmod(path, 0o644)
        self.start({}, "--allow-list", path)
        self.assertEqual(self.ask("good.example"), "200")
        with open(path, "w", encoding="utf-8") as f:
            f.write("\nother.example\n\n")
        self.becomes("403", "good")
        self.becomes("200", "other")

    def test_sni_check_follows(self):
        """Tunnels to come are checked as the changed file says; nothing is restarted."""
        self.start({"allowedDomains": ["good.example"], "sniCheck": "off"})
        self.assertEqual(self.ask("tls good.example evil.test"), "yes")
        self.change({"allowedDomains": ["good.example"], "sniCheck": "name"}, 1)
        o = self.w.oracle()
        self.assertEqual(self.ask("tls good.example evil.test"), "no")
        self.assertEqual(o.requests(), [])
        self.assertEqual(self.ask("tls good.example good.example"), "yes")
        self.change({"allowedDomains": ["good.example"], "sniCheck": "off"}, 2)
        self.assertEqual(self.ask("tls good.example evil.test"), "yes")

    def test_upstream_proxy_follows(self):
        """New connections go the new way at once, a kept one of the client included."""
        logs = [self.w.path("way%d.log" % n) for n in range(2)]
        for n, log in enumerate(logs):
            proc = self.w.daemon(["/usr/bin/python3", PARENT, json.dumps({"good.example": v4(1)}), log,
                                  str(3140 + n)], self.w.internet, stdout=subprocess.PIPE)
            self.assertEqual(proc.stdout.readline(), b"ready\n")
        ways = [{"allowedDomains": ["good.example"], "upstreamProxy": x} for x in
                ["http://me:first@%s:3140" % GATE4, "http://%s:3141" % GATE4, "none"]]

        def said():
            counts = []
            for log in logs:
                with open(log, encoding="utf-8") as f:
                    counts.append(len(f.readlines()))
            return counts
        self.start(ways[0])
        self.assertEqual(self.ask("good.example"), "200")
        self.assertEqual(said(), [1, 0])
        self.assertEqual(self.ask("keep good.example"), "200")
        self.assertEqual(self.ask("hold good.example"), "200")
        self.assertEqual(said(), [3, 0])
        self.change(ways[1], 1)
        self.assertEqual(self.ask("good.example"), "200")
        self.assertEqual(said(), [3, 1])
        self.assertEqual(self.ask("kept good.example"), "200")
        self.assertEqual(said(), [3, 2])
        self.assertEqual(self.ask("held"), "yes")  # what stands goes on
        with open(logs[1], encoding="utf-8") as f:
            self.assertNotIn("Basic", f.read())  # the first one's credentials
        self.change(ways[2], 2)
        self.assertEqual((self.ask("good.example"), self.ask("kept good.example")), ("200", "200"))
        self.assertEqual(said(), [3, 2])
        self.put(dict(ways[0], upstreamProxy="ftp://x"))
        self.wait_for("the policy stays as it was")
        self.assertEqual(self.ask("good.example"), "200")
        self.change(ways[0], 4)
        self.assertEqual(self.ask("good.example"), "200")
        self.assertEqual(said(), [4, 2])

    def test_first_tls_upstream_needs_a_start(self):
        """Certificates are read before the lock-down; those that were read serve for good."""
        log = self.w.path("tls-way.log")
        proc = self.w.daemon(["/usr/bin/python3", PARENT, json.dumps({"good.example": v4(1)}), log,
                              "3142", self.w.cert, self.w.key], self.w.internet,
                             stdout=subprocess.PIPE)
        self.assertEqual(proc.stdout.readline(), b"ready\n")

        def said():
            with open(log, encoding="utf-8") as f:
                return len(f.readlines())
        direct = {"allowedDomains": ["good.example"], "upstreamProxy": "none"}
        tls = dict(direct, upstreamProxy="https://good.example:3142",
                   allowedDomains=["good.example", "other.example"])
        env = dict(self.w.env(), SSL_CERT_FILE=self.w.ca)
        self.start(direct, env=env)
        self.put(tls)
        self.wait_for("https:// is new")
        self.wait_for("start again; the policy stays as it was")
        self.assertEqual(self.ask("good.example"), "200")
        self.assertEqual(self.ask("other.example"), "403")  # nothing else of that file counts
        self.assertEqual(said(), 0)
        self.stop()
        self.start(tls, env=env)
        self.assertEqual((self.ask("good.example"), said()), ("200", 1))
        self.change(direct, 1)
        self.assertEqual((self.ask("good.example"), said()), ("200", 1))
        self.change(tls, 2)
        self.assertEqual((self.ask("good.example"), said()), ("200", 2))

    def test_command_has_no_descriptor_of_it(self):
        self.assertTrue(v4(1))
        done = self.w.sbx_run(["-a", "good.example"], ["/bin/sh", "-c", "ls -l /proc/self/fd"])
        self.assertNotIn("inotify", done.stdout)


if __name__ == "__main__":
    main()

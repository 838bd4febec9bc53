#!/usr/bin/python3
"""Asking about unknown hosts: at a terminal, by a program, on the control socket; and memory."""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import termios
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from screen import Screen  # noqa: E402
from terminal import LEADER, Terminal  # noqa: E402
from world import WorldCase, main  # noqa: E402

URL = "http://good.example/"
HELLO = "hello from net good.example\n"


class Control:
    """A client of the control socket; the world's directories are the test's too."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(path)
        self.file = self.sock.makefile("r", encoding="utf-8")
        self.hello = self.read()

    def read(self):
        line = self.file.readline()
        return json.loads(line) if line else None

    def say(self, **kw):
        self.sock.sendall(json.dumps(kw).encode() + b"\n")

    def event(self, name):
        """The next event or reply of that name."""
        while True:
            got = self.read()
            if got is None or name in (got.get("event"), got.get("reply")):
                return got

    def close(self):
        self.file.close()
        self.sock.close()


class AskCase(WorldCase):
    def setUp(self):
        self.forget()
        self.addCleanup(self.forget)

    def forget(self):
        self.w.run(["rm", "-rf", self.state()], cwd="/")

    def state(self, *names):
        return os.path.join(self.w.home, ".local/state/sbx-net", *names)

    def terminal(self, options, command, **kw):
        t = Terminal(self.w, [self.w.sbx, "run", "--no-config", *options, "--", *command], **kw)
        self.addCleanup(t.close)
        return t

    def in_time(self, start):
        """A card at which somebody typed an answer before its keys counted; on a busy machine again."""
        for _ in range(10):
            t = start()
            seen = t.expect("keys count")
            while t.pump(0):
                pass
            if " deny" not in seen + t.plain():
                t.send("ar")
                t.send("f")
                return t
            t.proc.kill()
        raise AssertionError("never in time")

    def parent(self, pid):
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            return int(f.read().rpartition(")")[2].split()[1])

    # a client that goes away when it is told to
    GOES_AWAY = ("curl -s %s & while ! [ -e go ]; do sleep 0.05; done; kill $!; wait; " % URL)

    def go(self):
        path = os.path.join(self.w.ws, "go")
        self.addCleanup(self.w.run, ["rm", "-f", path], cwd="/")
        self.w.run(["touch", path], cwd="/")

    def as_user(self):
        """The files of the made user are closed to others; the tests are root, which may."""
        return self.w.uid

    def socket_path(self):
        end = time.monotonic() + 20
        while time.monotonic() < end:
            found = glob.glob(self.state("run", "*.sock"))
            if found:
                return found[0]
            time.sleep(0.02)
        raise AssertionError("no control socket")

    def connect(self, path=None):
        """As the made user: only the run's own user is let in."""
        path = path or self.socket_path()

        def body():
            libc_setfsuid = __import__("ctypes").CDLL(None)
            libc_setfsuid.syscall(117, -1, self.w.uid, -1)  # setresuid of this thread alone
            return Control(path)
        c = self.w.in_net(self.w.host, body)
        self.addCleanup(c.close)
        return c

    def curl(self, *args):
        return self.w.curl_argv(*args)

    def script(self, name, body):
        path = os.path.join(self.w.ws, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\n" + body)
        os.chmod(path, 0o755)
        return path

    def grants(self, *args):
        return self.w.run([self.w.sbx, "grants", *args])


class AtTheTerminal(AskCase):
    def test_allow_once(self):
        o = self.w.oracle()
        t = self.terminal(["--ask", "tty"], self.curl(URL))
        seen = t.expect(" deny")
        self.assertIn("good.example:80", seen)
        self.assertIn("curl wants to reach", seen)
        self.assertIn("1 connection;", seen)
        self.assertQuiet(o)  # held: no query, no connection
        t.send("ao")
        self.assertEqual(t.wait(), 0)
        self.assertIn("hello from net good.example", t.plain())
        self.assertEqual(t.modes(), t.before)
        self.assertFalse(os.path.exists(self.state("answers")))

    def children(self, pid):
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as f:
            return [int(x) for x in f.read().split()]

    def is_there(self, pid):
        try:
            with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
                return f.read().rpartition(")")[2].split()[0] not in "ZX"
        except OSError:
            return False

    def test_killed_at_a_question(self):
        """In a script, whose shell the kernel wakes nobody for: nothing stays, and the modes are as before."""
        t = Terminal(self.w, ["/bin/sh", "-c", '"$@"; echo goes on; exec sleep 60', "sh", self.w.sbx, "run",
                              "--no-config", "--ask", "tty", "--", *self.curl(URL)], job=True)
        self.addCleanup(t.close)
        t.expect(" deny")
        self.assertNotEqual(t.modes(), t.before)
        supervisor, = self.children(os.tcgetpgrp(t.master))
        helpers = self.children(supervisor)
        self.assertGreater(len(helpers), 1)
        os.kill(supervisor, signal.SIGKILL)
        t.expect("goes on")
        end = time.monotonic() + 20
        while any(map(self.is_there, helpers)) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual([x for x in helpers if self.is_there(x)], [])
        self.assertEqual(t.modes(), t.before)

    def test_deny_once(self):
        o = self.w.oracle()
        t = self.terminal(["--ask", "tty"], self.curl("-f", URL))
        t.expect(" deny")
        t.send("d")
        t.expect("deny once")
        t.send("o")
        self.assertEqual(t.wait(), 22)
        self.assertIn("the answer was no", t.plain())
        self.assertQuiet(o)
        self.assertEqual(t.modes(), t.before)

    def test_auto_asks_at_a_terminal_and_nobody_elsewhere(self):
        t = self.terminal([], self.curl(URL))
        t.expect(" deny")
        t.send("ao")
        self.assertEqual(t.wait(), 0)
        done = self.w.sbx_run(["--ask", "auto"], self.curl("-f", URL))
        self.assertEqual(done.returncode, 22)
        self.assertIn("not on the allow list", done.stderr)
        done = self.w.sbx_run(["--ask", "tty"], ["true"])
        self.assertEqual(done.returncode, 125)
        self.assertIn("no terminal", done.stderr)

    def test_one_question_for_many_connections(self):
        many = "for i in $(seq 20); do curl -sS --max-time 20 %s & done; wait" % URL
        t = self.terminal(["--ask", "tty"], ["sh", "-c", many])
        while "20 connections;" not in t.plain():  # they come in one by one
            self.assertTrue(t.pump(20), t.plain())
        t.expect(" deny")
        t.send("ao")
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.plain().count("hello from net"), 20)
        self.assertEqual(t.plain().count("sbx-net: allowed"), 1)

    def test_keys_typed_before_are_no_answer(self):
        t = self.terminal(["--ask", "tty"], ["sh", "-c", "echo ready; sleep 1; " +
                                             " ".join(self.curl("-f", URL))])
        t.expect("ready")
        t.send("aoaoao")
        t.expect(" deny")
        self.assertIsNone(t.proc.poll())
        t.send("do")
        self.assertEqual(t.wait(), 22)
        self.assertIn("denied good.example:80 once (tty)", t.plain())

    def test_words_that_were_being_typed_are_no_answer(self):
        """Somebody types as the card comes up: the keys count only when that has ended."""
        o = self.w.oracle()
        t = self.in_time(lambda: self.terminal(["--ask", "tty"], self.curl("-f", URL)))
        t.expect(" deny")  # the keys are spelt out: they count from now on
        self.assertIsNone(t.proc.poll())
        self.assertQuiet(o)
        t.send("d")
        time.sleep(0.02)
        t.send("o")
        self.assertEqual(t.wait(), 22)
        self.assertNotIn("allowed", t.plain())
        self.assertIn("denied good.example:80 once (tty)", t.plain())

    def card(self, t, once=True):
        """The card's rows on the screen, once its keys count; where it cannot be drawn over, the last."""
        while " deny" not in t.plain():
            self.assertTrue(t.pump(20), t.plain())
        lines = Screen(t.text).lines()
        start = [i for i, x in enumerate(lines) if "wants to reach" in x]
        self.assertTrue(len(start) == 1 or (start and not once), lines)
        return lines[start[-1]:]

    def test_the_card_holds_no_words_of_the_command(self):
        """A full screen, a region that scrolls, the cursor at home: the card is ours alone."""
        fill = ("i=1; while [ $i -le 30 ]; do printf '\\033[%d;41H%39s' $i 'good.example:443 allow'; "
                "i=$((i+1)); done; ")
        for before, last, env in (("", "", {}), ("", "\\033[1;5r", {}), ("\\033V", "", {}),
                                  ("", "", {"NO_COLOR": "1"})):
            with self.subTest(before=before, last=last, env=env):
                t = self.terminal(["--ask", "tty"],
                                  ["bash", "-c", "printf '%s'; " % before + fill +
                                   "printf '%s\\033[H'; read -rs x; " % last +
                                   " ".join(self.curl("-f", URL))], env=env)
                while not t.text.endswith("\x1b[H"):  # else some of it may come behind the card
                    self.assertTrue(t.pump(20), t.text)
                t.send("\n")
                card = self.card(t)
                self.assertIn("good.example:80   by HTTP", "\n".join(card))
                self.assertNotIn("443", "\n".join(card[1:4] + card[-8:]))
                self.assertNotIn("good.example:443", "\n".join(card))
                self.assertIn("443", Screen(t.text).lines()[0])  # the screen was full, and is kept above
                t.send("do")
                self.assertEqual(t.wait(), 22)

    def test_the_card_is_in_sight_whatever_the_command_has_begun(self):
        """A string without an end would swallow the card, and leave one of the command's in sight."""
        for begun in ("\\033Pz", "\\033_x", "\\033]0;x", "\\033Pz\\033"):
            with self.subTest(begun):
                t = self.terminal(["--ask", "tty"],
                                  ["sh", "-c", "printf 'other.example:80 a allow %s'; " % begun +
                                   " ".join(self.curl("-f", URL))])
                self.assertIn("good.example:80   by HTTP", "\n".join(self.card(t)))
                t.send("do")
                self.assertEqual(t.wait(), 22)

    def test_the_card_is_in_sight_whatever_the_terminal_was_told(self):
        """Colours, output that is held back, an order: each hid the card, and not what the command drew."""
        for told in ("\\033]4;6;#fff;14;#fff\\033\\134", "\\033]10;#fff\\033\\134\\033]11;#fff\\033\\134",
                     "\\033[?2026h", "\\033[8l\\033[2 k"):
            with self.subTest(told):
                t = self.terminal(["--ask", "tty"],
                                  ["sh", "-c", "printf 'other.example:80 a allow \n%s'; " % told +
                                   " ".join(self.curl("-f", URL))])
                self.assertIn("good.example:80   by HTTP", "\n".join(self.card(t)))
                # where the palette stays as it is, the host has colours of its own
                self.assertRegex(t.text, r"38;2;[0-9;]*48;2;[0-9;]*mgood\.example:80")
                t.send("do")
                self.assertEqual(t.wait(), 22)

    def test_the_card_is_in_sight_around_a_multiplexer(self):
        """GNU screen, and tmux if told to, hand on what stands in a DCS: the palette is the outer terminal's."""
        # and the rest of the kind is for the multiplexer alone
        handed_on = re.compile(r"\x1bP(?:tmux;)?((?:[^\x1b]|\x1b[^\\])*)\x1b\\|"
                               r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[\?2026l")
        for begin, esc, env in (("\\033P", "\\033", {"STY": "1.x"}),
                                ("\\033Ptmux;", "\\033\\033", {"TMUX": "/x,1,0"})):
            with self.subTest(env):
                told = begin + "".join(esc + x for x in ("]10;#fff\\007", "]11;#fff\\007", "[?2026h"))
                t = self.terminal(["--ask", "tty"],
                                  ["sh", "-c", "printf '%s\\033\\134'; " % told +
                                   " ".join(self.curl("-f", URL))], env=env)
                self.card(t)
                outer = handed_on.sub(lambda m: (m.group(1) or "").replace("\x1b\x1b", "\x1b"),
                                      t.text)
                self.assertIn("good.example:80   by HTTP", "\n".join(Screen(outer).lines()))
                t.send("do")
                self.assertEqual(t.wait(), 22)

    def test_keys_that_the_command_wants_to_hear_more_of(self):
        """A terminal that tells of each key let go, or sends no letters: an answer is one all the same."""
        for flags in (0, 3, 8):
            with self.subTest(flags):
                t = self.terminal(["--ask", "tty"],
                                  ["sh", "-c", "printf '\\033[>%du'; " % flags +
                                   " ".join(self.curl("-f", URL))])
                self.card(t)
                self.assertIsNone(t.proc.poll())
                t.press("d")
                time.sleep(0.5)
                t.press("o")
                self.assertEqual(t.wait(), 22)
                self.assertIn("denied good.example:80 once (tty)", t.plain())
                self.assertEqual(t.wanted_keys(), flags)  # the command's again

    def asked(self, runs, others=()):
        """What so many runs ask about, once all of them do; the sockets of others are of no interest."""
        paths = set()
        while len(paths) < runs:
            paths = set(glob.glob(self.state("run", "*.sock"))) - set(others)
            time.sleep(0.05)
        asked = []
        for path in paths:
            c = self.connect(path)
            c.say(op="subscribe")
            asked.append(c.event("question")["target"])
        return sorted(asked)

    def test_runs_at_one_terminal_ask_in_turn(self):
        """Each key goes to one of the two, so one card is up at a time, and the keys are for that."""
        hosts = ["good.example:80", "other.example:80"]
        each = "".join("{ %s </dev/null >/dev/null 2>&1; echo %s ended with $?; } & " % (
            " ".join([self.w.sbx, "run", "--no-config", "--",
                      *self.curl("-f", "http://%s/" % host.partition(":")[0])]), host)
            for host in hosts)
        t = Terminal(self.w, ["/bin/sh", "-c", each + "wait; echo over"])
        self.addCleanup(t.close)
        self.assertEqual(self.asked(2), hosts)
        self.card(t)
        for _ in range(3):  # they look once a second whether they may
            t.pump(1)
        first = [x for x in hosts if x in t.plain()]
        self.assertEqual(len(first), 1, t.plain())
        other = (set(hosts) - set(first)).pop()
        t.text = ""
        t.send("ao")
        while " deny" not in t.plain().rpartition(other)[2] or other not in t.plain():
            self.assertTrue(t.pump(20), t.plain())
        t.send("do")
        seen = t.expect("over")
        self.assertIn("%s ended with 0" % first[0], seen)
        self.assertIn("%s ended with 22" % other, seen)
        self.assertEqual(t.modes(), t.before)

    def test_a_stopped_run_keeps_nobody_from_asking(self):
        """Not by the key, which it would hear of; its process group is not in front."""
        holder = " ".join([self.w.sbx, "run", "--no-config", "--", "sh", "-c", "'touch go; exec sleep 60'"])
        asker = " ".join([self.w.sbx, "run", "--no-config", "--", *self.curl(URL)])
        t = Terminal(self.w, ["/bin/bash", "--norc", "-i"], env={"PS1": "ready "}, cwd=self.w.ws)
        self.addCleanup(t.close)
        self.addCleanup(self.w.run, ["rm", "-f", os.path.join(self.w.ws, "go")], cwd="/")
        t.expect("ready")
        t.send(holder + "\n")
        while not os.path.exists(os.path.join(self.w.ws, "go")):
            t.pump(0.1)
        group = os.tcgetpgrp(t.master)
        os.killpg(group, signal.SIGSTOP)
        self.addCleanup(os.killpg, group, signal.SIGKILL)
        t.expect("Stopped")
        t.send(asker + "\n")
        self.card(t)
        t.send("do")
        t.expect("denied good.example:80 once (tty)")

    # what the command of a run in the background does to the card of another; it ends by "go"
    DRAWS = "while ! [ -e go ]; do printf '\\0337\\033[%d;5Hother.example:80 \\0338'; sleep 0.1; done"

    def test_no_card_where_the_command_of_another_run_may_draw(self):
        """In the background it holds the terminal itself, or a pipe to somebody who writes there."""
        asks = " ".join([self.w.sbx, "run", "--no-config", "--", *self.curl(URL)])
        draws = "%s run --no-config -- sh draws" % self.w.sbx
        self.script("draws", self.DRAWS % 7)
        for first in (draws + " & ", draws + " 2>&1 | cat & "):
            with self.subTest(first):
                t = Terminal(self.w, ["/bin/bash", "--norc", "-i"], env={"PS1": "ready "}, cwd=self.w.ws)
                self.addCleanup(t.close)
                t.expect("ready")
                t.send(first + "\n")
                while "other.example" not in t.plain():
                    self.assertTrue(t.pump(20), t.plain())
                t.send(asks + "\n")
                t.expect("the command of another run may write to this terminal")
                for _ in range(30):
                    t.pump(0.1)
                self.assertNotIn("wants to reach", t.plain())
                self.go()
                t.text = ""
                self.card(t)
                t.send("do")
                t.expect("denied good.example:80 once (tty)")
                os.unlink(os.path.join(self.w.ws, "go"))

    def test_a_card_goes_when_the_command_of_another_run_begins_to_draw(self):
        """What is asked goes on meanwhile, with the terminal it had."""
        self.script("draws", self.DRAWS % 7)
        run = "%s run --no-config -- " % self.w.sbx
        t = Terminal(self.w, ["/bin/sh", "-c", "{ while ! [ -e begin ]; do sleep 0.05; done; %s sh draws; } & "
                              "%s sh -c 'while :; do echo ti''ck; sleep 0.1; done & %s; kill $!' </dev/tty; wait" % (
                                  run, run, " ".join(self.curl(URL)))], cwd=self.w.ws)
        self.addCleanup(t.close)
        begin = os.path.join(self.w.ws, "begin")
        self.addCleanup(self.w.run, ["rm", "-f", begin], cwd="/")
        while " deny" not in t.plain():
            self.assertTrue(t.pump(20), t.plain())
        self.w.run(["touch", begin], cwd="/")
        t.expect("the command of another run may write to this terminal")
        t.expect("tick")
        self.go()
        t.text = ""
        while " deny" not in t.plain():
            self.assertTrue(t.pump(20), t.plain())
        t.send("do")
        t.expect("denied good.example:80 once (tty)")
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.modes(), t.before)

    def test_a_run_that_is_redirected_keeps_nobody_from_asking(self):
        asks = " ".join([self.w.sbx, "run", "--no-config", "--", *self.curl(URL)])
        self.script("draws", "touch began; " + self.DRAWS % 7)
        began = os.path.join(self.w.ws, "began")
        self.addCleanup(self.w.run, ["rm", "-f", began], cwd="/")
        t = Terminal(self.w, ["/bin/bash", "--norc", "-i"], env={"PS1": "ready "}, cwd=self.w.ws)
        self.addCleanup(t.close)
        t.send("%s run --no-config -- sh draws </dev/null >/dev/null 2>&1 &\n" % self.w.sbx)
        while not os.path.exists(began):
            t.pump(0.1)
        t.send(asks + "\n")
        self.card(t)
        self.go()
        t.send("do")
        t.expect("denied good.example:80 once (tty)")

    def test_approvals_show_no_card_where_a_command_may_draw(self):
        """The run that asks draws there itself."""
        run = "%s run --no-config --ask control -- %s &" % (self.w.sbx, " ".join(self.curl(URL)))
        for redirected in (" </dev/null >/dev/null 2>&1", ""):
            with self.subTest(redirected):
                t = Terminal(self.w, ["/bin/sh", "-c", run.replace(" &", redirected + " &") +
                                      " while ! [ -e go ]; do sleep 0.05; done; exec %s approvals" % self.w.sbx],
                             cwd=self.w.ws)
                self.addCleanup(t.close)
                self.assertEqual(self.asked(1), ["good.example:80"])
                self.go()
                if redirected:
                    self.card(t)
                    t.send("do")
                    self.assertEqual(t.wait(), 0)
                else:
                    t.expect("may write to this terminal")
                    for _ in range(20):
                        t.pump(0.1)
                    self.assertNotIn("wants to reach", t.plain())
                os.unlink(os.path.join(self.w.ws, "go"))

    def test_approvals_beside_a_run_that_asks(self):
        """At one terminal: whoever reads the keys first is the one who asks."""
        ask = "%s run --no-config -- %s </dev/null >/dev/null 2>&1" % (self.w.sbx, " ".join(self.curl("-f", URL)))
        wait = "while ! [ -e go ]; do sleep 0.05; done"
        approvals = "%s approvals --follow" % self.w.sbx
        for script, ready, by in (("%s & %s; %s" % (ask, wait, approvals), " deny", "tty"),
                                  ("{ %s; %s; } & %s" % (wait, ask, approvals), "q ends this",
                                   "control:approvals")):
            with self.subTest(by):
                t = Terminal(self.w, ["/bin/sh", "-c", script], cwd=self.w.ws)
                self.addCleanup(t.close)
                while ready not in t.plain():
                    self.assertTrue(t.pump(20), t.plain())
                self.go()
                self.assertEqual(self.asked(1), ["good.example:80"])
                for _ in range(3):  # they look once a second whether they may
                    t.pump(1)
                self.card(t)  # one
                t.send("do")
                t.expect("denied good.example:80 once (%s)" % by)
                self.w.run(["rm", "-f", "go"])

    def test_no_card_beside_a_run_that_reads_the_keys(self):
        """What is typed is its command's; when that has ended, the other one asks."""
        ask, talk = (" ".join([self.w.sbx, "run", "--no-config", "--"]) + " " + x for x in (
            " ".join(self.curl("-f", URL)) + " </dev/null >/dev/null 2>&1; echo ended with $?",
            "sh -c 'echo ready; read -r x; echo got $x'"))
        t = Terminal(self.w, ["/bin/sh", "-c", "{ while ! [ -e go ]; do sleep 0.05; done; %s; } & "
                              "%s; wait; echo over" % (ask, talk)], cwd=self.w.ws)
        self.addCleanup(t.close)
        t.expect("ready")
        before = glob.glob(self.state("run", "*.sock"))
        self.go()
        self.assertEqual(self.asked(1, before), ["good.example:80"])
        for _ in range(3):  # it looks once a second whether it may
            t.pump(1)
        self.assertEqual(t.plain(), "")
        t.send("ao\n")
        t.expect("got ao")
        self.card(t)
        t.send("do")
        self.assertIn("ended with 22", t.expect("over"))

    def test_a_card_that_the_terminal_did_not_take_is_none(self):
        """It is behind with what the command wrote: of the card the last line came alone, and its keys counted."""
        t = self.terminal(["--ask", "tty"],
                          ["sh", "-c", "{ yes other.example:80 | head -c 300000; } & sleep 0.3; " +
                           " ".join(self.curl("-f", URL))])
        c = self.connect()
        c.say(op="subscribe")
        self.assertEqual(c.event("question")["target"], "good.example:80")
        time.sleep(1.5)  # keys would count by now
        t.send("a")
        t.send("r")
        self.card(t)
        self.assertIn("good.example:80   by HTTP", t.plain())
        self.assertIsNone(t.proc.poll())
        t.send("do")
        self.assertEqual(t.wait(), 22)
        self.assertIn("denied good.example:80 once (tty)", t.plain())

    def test_the_key_that_stops_a_terminal_does_not_hold_the_card_there(self):
        """The end of the card, and what puts the keys back, were lost; the rest came."""
        t = self.terminal(["--ask", "tty", "--ask-timeout", "4"],
                          ["sh", "-c", "printf '\\033[>3u'; curl -s %s; echo re''st" % URL])
        self.card(t)
        t.send("\x13")
        while "rest" not in t.plain():
            self.assertTrue(t.pump(20), t.plain())
        self.assertEqual(t.wanted_keys(), 3)
        shown = Screen(t.text).lines()
        self.assertEqual([x for x in shown if "wants to reach" in x], [])
        self.assertIn("sbx-net: denied good.example:80 once: nobody answered in time", shown)
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.modes(), t.before)

    def test_refusals_stand_beside_the_card(self):
        """A line of ours that comes while a question is up is no part of it."""
        t = self.terminal(["--ask", "tty", "-d", "other.example"],
                          ["sh", "-c", "curl -s -f -o /dev/null %s & read -r x </dev/null; "
                           "while ! [ -e go ]; do sleep 0.05; done; curl -s -o /dev/null "
                           "http://other.example/; wait $!" % URL], cwd=self.w.ws)
        self.card(t)
        self.go()
        while "refused other.example:80" not in t.plain():
            self.assertTrue(t.pump(20), t.plain())
        while " deny" not in t.plain().split("refused other.example:80")[1]:
            self.assertTrue(t.pump(20), t.plain())
        lines = Screen(t.text).lines()
        told = [x for x in lines if "refused other.example:80" in x]
        self.assertEqual(len(told), 1, lines)
        self.assertTrue(told[0].startswith("sbx-net: refused"), lines)
        self.assertRegex("\n".join(self.card(t)), r"(?m)^ +\d+ s  a allow   d deny > *$")
        t.send("do")
        self.assertEqual(t.wait(), 22)

    def test_interrupt_goes_to_the_job_in_front(self):
        """A shell is not what Ctrl-C means, but what it has started."""
        t = self.terminal(["--ask", "tty"], ["bash", "--norc", "--noprofile", "--noediting", "-i"])
        t.send("PS1='ready''> '\n")
        t.expect("ready> ")
        t.send(" ".join(self.curl(URL)) + "\n")
        t.expect(" deny")
        t.send("\x03")
        t.expect("ready> ")
        t.send("echo status $?\n")
        t.expect("status 130")
        t.send("exit 3\n")
        self.assertEqual(t.wait(), 3)
        self.assertNotIn("allowed", t.plain())
        self.assertEqual(t.modes(), t.before)

    def test_a_question_outlives_an_ignored_interrupt(self):
        t = self.terminal(["--ask", "tty"], ["sh", "-c", "trap '' INT; " +
                                             " ".join(self.curl("-f", URL))])
        t.expect(" deny")
        t.send("\x03")
        t.expect("wants to reach")  # again
        t.expect(" deny")
        t.send("do")
        self.assertEqual(t.wait(), 22)
        self.assertEqual(t.modes(), t.before)

    def test_what_fills_the_screen_draws_it_again(self):
        """It does when the size changes, and only then; in the end it is what it was."""
        code = ("import os, signal, subprocess, sys, tty\n"
                "tty.setcbreak(0)\n"
                "seen = [os.get_terminal_size()]\n"
                "def look(*a):\n"
                " now = os.get_terminal_size()\n"
                " if now != seen[-1]:\n"
                "  seen.append(now)\n"
                "  os.write(1, b'\\33[Hdrawn at %d rows;' % now.lines)\n"
                "signal.signal(signal.SIGWINCH, look)\n"
                "p = subprocess.Popen(sys.argv[1:])\n"
                "p.wait()\n"
                "sys.stdin.read(1)\n")
        # nothing else writes: the window stays lower until the program has drawn
        t = self.terminal(["--ask", "tty"], ["/usr/bin/python3", "-c", code, "curl", "-sS", "-o",
                                             "/dev/null", URL])
        t.expect(" deny")
        t.send("ao")
        t.expect("drawn at 29 rows;drawn at 30 rows;")
        t.send("q")
        self.assertEqual(t.wait(), 0)

    def test_a_key_that_means_nothing_is_told(self):
        """Which ones there are is said for a moment; it is no answer, and takes none away."""
        o = self.w.oracle()
        for keys, behind in (("y", ("here; a allow   d deny",)), ("n", ("here; a allow   d deny",)),
                             ("q", ("here; a allow   d deny",)), ("\n", ("here; a allow   d deny",)),
                             ("dy", ("deny once", "no such key; deny once run project"))):
            with self.subTest(keys):
                t = self.terminal(["--ask", "tty"], self.curl("-f", URL))
                t.expect(" deny")
                for key, what in zip(keys, behind):
                    t.send(key)
                    t.expect(what)
                self.assertIsNone(t.proc.poll())
                t.expect("  a allow   d deny >" if keys != "dy" else " s  deny once  this run")  # gone again
                t.send("do" if keys != "dy" else "o")
                self.assertEqual(t.wait(), 22)
                self.assertIn("denied good.example:80 once (tty)", t.plain())
        self.assertQuiet(o)

    def test_pasted_text_is_no_answer(self):
        t = self.terminal(["--ask", "tty"], self.curl("-f", URL))
        t.expect(" deny")
        t.send("approval of everything")
        for _ in range(3):  # it is drawn once a second
            t.expect(" deny")
        self.assertIsNone(t.proc.poll())
        t.send("do")
        self.assertEqual(t.wait(), 22)

    def test_time_is_a_no(self):
        o = self.w.oracle()
        t = self.terminal(["--ask", "tty", "--ask-timeout", "1"], self.curl("-f", URL))
        t.expect("wants to reach")
        self.assertEqual(t.wait(), 22)
        self.assertIn("nobody answered in time", t.plain())
        self.assertQuiet(o)
        self.assertEqual(t.modes(), t.before)

    def test_withdrawn_when_the_client_goes(self):
        o = self.w.oracle()
        t = self.terminal(["--ask", "tty"], ["sh", "-c", self.GOES_AWAY + "echo over; "
                                             "read -r line; echo got $line"], cwd=self.w.ws)
        t.expect("wants to reach")
        self.go()
        self.assertIn("good.example:80 is not wanted any more", t.expect("over"))
        t.send("ao\n")  # it is the command's terminal again
        t.expect("got ao")
        self.assertEqual(t.wait(), 0)
        self.assertQuiet(o)
        self.assertEqual(t.modes(), t.before)

    def test_run_answer_holds_for_the_run_and_its_port(self):
        t = self.terminal(["--ask", "tty"], ["sh", "-c", "curl -sS %s; curl -sS %s; "
                                             "curl -sS --max-time 20 http://good.example:8080/"
                                             % (URL, URL)])
        t.expect(" deny")
        t.send("ar")
        seen = t.expect("keys count")
        self.assertEqual(seen.count("hello from net"), 2)
        self.assertIn("good.example:8080", seen)
        t.expect(" s  a allow   d deny")
        t.send("dr")
        t.wait()
        self.assertFalse(os.path.exists(self.state("answers")))

    def test_backspace_goes_back_and_wider_is_on_request(self):
        t = self.terminal(["--ask", "tty"], ["sh", "-c", "curl -sS http://a.wild.example/; "
                                             "curl -sS http://i.wild.example/"])
        t.expect("wider: *.wild.example:80")
        t.send("d")
        t.expect("deny once")
        t.send("\x7f")
        t.expect(" allow   d deny")
        t.send("s")
        t.expect("only this host")
        t.send("a")
        t.expect("allow once")
        t.send("r")
        self.assertEqual(t.wait(), 0)
        self.assertIn("allowed *.wild.example:80 for this run", t.plain())
        self.assertEqual(t.plain().count("wants to reach"), 0)  # the second was covered

    def test_what_the_terminal_answers_is_no_answer(self):
        """A command can make a terminal say things; they must not count as a person's keys."""
        t = self.terminal(["--ask", "tty", "--ask-timeout", "3"], self.curl(URL))
        t.expect(" deny")
        t.send("\x1b[0n" * 11 + "\x1b]4;1;rgb:afaf/afaf/")
        t.send("afaf\x07")
        t.send("\x1b]lallow forever\x1b\\af")
        t.wait()
        self.assertNotIn("allowed", t.plain())
        self.assertFalse(os.path.exists(self.state("answers")))

    def test_never_wider_for_a_public_suffix(self):
        t = self.terminal(["--ask", "tty"], self.curl(URL))
        seen = t.expect(" deny")
        self.assertNotIn("wider", seen)  # *.example is everybody's
        t.send("sdo")
        self.assertEqual(t.wait(), 0)
        self.assertIn("denied good.example:80 once", t.plain())

    def test_resize_draws_anew(self):
        t = self.terminal(["--ask", "tty"], self.curl(URL))
        t.expect(" deny")
        t.resize(50)
        seen = t.expect(" deny")
        self.assertIn("good.example:80", seen)
        self.assertTrue(all(len(x) <= 50 for x in seen.split("\n")), seen)
        t.send("ao")
        self.assertEqual(t.wait(), 0)

    def test_command_may_write_meanwhile(self):
        t = self.terminal(["--ask", "tty"], ["sh", "-c", "(for i in 1 2 3 4 5 6 7 8; do "
                                             "echo noise $i; sleep 0.1; done) & curl -sS %s; wait"
                                             % URL])
        t.expect(" deny")
        t.send("a")
        t.expect("allow once")
        t.send("o")
        self.assertEqual(t.wait(), 0)
        self.assertIn("hello from net", t.plain())

    def test_standard_input_is_the_commands(self):
        t = self.terminal(["--ask", "tty"], ["sh", "-c", "curl -sS %s; cat" % URL])
        t.expect(" deny")
        t.send("ao")
        t.expect("hello from net")
        t.send("typed\n\x04")
        self.assertEqual(t.wait(), 0)
        self.assertIn("typed", t.plain())

    def test_signals_leave_the_terminal_as_it_was(self):
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(sig):
                t = self.terminal(["--ask", "tty"], self.curl(URL))
                t.expect(" deny")
                self.assertNotEqual(t.modes(), t.before)
                if sig == signal.SIGINT:
                    t.send("\x03")
                else:
                    os.kill(t.proc.pid, sig)
                self.assertEqual(t.wait(), 128 + sig)
                self.assertEqual(t.modes(), t.before)

    def test_the_end_of_the_terminal_ends_the_question(self):
        """A question that nobody can answer any more does not keep the command from hearing of it."""
        status = os.path.join(self.w.ws, "status")
        t = Terminal(self.w, ["/usr/bin/python3", "-c", LEADER, status, self.w.sbx, "run",
                              "--no-config", "--ask", "tty", "--ask-timeout", "600", "--",
                              *self.curl(URL)])
        self.addCleanup(t.close)
        t.expect(" deny")
        t.hang_up()
        deadline = time.monotonic() + 20
        while not os.path.exists(status) and time.monotonic() < deadline:
            time.sleep(0.02)
        with open(status, encoding="ascii") as f:
            self.assertEqual(f.read(), str(128 + signal.SIGHUP))

    def test_stop_gives_the_terminal_back(self):
        t = self.terminal(["--ask", "tty"], self.curl(URL), job=True)
        t.expect(" deny")
        os.kill(os.tcgetpgrp(t.master), signal.SIGTSTP)
        job = t.stopped()
        self.assertEqual(t.modes(), t.before)
        t.text = ""
        os.kill(job, signal.SIGCONT)
        t.expect(" deny")
        t.send("ao")
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.modes(), t.before)

    def test_hostile_arguments_are_shown_escaped(self):
        t = self.terminal(["--ask", "tty"],
                          ["/usr/bin/python3", "-c", "import os; os.execv('/usr/bin/curl', "
                           "['x\\33[2Jy\\nz\\x9b', '-sS', '%s'])" % URL])
        while " deny" not in t.plain():
            self.assertTrue(t.pump(20))
        self.assertNotIn("\x1b[2J", t.text)
        self.assertNotIn("\x9b", t.text)
        self.assertIn("x\\x1b[2Jy\\x0az\\xc2\\x9b -sS http", t.plain())
        t.send("do")
        self.assertEqual(t.wait(), 0)

    def test_a_storm_of_sizes(self):
        t = self.terminal(["--ask", "tty"], self.curl(URL))
        t.expect(" deny")
        for i in range(60):
            t.resize(20 + 37 * i % 160, 3 + 11 * i % 50)
            t.pump(0)
        t.resize(80)
        t.expect("good.example:80")
        t.expect(" deny")
        while t.pump(0.3):  # what is still drawn for earlier sizes
            pass
        t.text = ""
        t.resize(81)
        self.drawn(t, " deny")
        while t.pump(0.3):
            pass
        lines = Screen(t.text, cols=81).lines()
        self.assertEqual(sum("wants to reach" in x for x in lines), 1, lines)
        t.send("ao")
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.modes(), t.before)

    def test_a_host_that_is_not_in_sight_is_not_allowed(self):
        """Fewer columns than a card needs, or fewer lines than the host fills."""
        o = self.w.oracle()
        for cols, rows, host in ((39, 30, "good.example"), (24, 8, "good.example"),
                                 (40, 6, ".".join(["a" * 60] * 3 + ["good.example"]))):
            with self.subTest(cols=cols, rows=rows):
                t = self.terminal(["--ask", "tty"], self.curl("-f", "http://%s/" % host),
                                  cols=cols, rows=rows)
                t.expect("enlarge")
                time.sleep(1)  # keys would count by now
                t.send("a")
                t.pump(0.2)
                t.send("o")
                t.expect("enlarge")
                t.resize(80)
                self.assertIn(host[-12:] + ":80", t.expect(" deny"))
                self.assertQuiet(o)
                t.send("do")
                self.assertEqual(t.wait(), 22)

    def drawn(self, t, what):
        """What is written from now on up to something, colours and all."""
        while what not in t.plain():
            self.assertTrue(t.pump(20), t.plain())
        return t.text

    def test_a_terminal_that_goes_away_is_no_answer(self):
        """It is gone for whoever asked, for a shell above it too: time says no, and nothing hangs."""
        o = self.w.oracle()
        audit = os.path.join(self.w.home, "gone.log")
        t = self.terminal(["--ask", "tty", "--ask-timeout", "2", "--audit", audit],
                          ["sh", "-c", "trap '' HUP; curl -s %s; true" % URL])
        t.expect(" deny")
        t.send("a")
        t.expect("allow once")
        master, t.master = t.master, os.open("/dev/null", os.O_RDONLY)
        os.close(t.slave)
        t.slave = os.open("/dev/null", os.O_RDONLY)
        os.close(master)
        t.proc.wait(timeout=20)
        with open(audit, encoding="ascii") as f:
            said = [x["code"] for x in map(json.loads, f) if x["event"] in ("answer", "decision")]
        os.unlink(audit)
        self.assertNotIn("ok", said)
        self.assertQuiet(o)

    def test_stop_key_at_a_question(self):
        """Ctrl-Z under a shell: its prompt, its modes, and after `fg` the same question."""
        t = Terminal(self.w, ["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"])
        self.addCleanup(t.close)
        t.send("PS1='ready''> '\n")
        t.expect("ready> ")
        t.send("%s run --no-config --ask tty -- %s\n" % (self.w.sbx, " ".join(self.curl("-f", URL))))
        t.expect(" deny")
        t.send("a\x1a")
        self.assertIn("Stopped", t.expect("ready> "))
        t.send("echo still $((1 + 1))\n")
        t.expect("still 2")
        t.send("fg\n")
        self.assertIn("wants to reach", t.expect(" deny"))
        t.send("do")
        self.assertIn("denied good.example:80 once (tty)", t.expect("ready> "))
        t.send("exit\n")
        t.wait()

    def test_stop_key_where_no_shell_would_wake_it(self):
        """As below ssh -t: like any program there it goes on, and the question can be answered."""
        t = self.terminal(["--ask", "tty"], self.curl("-f", URL))
        t.expect(" deny")
        t.send("\x1a")
        t.expect(" deny")
        t.send("do")
        t.expect("denied good.example:80 once (tty)")
        t.wait()
        self.assertEqual(t.modes(), t.before)

    def test_dumb_terminal(self):
        t = self.terminal(["--ask", "tty"], self.curl(URL), term="dumb")
        t.expect(" deny")
        self.assertNotIn("\x1b", self.but_ends(t))
        t.send("ao")
        self.assertEqual(t.wait(), 0)
        self.assertNotIn("\x1b", self.but_ends(t))

    def but_ends(self, t):
        """The end of a string is all that a dumb terminal gets: it may be none."""
        return t.text.replace("\x1b\\", "")

    def test_a_terminal_that_is_not_dumb_but_said_to_be(self):
        """It knows strings, and shows the card behind one that the command has begun."""
        for term, begun in (("dumb", "\\033Pz"), ("dumb", "\\033]0;z"), ("", "\\033Pz\\033"), ("dumb", "")):
            with self.subTest(term=term, begun=begun):
                t = self.terminal(["--ask", "tty"],
                                  ["sh", "-c", "printf 'other.example:80 a allow %s'; " % begun +
                                   " ".join(self.curl("-f", URL))], term=term)
                self.assertIn("good.example:80   by HTTP", "\n".join(self.card(t, once=False)))
                self.assertNotIn("\x1b[", self.but_ends(t))
                t.send("do")
                self.assertEqual(t.wait(), 22)

    def test_the_card_is_no_link(self):
        """Where the command has left a link open, it ends above the card."""
        for begun, end in (("\\033]8;;http://evil.example/\\033\\\\link", ""),
                           ("\\033]8;id=1;http://evil.example/\\007link", ""),
                           ("\\033]8;;http://evil.example/\\007link", "\\033]8;;\\007")):
            with self.subTest(begun=begun, end=end):
                t = self.terminal(["--ask", "tty"], ["sh", "-c", "printf '%s%s'; read -r x; " % (
                    begun, end) + " ".join(self.curl("-f", URL))])
                while "link" not in t.text:  # else it may come behind the card
                    self.assertTrue(t.pump(20), t.text)
                t.send("\n")
                self.card(t)
                s = Screen(t.text)
                self.assertEqual(["".join(s.cells[r][c] for r, c in sorted(s.linked))], ["link"])
                t.send("do")
                self.assertEqual(t.wait(), 22)


class NeverAsked(AskCase):
    def test_what_is_refused_without_a_question(self):
        asked = os.path.join(self.w.ws, "asked")
        ask = self.script("tell.sh", "cat >>%s\nexit 0\n" % asked)
        rows = [(["-d", "good.example"], URL, "denied"),
                (["--strict"], URL, "strict"),
                (["--only", "other.example"], URL, "own list"),
                ([], "http://localhost/", "this machine"),
                ([], "http://127.0.0.2:9/", None),
                ([], "http://metadata.google.internal/", "metadata"),
                ([], "http://169.254.169.254/", "metadata"),
                # what /etc/hosts says is known, and no answer could open it
                ([], "http://hosts-lo.example/", "allow with: --allow hosts-lo.example:80 "
                 "--allow 127.0.0.1:80")]
        for options, url, why in rows:
            with self.subTest(url, options=options):
                o = self.w.oracle()
                done = self.w.sbx_run(["--ask", "exec:" + ask, *options],
                                      self.curl("-f", "--noproxy", "", url))
                self.assertNotEqual(done.returncode, 0)
                if why:
                    self.assertIn(why, done.stderr)
                self.assertFalse(os.path.exists(asked))
                self.assertQuiet(o)
        for host in ("good", "hosts-good"):  # the twins
            done = self.w.sbx_run(["--ask", "exec:" + ask], self.curl("http://%s.example/" % host))
            self.assertEqual(done.stdout, "hello from net %s.example\n" % host, done.stderr)
            self.assertTrue(os.path.exists(asked))
            os.unlink(asked)

    def test_an_allowed_name_is_not_asked_about(self):
        done = self.w.sbx_run(["--ask", "exec:/bin/false", "-a", "good.example"], self.curl(URL))
        self.assertEqual(done.stdout, HELLO, done.stderr)

    def test_yes_to_a_name_opens_no_private_address(self):
        o = self.w.oracle()
        done = self.w.sbx_run(["--ask", "exec:/bin/true"], self.curl("-f", "http://lo4.example/"))
        self.assertEqual(done.returncode, 22)
        self.assertIn("this machine", done.stderr)
        self.assertEqual(o.accepts(), [])


class Hints(AskCase):
    """What stands behind a refusal that somebody may have brought about unawares."""

    def test_not_asked_since_output_is_passed_on(self):
        """What the command says comes to the terminal by another program, past the relay, over a card."""
        rows = [("</dev/null 2>&1 | cat", False),  # as in: | tee log
                ("2> >(cat >&2)", False),  # the rest has a relay
                ("</dev/null >out 2>&1", True), ("", True)]
        for where, asked in rows:
            with self.subTest(where):
                t = Terminal(self.w, ["/bin/bash", "-c", "%s run --no-config -- %s %s; echo over" % (
                    self.w.sbx, " ".join(self.curl("-f", URL)), where)], cwd=self.w.ws)
                self.addCleanup(t.close)
                if asked:
                    t.expect(" deny")
                    t.send("do")
                seen = t.expect("over")
                self.assertEqual("wants to reach" in seen, False)
                self.assertEqual("redirected; --ask tty asks" in seen.replace("\n", ""), not asked)
        t = Terminal(self.w, ["/bin/sh", "-c", "%s run --no-config --ask tty -- %s </dev/null 2>&1 | cat" % (
            self.w.sbx, " ".join(self.curl(URL)))])
        self.addCleanup(t.close)
        t.expect(" deny")
        t.send("ao")
        t.expect(HELLO.strip())

    def test_not_asked_since_output_is_redirected(self):
        for command, hinted in (("%s 2>&1 | cat", True), ("%s", False),
                                ("%s </dev/null >said 2>&1; cat said", False)):  # it has no terminal at all
            run = "%s run --no-config --ask-timeout 1 -- %s" % (self.w.sbx, " ".join(self.curl(URL)))
            t = Terminal(self.w, ["/bin/sh", "-c", command % run], cwd=self.w.ws)
            self.addCleanup(t.close)
            t.wait()
            with self.subTest(command):
                self.assertIn("refused good.example:80", t.plain())
                self.assertEqual("(not asked: input or output is redirected; --ask tty asks)" in
                                 t.plain(), hinted, t.plain())
                self.assertEqual("nobody answered" in t.plain(), not hinted)

    def test_not_asked_in_the_background(self):
        run = "%s run --no-config --ask-timeout 1 -- %s" % (self.w.sbx, " ".join(self.curl(URL)))
        for job, hinted in ((run + " & wait", True), (run, False)):  # the twin is asked
            t = Terminal(self.w, ["/bin/bash", "-c", "set -m; " + job])
            self.addCleanup(t.close)
            t.wait()
            with self.subTest(job):
                self.assertIn("refused good.example:80", t.plain())
                self.assertEqual("(not asked: the run was started in the background; start it in the "
                                 "foreground, or with --ask control, and answer by 'sbx-net approvals')"
                                 in t.plain(), hinted, t.plain())
                self.assertEqual("nobody answered" in t.plain(), not hinted)

    def test_not_asked_without_a_terminal(self):
        """That is no news to a script: the first refusal that would have been asked about tells."""
        two = ["sh", "-c", "curl -s -o /dev/null %s; curl -s -o /dev/null http://other.example/; "
               "curl -s -o /dev/null http://evil.example/" % URL]
        hint = " (not asked: there is no terminal; with --ask control 'sbx-net approvals' answers)"
        for options, hinted in (([], "good.example:80"), (["-d", "good.example"], "other.example:80"),
                                (["--ask", "never"], None), (["--strict"], None),
                                (["--only", "x.example"], None), (["-a", "*"], None)):
            done = self.w.sbx_run(["--ask", "auto", *options], two)
            told = [x for x in done.stderr.splitlines() if x.endswith(hint)]
            with self.subTest(options):
                self.assertEqual([x.split()[2] for x in told], [hinted] if hinted else [], done.stderr)
                self.assertEqual("not asked" in done.stderr, bool(hinted))

    def test_options_behind_the_command(self):
        script = "curl -s -o /dev/null %s" % URL
        for tail, hinted in ((["-a", "good.example"], True), (["--allow=*.example:80"], True),
                             (["-a", "other.example"], False), (["-a"], False), ([], False)):
            done = self.w.sbx_run([], ["sh", "-c", script, "sh", *tail])
            with self.subTest(tail):
                self.assertIn("refused good.example:80", done.stderr)
                self.assertEqual("behind the command" in done.stderr, hinted, done.stderr)

    def test_a_hint_is_said_wherever_the_refusal_is(self):
        """In the body, to ssh and in the audit log, not on standard error alone."""
        audit = os.path.join(self.w.home, "hint.log")
        body = ("curl -s %s; exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT good.example:80 "
                "HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3; cat <&3; "
                "exec 4<>/dev/tcp/192.0.2.7/22; cat <&4; true" % URL)
        for tail, hinted in ((["-a", "good.example", "-a", "192.0.2.7"], True), ([], False)):
            done = self.w.run(self.w.sbx_argv(["--audit", audit], ["bash", "-c", body, "sh", *tail]))
            with open(audit, encoding="ascii") as f:
                refused = [x for x in map(json.loads, f) if x.get("verdict") == "deny"]
            os.unlink(audit)
            with self.subTest(tail):
                told = [x[len("sbx-net: "):] for x in done.stderr.splitlines()
                        if x.startswith("sbx-net: refused ")]
                self.assertEqual(len(told), 2, done.stderr)
                self.assertEqual(done.stdout.count(told[0] + "\n"), 2, done.stdout)
                self.assertEqual(done.stdout.count(told[1]), 1, done.stdout)
                self.assertEqual([x["port"] for x in refused], [80, 80, 22])
                for x in refused:
                    line = told[0] if x["port"] == 80 else told[1]
                    self.assertEqual(x["text"] + (" (%s)" % x["hint"] if hinted else ""), line)
                    self.assertEqual("hint" in x, hinted)
                    self.assertEqual("behind the command" in line, hinted)

    def test_a_remembered_no_says_how_to_take_it_back(self):
        ask = "exec:" + self.script("no.sh", "echo deny forever")
        done = self.w.sbx_run(["--ask", ask], self.curl("-f", URL))
        self.assertNotIn("revoke", done.stderr)  # it was just given
        done = self.w.sbx_run([], self.curl("-f", URL))
        self.assertIn("sbx-net grants revoke good.example:80 takes it back", done.stderr)
        self.assertEqual(self.grants("revoke", "good.example:80").returncode, 0)
        done = self.w.sbx_run([], self.curl("-f", URL))
        self.assertNotIn("revoke", done.stderr)
        self.assertIn("not on the allow list", done.stderr)


class ByProgram(AskCase):
    def test_a_program_that_is_not_there(self):
        for name in ("nosuch", "/nonexistent/ask", self.w.ws):
            done = self.w.sbx_run(["--ask", "exec:" + name], ["echo", "ran"])
            self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
            self.assertIn("--ask exec: ", done.stderr)
        self.assertEqual(self.w.sbx_run(["--ask", "exec:true"], ["echo", "ran"]).stdout, "ran\n")

    def fetch(self, body, *options):
        return self.w.sbx_run(["--ask", "exec:" + self.script("ask.sh", body), *options],
                              self.curl("-f", URL))

    def test_answers(self):
        rows = [("exit 0", True), ("exit 1", False), ("echo allow", True), ("echo deny", False),
                ("echo allow run", True), ("echo yes once", True), ("echo no", False),
                ("echo '{\"verdict\":\"allow\",\"scope\":\"run\"}'", True),
                ("echo '{\"verdict\":\"deny\"}'", False)]
        for body, allowed in rows:
            with self.subTest(body):
                o = self.w.oracle()
                done = self.fetch(body)
                self.assertEqual(done.stdout, HELLO if allowed else "", done.stderr)
                if not allowed:
                    self.assertIn("the answer was no", done.stderr)
                    self.assertQuiet(o)

    def test_no_answer_is_a_no(self):
        rows = ["echo garbage", "exit 2", "kill -9 $$", "echo allow; exit 1", "echo allow allow",
                "echo allow run wide wide", "echo '{\"verdict\":\"allow\"'", "echo '{}'",
                "echo '{\"id\":99,\"verdict\":\"allow\"}'",
                "echo '{\"verdict\":\"allow\",\"verdict\":\"deny\"}'", "echo allow wide",
                "head -c 5000 /dev/zero | tr '\\0' ' '; echo allow", "echo allow 9999d",
                "printf 'allow\\0'"]
        for body in rows:
            with self.subTest(body):
                o = self.w.oracle()
                done = self.fetch(body)
                self.assertEqual(done.stdout, "", done.stderr)
                self.assertIn("refused good.example:80", done.stderr)
                self.assertQuiet(o)

    def test_one_that_hangs_is_killed(self):
        o = self.w.oracle()
        done = self.fetch("sleep 4712 & sleep 4712", "--ask-timeout", "1")
        self.assertEqual(done.stdout, "")
        self.assertIn("nobody answered in time", done.stderr)
        self.assertQuiet(o)
        self.assertEqual(self.w.processes_with("sleep 4712"), {})

    def test_nothing_outlives_a_killed_run(self):
        ask = self.script("ask.sh", "sleep 4713 & sleep 4713")
        proc = self.w.popen(self.w.sbx_argv(["--ask", "exec:" + ask], self.curl(URL)),
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 20
        while len(self.w.processes_with("sleep 4713")) < 2 and time.monotonic() < end:
            time.sleep(0.02)
        self.assertEqual(len(self.w.processes_with("sleep 4713")), 2)
        proc.kill()
        proc.wait()
        self.assertEqual(self.w.wait_no_processes(), {})

    def test_a_killed_helper_is_a_no(self):
        o = self.w.oracle()
        ask = self.script("ask.sh", "exec sleep 4714")
        proc = self.w.popen(self.w.sbx_argv(["--ask", "exec:" + ask], self.curl("-f", URL)),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        self.addCleanup(self.end_processes, "sleep 4714")
        end = time.monotonic() + 20
        while not self.w.processes_with("sleep 4714") and time.monotonic() < end:
            time.sleep(0.02)
        sleeper = next(iter(self.w.processes_with("sleep 4714")))
        os.kill(self.parent(sleeper), signal.SIGKILL)
        out, err = proc.communicate(timeout=20)
        self.assertEqual((out, proc.returncode), ("", 22), err)
        self.assertIn("our helper process has gone", err)
        self.assertQuiet(o)
        self.assertEqual(self.w.processes_with("sleep 4714"), {})

    def end_processes(self, marker):
        for pid in self.w.processes_with(marker):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def test_an_unanswered_question_is_recorded(self):
        audit = os.path.join(self.w.ws, "audit.jsonl")
        ask = self.script("ask.sh", "sleep 20")
        self.w.sbx_run(["--ask", "exec:" + ask, "--ask-timeout", "1", "--audit", audit],
                       self.curl(URL))
        with open(audit, encoding="utf-8") as f:
            lines = [json.loads(x) for x in f]
        os.unlink(audit)
        found = [(x["event"], x["verdict"], x["code"], x["by"]) for x in lines
                 if x["event"] in ("answer", "decision")]
        self.assertEqual(found, [("answer", "deny", "ask-timeout", None),
                                 ("decision", "deny", "ask-timeout", None)])

    def at_once(self, hosts):
        return ["sh", "-c", "for h in %s; do curl -sS http://$h/ & done; wait" % " ".join(hosts)]

    def test_one_question_after_another(self):
        """A dialog that comes up in front of another one would get its key"""
        log = os.path.join(self.w.ws, "log")
        self.addCleanup(self.w.run, ["rm", "-f", log], cwd="/")
        ask = self.script("ask.sh", "echo begin >>%s\nsleep 0.1\necho end >>%s\n" % (log, log))
        done = self.w.sbx_run(["--ask", "exec:" + ask], self.at_once(["good.example", "a.test", "b.test", "c.test"]))
        with open(log, encoding="utf-8") as f:
            said = f.read().split()
        self.assertEqual(said, ["begin", "end"] * 4)
        self.assertIn(HELLO, done.stdout, done.stderr)

    def test_a_pause_between_two_dialogs(self):
        """The command takes one away, and has the other in its place: none is there at that moment"""
        log = os.path.join(self.w.ws, "log")
        self.addCleanup(self.w.run, ["rm", "-f", log], cwd="/")
        ask = self.script("ask.sh", "date +%%s.%%N >>%s\ncase $1 in *good*) exit 0;; esac\nsleep 20" % log)
        done = self.w.sbx_run(["--ask", "exec:" + ask], [
            "sh", "-c", "curl -sS http://a.test/ & a=$!; sleep 1; curl -sS %s & b=$!; sleep 1; "
            "date +%%s.%%N; kill $a; wait $b" % URL])
        with open(log, encoding="utf-8") as f:
            began = [float(x) for x in f.read().split()]
        withdrawn, _, said = done.stdout.partition("\n")
        self.assertEqual((len(began), said), (2, HELLO), done.stderr)
        self.assertGreater(began[1] - float(withdrawn), 0.6)

    def test_as_root(self):
        ask = self.script("ask.sh", "cat >%s/root-told\necho allow" % self.w.root_ws)
        done = self.w.sbx_run(["--ask", "exec:" + ask], self.curl("-f", URL), uid=0)
        self.assertEqual(done.stdout, HELLO, done.stderr)
        with open(os.path.join(self.w.root_ws, "root-told"), encoding="utf-8") as f:
            self.assertEqual(json.load(f)["program"], "curl")

    def test_what_it_is_told(self):
        told = os.path.join(self.w.ws, "told")
        done = self.fetch("cat >%s\necho \"$1\" >>%s" % (told, told))
        self.assertEqual(done.stdout, HELLO, done.stderr)
        with open(told, encoding="utf-8") as f:
            question, words = f.read().splitlines()
        q = json.loads(question)
        self.assertEqual((q["target"], q["via"], q["wide"]), ("good.example:80", "http", ""))
        self.assertEqual((q["program"], q["waiting"]), ("curl", 1))
        self.assertIn("curl -sS", q["argv"])
        self.assertEqual(q["project"], self.w.ws)
        self.assertEqual(words, "May good.example:80 be reached by curl?")
        os.unlink(told)

    def test_what_the_command_calls_itself_comes_last_and_is_no_markup(self):
        """A dialog in Qt showed the first host of "May git reach a?<br><!-- reach b?" alone."""
        told = os.path.join(self.w.ws, "told")
        ask = self.script("ask.sh", "echo \"$1\" >%s" % told)
        name = "git reach other.example:443?<br>&lt;<!--"
        done = self.w.sbx_run(["--ask", "exec:" + ask],
                              ["bash", "-c", 'exec -a "$0" %s' % " ".join(self.curl(URL)), name])
        self.assertEqual(done.stdout, HELLO, done.stderr)
        with open(told, encoding="utf-8") as f:
            words = f.read().strip()
        self.assertEqual(words, "May good.example:80 be reached by "
                                "git reach other.example:443?_br>_lt;_!--?")
        os.unlink(told)

    def test_who_asks_with_parents_and_captured(self):
        told = os.path.join(self.w.ws, "told")
        ask = self.script("ask.sh", "cat >%s" % told)
        rows = [(["sh", "-c", "env sh -c 'curl -sS %s; true'; true" % URL], "sh > sh > curl"),
                (["sh", "-c", "curl -sS --noproxy '*' %s; true" % URL], "sh > curl")]
        for command, chain in rows:
            with self.subTest(chain):
                done = self.w.sbx_run(["--ask", "exec:" + ask], command)
                self.assertEqual(done.stdout, HELLO, done.stderr)
                with open(told, encoding="utf-8") as f:
                    q = json.load(f)
                self.assertIn(q["program"], (chain, chain.replace("sh > sh", "sh")))
                self.assertGreater(q["pid"], 1)
        self.assertEqual(q["via"], "capture")
        os.unlink(told)

    def test_the_script_of_a_package_is_named(self):
        """What a package manager runs says in its environment which one it is."""
        told = os.path.join(self.w.ws, "told")
        ask = self.script("ask.sh", "cat >%s" % told)
        self.w.sbx_run(["--ask", "exec:" + ask], [
            "sh", "-c", "env npm_lifecycle_event=postinstall npm_package_name=left-pad "
            "sh -c 'curl -sS %s; true'; true" % URL])
        with open(told, encoding="utf-8") as f:
            q = json.load(f)
        self.assertRegex(q["program"], "^sh > (sh > )?curl > postinstall of left-pad$")
        os.unlink(told)

    def test_names_that_look_like_others_are_marked(self):
        told = os.path.join(self.w.ws, "told")
        ask = self.script("ask.sh", "cat >%s" % told)
        for host, mark in (("githup.com", "github.com"), ("xn--gthub-n4a.example", "xn--"),
                           ("good.example", None)):
            self.w.sbx_run(["--ask", "exec:" + ask], self.curl("http://%s/" % host))
            with open(told, encoding="utf-8") as f:
                q = json.load(f)
            self.assertIn(mark or "", q.get("mark") or "", q)
            self.assertEqual(bool(q.get("mark")), bool(mark), q)
        os.unlink(told)

    def test_it_runs_outside(self):
        path = os.path.join(self.w.home, "outside")
        done = self.fetch("touch %s; exit 1" % path)
        self.assertEqual(done.returncode, 22)
        self.assertTrue(os.path.exists(path))
        os.unlink(path)

    def test_audit_says_who_answered(self):
        audit = os.path.join(self.w.ws, "audit.jsonl")
        ask = self.script("ask.sh", "echo allow run")
        done = self.w.sbx_run(["--ask", "exec:" + ask, "--audit", audit], self.curl(URL))
        self.assertEqual(done.stdout, HELLO, done.stderr)
        with open(audit, encoding="utf-8") as f:
            lines = [json.loads(x) for x in f]
        answer = [x for x in lines if x["event"] == "answer"]
        self.assertEqual(len(answer), 1)
        self.assertEqual((answer[0]["verdict"], answer[0]["scope"], answer[0]["program"]),
                         ("allow", "run", "curl"))
        self.assertEqual(answer[0]["by"], ("exec:" + ask)[:63])
        decision = [x for x in lines if x["event"] == "decision"]
        self.assertEqual(decision[0]["verdict"], "allow")
        self.assertEqual(decision[0]["by"], answer[0]["by"])
        os.unlink(audit)


class HiredProgram(AskCase):
    """What runs outside is what the user named, whatever the command writes, this one's or an earlier one's."""

    def setUp(self):
        super().setUp()
        self.escaped = os.path.join(self.w.home, "ESCAPED")
        self.bin = os.path.join(self.w.home, "bin-" + self.id().rsplit(".", 1)[1])
        os.mkdir(self.bin)
        self.addCleanup(shutil.rmtree, self.bin)
        self.ws = os.path.join(self.w.ws, "hired")
        os.mkdir(self.ws)
        os.chown(self.ws, self.w.uid, self.w.uid)
        self.addCleanup(shutil.rmtree, self.ws)
        self.addCleanup(self.forget_escape)

    def forget_escape(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.escaped)

    def made(self, path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        os.chmod(path, 0o755)
        for at in (os.path.dirname(path), path):
            os.chown(at, self.w.uid, self.w.uid)
        return path

    def evil(self, *paths, text=None):
        """A command that puts a program of its own at each path, by each means, and then causes a question."""
        text = text or "#!/bin/sh\ngrep Seccomp: /proc/self/status >>%s\nexit 0\n" % self.escaped
        body = "".join("""
p=%s d=$(dirname %s)
new() { mkdir -p "$d"; printf '%%s' "$text" >$p.new; chmod 755 $p.new; }
new; cat $p.new >$p; chmod 755 $p
new; mv -f $p.new $p
new; rm -f $p; ln -f $p.new $p
[ $d = . ] || mv "$d" "$d".old
new; mv -f $p.new $p
""" % (path, path) for path in paths)
        return ["sh", "-c", "exec 2>/dev/null\ntext=$1\n%s\ncurl -sS -f -m 10 %s" % (body, URL), "sh", text]

    def ask(self, program, command, path=None, options=(), **env):
        env = dict(self.w.env(), **env)
        if path:
            env["PATH"] = path.replace("@", self.ws) + ":" + env["PATH"]
        done = self.w.sbx_run(["--ask", "exec:" + program, *options], command, env=env, cwd=self.ws)
        self.assertFalse(os.path.exists(self.escaped), done.stderr)
        return done

    def test_a_program_in_the_workspace_is_locked(self):
        for name, first in (("ask.sh", "#!/bin/sh\n"), ("bin/ask.sh", "#!/usr/bin/env bash\n"), ("plain", "")):
            for code, want in ((1, ""), (0, HELLO)):
                ask = self.made(os.path.join(self.ws, name), first + "exit %d\n" % code)
                with self.subTest(name, code=code):
                    done = self.ask("./" + name, self.evil("./" + name, ask))
                    self.assertEqual(done.stdout, want, done.stderr)
                    self.assertIn("--ask exec: %s lies where the command may write" % ask, done.stderr)
                    with open(ask, encoding="ascii") as f:
                        self.assertEqual(f.read(), first + "exit %d\n" % code)

    def test_a_link_to_a_program_in_the_workspace(self):
        """It is locked like the program; what it leads to is judged, too."""
        self.made(os.path.join(self.bin, "open/ask"), "#!/bin/sh\nexit 1\n")
        os.symlink(os.path.join(self.bin, "open/ask"), os.path.join(self.ws, "ask"))
        done = self.ask("./ask", self.evil("./ask"))
        self.assertEqual(done.returncode, 22, done.stderr)
        os.chmod(os.path.join(self.bin, "open"), 0o777)
        done = self.ask("./ask", ["echo", "ran"])
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertIn("every user may write in ", done.stderr)

    def test_a_program_in_what_is_granted_is_locked(self):
        ask = self.made(os.path.join(self.bin, "ask.sh"), "#!/bin/sh\nexit 1\n")
        for options in (["--write", self.bin], ["--fs", "off"]):
            with self.subTest(options):
                done = self.ask(ask, self.evil(ask), options=options)
                self.assertEqual(done.returncode, 22, done.stderr)
        self.assertEqual(self.ask(ask, self.evil(ask)).returncode, 22)

    def test_a_python_program_in_the_workspace_loads_nothing_from_beside_it(self):
        text = "import json, sys\nq = json.load(sys.stdin)\nsys.exit(q['target'] != 'good.example:80')\n"
        false = "open(%r, 'w')\ndef load(f): return {'target': 'good.example:80'}\n" % self.escaped
        for first in ("#!/usr/bin/env python3\n", "#!/usr/bin/python3 -u\n"):
            self.made(os.path.join(self.ws, "ask.py"), first + text)
            with self.subTest(first):
                done = self.ask("./ask.py", self.evil("json.py", text=false), PYTHONPATH=self.ws)
                self.assertEqual(done.stdout, HELLO, done.stderr)

    def test_another_interpreter_in_the_workspace_ends_the_start(self):
        for first, name in (("#!/usr/bin/env -S python3 -u\n", "python3"), ("#!/bin/cat\n", "cat"),
                            ("#!%s/sh\n" % self.ws, self.ws + "/sh"), ("#!bin/sh\n", "bin/sh"),
                            ("#!/usr/bin/env nothing-of-this-name\n", "nothing-of-this-name")):
            ask = self.made(os.path.join(self.ws, "ask"), first)
            self.made(os.path.join(self.ws, "sh"), "#!/bin/sh\n")
            done = self.ask("./ask", ["echo", "ran"])
            with self.subTest(first):
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                self.assertIn("--ask exec: %s is not run outside of the sandbox: " % ask, done.stderr)
                self.assertIn(name, done.stderr)
                self.assertIn("name one that is elsewhere", done.stderr)

    def test_a_program_is_found_once_and_not_where_the_command_may_write(self):
        """PATH as npm run, direnv and a virtual environment make it."""
        ask = self.made(os.path.join(self.bin, "myask"), "#!/bin/sh\necho deny\n")
        for path in ("@/node_modules/.bin", "node_modules/.bin", "", ".", "@/link"):
            if path == "@/link":
                os.symlink(self.made(os.path.join(self.ws, "else/x"), ""), os.path.join(self.ws, "x"))
                os.symlink("else", os.path.join(self.ws, "link"))
            with self.subTest(path):
                done = self.ask("myask", self.evil(os.path.join(path.replace("@", self.ws) or ".", "myask")),
                                path=path + ":" + self.bin)
                self.assertIn("the answer was no", done.stderr)
        self.assertEqual(self.ask("myask", self.evil(os.path.join(self.bin, "myask")), path=self.bin).returncode, 22)
        with open(ask, encoding="ascii") as f:
            self.assertEqual(f.read(), "#!/bin/sh\necho deny\n")

    def test_what_an_earlier_command_left_is_not_found(self):
        for path in ("node_modules/.bin", "@/node_modules/.bin"):
            self.ask("/bin/false", self.evil("node_modules/.bin/myask"))
            done = self.ask("myask", ["echo", "ran"], path=path)
            with self.subTest(path):
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                self.assertIn("node_modules/.bin/myask is not run outside of the sandbox: ", done.stderr)
        os.symlink(os.path.join(self.ws, "node_modules/.bin/myask"), os.path.join(self.bin, "myask"))
        done = self.ask("myask", ["echo", "ran"], path=self.bin)
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertIn("where a command may write", done.stderr)

    def test_the_interpreter_is_none_of_the_commands(self):
        """"#!/usr/bin/env python3" with a virtual environment in front, or the environment's own."""
        self.made(os.path.join(self.bin, "myask"), "#!/usr/bin/env python3\nimport json\nprint('allow run')\n")
        venv = "@/.venv/bin:.venv/bin:" + self.bin
        for named in ("myask", os.path.join(self.bin, "myask")):
            with self.subTest(named):
                done = self.ask(named, self.evil(".venv/bin/python3"), path=venv, VIRTUAL_ENV=self.ws + "/.venv",
                                PYTHONPATH="%s/src:src:." % self.ws, PYTHONHOME=self.ws, LD_PRELOAD=self.ws + "/x.so",
                                **{"BASH_FUNC_exec%%": "() { touch " + self.escaped + "; }"})
                self.assertEqual(done.stdout, HELLO, done.stderr)
                done = self.ask(named, self.evil("src/json.py", "json.py", text="open(%r, 'w')\n" % self.escaped),
                                path=venv, PYTHONPATH="%s/src:src:." % self.ws)
                self.assertEqual(done.stdout, HELLO, done.stderr)
        link = os.path.join(self.bin, "python3")
        os.symlink(os.path.join(self.ws, "gone/python3"), link)  # where the command could make one
        done = self.ask("myask", self.evil("gone/python3"), path=self.bin)
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertIn(link + ", which runs ", done.stderr)
        os.unlink(link)
        self.made(os.path.join(self.bin, "myask"), "#!%s/.venv/bin/python3\n" % self.ws)
        done = self.ask("myask", ["echo", "ran"], path=self.bin)
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertIn("%s/.venv/bin/python3, which runs " % self.ws, done.stderr)

    def test_a_workspace_with_a_blank_in_its_name(self):
        ask = self.made(os.path.join(self.bin, "myask"), "#!/usr/bin/env python3\nimport json\nprint('allow run')\n")
        self.ws = os.path.dirname(self.made(os.path.join(self.ws, "my own/x"), ""))
        link = os.path.join(self.bin, "a link")
        os.symlink(self.ws, link)
        for path in (self.ws, "x:" + self.ws, self.ws + "/y", link, "x:" + link):
            with self.subTest(path):
                done = self.ask(ask, ["sh", "-c", "mkdir -p y; for d in . y; do echo \"$1\" >$d/json.py; done; " +
                                      " ".join(self.curl("-f", URL)), "sh", "open(%r, 'w')" % self.escaped],
                                PYTHONPATH=path)
                self.assertEqual(done.stdout, HELLO, done.stderr)

    def test_what_a_granted_home_directory_has_for_python(self):
        site = self.w.run(["python3", "-c", "import site; print(site.getusersitepackages())"]).stdout.strip()
        self.assertTrue(site.startswith(self.w.home), site)
        self.made(os.path.join(self.bin, "myask"), "#!/usr/bin/env python3\nprint('allow run')\n")
        self.addCleanup(shutil.rmtree, os.path.join(self.w.home, ".local"), True)
        granted = os.path.join(self.w.home, ".local")
        self.made(os.path.join(granted, "x"), "")
        done = self.ask(os.path.join(self.bin, "myask"),
                        self.evil(site + "/usercustomize.py", text="open(%r, 'w')\n" % self.escaped),
                        options=["--write", granted])
        self.assertEqual(done.stdout, HELLO, done.stderr)

    def test_where_everybody_may_write(self):
        self.made(os.path.join(self.bin, "open/myask"), "#!/bin/sh\n")
        os.chmod(os.path.join(self.bin, "open"), 0o777)
        for named in ("myask", os.path.join(self.bin, "open/myask")):
            done = self.ask(named, ["echo", "ran"], path=os.path.join(self.bin, "open"))
            with self.subTest(named):
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                self.assertIn("every user may write in ", done.stderr)
        os.chmod(os.path.join(self.bin, "open"), 0o755)
        self.assertEqual(self.ask("myask", ["echo", "ran"], path=os.path.join(self.bin, "open")).stdout, "ran\n")

    def test_another_name_of_the_program_in_the_workspace(self):
        ask = self.made(os.path.join(self.bin, "myask"), "#!/bin/sh\n")
        os.link(ask, os.path.join(self.bin, "second"))
        self.assertEqual(self.ask(ask, ["echo", "ran"]).stdout, "ran\n")
        os.link(ask, os.path.join(self.ws, "other"))
        for named in (ask, "myask", "./other"):
            done = self.ask(named, ["echo", "ran"], path=self.bin)
            with self.subTest(named):
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                self.assertIn("(a hard link)", done.stderr)

    def test_a_second_mount_of_a_directory_of_the_workspace(self):
        ask = self.made(os.path.join(self.ws, "tools/myask"), "#!/bin/sh\n")
        at = os.path.dirname(self.made(os.path.join(self.bin, "mnt/myask"), "#!/bin/sh\n"))
        named = ("myask", os.path.join(at, "myask"))
        for x in named:
            self.assertEqual(self.ask(x, ["echo", "ran"], path=at).stdout, "ran\n")
        self.w.run(["mount", "--bind", os.path.dirname(ask), at], uid=0, cwd="/", check=True)
        self.addCleanup(self.w.run, ["umount", at], uid=0, cwd="/", check=True)
        for x in named:
            done = self.ask(x, ["echo", "ran"], path=at)
            with self.subTest(x):
                self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
                self.assertIn("where a command may write", done.stderr)

    def test_a_program_that_is_replaced_outside_runs_no_more(self):
        """The lock goes with what was locked: the command could write what is there now."""
        self.made(os.path.join(self.ws, "ask.sh"), "#!/bin/sh\nexit 0\n")
        self.made(os.path.join(self.bin, "next"), "#!/bin/sh\nexit 0\n")
        command = "curl -sS -f %s; touch one; while ! test -e two; do sleep 0.05; done\n" % URL
        proc = self.w.popen(self.w.sbx_argv(["--ask", "exec:./ask.sh"],
                                            ["sh", "-c", command + self.evil("./ask.sh")[2], "sh",
                                             self.evil("x")[4]]), cwd=self.ws,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8")
        end = time.monotonic() + 20
        while not os.path.exists(os.path.join(self.ws, "one")) and time.monotonic() < end:
            time.sleep(0.02)
        os.rename(os.path.join(self.bin, "next"), os.path.join(self.ws, "ask.sh"))
        self.made(os.path.join(self.ws, "two"), "")
        out, err = proc.communicate(timeout=30)
        self.assertEqual((out, os.path.exists(self.escaped)), (HELLO, False), err)
        self.assertIn("ask.sh has been changed since the run began", err)
        self.assertIn("refused good.example:80", err)

    def test_it_starts_in_the_root_directory(self):
        told = os.path.join(self.w.home, "told")
        self.addCleanup(os.unlink, told)
        ask = self.made(os.path.join(self.bin, "myask"), "#!/bin/sh\n(pwd; echo $PATH; echo $HOME; echo $X) >%s\n" % told)
        done = self.ask(ask, self.curl("-f", URL), path="@/bin:" + self.bin, X="y")
        self.assertEqual(done.stdout, HELLO, done.stderr)
        with open(told, encoding="ascii") as f:
            self.assertEqual(f.read(), "/\n%s:%s\n%s\ny\n" % (
                self.bin, ":".join(map(os.path.realpath, self.w.env()["PATH"].split(":"))),
                self.w.home))


class ByControl(AskCase):
    def start(self, options=(), command=None, **kw):
        proc = self.w.popen(self.w.sbx_argv(["--ask", "control", *options],
                                            command or self.curl("-f", URL)),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", **kw)
        self.addCleanup(self.end, proc)
        return proc

    def end(self, proc):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(proc.pid, signal.SIGKILL)
        if proc.stdout and not proc.stdout.closed:
            proc.communicate()

    def subscribed(self):
        c = self.connect()
        c.say(op="subscribe")
        self.assertTrue(c.event("subscribe")["ok"])
        return c

    def test_allow_and_deny(self):
        for verdict, allowed in (("allow", True), ("deny", False)):
            with self.subTest(verdict):
                o = self.w.oracle()
                proc = self.start()
                c = self.subscribed()
                self.assertEqual(c.hello["event"], "hello")
                q = c.event("question")
                self.assertEqual(q["target"], "good.example:80")
                self.assertQuiet(o)
                c.say(op="answer", id=q["id"], verdict=verdict, by="tester")
                self.assertTrue(c.event("closed")["text"].endswith("(control:tester)"))
                out, err = proc.communicate(timeout=20)
                self.assertEqual(out, HELLO if allowed else "", err)
                self.assertEqual(glob.glob(self.state("run", "*")), [])

    def test_a_run_at_a_terminal_takes_it_too(self):
        t = self.terminal(["--ask", "tty"], self.curl(URL))
        t.expect(" deny")
        c = self.subscribed()
        c.say(op="answer", id=c.event("question")["id"], verdict="allow")
        self.assertEqual(t.wait(), 0)
        self.assertIn("allowed good.example:80 once (control)", t.plain())
        self.assertIn("hello from net", t.plain())
        self.assertEqual(t.modes(), t.before)

    def test_first_answer_wins(self):
        proc = self.start(command=["sh", "-c", "curl -sS -f %s; read -r x" % URL],
                          stdin=subprocess.PIPE)
        first, second = self.subscribed(), self.subscribed()
        q = first.event("question")
        self.assertEqual(second.event("question")["id"], q["id"])
        first.say(op="answer", id=q["id"], verdict="deny")
        self.assertTrue(first.event("answer")["ok"])
        second.say(op="answer", id=q["id"], verdict="allow")
        self.assertFalse(second.event("answer")["ok"])
        out, err = proc.communicate("\n", timeout=20)
        self.assertEqual(out, "", err)
        self.assertIn("the answer was no", err)

    def test_malformed(self):
        o = self.w.oracle()
        proc = self.start()
        c = self.subscribed()
        q = c.event("question")
        c.sock.sendall(b"garbage\n")
        self.assertFalse(c.event("error")["ok"])
        c.say(op="answer", id=q["id"] + 1, verdict="allow")
        self.assertFalse(c.event("answer")["ok"])
        self.assertIsNone(proc.poll())  # neither was an answer to this question
        c.say(op="answer", id=q["id"], verdict="perhaps")
        self.assertFalse(c.event("answer")["ok"])
        out, err = proc.communicate(timeout=20)
        self.assertEqual(out, "", err)
        self.assertQuiet(o)

    def test_lost_client_is_a_no(self):
        o = self.w.oracle()
        proc = self.start()
        c = self.subscribed()
        c.event("question")
        c.close()
        out, err = proc.communicate(timeout=20)
        self.assertEqual(out, "", err)
        self.assertIn("refused good.example:80", err)
        self.assertQuiet(o)

    def test_nobody_comes(self):
        proc = self.start(["--ask-timeout", "1"])
        out, err = proc.communicate(timeout=20)
        self.assertEqual(out, "")
        self.assertIn("answer with: sbx-net approvals", err)
        self.assertIn("nobody answered in time", err)

    def test_list_and_explain(self):
        proc = self.start(["-a", "other.example", "-d", "evil.example"])
        c = self.subscribed()
        q = c.event("question")
        c.say(op="list")
        self.assertEqual(c.event("question")["id"], q["id"])
        self.assertTrue(c.event("list")["ok"])
        for target, verdict in (("other.example:80", "allow"), ("evil.example:80", "deny"),
                                ("good.example:80", "ask"), ("localhost:80", "deny"),
                                ("hosts-good.example:80", "ask"), ("hosts-lo.example:80", "deny")):
            c.say(op="explain", target=target)
            told = c.event("explain")
            self.assertEqual((told["verdict"], told["target"]), (verdict, target))
            if target == "hosts-lo.example:80":  # as the proxy and `why` say it
                done = self.w.run([self.w.sbx, "why", "--no-config", target])
                self.assertEqual(told["text"], done.stdout.splitlines()[0])
                self.assertIn("leads to 127.0.0.1", told["text"])
        c.say(op="answer", id=q["id"], verdict="deny")
        proc.communicate(timeout=20)

    def test_an_answer_after_the_withdrawal(self):
        """It is for a question that is closed: the next connection is asked about again."""
        o = self.w.oracle()
        proc = self.start(command=["sh", "-c", self.GOES_AWAY + "read -r x; curl -sS -f %s" % URL],
                          stdin=subprocess.PIPE, cwd=self.w.ws)
        c = self.subscribed()
        first = c.event("question")["id"]
        self.go()
        self.assertEqual(c.event("closed")["text"], "good.example:80 is not wanted any more")
        c.say(op="answer", id=first, verdict="allow", scope="forever")
        self.assertFalse(c.event("answer")["ok"])
        proc.stdin.write("\n")
        proc.stdin.flush()
        second = c.event("question")["id"]
        self.assertNotEqual(second, first)
        c.say(op="answer", id=first, verdict="allow")
        self.assertFalse(c.event("answer")["ok"])
        c.say(op="answer", id=second, verdict="deny")
        out, err = proc.communicate(timeout=20)
        self.assertEqual(out, "", err)
        self.assertQuiet(o)
        self.assertFalse(os.path.exists(self.state("answers")))

    def test_who_asks_is_told_when_it_is_found_late(self):
        """A question is not held back for a name for long; the name follows."""
        body = "while ! [ -e go ]; do sleep 0.05; done; curl -sS -f %s" % URL
        proc = self.start(command=["sh", "-c", body], cwd=self.w.ws)
        c = self.subscribed()
        helpers = self.childless(proc.pid)
        for pid in helpers:
            os.kill(pid, signal.SIGSTOP)
        self.go()
        q = c.event("question")
        self.assertEqual((q["target"], q["program"], q["pid"]), ("good.example:80", "", 0))
        for pid in helpers:
            os.kill(pid, signal.SIGCONT)
        late = c.event("changed")
        self.assertEqual((late["id"], late["program"], late["waiting"]), (q["id"], "sh > curl", 1))
        self.assertGreater(late["pid"], 1)
        self.assertIn(URL, late["argv"])
        c.say(op="answer", id=q["id"], verdict="allow")
        out, err = proc.communicate(timeout=20)
        self.assertEqual(out, HELLO, err)

    def childless(self, parent):
        """Our helpers: children of the run without children of their own, as the sandbox has."""
        parents = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                parents[int(pid)] = self.parent(int(pid))
        found = [pid for pid, of in parents.items()
                 if of == parent and pid not in parents.values()]
        self.assertGreater(len(found), 0)
        return found

    def test_hostile_lines(self):
        """Each is an error or nothing; none answers, none holds up the others."""
        o = self.w.oracle()
        proc = self.start()
        c = self.subscribed()
        q = c.event("question")
        lines = [b"[" * 4000, b"{\"a\":" * 600, b"\0" * 100, b"\xff\xfe{}", b"null", b"true", b"",
                 b"{\"op\":\"answer\"}", b"{\"op\":[]}", b"{\"op\":\"explain\"}",
                 b"{\"op\":\"explain\",\"target\":\"" + b"a" * 3000 + b"\"}",
                 b"{\"op\":\"explain\",\"target\":\"a\\u0000.example:80\"}",
                 b"{\"op\":\"answer\",\"id\":-1,\"verdict\":\"allow\"}",
                 b"{\"op\":\"answer\",\"id\":1e300,\"verdict\":\"allow\"}",
                 b"{\"op\":\"answer\",\"id\":99999999999999999999,\"verdict\":\"allow\"}",
                 b"{\"op\":\"answer\",\"id\":\"%d\",\"verdict\":\"allow\"}" % q["id"],
                 b"{\"op\":\"answer\",\"id\":%d,\"id\":%d,\"verdict\":\"allow\"}" % (q["id"], q["id"]),
                 b"{\"op\":\"answer\",\"id\":%d,\"verdict\":\"deny\",\"verdict\":\"allow\"}" % q["id"],
                 b"{\"op\":\"answer\",\"id\":%d,\"verdict\":\"allow\",\"x\":{\"y\":1,\"y\":1}}" % q["id"]]
        other = self.connect()
        for line in lines:
            other.sock.sendall(line + b"\n")
            self.assertFalse(other.read()["ok"], line)
        for cut in (1, 20, 45):  # half a line is none, also at the end
            half = self.connect()
            half.sock.sendall((b'{"op":"answer","id":%d,"verdict":"allow"}' % q["id"])[:cut])
            half.close()
        c.say(op="list")
        self.assertEqual(c.event("question")["id"], q["id"])  # it stands
        self.assertIsNone(proc.poll())
        self.assertQuiet(o)
        c.say(op="answer", id=q["id"], verdict="allow")
        out, err = proc.communicate(timeout=20)
        self.assertEqual(out, HELLO, err)

    def test_one_that_reads_nothing_is_dropped_alone(self):
        proc = self.start()
        c = self.subscribed()
        q = c.event("question")
        mute = self.connect()
        mute.sock.settimeout(0.2)
        with contextlib.suppress(OSError):
            for _ in range(20000):
                mute.sock.sendall(b'{"op":"list"}\n' * 20)
        c.say(op="answer", id=q["id"], verdict="allow")
        out, err = proc.communicate(timeout=40)
        self.assertEqual(out, HELLO, err)

    MANY = """
import socket, sys, threading
held = []
for i in range(%d):
    s = socket.create_connection(("127.0.0.1", 3128))
    s.sendall(b"CONNECT h%%d.example:443 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n" %% i)
    held.append(s)
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"CONNECT good.example:80 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
print(s.recv(12).decode(), flush=True)
said = [x.recv(12) for x in held]
print(said.count(b"HTTP/1.1 403"), said.count(b"HTTP/1.1 503"), flush=True)
"""

    def test_a_thousand_questions(self):
        """What is too much is refused at once; what is allowed goes on; one end settles the rest."""
        o = self.w.oracle()
        proc = self.start(["-a", "good.example", "-q"], ["/usr/bin/python3", "-c", self.MANY % 1000])
        c = self.subscribed()
        self.assertEqual(proc.stdout.readline(), "HTTP/1.1 200\n")
        self.assertEqual(len({c.event("question")["target"] for _ in range(64)}), 64)
        c.say(op="stats")
        stats = c.event("stats")
        self.assertEqual((stats["questions"], stats["refused"]), (64, 1000 - 64))
        c.close()  # the last one who was asked
        self.assertEqual(proc.stdout.readline(), "64 %d\n" % (1000 - 64))
        self.assertEqual(proc.communicate(timeout=20)[0], "")
        self.assertEqual([q for q in o.queries() if q[1].startswith("h")], [])

    def test_long_lines_and_many_clients(self):
        proc = self.start()
        c = self.subscribed()
        q = c.event("question")
        bad = self.connect()
        bad.sock.sendall(b"x" * 5000)
        with contextlib.suppress(ConnectionResetError):
            self.assertIsNone(bad.read())
        more = [self.connect() for _ in range(15)]
        self.assertTrue(all(m.hello for m in more))
        with contextlib.suppress(OSError):
            self.assertIsNone(self.connect().hello)
        c.say(op="answer", id=q["id"], verdict="allow")
        out, err = proc.communicate(timeout=20)
        self.assertEqual(out, HELLO, err)

    def test_only_the_user_gets_in(self):
        self.start()
        path = self.socket_path()
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(os.path.dirname(path)).st_mode & 0o777, 0o700)
        other = socket.socket(socket.AF_UNIX)
        other.settimeout(20)
        other.connect(path)  # root passes the mode, and is not the run's user
        self.assertEqual(other.recv(100), b"")
        other.close()
        self.assertTrue(self.connect().hello)

    def test_the_command_cannot_reach_it(self):
        probe = ("import glob,socket,sys\n"
                 "found=glob.glob(%r)\n"
                 "for p in found + [sys.argv[1]]:\n"
                 " try:\n"
                 "  s=socket.socket(socket.AF_UNIX); s.connect(p); print('REACHED', p)\n"
                 " except OSError as e: print('no', e.errno)\n" % self.state("run", "*"))
        box = {}

        def later():
            box["path"] = self.socket_path()
        t = threading.Thread(target=later)
        t.start()
        waits = self.start(command=["sh", "-c", "curl -sS %s" % URL])
        t.join()
        options = [["--ask", "control"]]
        if self.w.has("--fs") and self.w.has("--allow-unix-sockets"):
            options.append(["--ask", "control", "--fs", "off", "--allow-unix-sockets"])
        for opts in options:
            with self.subTest(opts):
                done = self.w.sbx_run(opts, ["/usr/bin/python3", "-c", probe, box["path"]])
                self.assertNotIn("REACHED", done.stdout)
                self.assertIn("no ", done.stdout, done.stderr)
        c = self.subscribed()  # the twin: from outside it is there
        c.say(op="answer", id=c.event("question")["id"], verdict="deny")
        waits.communicate(timeout=20)

    ANSWERS = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(5)
s.connect(sys.argv[1])
try:
    for i in range(1, 9):
        s.send(b'{"op":"answer","id":%d,"verdict":"allow","scope":"forever"}\\n' % i)
except OSError:
    pass
try:
    said = s.recv(4096)
except ConnectionResetError:
    said = b""
print("LET IN" if said else "not let in", said)
"""

    def test_the_command_of_another_run_is_not_let_in(self):
        """It sees the socket: its run was started with other variables, and given unix sockets."""
        runtime = os.path.join(self.w.home, "runtime")
        self.w.run(["mkdir", "-m", "700", runtime], cwd="/")
        self.addCleanup(self.w.run, ["rm", "-rf", runtime], cwd="/")
        proc = self.start(env={**self.w.env(), "XDG_RUNTIME_DIR": runtime})
        end = time.monotonic() + 20
        while not (found := glob.glob(runtime + "/sbx-net-runs/*.sock")):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        c = self.connect(found[0])  # the twin
        c.say(op="subscribe")
        q = c.event("question")
        done = self.w.sbx_run(["--allow-unix-sockets", "--fs", "off"],
                              ["/usr/bin/python3", "-c", self.ANSWERS, found[0]])
        self.assertIn("not let in", done.stdout, done.stderr)
        self.assertFalse(os.path.exists(self.state("answers")))
        c.say(op="list")
        self.assertEqual(c.event("question")["id"], q["id"])  # it stands
        c.say(op="answer", id=q["id"], verdict="allow")
        out, err = proc.communicate(timeout=20)
        self.assertEqual(out, HELLO, err)
        self.assertEqual(err.count("another network namespace"), 1, err)

    def test_stale_sockets_are_removed(self):
        proc = self.start()
        path = self.socket_path()
        os.killpg(proc.pid, signal.SIGKILL)
        proc.communicate()
        self.assertTrue(os.path.exists(path))
        proc = self.start()
        for _ in range(500):
            found = glob.glob(self.state("run", "*.sock"))
            if found and path not in found:
                break
            time.sleep(0.02)
        self.assertNotIn(path, glob.glob(self.state("run", "*.sock")))

    def test_approvals_prints_and_answers(self):
        proc = self.start()
        self.socket_path()
        done = self.w.popen([self.w.sbx, "approvals"], stdout=subprocess.PIPE, encoding="utf-8")
        line = done.stdout.readline()
        self.assertIn("good.example:80", line)
        done.kill()
        done.communicate()
        out, err = proc.communicate(timeout=20)  # its only client was lost
        self.assertEqual(out, "", err)
        master, slave = os.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        proc = self.start()
        self.socket_path()
        before = termios.tcgetattr(slave)
        client = self.w.popen([self.w.sbx, "approvals"], stdin=slave, stdout=slave)
        seen = b""
        while b" > " not in seen:
            seen += os.read(master, 65536)
        self.assertIn(b"good.example:80", seen)
        os.write(master, b"ao")
        out, err = proc.communicate(timeout=20)
        self.assertEqual(out, HELLO, err)
        self.assertEqual(client.wait(timeout=20), 0)
        self.assertEqual(termios.tcgetattr(slave), before)
        done = self.w.run([self.w.sbx, "approvals"])
        self.assertEqual(done.returncode, 1)

    def approvals(self, *options, **kw):
        t = Terminal(self.w, [self.w.sbx, "approvals", *options], **kw)
        self.addCleanup(t.close)
        return t

    def test_approvals_takes_no_words_that_were_being_typed(self):
        """As at the run's own terminal: what is typed as the card comes up is no answer."""
        o = self.w.oracle()
        proc = self.start()
        self.subscribed()  # so that the end of another client is no answer
        t = self.in_time(self.approvals)
        t.expect(" deny")  # spelt out: from now on they count
        self.assertIsNone(proc.poll())
        self.assertQuiet(o)
        t.send("d")
        t.expect("deny once")
        t.send("o")
        out, err = proc.communicate(timeout=20)
        self.assertEqual(out, "", err)
        t.expect("denied good.example:80 once (control:approvals)")
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.modes(), t.before)

    def test_approvals_waits_for_no_key_that_it_threw_away(self):
        """One that was typed as the question came: the card goes on by itself."""
        proc = self.start(command=["sh", "-c", "while ! [ -e go ]; do sleep 0.05; done; " +
                                   " ".join(self.curl("-f", URL))])
        self.socket_path()
        t = self.approvals()
        t.expect("q ends this")
        c = self.subscribed()
        t.proc.send_signal(signal.SIGSTOP)
        t.send("x")
        self.go()
        self.assertEqual(c.event("question")["target"], "good.example:80")
        t.proc.send_signal(signal.SIGCONT)
        t.expect(" deny")
        t.send("do")
        self.assertEqual(proc.communicate(timeout=20)[0], "")
        self.assertEqual(t.wait(), 0)

    def test_approvals_stops_and_goes_on(self):
        """Ctrl-Z gives the shell its terminal back; a new look needs a new pause."""
        proc = self.start()
        self.socket_path()
        t = self.approvals(job=True)
        t.expect(" deny")
        t.send("a\x1a")
        job = t.stopped()
        self.assertEqual(t.modes(), t.before)
        t.text = ""
        t.send("o\n")  # half an answer before, half an answer meanwhile
        os.kill(job, signal.SIGCONT)
        t.expect(" deny")
        self.assertIsNone(proc.poll())
        t.send("ao")
        out, err = proc.communicate(timeout=20)
        self.assertEqual(out, HELLO, err)
        self.assertEqual(t.wait(), 0)
        self.assertEqual(t.modes(), t.before)

    def test_approvals_goes_on_where_no_shell_would_wake_it(self):
        proc = self.start()
        self.socket_path()
        t = self.approvals()
        t.expect(" deny")
        t.send("\x1a")
        t.expect(" deny")
        t.send("ao")
        out, err = proc.communicate(timeout=20)
        self.assertEqual(out, HELLO, err)
        self.assertEqual(t.wait(), 0)

    def test_approvals_draws_anew_and_keeps_to_the_width(self):
        proc = self.start()
        self.socket_path()
        t = self.approvals(cols=100)
        t.expect(" deny")
        t.resize(50)
        seen = t.expect(" deny")
        self.assertIn("good.example:80", seen)
        lines = seen.split("\n")[:-1]  # the last one is drawn again in its place
        self.assertTrue(all(len(x) <= 50 for x in lines), seen)
        t.send("do")
        proc.communicate(timeout=20)
        self.assertEqual(t.wait(), 0)

    def test_approvals_follow_and_session(self):
        """One that stays finds runs that start later; one that is told a run leaves others alone."""
        done = self.w.run([self.w.sbx, "approvals", "--session", "nobody"])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("under that session", done.stderr)
        live = self.w.popen([self.w.sbx, "approvals", "--follow"], stdout=subprocess.PIPE,
                            encoding="utf-8")
        self.addCleanup(live.kill)
        for host in ("good.example", "other.example"):
            proc = self.start(command=self.curl("http://%s/" % host))
            path = self.socket_path()
            name, number, target = live.stdout.readline().split()[:3]
            self.assertEqual((name + ".sock", target), (os.path.basename(path), host + ":80"))
            one = self.w.popen([self.w.sbx, "approvals", "--session", name],
                               stdout=subprocess.PIPE, encoding="utf-8")
            self.assertEqual(one.stdout.readline().split()[:3], [name, number, target])
            c = self.connect()
            c.say(op="answer", id=int(number), verdict="deny", scope="once")
            proc.communicate(timeout=20)
            self.assertIn(target, one.communicate(timeout=20)[0])
            self.assertIn(target, live.stdout.readline())
            self.assertEqual(one.returncode, 0)
        self.assertIsNone(live.poll())
        live.send_signal(signal.SIGTERM)
        self.assertEqual(live.wait(20), 0)
        live.stdout.close()


class Memory(AskCase):
    def fetch(self, body, *options, **kw):
        """Whether the page came, with a program that answers so; None: nobody is asked."""
        ask = "never" if body is None else "exec:" + self.script("mem.sh", body)
        done = self.w.sbx_run(["--ask", ask, *options], self.curl("-f", URL), **kw)
        return done.stdout == HELLO

    def elsewhere(self):
        path = os.path.join(self.w.ws, "elsewhere")
        os.makedirs(path, exist_ok=True)
        os.chown(path, self.w.uid, self.w.uid)
        return path

    def test_forever(self):
        self.assertTrue(self.fetch("echo allow forever"))
        self.assertTrue(self.fetch("exit 1"))
        self.assertTrue(self.fetch(None))
        self.assertTrue(self.fetch(None, cwd=self.elsewhere()))
        with open(self.state("answers"), encoding="utf-8") as f:
            stored = json.loads(f.read())
        self.assertEqual((stored["pattern"], stored["verdict"], stored["project"]),
                         ("good.example:80", "allow", "*"))
        self.assertEqual(os.stat(self.state("answers")).st_mode & 0o777, 0o600)

    def test_a_full_disk_keeps_the_answers_that_were_there(self):
        """The answer holds for the run, and the person hears that it holds no longer."""
        ask = self.script("mem.sh", "echo allow forever")
        run = ("%s run --no-config --audit fd:2 --ask exec:%s -- curl -s -o /dev/null -w '%%%%{http_code}\\n' "
               "http://%%s/" % (self.w.sbx, ask))
        script = "; ".join([
            "mount -t tmpfs -o size=8k,mode=700 none /mnt", "export XDG_STATE_HOME=/mnt",
            run % "good.example", "cp /mnt/sbx-net/answers /tmp/answers.$$",
            "head -c 4096 /dev/zero > /mnt/fill", run % "www.example",
            "cmp /mnt/sbx-net/answers /tmp/answers.$$ && echo same", "rm /tmp/answers.$$",
            "ls /mnt/sbx-net"])
        done = self.w.run(["unshare", "-m", "sh", "-c", script], uid=0)
        self.assertEqual(done.stdout.split(), ["200", "200", "same", "answers", "lock", "run"],
                         done.stderr)
        self.assertEqual(done.stderr.count("holds for this run only"), 1)
        answers = [json.loads(x) for x in done.stderr.splitlines() if x.startswith('{"event":"answer"')]
        self.assertEqual([x["scope"] for x in answers], ["forever", "run"])

    def test_why_knows(self):
        why = [self.w.sbx, "why", "--no-config", "good.example:80"]
        self.assertEqual(self.w.run(why).returncode, 1)
        self.assertTrue(self.fetch("echo allow forever"))
        done = self.w.run(why)
        self.assertEqual(done.returncode, 0)
        self.assertIn("answered for every run", done.stdout)
        self.assertEqual(self.w.run([*why[:2], "--strict", *why[2:]]).returncode, 1)

    def test_never(self):
        self.assertFalse(self.fetch("echo deny forever"))
        self.assertFalse(self.fetch("exit 0"))
        self.assertTrue(self.fetch("exit 0", "-a", "good.example"))  # a list comes first

    def test_project(self):
        self.assertTrue(self.fetch("echo allow project"))
        self.assertTrue(self.fetch(None))
        self.assertFalse(self.fetch(None, cwd=self.elsewhere()))

    def test_only_what_was_asked(self):
        self.assertTrue(self.fetch("echo allow forever"))
        for url in ("http://good.example:8080/", "http://other.example/"):
            done = self.w.sbx_run([], self.curl("-f", url))
            self.assertNotEqual(done.returncode, 0)

    def test_lists_and_strictness_come_first(self):
        self.assertTrue(self.fetch("echo allow forever"))
        for options in (["-d", "good.example"], ["--strict"], ["--only", "other.example"]):
            with self.subTest(options):
                self.assertFalse(self.fetch(None, *options))
        self.assertTrue(self.fetch(None))

    def test_for_a_while(self):
        self.assertTrue(self.fetch("echo allow 2s"))
        with open(self.state("answers"), encoding="utf-8") as f:
            stored = json.loads(f.read())
        self.assertEqual(stored["until"] - stored["when"], 2)
        time.sleep(max(0, stored["until"] - time.time()) + 0.1)
        self.assertFalse(self.fetch(None))
        self.assertTrue(self.fetch("echo allow 1h"))
        self.assertTrue(self.fetch(None))

    def test_list_and_revoke(self):
        self.assertIn("nothing is remembered", self.grants("list").stdout)
        self.assertTrue(self.fetch("echo allow forever"))
        self.assertIn("allow good.example:80", self.grants("list").stdout)
        for other in ("other.example:80", "good.example:8", "good.exampl", "good.example:", ""):
            done = self.grants("revoke", other)
            self.assertEqual((done.returncode, done.stdout), (1, ""), other)
            self.assertIn("nothing revoked", done.stderr)
        self.assertEqual(self.grants("revoke", "good.example:80").returncode, 0)
        self.assertIn("nothing is remembered", self.grants("list").stdout)
        self.assertTrue(self.fetch("echo allow forever"))
        self.assertEqual(self.grants("revoke", "good.example").stdout, "1 answer revoked\n")
        self.assertIn("nothing is remembered", self.grants("list").stdout)
        self.assertFalse(self.fetch(None))
        self.assertTrue(self.fetch("echo allow project"))
        self.assertEqual(self.grants("revoke", "--all").returncode, 0)
        self.assertFalse(self.fetch(None))
        for bad in ([], ["list", "x"], ["revoke"], ["revoke", "--al"], ["forget"]):
            self.assertEqual(self.grants(*bad).returncode, 64)

    def test_revoking_reaches_a_run_under_way(self):
        self.assertTrue(self.fetch("echo allow forever"))
        script = "curl -sS %s; touch %s; while [ -e %s ]; do sleep 0.05; done; " \
                 "while curl -s -f -o /dev/null %s; do sleep 0.1; done; curl -sS -f %s" % (
                     URL, os.path.join(self.w.ws, "one"), os.path.join(self.w.ws, "one"), URL, URL)
        proc = self.w.popen(self.w.sbx_argv([], ["sh", "-c", script]), stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, encoding="utf-8")
        while not os.path.exists(os.path.join(self.w.ws, "one")):
            self.assertIsNone(proc.poll())
            time.sleep(0.02)
        self.assertEqual(self.grants("revoke", "--all").returncode, 0)
        os.unlink(os.path.join(self.w.ws, "one"))
        out, err = proc.communicate(timeout=20)
        self.assertEqual((out, proc.returncode), (HELLO, 22), err)

    def test_two_runs_lose_nothing(self):
        ask = self.script("mem.sh", "echo allow forever")
        hosts = ["good.example", "other.example", "www.example", "wild.example"]
        procs = []
        for host in hosts:
            ports = "; ".join("curl -s -o /dev/null --max-time 10 http://%s:%d/" % (host, port)
                              for port in range(9000, 9008))
            procs.append(self.w.popen(self.w.sbx_argv(["-q", "--ask", "exec:" + ask],
                                                      ["sh", "-c", ports])))
        for p in procs:
            p.wait(timeout=60)
        with open(self.state("answers"), encoding="utf-8") as f:
            stored = {json.loads(x)["pattern"] for x in f}
        self.assertEqual(stored, {"%s:%d" % (h, p) for h in hosts for p in range(9000, 9008)})

    def test_broken_lines_are_kept_and_ignored(self):
        self.assertTrue(self.fetch("echo allow forever"))
        with open(self.state("answers"), "a", encoding="utf-8") as f:
            f.write("{\"pattern\":\"*:80\",\"verdict\":\"allow\"}\nnonsense\n")
        self.assertTrue(self.fetch(None))
        done = self.w.sbx_run([], self.curl("-f", "http://other.example/"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("line 2 of the remembered answers is ignored", done.stderr)
        self.assertEqual(self.grants("revoke", "--all").returncode, 0)
        with open(self.state("answers"), encoding="utf-8") as f:
            self.assertEqual(len(f.read().splitlines()), 2)

    def test_the_command_cannot_write_it(self):
        self.assertTrue(self.fetch("echo allow forever"))
        done = self.w.sbx_run([], ["sh", "-c", "cat %s; echo x >>%s; ls %s" % (
            self.state("answers"), self.state("answers"), self.state())])
        self.assertNotIn("good.example", done.stdout)
        with open(self.state("answers"), encoding="utf-8") as f:
            self.assertEqual(len(f.read().splitlines()), 1)


if __name__ == "__main__":
    main()

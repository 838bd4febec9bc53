#!/usr/bin/python3
"""Interactive commands on a terminal of their own, relayed to the caller's."""
import contextlib
import errno
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from screen import Screen  # noqa: E402
from terminal import LEADER  # noqa: E402

SBX_NET = os.environ.get("SBX_NET", "sbx-net")
# before a line of ours: the end of a string, and what leads back to the screen
HERE = b"\x1b\\\x1b\\\x1b<\x1b[4i\x1b[0$}\x1b[?64h"
LIMIT = 20


def environment(cwd):
    return {"PATH": os.environ["PATH"], "HOME": os.path.dirname(cwd) + "/home", "TERM": "xterm",
            "LC_ALL": "C"}


class Terminal:
    """A pseudo-terminal and the program that has it as its controlling one."""

    def __init__(self, argv, cwd, rows=33, cols=91, stderr=None):
        self.master, self.slave = pty.openpty()
        self.resize(rows, cols)
        self.before = termios.tcgetattr(self.slave)
        self.seen = b""
        self.process = subprocess.Popen(argv, cwd=cwd, env=environment(cwd), stdin=self.slave,
                                        stdout=self.slave, stderr=stderr or self.slave,
                                        preexec_fn=self.take)

    def take(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for sig in (signal.SIGINT, signal.SIGQUIT):  # a test that was itself started with '&' ignores them
            signal.signal(sig, signal.SIG_DFL)

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def type(self, text):
        os.write(self.master, text)

    def read_until(self, what):
        """What was printed up to and with @what, with no longer silence before it than LIMIT."""
        deadline = time.monotonic() + LIMIT
        while what not in self.seen and time.monotonic() < deadline:
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 4096)
                deadline = time.monotonic() + LIMIT
            elif self.process.poll() is not None:
                break
        found, sep, self.seen = self.seen.partition(what)
        if not sep:
            raise AssertionError("no %r in %r" % (what, found[-2000:]))
        return found

    def restored(self):
        return termios.tcgetattr(self.slave) == self.before

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()

    def hang_up(self):
        """The window is closed; the slave stays open here, and is of no use to anybody."""
        if self.master < 0:
            return
        os.close(self.master)
        self.master = -1
        os.close(self.slave)


class Case(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="sbx-terminal.", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.work, True)
        self.work += "/work"
        os.mkdir(self.work)
        os.mkdir(os.path.dirname(self.work) + "/home")

    def start(self, *command, options=(), stderr=None):
        t = Terminal([SBX_NET, "run", "--no-config", "--ask", "never", *options, "--", *command],
                     self.work, stderr=stderr)
        self.addCleanup(t.close)
        return t

    def shell(self):
        t = self.start("bash", "--norc", "--noprofile", "--noediting", "-i")
        t.type(b"PS1='ready''> '\n")
        t.read_until(b"ready> ")
        return t

    def end(self, t, status):
        self.assertEqual(t.process.wait(LIMIT), status)
        self.assertTrue(t.restored())


class Test(Case):
    def test_shell_has_its_own_terminal(self):
        t = self.shell()
        self.assertFalse(t.restored())
        t.type(b"tty; readlink /proc/self/fd/1; ps -o tty= -p $$; stty size; exit 7\n")
        out = t.read_until(b"33 91")
        self.assertIn(b"/dev/pts/0", out)
        self.end(t, 7)

    def test_terminals_that_a_command_makes_are_bounded(self):
        """They are counted for all of the machine; twin: some of them it has."""
        program = "import os\nn = 0\ntry:\n    while n < 600:\n        os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY)\n" \
                  "        n += 1\nexcept OSError as e:\n    print(e.errno, flush=True)\nprint(n)"
        p = subprocess.run([SBX_NET, "run", "--no-config", "--ask", "never", "--", "/usr/bin/python3", "-c", program],
                           cwd=self.work, env=environment(self.work), stdin=subprocess.DEVNULL, timeout=LIMIT,
                           stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(p.stdout.split(), [str(errno.ENOSPC), "256"])

    def test_shell_does_job_control(self):
        t = self.shell()
        # one process: a shell that is just starting another may not stop (vfork)
        t.type(b"python3 -c 'import os, signal as s; "
               b"s.signal(s.SIGCONT, lambda *a: os.write(1, b\"on\" + b\"again\")); "
               b"os.write(1, b\"ru\" + b\"ns\"); [s.pause() for _ in iter(int, 1)]'\n")
        t.read_until(b"runs")
        t.type(b"\x1a")
        t.read_until(b"Stopped")
        t.read_until(b"ready> ")
        t.type(b"fg\n")
        t.read_until(b"onagain")
        t.type(b"\x03")
        t.read_until(b"ready> ")
        t.type(b"exit 5\n")
        self.end(t, 5)

    def test_window_size_follows(self):
        t = self.start("sh", "-c", "trap 'stty size; echo resized' WINCH; echo up;"
                       " while :; do read x && exit 3; done")
        t.read_until(b"up")
        t.resize(20, 60)
        self.assertIn(b"20 60", t.read_until(b"resized"))
        t.type(b"\n\n")
        self.end(t, 3)

    def test_interrupt_comes_once(self):
        """And so does the next one; what is typed after both comes after both."""
        # a signal that comes right before a call that waits would be heard of behind it only
        code = ("import os, select, signal, time\n"
                "n = []\n"
                "def hit(*a):\n"
                "    n.append(1)\n"
                "    os.write(1, b'hit %d\\n' % len(n))  # print() may be what it interrupts\n"
                "r, w = os.pipe()\n"
                "os.set_blocking(w, False)\n"
                "signal.set_wakeup_fd(w)\n"
                "signal.signal(signal.SIGINT, hit)\n"
                "os.write(1, b'up\\n')\n"
                "while 0 not in select.select([0, r], [], [])[0]:\n"
                "    os.read(r, 1)\n"
                "input()\n"
                "time.sleep(0.3)\n"
                "print('count', len(n), 'end')\n")
        t = self.start("python3", "-c", code)
        t.read_until(b"up")
        for hit in (b"hit 1\r\n", b"hit 2\r\n"):
            t.type(b"\x03")
            t.read_until(hit)
        t.type(b"\n")
        t.read_until(b"count 2 end")
        self.end(t, 0)

    def test_raw_mode_passes_every_byte(self):
        code = ("import os, sys, tty\n"
                "tty.setraw(0)\n"
                "os.write(1, b'up')\n"
                "got = b''\n"
                "while len(got) < 32: got += os.read(0, 64)\n"
                "os.write(1, b'bare\\n' + got.hex().encode() + b'end')\n")
        t = self.start("python3", "-c", code)
        t.read_until(b"up")
        t.type(bytes(range(32)))
        out = t.read_until(b"end")
        self.assertIn(b"bare\n" + bytes(range(32)).hex().encode(), out)  # no CR was added
        self.end(t, 0)

    def test_full_screen_programs(self):
        with open(self.work + "/text", "w") as f:
            f.writelines("line %d\n" % i for i in range(200))
        if shutil.which("less"):
            t = self.start("less", "text")
            t.read_until(b"line 31")
            t.type(b"G")
            t.read_until(b"line 199")
            t.type(b"q")
            self.end(t, 0)
        if shutil.which("vi"):
            t = self.start("vi", "new")
            t.type(b"iwritten inside\x1b:wq\r")
            self.end(t, 0)
            with open(self.work + "/new") as f:
                self.assertEqual(f.read(), "written inside\n")
        if shutil.which("top"):
            t = self.start("top")
            t.read_until(b"COMMAND")
            t.type(b"q")
            self.end(t, 0)

    def test_end_of_input(self):
        t = self.start("cat")
        t.type(b"one\n")
        t.read_until(b"one\r\none")
        t.type(b"\x04")
        self.end(t, 0)

    def test_all_output_arrives(self):
        t = self.start("sh", "-c", "seq 1 20000; echo last")
        self.assertIn(b"\r\n19999\r\n20000\r\n", t.read_until(b"last"))
        self.end(t, 0)

    def paste(self, t, text):
        """What has come back when all of @text has been typed, as a window does it: both ways at once"""
        os.set_blocking(t.master, False)
        back, deadline = b"", time.monotonic() + LIMIT
        while text and time.monotonic() < deadline:
            read, write, _ = select.select([t.master], [t.master], [], 0.1)
            if read:
                back += os.read(t.master, 65536)
                deadline = time.monotonic() + LIMIT
            if write:
                with contextlib.suppress(BlockingIOError):
                    text = text[os.write(t.master, text[:4096]):]
                    deadline = time.monotonic() + LIMIT
        os.set_blocking(t.master, True)
        self.assertEqual(len(text), 0, "the terminal takes no more")
        return back

    def test_more_is_pasted_than_a_terminal_holds(self):
        """the command writes while it reads: neither waits for the relay for ever"""
        lines = b"".join(b"%061d\n" % i for i in range(4000)) + b"the end\n"
        t = self.start("sh", "-c", "stty -echo; echo go; exec cat")
        t.read_until(b"go\r\n")
        t.seen += self.paste(t, lines)
        back = t.read_until(b"the end\r\n") + b"the end\r\n"
        self.assertEqual(back, lines.replace(b"\n", b"\r\n"))
        t.type(b"\x04")
        self.end(t, 0)

    def test_the_interrupt_key_after_more_than_a_terminal_holds(self):
        t = self.start("sh", "-c", "stty -echo -icanon; echo go; exec sleep 600")
        t.read_until(b"go\r\n")
        self.paste(t, b"x" * 3000)
        t.type(b"\x03")
        self.end(t, 128 + signal.SIGINT)

    FLOOD = """
import os, time, tty
tty.setraw(0)
if os.fork() == 0:
    for i in range(2000): os.write(1, b"\\x1b[6n" * 50)
    time.sleep(600)
time.sleep(%d)
"""

    def answer(self, t, seconds, enough=1 << 30):
        """What every terminal does: each question is answered, at once. Return: how many were"""
        os.set_blocking(t.master, False)
        answers, given, deadline = b"", 0, time.monotonic() + seconds
        while time.monotonic() < deadline and given < enough and t.process.poll() is None:
            read, write, _ = select.select([t.master], [t.master] if answers else [], [], 0.1)
            if read:
                with contextlib.suppress(OSError):
                    asked = os.read(t.master, 4096).count(b"\x1b[6n")
                    answers += b"\x1b[1;1R" * asked
                    given += asked
            if write:
                with contextlib.suppress(BlockingIOError):
                    answers = answers[os.write(t.master, answers[:4096]):]
        return given

    def test_answers_of_the_terminal_that_nobody_reads(self):
        """the run ends with its command all the same, and when it is told to"""
        t = self.start("python3", "-c", self.FLOOD % 2)
        self.assertGreater(self.answer(t, LIMIT), 1000)
        self.assertEqual(t.process.wait(LIMIT), 0)
        t = self.start("python3", "-c", self.FLOOD % 600)
        self.assertGreater(self.answer(t, LIMIT, 1001), 1000)
        t.process.terminate()
        self.answer(t, LIMIT)
        self.assertEqual(t.process.wait(LIMIT), 143)
        self.assertEqual(self.at(t), [])

    def at(self, t, besides=b"-"):
        """The processes that have the terminal as their controlling one, in the end"""
        device, deadline = os.fstat(t.slave).st_rdev, time.monotonic() + LIMIT
        while True:
            found = []
            for pid in filter(str.isdigit, os.listdir("/proc")):
                with contextlib.suppress(OSError, IndexError):
                    with open("/proc/%s/stat" % pid, "rb") as f:
                        stat = f.read()
                    fields = stat.rpartition(b")")[2].split()
                    if int(fields[4]) & 0xffffffff == device and fields[0] != b"Z" and besides not in stat:
                        found.append(stat[:40])
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.05)

    def test_a_terminal_that_takes_nothing_keeps_nobody(self):
        """C6: not the relay either, which is writing there when everything else has been killed"""
        run = [SBX_NET, "run", "--no-config", "--ask", "never", "--", "yes"]
        for sig in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(sig):
                # its shell stays: the terminal goes with the session
                t = Terminal(["sh", "-c", "exec 3<&0; " + '"$@" <&3 & echo $! > pid; wait; exec sleep 600',
                              "sh", *run], self.work)
                self.addCleanup(t.close)
                time.sleep(1)
                with open(self.work + "/pid", encoding="ascii") as f:
                    pid = int(f.read())
                os.kill(pid, sig)
                if sig == signal.SIGTERM:
                    time.sleep(1)  # it waits for what is left to be shown, until it is told once more
                    os.kill(pid, sig)
                self.assertEqual(self.at(t, besides=b"(sleep)"), [])

    def test_a_terminal_that_another_program_has_made_non_blocking(self):
        """The mode is of what the shell has lent to all of its programs; ssh and others leave it behind."""
        t = self.start("sh", "-c", "echo go; read x; seq 1 60000; echo last")
        t.read_until(b"go\r\n")
        fcntl.fcntl(t.slave, fcntl.F_SETFL, os.O_RDWR | os.O_NONBLOCK)
        t.type(b"\n")
        time.sleep(1)  # a window that does not draw for a moment: nothing more fits
        out = t.read_until(b"last")
        self.assertEqual(out[out.index(b"1\r\n"):], b"".join(b"%d\r\n" % i for i in range(1, 60001)))
        self.end(t, 0)

    def test_refusal_lines_start_at_the_left(self):
        code = ("import socket\n"
                "s = socket.create_connection(('127.0.0.1', 3128))\n"
                "s.sendall(b'CONNECT evil.example:443 HTTP/1.1\\r\\nHost: evil.example\\r\\n\\r\\n')\n"
                "s.recv(100)\n"
                "print('done')\n")
        t = self.start("python3", "-c", code)
        self.assertRegex(t.read_until(b"done"), rb"sbx-net: refused evil.example:443[^\r\n]*\r\n")
        self.end(t, 0)

    REFUSED = ("exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT evil.example:%d HTTP/1.1\\r\\n"
               "Host: evil.example\\r\\n\\r\\n' >&3; cat <&3 >/dev/null; ")

    def test_refusal_lines_are_glued_to_nothing(self):
        """A line that the command has begun is ended first, and only then."""
        begun = ((b"working... ", b"\r\n"), (b"done\\n", b"\r"), (b"\\033[33mspin\\033[0m", b"\r\n"),
                 (b"spin\\r\\033[K", b"\r"), (b"\\033]0;title\\a", b"\r"), (b"half", b"\r\n"))
        script = "stty -echo; echo up; "
        for port, (text, _) in enumerate(begun, 1):
            # what was begun has been relayed when the key comes
            script += "printf '%s'; read -r x; %s" % (text.decode(), self.REFUSED % port)
        t = self.start("bash", "-c", script)
        t.read_until(b"up\r\n")
        for port, (text, lead) in enumerate(begun, 1):
            text = text.decode("unicode-escape").encode().replace(b"\n", b"\r\n")
            self.assertEqual(t.read_until(text), b"")
            t.type(b"\n")
            self.assertEqual(t.read_until(b"sbx-net: refused evil.example:%d " % port), HERE + lead)
            t.read_until(b"allow with: --allow evil.example:%d\r\n" % port)
        self.assertEqual(t.read_until(b"sbx-net: 6 refusals, 6 targets:"), HERE + b"\r\x1b[0m")
        self.end(t, 0)

    def test_the_summary_is_glued_to_nothing(self):
        t = self.start("bash", "-c", (self.REFUSED % 1) + (self.REFUSED % 2) + "printf half")
        t.read_until(b"evil.example:2\r\n")
        self.assertRegex(t.read_until(b"sbx-net: 2 refusals, 2 targets:"),
                         b"^half" + re.escape(HERE) + rb"\r\n\x1b\[0m$")
        self.end(t, 0)

    def test_the_summary_is_not_hidden(self):
        """The command may end in letters that nobody sees; a line while it runs leaves it its colours."""
        script = "printf '\\033[8m'; " + (self.REFUSED % 1) + (self.REFUSED % 2)
        t = self.start("bash", "-c", script)
        self.assertNotIn(b"\x1b[0m", t.read_until(b"evil.example:2\r\n"))
        self.assertIn(b"\x1b[0m", t.read_until(b"sbx-net: 2 refusals, 2 targets:"))
        self.end(t, 0)

    BEGUN = ("\\033Pz", "\\033]0;z", "\\033_z", "\\033^z", "\\033Xz", "\\033Pz\\033", "\\033[1", "")

    def test_lines_are_in_sight_whatever_the_command_has_begun(self):
        """Neither a refusal nor the summary becomes a part of a string without an end."""
        for begun in self.BEGUN:
            with self.subTest(begun):
                script = ("printf '%s'; " % begun) + (self.REFUSED % 1)
                t = self.start("bash", "-c", script + script + (self.REFUSED % 2) +
                               "printf '%s'" % begun)
                self.see_lines(t.read_until(b"evil.example:1 --allow evil.example:2\r\n"))
                self.end(t, 0)

    def see_lines(self, text):
        lines = Screen((text + b"end").decode()).lines()
        for what in ("refused evil.example:1 (", "refused evil.example:2 (", "3 refusals, 2 targets:",
                     "     2x evil.example:1 ("):
            self.assertEqual(len([x for x in lines if x.startswith("sbx-net: " + what)]), 1, lines)

    def test_refusal_lines_are_glued_to_nothing_without_a_relay(self):
        """The column is nobody's to know: a line of blanks stays in an empty line, and leaves others."""
        seen = self.without_relay("printf 'half' >&2; " + self.REFUSED % 1, 20)
        self.assertRegex(seen, b"^half" + re.escape(HERE) +
                         rb" {20}\rsbx-net: refused evil.example:1 [^\r\n]*\r\n")

    def test_lines_are_in_sight_without_a_relay(self):
        for begun in self.BEGUN:
            with self.subTest(begun):
                script = "printf '%s' >&2; " % begun
                self.see_lines(self.without_relay(script + (self.REFUSED % 1) * 2 + script +
                                                  (self.REFUSED % 2) + script, 80))

    def without_relay(self, script, columns):
        """What a terminal gets that is the command's standard error alone."""
        master, slave = pty.openpty()
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        with open(self.work + "/out", "wb") as out:
            p = subprocess.Popen([SBX_NET, "run", "--no-config", "--", "bash", "-c", script],
                                 cwd=self.work, stdout=out, stdin=subprocess.DEVNULL, stderr=slave,
                                 env=environment(self.work), start_new_session=True)
        os.close(slave)
        seen = b""
        with contextlib.suppress(OSError):  # EIO: nobody has it open any more
            while True:
                data = os.read(master, 4096)
                if not data:
                    break
                seen += data
        os.close(master)
        self.assertEqual(p.wait(LIMIT), 0)
        return seen

    def test_a_redirected_standard_error_has_plain_lines(self):
        with open(self.work + "/err", "wb") as err:
            t = self.start("bash", "-c", "printf 'half'; " + self.REFUSED % 1 + "exit 5", stderr=err)
        self.end(t, 5)
        with open(self.work + "/err", "rb") as f:
            self.assertRegex(f.read(), rb"^sbx-net: refused evil.example:1 [^\r\n]*\n$")

    def test_restored_after_our_failure(self):
        self.end(self.start("no-such-program-at-all"), 127)
        self.end(self.start("true", options=["--read", "missing"]), 125)
        self.end(self.start("true", options=["--pin-sha256", "0" * 64]), 125)

    def test_restored_after_two_at_a_time(self):
        """The second finds the raw modes of the first, and ends behind it, or before"""
        for first, second in (("1", "2"), ("3", "1")):
            with self.subTest(first=first):
                t = Terminal(["bash", "-c", 'exec 3<&0; "$@" sleep %s <&3 & sleep 0.5; "$@" sleep %s; wait; '
                              "echo over; read -r a" % (first, second), "sh", SBX_NET, "run", "--no-config",
                              "--ask", "never", "--"], self.work)
                self.addCleanup(t.close)
                time.sleep(0.4)
                t.read_until(b"over")
                self.assertEqual(self.looks(t)[0], t.before)

    def test_restored_after_kills(self):
        t = self.start("sh", "-c", "stty raw; echo up; kill -9 $$")
        t.read_until(b"up")
        self.end(t, 128 + signal.SIGKILL)
        t = self.start("sh", "-c", "stty raw; echo up; sleep 600")
        t.read_until(b"up")
        t.process.kill()
        t.process.wait()
        deadline = time.monotonic() + LIMIT
        while not t.restored() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertTrue(t.restored())

    SPOIL = """
import fcntl, os, sys, termios
modes = termios.tcgetattr(0)
modes[3] &= ~(termios.ECHO | termios.ICANON)
modes[6][termios.VINTR] = b"x"
termios.tcsetattr(0, termios.TCSANOW, modes)
os.fchmod(0, 0o666)
fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND)
print("spoilt", file=sys.stderr, flush=True)
if len(sys.argv) > 1:
    os.execvp("sleep", ["sleep", "600"])
"""

    def looks(self, t):
        return (termios.tcgetattr(t.slave), os.fstat(t.slave).st_mode,
                fcntl.fcntl(t.slave, fcntl.F_GETFL))

    def spoil(self, *arguments, bare=False, stdout=None):
        """A command that has the terminal without a relay, and how that looked before it."""
        argv = ["/usr/bin/python3", "-c", self.SPOIL, *arguments]
        if not bare:
            argv = [SBX_NET, "run", "--no-config", "--ask", "never", "--", *argv]
        # the shell's part: it lends its terminal, and looks at it again when the job is done
        t = Terminal(["sh", "-c", "exec 3<&0; read x; " + '"$@"' + (stdout or " > out"), "sh", *argv], self.work)
        self.addCleanup(t.close)
        before = self.looks(t)
        t.type(b"\n")
        t.read_until(b"spoilt")
        return t, before

    def test_put_back_without_a_relay(self):
        """P7: modes, permissions and flags are as they were when the run is over"""
        t, before = self.spoil()
        self.assertEqual(t.process.wait(LIMIT), 0)
        self.assertEqual(self.looks(t), before)
        # behind a pipe a pager may have set the modes
        t, before = self.spoil(stdout=" | cat")
        self.assertEqual(t.process.wait(LIMIT), 0)
        self.assertEqual(self.looks(t)[1:], before[1:])
        # nobody puts anything back
        t, before = self.spoil(bare=True)
        self.assertEqual(t.process.wait(LIMIT), 0)
        after = self.looks(t)
        self.assertTrue(all(x != y for x, y in zip(after, before)))

    STOP = """
import sys, termios
modes = termios.tcgetattr(0)
modes[0] |= termios.IXON
modes[6][termios.VSTOP] = b"y"
modes[3] &= ~termios.ICANON
termios.tcsetattr(0, termios.TCSANOW, modes)
print("go", file=sys.stderr, flush=True)
sys.stdin.read(1)
"""

    def shows_after_a_stop(self, *run):
        """Whether the terminal shows what is written after a command that had a key stop it"""
        t = Terminal(["sh", "-c", '"$@" > out; echo after', "sh", *run, "/usr/bin/python3", "-c", self.STOP],
                     self.work)
        self.addCleanup(t.close)
        t.read_until(b"go")
        t.type(b"yq")
        shown = b""
        deadline = time.monotonic() + (LIMIT if len(run) > 0 else 2)
        while b"after" not in shown and time.monotonic() < deadline:
            if select.select([t.master], [], [], 0.1)[0]:
                shown += os.read(t.master, 4096)
        return b"after" in shown

    def test_output_that_a_key_has_stopped_without_a_relay(self):
        """P7: so is whether the terminal shows anything"""
        self.assertTrue(self.shows_after_a_stop(SBX_NET, "run", "--no-config", "--ask", "never", "--"))
        self.assertFalse(self.shows_after_a_stop())  # a shell such as this one does nothing about it

    # it makes a line of the answer; then it waits for it, or leaves it to who comes after it
    ASKS = """
import os, sys, termios, time
modes = termios.tcgetattr(0)
modes[3] = modes[3] & ~termios.ECHO | termios.ICANON
modes[6][termios.VERASE] = b"["
modes[6][termios.VEOF] = b"0"
termios.tcsetattr(0, termios.TCSANOW, modes)
os.write(2, b"\\x1b[5n")
time.sleep(float(sys.argv[1]))
"""

    def heard_by_the_next(self, wait, redirected, *run):
        """What a program reads after a run whose command has asked the terminal, which answers at once"""
        t = Terminal(["sh", "-c", '"$@"' + redirected + '; echo next; read -r a; echo "got<$a>"', "sh", *run,
                      "/usr/bin/python3", "-c", self.ASKS, wait], self.work)
        self.addCleanup(t.close)
        t.read_until(b"\x1b[5n")
        t.type(b"\x1b[0n")
        t.read_until(b"next")
        t.type(b"mine\n")
        t.read_until(b"got<")
        return t.read_until(b">")

    def test_what_a_terminal_answers_is_not_typed(self):
        """P7: the next program reads what the user types to it"""
        run = [SBX_NET, "run", "--no-config", "--ask", "never", "--"]
        for redirected in (" > out", ""):
            for wait in ("0.3", "0"):
                with self.subTest(redirected=redirected, wait=wait):
                    self.assertEqual(self.heard_by_the_next(wait, redirected, *run), b"mine")
                    self.assertNotEqual(self.heard_by_the_next(wait, redirected), b"mine")

    # the same by what it can only write to
    ASKS_ELSEWHERE = """
import os, sys, termios
modes = termios.tcgetattr(2)
modes[3] = modes[3] & ~termios.ECHO | termios.ICANON
modes[6][termios.VERASE] = b"["
modes[6][termios.VEOF] = b"0"
for way in (termios.TCSANOW, termios.TCSADRAIN, termios.TCSAFLUSH):
    try:
        termios.tcsetattr(2, way, modes)
    except termios.error:
        pass
os.write(2, b"\\x1b[5n")
"""

    def heard_elsewhere(self, script, *run):
        """What the program in front reads, of which a command in the background has asked the terminal"""
        t = Terminal(["bash", "-c", script, "sh", *run, "/usr/bin/python3", "-c", self.ASKS_ELSEWHERE],
                     self.work)
        self.addCleanup(t.close)
        t.read_until(b"\x1b[5n")
        t.type(b"\x1b[0n")
        t.type(b"mine\n")
        t.read_until(b"got<")
        return t.read_until(b">"), termios.tcgetattr(t.slave) == t.before

    def test_the_modes_of_a_terminal_that_others_read(self):
        """P7: a command makes no line of what is typed, or answered, to another program"""
        run = [SBX_NET, "run", "--no-config", "--ask", "never", "--"]
        for script in ('"$@" & read -r a; echo "got<$a>"; wait',
                       'set -m; "$@" & read -r a; echo "got<$a>"; wait',
                       'echo data | "$@"; read -r a; echo "got<$a>"',
                       '"$@" > out < /dev/null; read -r a; echo "got<$a>"'):  # or `run X &` in a script
            with self.subTest(script):
                self.assertEqual(self.heard_elsewhere(script, *run), (b"\x1b[0nmine", True))
                if "set -m" not in script:  # there a job of the shell's own is stopped for it
                    self.assertNotEqual(self.heard_elsewhere(script)[0], b"\x1b[0nmine")

    def test_a_terminal_that_others_read_is_one(self):
        """The twin: what is written there comes, colours are wanted, and its size is to be had"""
        t = Terminal(["sh", "-c", 'echo data | "$@"; read a', "sh", SBX_NET, "run", "--no-config", "--ask",
                      "never", "--", "sh", "-c", "[ -t 1 ] && [ -t 2 ] && cat && stty size <&1; stty -a <&1"],
                     self.work)
        self.addCleanup(t.close)
        self.assertIn(b"data", t.read_until(b"33 91"))
        t.read_until(b"icanon")
        t.type(b"\n")
        self.assertEqual(t.process.wait(LIMIT), 0)

    def test_put_back_without_a_relay_after_a_kill(self):
        # its shell stays: the terminal goes with the session
        t, before = self.spoil("stay", stdout=" <&3 > out & echo $! > pid; wait; exec sleep 600")
        self.assertNotEqual(self.looks(t), before)
        with open(self.work + "/pid", encoding="ascii") as f:
            os.kill(int(f.read()), signal.SIGKILL)
        deadline = time.monotonic() + LIMIT
        while self.looks(t) != before and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.looks(t), before)

    def test_input_that_is_nobodys_terminal(self):
        """P7: a terminal that is not in our foreground is no input, so that there is nothing to put back"""
        for wrap in ([], [SBX_NET, "run", "--no-config", "--ask", "never", "--"]):
            master, slave = pty.openpty()
            self.addCleanup(os.close, master)
            self.addCleanup(os.close, slave)
            modes = termios.tcgetattr(slave)
            p = subprocess.run([*wrap, "sh", "-c", "readlink /proc/self/fd/0; stty raw -echo; echo $?"],
                               cwd=self.work, env=environment(self.work), stdin=slave, text=True,
                               capture_output=True, timeout=LIMIT, check=True)
            name, status = p.stdout.split()
            changed = termios.tcgetattr(slave) != modes
            if wrap:
                self.assertEqual((name, status, changed), ("/dev/null", "1", False))
            else:
                self.assertEqual((name, status, changed), (os.ttyname(slave), "0", True))

    COUNTS = "i=0; while sleep 0.05; do i=$((i+1)); echo n$i; done"
    # a shell that waits, for one that is just starting another program may not stop (vfork)
    COUNTS_BELOW = ("python3 -uc 'import itertools, time\nfor i in itertools.count():\n"
                    "  print(\"n%d\" % i)\n  time.sleep(0.05)'; true")

    def under_a_shell(self, script, before=b"", after=b""):
        """A run typed to a shell outside, with something around it."""
        t = Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"], self.work)
        self.addCleanup(t.close)
        with open(self.work + "/script", "w", encoding="ascii") as f:
            f.write(script)
        t.type(b"PS1='ready''> '; %s%s run --no-config -- sh script%s\n" % (before, SBX_NET.encode(), after))
        return t

    def test_the_stop_key_stops_a_command(self):
        """It leads a session, whose kernel stops it by no key; all of it stops, and wakes by fg."""
        t = self.under_a_shell(self.COUNTS_BELOW)
        t.read_until(b"n3\r\n")
        t.type(b"\x1a")
        t.read_until(b"Stopped")
        t.read_until(b"ready> ")
        self.wait_for_state("T")
        self.type_to_the_shell(t)
        t.type(b"bg; echo do''ne\n")
        t.read_until(b"done\r\n")
        self.wait_for_state("T")
        t.type(b"fg\n")
        t.read_until(b"ready> fg\r\n")
        t.read_until(b"sh script\r\n")
        self.assertRegex(t.read_until(b"\r\n"), rb"\An\d+\Z")
        t.type(b"\x03")
        t.read_until(b"ready> ")

    def test_the_stop_key_while_the_terminal_is_slow(self):
        """What was to be done before the stop, and came too late, is not done after it."""
        t = self.under_a_shell("while :; do echo 0123456789012345678901234567890123456789; done")
        t.read_until(b"0123456789\r\n" * 1)
        for pause in (0.0005, 0.002, 0.005):
            t.type(b"\x1a")
            deadline = time.monotonic() + 3
            while time.monotonic() < deadline:
                if select.select([t.master], [], [], 0.05)[0]:
                    t.seen += os.read(t.master, 1)
                time.sleep(pause)
            t.read_until(b"ready> ")
            t.type(b"fg\n")
            t.read_until(b"sh script\r\n")  # bash says what it continues
            for _ in range(3000):
                t.read_until(b"0123456789\r\n")
        t.type(b"\x03")
        t.read_until(b"ready> ")

    def test_the_stop_key_stops_a_command_that_has_no_terminal(self):
        """Nobody serves its proxy meanwhile. As without us it goes on in the background."""
        for before, after in ((b"sleep 300 | ", b""), (b"", b" < /dev/null 2> /dev/null")):
            with self.subTest(before + after):
                t = self.under_a_shell("trap '' TSTP; " + self.COUNTS_BELOW, before, after)
                t.read_until(b"n3\r\n")
                t.type(b"\x1a")
                t.read_until(b"Stopped")
                t.read_until(b"ready> ")
                self.wait_for_state("T")
                t.type(b"bg\n")
                t.read_until(b"ready> ")
                self.assertRegex(t.read_until(b"\r\n"), rb"n\d+\Z")
                self.assertNotIn("T", self.states())
                t.type(b"kill -KILL %1; wait; echo go''ne\n")
                t.read_until(b"\ngone\r\n")

    def test_the_stop_key_is_a_commands_that_wants_it(self):
        for script, said in (("trap '' TSTP; " + self.COUNTS, b"n9\r\n"),
                             ("trap 'echo he''ard' TSTP; " + self.COUNTS, b"heard\r\n"),
                             ("stty raw -echo; echo go; dd bs=1 count=1 2> /dev/null | od -An -tx1", b" 1a"),
                             ("stty susp undef; echo go; head -c 2 | od -An -tx1", b" 1a 0a")):
            with self.subTest(script):
                t = self.under_a_shell(script)
                t.read_until(b"n3\r\n" if self.COUNTS in script else b"go")
                t.type(b"\x1a")
                if b"0a" in said:
                    t.type(b"\n")
                t.read_until(said)
                t.type(b"\x03")
                self.assertNotIn(b"Stopped", t.read_until(b"ready> "))

    def test_the_stop_key_where_no_shell_would_wake_it(self):
        t = self.start("sh", "-c", self.COUNTS)
        t.read_until(b"n3\r\n")
        t.type(b"\x1a")
        for i in range(4, 10):
            t.read_until(b"n%d\r\n" % i)
        t.type(b"\x03")
        self.end(t, 130)

    # As editors and agents do it when their user types Ctrl-Z, which they read as a key.
    SUSPENDS = "echo before; kill -STOP $$; echo woken; read x; echo \"got $x\""

    def test_a_command_that_stops_itself_gives_the_shell_its_terminal(self):
        t = self.under_a_shell(self.SUSPENDS)
        t.read_until(b"before\r\n")
        t.read_until(b"Stopped")
        t.read_until(b"ready> ")
        t.type(b"echo sec''ret\n")
        t.read_until(b"secret\r\n")
        t.type(b"fg\n")
        t.read_until(b"woken\r\n")
        t.type(b"three\n")
        t.read_until(b"got three\r\n")
        t.read_until(b"ready> ")

    def test_a_command_that_stops_itself_where_no_shell_would_wake_it(self):
        t = self.start("sh", "-c", self.SUSPENDS)
        t.read_until(b"woken\r\n")
        t.type(b"three\n")
        t.read_until(b"got three\r\n")
        self.end(t, 0)

    READER = "trap '' TSTP; setsid sh -c 'touch ready; while read x; do echo got $x >> taken; done'"

    def wait_for(self, name, text):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            if os.path.exists(self.work + "/" + name):
                with open(self.work + "/" + name, encoding="ascii") as f:
                    if text in f.read():
                        return
            time.sleep(0.01)
        self.fail("no %r in %s" % (text, name))

    def states(self):
        """Of the processes that are in the working directory, but for the shell outside and ours."""
        found = set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/stat" % pid, encoding="ascii") as f:
                    name, rest = f.read().rsplit(")", 1)
                if os.readlink("/proc/%s/cwd" % pid) == self.work and name.endswith("(sh"):
                    found.add(rest.split()[0])
            except OSError:
                pass
        return found

    def wait_for_state(self, state):
        deadline = time.monotonic() + LIMIT
        while self.states() != {state} and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.states(), {state})

    def type_to_the_shell(self, t):
        """Of the two who read, the kernel takes turns."""
        for i in range(6):
            t.type(b"echo sec''ret%d\n" % i)
            t.read_until(b"secret%d\r\n" % i)

    def test_what_is_typed_after_a_stop_is_the_shells(self):
        """P7: without a relay, from a process that ignores the signal and has left its session"""
        t = Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"], self.work)
        self.addCleanup(t.close)
        with open(self.work + "/reader", "w", encoding="ascii") as f:
            f.write(self.READER)
        t.type(b"PS1='ready''> '; %s run --no-config --ask never -- sh reader > out\n" % SBX_NET.encode())
        self.wait_for("ready", "")
        t.type(b"one\n")
        self.wait_for("taken", "got one\n")  # in the foreground it is the command's
        t.type(b"\x1a")
        t.read_until(b"Stopped")
        self.wait_for_state("T")
        self.type_to_the_shell(t)
        t.type(b"bg; echo do''ne\n")  # as of a program that reads the terminal in the background
        t.read_until(b"done\r\n")
        self.type_to_the_shell(t)
        t.type(b"fg\n")
        t.read_until(b"reader > out")
        self.wait_for_state("S")
        t.type(b"two\n")
        self.wait_for("taken", "got two\n")
        t.type(b"\x04")
        t.read_until(b"ready> ")
        with open(self.work + "/taken", encoding="ascii") as f:
            self.assertEqual(f.read(), "got one\ngot two\n")

    # A timer whose signal is SIGCONT, which the kernel sends also to what is stopped: timer_create(2).
    WAKER = """
import ctypes, signal, struct
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGCONT, lambda *a: None)
timer, event = ctypes.c_void_p(), struct.pack("Qii48x", 0, signal.SIGCONT, 0)
done = libc.timer_create(1, event, ctypes.byref(timer))
if done == 0:
    libc.timer_settime(timer, 0, struct.pack("qqqq", 0, 300000000, 0, 300000000), None)
with open("ready", "w") as f:
    f.write("refused" if done else "armed")
while True:
    line = input()
    with open("taken", "a") as f:
        f.write("got %s\\n" % line)
"""

    def test_nothing_wakes_itself_after_a_stop(self):
        """P7: and where it holds no terminal it may have such a timer"""
        with open(self.work + "/waker", "w", encoding="ascii") as f:
            f.write(self.WAKER)
        subprocess.run([SBX_NET, "run", "--no-config", "--ask", "never", "--", sys.executable, "waker"],
                       cwd=self.work, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=LIMIT,
                       check=False)
        self.wait_for("ready", "armed")
        os.unlink(self.work + "/ready")
        t = Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"], self.work)
        self.addCleanup(t.close)
        t.type(b"%s run --no-config --ask never -- %s waker > out\n"
               % (SBX_NET.encode(), sys.executable.encode()))
        self.wait_for("ready", "ed")
        t.type(b"one\n")
        self.wait_for("taken", "got one\n")
        t.type(b"\x1a")
        t.read_until(b"Stopped")
        time.sleep(1)  # in which the timer would have gone off
        self.type_to_the_shell(t)
        t.type(b"fg\n")
        t.read_until(b"waker > out")
        t.type(b"two\n")
        self.wait_for("taken", "got two\n")
        with open(self.work + "/taken", encoding="ascii") as f:
            self.assertEqual(f.read(), "got one\ngot two\n")

    def test_a_stopped_run_ends(self):
        """It stays stopped in the background, but not where a shell ends it, or ends itself."""
        for how, inner in ((b"kill %1\n", False), (b"exit\nexit\n", True)):  # it warns, then goes
            with self.subTest(how):
                shell = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
                t = Terminal(shell, self.work)
                self.addCleanup(t.close)
                with open(self.work + "/reader", "w", encoding="ascii") as f:
                    f.write(self.READER)
                if inner:  # the outer one keeps the terminal
                    t.type(b"%s\n" % b" ".join(x.encode() for x in shell))
                t.type(b"PS1='ready''> '; %s run --no-config --ask never -- sh reader > out\n"
                       % SBX_NET.encode())
                self.wait_for("ready", "")
                t.type(b"\x1a")
                t.read_until(b"Stopped")
                self.wait_for_state("T")
                t.type(how)
                t.read_until(b"the run has been killed: SIGTERM came while it was stopped")
                deadline = time.monotonic() + LIMIT
                while self.states() and time.monotonic() < deadline:
                    time.sleep(0.01)
                self.assertEqual(self.states(), set())
                t.close()
                os.unlink(self.work + "/ready")

    def test_a_stopped_run_with_a_relay_ends(self):
        """Its terminal is the shell's again, and nothing of ours sets the modes of that."""
        t = Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"], self.work)
        self.addCleanup(t.close)
        t.type(b"PS1='ready''> '; %s run --no-config --ask never -- sh -c 'echo be''gun; sleep 300; :'\n"
               % SBX_NET.encode())
        t.read_until(b"begun\r\n")
        os.kill(os.tcgetpgrp(t.master), signal.SIGTSTP)  # as Ctrl-Z at a question
        t.read_until(b"Stopped")
        self.wait_for_state("T")
        t.type(b"kill %1; while kill -0 %1 2> /dev/null; do sleep 0.1; done; echo go''ne\n")
        t.read_until(b"\ngone\r\n")
        self.assertEqual(self.states(), set())

    def test_stopped_views_end(self):
        """They set the modes of the terminal, which in the background is to be stopped once more."""
        for args, shown in ((b"top", b"ends this"), (b"approvals --follow", b"q ends this")):
            with self.subTest(args):
                t = Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"], self.work)
                self.addCleanup(t.close)
                t.type(b"PS1='ready''> '; %s %s\n" % (SBX_NET.encode(), args))
                t.read_until(shown)
                t.type(b"\x1a")
                t.read_until(b"Stopped")
                t.type(b"bg; sleep 0.3; echo ba''ck; fg\n")  # the twin: there it goes on
                t.read_until(b"back\r\n")
                t.read_until(shown if args == b"top" else args)
                deadline = time.monotonic() + LIMIT
                while os.tcgetpgrp(t.master) == t.process.pid and time.monotonic() < deadline:
                    time.sleep(0.01)
                t.type(b"\x1a")
                t.read_until(b"Stopped")
                t.read_until(b"ready> ")  # else it may stand before what follows
                t.type(b"kill %1; while kill -0 %1 2> /dev/null; do sleep 0.1; done; echo go''ne\n")
                t.read_until(b"\ngone\r\n")
                t.close()

    def test_redirected_output_stays_redirected(self):
        with open(self.work + "/out", "wb") as out:
            p = subprocess.run([SBX_NET, "run", "--no-config", "--", "sh", "-c",
                                "test -t 1 || echo no"], cwd=self.work, stdout=out,
                               stdin=subprocess.DEVNULL, timeout=LIMIT, check=False)
        self.assertEqual(p.returncode, 0)
        with open(self.work + "/out", "rb") as f:
            self.assertEqual(f.read(), b"no\n")


def processes(pid):
    """It and all below it."""
    found = [pid]
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
            for child in f.read().split():
                found += processes(int(child))
    except OSError:
        pass
    return found


def ticks(pids):
    """Processor time that they have used, in hundredths of a second."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError), open("/proc/%d/stat" % pid) as f:
            total += sum(int(x) for x in f.read().rsplit(")", 1)[1].split()[11:13])
    return total


class HangUp(Case):
    """The terminal goes, and its session's leader does not tell: su(1) blocks that signal."""
    def setUp(self):
        super().setUp()
        self.status = os.path.dirname(self.work) + "/status"

    def start_below_leader(self, *argv):
        t = Terminal([sys.executable, "-c", LEADER, self.status, *argv], self.work)
        self.addCleanup(t.close)
        return t

    def sandboxed(self, *command, options=()):
        return [SBX_NET, "run", "--no-config", "--ask", "never", *options, "--", *command]

    def kill_job(self):
        with open(self.status + ".pid") as f, contextlib.suppress(ProcessLookupError):
            os.kill(int(f.read()), signal.SIGKILL)

    def ended(self):
        """The status with which it has ended, by itself."""
        deadline = time.monotonic() + LIMIT
        while not os.path.exists(self.status) and time.monotonic() < deadline:
            time.sleep(0.02)
        if not os.path.exists(self.status):
            self.kill_job()
            self.fail("it goes on")
        with open(self.status) as f:
            status = int(f.read())
        os.unlink(self.status)
        return status

    SHELL = ["bash", "--norc", "--noprofile", "--noediting", "-i"]

    def test_a_shell_ends(self):
        for argv, status in ((self.SHELL, None), (self.sandboxed(*self.SHELL), 128 + signal.SIGHUP)):
            with self.subTest(argv[0]):
                t = self.start_below_leader(*argv)
                t.type(b"PS1='ready''> '\n")
                t.read_until(b"ready> ")
                t.hang_up()
                got = self.ended()
                if status is not None:
                    self.assertEqual(got, status)

    def test_a_command_ends(self):
        for command in (["sh", "-c", "echo up; exec sleep 600"], ["sh", "-c", "echo up; cat"],
                        ["python3", "-c", "print('up', flush=True); input()"]):
            with self.subTest(command):
                t = self.start_below_leader(*self.sandboxed(*command))
                t.read_until(b"up")
                t.hang_up()
                self.assertNotEqual(self.ended(), 0)

    def test_a_full_screen_program_ends(self):
        if not shutil.which("vi"):
            self.skipTest("no vi")
        t = self.start_below_leader(*self.sandboxed("vi", "new"))
        t.read_until(b"new")
        t.hang_up()
        self.ended()

    def test_what_ignores_it_goes_on(self):
        """It finds the end of its input, once, and nothing of ours uses the processor meanwhile."""
        script = ("trap '' HUP; echo up; while read -r x; do :; done; echo end >>said; "
                  "while ! [ -e go ]; do sleep 0.1; done; echo on >>said; exit 7")
        t = self.start_below_leader(*self.sandboxed("sh", "-c", script))
        t.read_until(b"up")
        t.hang_up()
        deadline = time.monotonic() + LIMIT
        while not os.path.exists(self.work + "/said") and time.monotonic() < deadline:
            time.sleep(0.02)
        with open(self.status + ".pid") as f:
            supervisor = int(f.read())
        everybody = processes(supervisor)
        before = ticks(everybody)
        time.sleep(2)
        self.assertLess(ticks(everybody) - before, 50)
        with open(self.work + "/go", "w"):
            pass
        self.assertEqual(self.ended(), 7)
        with open(self.work + "/said") as f:
            self.assertEqual(f.read(), "end\non\n")

    # A shell that takes its terminal from the job for as long as one line takes.
    TAKER = """
import os, signal, subprocess, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU, signal.SIGUSR1])
def job():
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTTOU, signal.SIGUSR1])
p = subprocess.Popen(sys.argv[1:], preexec_fn=job)
signal.sigwait([signal.SIGUSR1])
os.tcsetpgrp(0, os.getpgrp())
os.write(1, b"taken")
got = b""
while not got.endswith(b"\\r"):
    got += os.read(0, 1)
os.tcsetpgrp(0, p.pid)
os.write(1, b"given")
sys.exit(p.wait())
"""

    def test_input_that_was_in_the_background_comes_through_again(self):
        """Reading from the background is an error, and no end."""
        script = "stty -echo; echo up; read -r x; echo got-$x-end"
        t = self.start_below_leader("python3", "-c", self.TAKER, *self.sandboxed("sh", "-c", script))
        t.read_until(b"up")
        with open(self.status + ".pid") as f:
            os.kill(int(f.read()), signal.SIGUSR1)  # takes the terminal away
        t.read_until(b"taken")
        t.type(b"lost\r")
        t.read_until(b"given")
        t.type(b"kept\r")
        self.assertIn(b"kept", t.read_until(b"-end"))
        self.assertEqual(self.ended(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)

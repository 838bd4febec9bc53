"""Programs at a terminal: keys in, text out, and what the terminal was set to."""
import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time

# ... with the keys' signals as a shell has them: a test that was itself started with '&' ignores them
CTTY = ("import fcntl,os,signal,sys,termios\nfcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
        "signal.signal(signal.SIGINT, signal.SIG_DFL)\nsignal.signal(signal.SIGQUIT, signal.SIG_DFL)\n"
        "os.execv(sys.argv[1], sys.argv[1:])\n")
# A job of a shell: the program in a process group of its own, in the foreground, and its parent waits
JOB = """
import fcntl, os, signal, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
pid = os.fork()
if pid == 0:
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    os.tcsetpgrp(0, os.getpid())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTTOU])
    os.execv(sys.argv[1], sys.argv[1:])
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 255)
"""
# Leads the session of a terminal as su(1) does: the signal of its end is blocked, and the program, a
# job in the foreground, is waited for. argv: where its status goes, the program
LEADER = """
import os, signal, subprocess, sys
def job():
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTTOU])
    os.tcsetpgrp(0, os.getpid())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTTOU, signal.SIGHUP])
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
p = subprocess.Popen(sys.argv[2:], preexec_fn=job)
with open(sys.argv[1] + ".pid", "w") as f:
    f.write(str(p.pid))
status = p.wait()
with open(sys.argv[1] + ".new", "w") as f:
    f.write(str(status))
os.rename(sys.argv[1] + ".new", sys.argv[1])
"""
COLOURS = re.compile(r"\x1b\[[0-9;?<>]*[ -/]*[@-~]|\x1b[_\]][^\x1b]*\x1b\\|\x1b[78<W\\\x03]|\x1b\(B|\x1b#5|"
                     r"\x1bP(?:[^\x1b]|\x1b[^\\])*\x1b\\|\x0f|\r")


class Terminal:
    """
    A program of the made user with a controlling terminal of its own; it leads the session, as below
    ssh -t, or is a job, as below a shell: only that can be stopped by a key.
    """

    def __init__(self, w, argv, cols=80, rows=30, **kw):
        self.master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        self.before = termios.tcgetattr(slave)
        env = dict(w.env(), TERM=kw.pop("term", "xterm"))
        env.update(kw.pop("env", {}))
        start = JOB if kw.pop("job", False) else CTTY
        self.proc = w.popen(["/usr/bin/python3", "-c", start, *argv], env=env, stdin=slave,
                            stdout=kw.pop("stdout", slave), stderr=kw.pop("stderr", slave), **kw)
        self.slave = slave
        self.text = ""

    def pump(self, seconds):
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.text += data.decode("utf-8", "replace")
        return bool(data)

    def plain(self):
        return COLOURS.sub("", self.text)

    def expect(self, what, seconds=20):
        """Wait until the text, without colours, contains what; returns it and forgets it."""
        end = time.monotonic() + seconds
        while what not in self.plain():
            if time.monotonic() > end or (not self.pump(0.2) and self.proc.poll() is not None
                                          and not self.pump(0.1) and what not in self.plain()):
                raise AssertionError("no %r in %r" % (what, self.plain()))
        seen = self.plain()
        self.text = ""
        return seen

    def expect_frame(self, end, wanted, seconds=20):
        """Wait for a screen, from a cursor's going home to end, that is as wanted; returns it.

        Screens that were drawn before, at another size say, may still come.
        """
        limit = time.monotonic() + seconds
        while True:
            for frame in self.text.split("\x1b[H")[1:]:
                frame = COLOURS.sub("", frame)
                if end in frame and wanted(frame):
                    self.text = ""
                    return frame
            if time.monotonic() > limit or (not self.pump(0.2) and self.proc.poll() is not None):
                raise AssertionError("no such screen in %r" % self.text)

    def send(self, keys):
        os.write(self.master, keys.encode())

    def wanted_keys(self):
        """The flags of kitty's keyboard protocol, as what has been written has pushed and popped them."""
        flags = [0]
        for more, number in re.findall(r"\x1b\[([<>])(\d*)u", self.text):
            if more == ">":
                flags.append(int(number or 0))
            else:
                del flags[max(1, len(flags) - int(number or 1)):]
        return flags[-1]

    def press(self, key):
        """A key as a terminal sends it that has that protocol."""
        flags = self.wanted_keys()
        self.send("\x1b[%du" % ord(key) if flags & 8 else key)
        if flags & 2:
            time.sleep(0.05)
            self.send("\x1b[%d;1:3u" % ord(key))  # it is let go

    def resize(self, cols, rows=30):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def stopped(self, seconds=20):
        """Wait until what is in the foreground has stopped, and take what it had written. Return: its group."""
        group, end = os.tcgetpgrp(self.master), time.monotonic() + seconds
        while True:
            with open("/proc/%d/stat" % group, encoding="ascii") as f:
                stopped = f.read().rpartition(")")[2].split()[0] == "T"
            if stopped:
                while self.pump(0):
                    pass
                return group
            if time.monotonic() > end:
                raise AssertionError("has not stopped: %r" % self.plain())
            time.sleep(0.02)

    def modes(self):
        return termios.tcgetattr(self.slave)

    def wait(self, seconds=20):
        end = time.monotonic() + seconds
        while self.proc.poll() is None:
            if time.monotonic() > end:
                os.killpg(self.proc.pid, signal.SIGKILL)
                raise AssertionError("still runs: %r" % self.plain())
            self.pump(0.1)
        while self.pump(0.05):
            pass
        return self.proc.returncode

    def hang_up(self):
        """The window is closed."""
        if self.master >= 0:
            os.close(self.master)
        self.master = -1

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.proc.pid, signal.SIGKILL)
        self.proc.wait()
        self.hang_up()
        os.close(self.slave)

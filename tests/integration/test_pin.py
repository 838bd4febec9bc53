#!/usr/bin/python3
"""--pin-sha256, --limit and --timeout from end to end: what runs is what was hashed, or nothing."""
import hashlib
import os
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from world import WorldCase, main  # noqa: E402

BOTH = (None, 0)  # the made user, root


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class Pin(WorldCase):
    def setUp(self):
        super().setUp()
        self.program = os.path.join(self.w.ws, "program")
        self.place("/bin/echo")

    def place(self, source):
        """Anew, since a program that runs cannot be written to."""
        shutil.copy(source, self.program + ".new")
        os.chmod(self.program + ".new", 0o755)
        os.rename(self.program + ".new", self.program)

    def pinned(self, pin, *command, **kw):
        return self.w.sbx_run(["--pin-sha256", pin], list(command) or [self.program, "ran"], **kw)

    def refused(self, done, word):
        self.assertEqual((done.returncode, done.stdout), (125, ""), done.stderr)
        self.assertIn(word, done.stderr)

    def test_right_and_wrong(self):
        pin = digest(self.program)
        for uid in BOTH:
            done = self.pinned(pin, uid=uid)
            self.assertEqual((done.returncode, done.stdout), (0, "ran\n"), done.stderr)
            self.refused(self.pinned(pin[:-1] + ("0" if pin[-1] != "0" else "1"), uid=uid), pin)
            done = self.pinned(digest("/bin/echo"), "/bin/echo", "root's", uid=uid)
            self.assertEqual((done.returncode, done.stdout), (0, "root's\n"), done.stderr)

    def test_malformed_pins(self):  # L-009
        pin = digest(self.program)
        for wrong in ("", pin[:-1], pin + "0", " " + pin, pin + " ", "sha256:" + pin, "g" * 64, pin.upper(),
                      "0x" + pin[2:], pin[:32]):
            with self.subTest(wrong):
                done = self.pinned(wrong)
                self.assertIn(done.returncode, (64, 125), done.stderr)
                self.assertEqual(done.stdout, "")
                self.assertNotEqual(done.stderr, "")

    def test_scripts_are_refused(self):  # L-007
        for text in ("#!/bin/sh\necho ran\n", "#! /usr/bin/env sh\necho ran\n"):
            path = self.program
            with open(path + ".new", "w", encoding="ascii") as f:
                f.write(text)
            os.chmod(path + ".new", 0o755)
            os.rename(path + ".new", path)
            self.assertEqual(self.w.sbx_run([], [path]).stdout, "ran\n")
            self.refused(self.pinned(digest(path), path), "script")

    def test_programs_that_cannot_be_read(self):
        os.chmod(self.program, 0o711)
        os.chown(self.program, 0, 0)
        self.assertEqual(self.w.sbx_run([], [self.program, "ran"]).stdout, "ran\n")
        self.refused(self.pinned(digest(self.program)), "read")

    def test_empty_program(self):
        with open(self.program, "w", encoding="ascii"):
            pass
        self.refused(self.pinned(digest(self.program)), "empty")

    def test_replaced_while_it_starts(self):  # L-005
        """Renamed to and fro all the time: the right bytes run, or none."""
        pin, done = digest("/bin/echo"), threading.Event()

        def swap():
            while not done.is_set():
                self.place("/bin/true")
                self.place("/bin/echo")
        thread = threading.Thread(target=swap)
        thread.start()
        try:
            ends = [self.pinned(pin) for _ in range(30)]
        finally:
            done.set()
            thread.join()
        for end in ends:
            self.assertIn((end.returncode, end.stdout), {(0, "ran\n"), (125, "")}, end.stderr)
        self.place("/bin/echo")
        self.assertEqual(self.pinned(pin).stdout, "ran\n")

    def test_a_writer_that_goes_on(self):  # L-006
        """The command's own user holds the file open for writing: a copy is run, out of its reach."""
        self.place("/bin/sleep")
        owner = os.stat(self.w.ws)
        os.chown(self.program, owner.st_uid, owner.st_gid)
        pin = digest(self.program)
        with open(self.program, "r+b") as writer:
            p = self.w.popen(self.w.sbx_argv(["--pin-sha256", pin], [self.program, "1"]),
                             cwd=self.w.ws, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                writer.seek(0)
                writer.write(b"\0" * 4096)
                writer.flush()
                writer.seek(0)
                with open("/bin/sleep", "rb") as f:
                    writer.write(f.read(4096))
                writer.flush()
            _, err = p.communicate(timeout=30)
        self.assertIn(p.returncode, (0, 125), err)
        self.assertIn(self.pinned(pin, self.program, "0").returncode, (0,))

    def test_limits(self):
        rows = [("nofile=20", "ulimit -n", "20\n"), ("cpu=7", "ulimit -t", "7\n"),
                ("fsize=1024", "ulimit -f", "2\n"), ("as=1073741824", "ulimit -v", "1048576\n")]
        for uid in BOTH:
            for limit, script, want in rows:
                with self.subTest(limit, uid=uid):
                    done = self.w.sbx_run(["--limit", limit], ["sh", "-c", script], uid=uid)
                    self.assertEqual((done.returncode, done.stdout), (0, want), done.stderr)
                    done = self.w.sbx_run([], ["sh", "-c", script], uid=uid)
                    self.assertNotEqual(done.stdout, want)
        done = self.w.sbx_run(["--limit", "cpu=1"], ["sh", "-c", "while :; do :; done"])
        self.assertIn(done.returncode, (128 + 24, 128 + 9))  # SIGXCPU, SIGKILL at the hard limit
        for wrong in ("", "nofile", "nofile=", "nofile=x", "nofile=-1", "what=1"):
            with self.subTest(wrong):
                done = self.w.sbx_run(["--limit", wrong], ["echo", "ran"])
                self.assertIn(done.returncode, (64, 125))
                self.assertEqual(done.stdout, "")

    def test_timeout_takes_everybody(self):
        """Daemons that ignore signals too; and a run in time keeps its own status."""
        script = "(trap '' TERM HUP INT; setsid sleep 77.125) & trap '' TERM; sleep 77.125"
        for uid in BOTH:
            begin = time.monotonic()
            done = self.w.sbx_run(["--timeout", "1"], ["sh", "-c", script], uid=uid)
            self.assertEqual(done.returncode, 124, done.stderr)
            self.assertLess(time.monotonic() - begin, 20)
            left = subprocess.run(["pgrep", "-f", "sleep 77[.]125"], stdout=subprocess.PIPE,
                                  check=False).stdout
            self.assertEqual(left, b"")
            done = self.w.sbx_run(["--timeout", "60"], ["sh", "-c", "exit 5"], uid=uid)
            self.assertEqual(done.returncode, 5)


if __name__ == "__main__":
    main()

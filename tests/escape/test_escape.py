#!/usr/bin/python3
"""Try to get out: every probe of rows.py bare and inside, and what takes more than one process."""
import fcntl
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from escapeworld import (LIMIT, NOBODY, SBX_NET, World, declared, excused, main, ran, shows, skipped,
                         users)
from rows import (EMPTY, FILES, GONE, PROCESSES, PROTECTED, READ_ONLY, SOCKETS, why_absent)

FAULTY = os.environ.get("FAULTY", "faulty")
IOCTL = 29 if os.uname().machine == "aarch64" else 16  # its number
LONELY = 64321  # somebody who has no processes

declared.update(row.id for row in SOCKETS + PROCESSES + FILES + PROTECTED)


class Escape(World):
    """The rows, and what takes more than one process."""

    def control(self, row, uid, argv):
        """Whether the probe gets out where nothing holds it; says why if it does not."""
        if row.bare is None:
            return True
        self.fill(uid)
        bare = self.outcome(uid, argv).split(" ")[0]
        if bare in row.bare:
            return True
        note = "%s uid %d %s: bare %s" % (row.id, uid, row.probe, bare)
        why = "only root may" if uid and bare in row.plain else why_absent(row, bare)
        if why:
            excused.append(note + ": " + why)
        elif row.must:
            self.fail("bare: %s" % bare)
        else:
            skipped.append(note)
        return bool(why)

    def check(self, row, uid):
        argv = [self.probe] + self.words(row.probe, uid)
        controlled = self.control(row, uid, argv)
        self.fill(uid)
        before = self.settle()
        got = self.outcome(uid, self.inside(argv))
        self.assertEqual(self.settle(), before, "a canary was reached")
        if row.inside is not None:
            self.assertIn(got, row.inside)
        if controlled:
            ran.add(row.id)

    def ipc(self, uid, what):
        """Things of the host that have the key; the canary is that they are still there."""
        for kind in (["shm"], ["ipc", "sem"], ["ipc", "msg"], ["ipc", "mq"]):
            got = self.outcome(uid, [self.probe, *kind, what, str(self.key)])
            self.assertIn(got, {"OK"} | ({"ENOSYS"} if kind[-1] == "mq" else set()))

    def check_all(self, rows):
        for uid in users():
            self.key += uid
            self.fill(uid)
            self.ipc(uid, "make")
            for row in rows:
                with self.subTest(id=row.id, probe=row.probe, uid=uid):
                    self.check(row, uid)
            self.ipc(uid, "remove")

    def test_sockets(self):
        self.check_all(SOCKETS)

    def test_processes(self):
        self.check_all(PROCESSES)

    def test_files(self):
        self.check_all(FILES)
        with open(os.path.join(self.outside, "file")) as f:
            self.assertEqual(f.read(), "canary\n")

    def test_protected_names(self):
        for d in (".git/hooks", ".vscode"):
            os.makedirs(os.path.join(self.work, d))
        for name in (".git/config", ".git/hooks/old", ".vscode/settings.json"):
            with open(os.path.join(self.work, name), "w") as f:
                f.write("canary\n")
        for uid in users():
            for row in PROTECTED:
                with self.subTest(id=row.id, probe=row.probe, uid=uid):
                    self.check_protected(row, uid)

    def check_protected(self, row, uid):
        """Its control is in a copy, since it may take away what is to be protected."""
        self.fill(uid)
        with tempfile.TemporaryDirectory(dir="/var/tmp") as copy:
            shutil.copytree(self.work, copy, dirs_exist_ok=True,
                            ignore=lambda d, names: {"stream", "dgram"} & set(names))
            for name in (".claude", ".idea", ".sbx-net"):
                os.mkdir(os.path.join(copy, name))
            for d, _, names in os.walk(copy):
                for path in [d] + [os.path.join(d, name) for name in names]:
                    os.chown(path, uid, uid)
            bare = self.outcome(uid, [self.probe] + self.words(
                row.probe.replace("{work}", copy), uid))
        self.assertEqual(bare, "OK")
        argv = [self.probe] + self.words(row.probe, uid)
        self.assertIn(self.outcome(uid, self.inside(argv)), row.inside)
        ran.add(row.id)

    @shows("U-001", "U-002", "U-004", "U-005", "U-006")
    def test_descriptors_of_the_caller_are_closed(self):
        a, b = socket.socketpair()
        kept = [os.open(self.outside, os.O_RDONLY), os.open(self.outside + "/leak", os.O_RDWR |
                                                            os.O_CREAT), a.fileno(), b.fileno(),
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM).detach(),
                os.open("/proc/self/ns/net", os.O_RDONLY), os.pidfd_open(os.getpid()),
                os.memfd_create("leak")]
        kept.append(fcntl.fcntl(kept[0], fcntl.F_DUPFD, 1000))
        for uid in users():
            self.fill(uid)
            for argv, want in (([self.probe, "fds"], "OK"),
                               (self.inside([self.probe, "fds"]), "EBADF")):
                with self.subTest(uid=uid, argv=argv):
                    p = self.run_as(uid, argv, capture_output=True, pass_fds=kept)
                    self.assertEqual(p.stdout.strip(), want, p.stderr)
        for fd in kept:
            if fd not in (a.fileno(), b.fileno()):
                os.close(fd)
        a.close()
        b.close()

    @shows("U-007")
    def test_closed_stdio_becomes_null(self):
        for uid in users():
            self.fill(uid)
            for argv, want in (([self.probe, "stdio-null"], 10),
                               (self.inside([self.probe, "stdio-null"]), 0)):
                p = self.run_as(uid, ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"] + argv)
                self.assertEqual(p.returncode, want)

    @shows("U-014")
    def test_stdout_cannot_be_opened_anew(self):
        for uid in users():
            self.fill(uid)
            for argv, want in (([self.probe, "reopen-stdout"], {"OK"}),
                               (self.inside([self.probe, "reopen-stdout"]), {"EACCES", "EROFS"})):
                with open(self.outside + "/file", "r+") as out:
                    p = self.run_as(uid, argv, stdout=out, stderr=subprocess.PIPE)
                self.assertIn(p.stderr.strip(), want)

    def signalled(self, uid, argv):
        """How often a process in the same process group is hit."""
        code = ("import os, signal, subprocess, sys\n"
                "n = []\n"
                "signal.signal(signal.SIGUSR1, lambda *a: n.append(1))\n"
                "p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL,"
                " restore_signals=True)\n"
                "p.wait()\n"
                "print(len(n))\n")
        p = self.run_as(uid, ["python3", "-c", code] + argv, capture_output=True,
                        start_new_session=True)
        return int(p.stdout)

    @shows("X-001")
    def test_signals_stay_inside(self):
        for uid in users():
            self.fill(uid)
            kill = [self.probe, "kill", "0", str(int(signal.SIGUSR1))]
            self.assertGreater(self.signalled(uid, kill), 0)
            self.assertEqual(self.signalled(uid, self.inside(kill)), 0)

    def told_on_terminal(self, uid, argv):
        p = self.on_terminal(uid, argv)
        return p.stdout.strip() or p.stderr

    @shows("X-042")
    def test_terminal_is_left_open_and_running(self):
        """A terminal that is not relayed: shut or stopped, it would stay so for the user."""
        for uid in users():
            for request, argument, undone in (("0x540c", "0", "0x540d"), ("0x540a", "0", "")):
                self.fill(uid)
                argv = [self.probe, "call", str(IOCTL), "0", request, argument]
                with self.subTest(uid=uid, request=request):
                    self.assertEqual(self.told_on_terminal(uid, argv), "OK")
                    self.assertEqual(self.told_on_terminal(uid, self.inside(argv)), "EPERM")
                    argv[-2:] = [undone or request, "1"]  # TIOCNXCL; TCXONC with TCOON
                    self.assertEqual(self.told_on_terminal(uid, self.inside(argv)), "OK")

    @shows("X-040", "X-041", "X-042")
    def test_terminal_takes_no_input_from_inside(self):
        for uid in users():
            for request in ("0x5412", "0x100005412", "0xffffffff00005412", "0x541c"):
                self.fill(uid)
                argv = [self.probe, "ioctl", request]
                with self.subTest(uid=uid, request=request):
                    bare = self.told_on_terminal(uid, argv)
                    why = {"ENOTTY": "it is no console", "EIO": "dev.tty.legacy_tiocsti is 0"}
                    if bare != "OK":
                        excused.append("X-040 uid %d %s: bare %s: %s"
                                       % (uid, request, bare, why[bare]))
                    self.assertEqual(self.told_on_terminal(uid, self.inside(argv)), "EPERM")

    def caller_hears(self, uid, argv):
        """What the probe says, and whether its caller, who has the terminal, is signalled."""
        master, slave = pty.openpty()
        os.chown(os.ttyname(slave), uid, -1)
        code = ("import fcntl, os, signal, subprocess, sys, termios\n"
                "os.setsid()\n"
                "fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
                "n = []\n"
                "for sig in (signal.SIGURG, signal.SIGIO): signal.signal(sig, lambda *a: n.append(1))\n"
                "p = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, text=True)\n"
                "said = p.stdout.readline().strip()\n"
                "if said == 'asked': os.write(int(sys.argv[1]), b'x\\n')\n"
                "p.stdout.read(); p.wait()\n"
                "print(said, bool(n))\n")
        try:
            p = self.run_as(uid, ["python3", "-c", code, str(master), *argv], stdin=slave,
                            capture_output=True, pass_fds=[master])
            return p.stdout.strip() or p.stderr
        finally:
            os.close(master)
            os.close(slave)

    @shows("X-001")
    def test_terminals_signal_nobody_outside(self):
        """With O_ASYNC a terminal signals its foreground, with any signal: that is the caller's."""
        old = shutil.copy(FAULTY, self.outside)
        for uid in users():
            self.fill(uid)
            for sig, inside in ((int(signal.SIGURG), "EPERM False"), (0, "asked False")):
                argv = [self.probe, "async", str(sig)]
                self.assertEqual(self.caller_hears(uid, argv), "asked True")
                self.assertEqual(self.caller_hears(uid, self.inside(argv)), inside)
            weaker = self.inside(argv, "--accept-weaker=landlock-scopes")
            self.assertEqual(self.caller_hears(uid, [old, "landlock_create_ruleset:2=1=+5", "--",
                                                     *weaker]), "EPERM False")

    @shows("U-009")
    def test_a_redirected_file_is_the_commands(self):
        """Whoever redirects gives the file away; but not as a program with another's rights."""
        for uid in users():
            for what, want in (("chmod", "OK"), ("truncate", "OK"), ("flags", "OK"),
                               ("suid", "EPERM")):
                self.fill(uid)
                argv = [self.probe, "change-stdout", what]
                for command, expected in ((argv, "OK"), (self.inside(argv), want)):
                    with self.subTest(uid=uid, argv=command), \
                            open(self.outside + "/file", "r+") as out:
                        p = self.run_as(uid, command, stdout=out, stderr=subprocess.PIPE)
                        self.assertEqual(p.stderr.strip(), expected)

    def sockets(self):
        """As a super-server gives them; what leads one elsewhere; what the kernel says to that."""
        there = ["stdin-again", "127.0.0.1", str(self.canary.tcp)]
        tcp = socket.create_connection(("127.0.0.1", self.canary.tcp))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        waiting = socket.create_server(("127.0.0.1", 0))
        client = socket.create_connection(waiting.getsockname())
        self.own += 1  # the connection of the first
        for sock in (tcp, udp, waiting, client, *pair):
            self.addCleanup(sock.close)
        return [(tcp, there, 1), (udp, [*there[:2], str(self.canary.udp)], 1),
                (pair[0], ["stdin-unix", self.canary.dgram], 1), (waiting, ["stdin-accept"], 0)]

    @shows("U-004")
    def test_sockets_as_standard_descriptors(self):
        """One of the network, or one that can be led elsewhere, is refused; a connected one is not."""
        for uid in users():
            self.fill(uid)
            for sock, probe, reached in self.sockets():
                with self.subTest(uid=uid, probe=probe):
                    before = self.settle()
                    p = self.run_as(uid, self.inside([self.probe, *probe]), stdin=sock,
                                    capture_output=True)
                    self.assertEqual((p.returncode, p.stdout), (125, ""), p.stderr)
                    self.assertIn("standard input", p.stderr)
                    p = self.run_as(uid, self.inside(["true"]), stdout=sock, stderr=subprocess.PIPE)
                    self.assertEqual(p.returncode, 125, p.stderr)
                    self.assertIn("standard output", p.stderr)
                    self.assertEqual(self.settle(), before)
                    p = self.run_as(uid, [self.probe, *probe], stdin=sock, capture_output=True)
                    self.assertEqual(p.stdout, "OK\n")
                    self.assertEqual(self.settle(), before + reached)
            for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
                a, b = socket.socketpair(socket.AF_UNIX, kind)
                with a, b:
                    before = self.settle()
                    a.sendall(b"twin\n")
                    p = self.run_as(uid, self.inside(["head", "-c", "5"]), stdin=b, capture_output=True)
                    self.assertEqual((p.stdout, p.returncode), ("twin\n", 0), p.stderr)
                    p = self.run_as(uid, self.inside(["sh", "-c", '"$1" stdin-unix "$2" >"$3"', "sh",
                                                      self.probe, self.canary.dgram,
                                                      self.work + "/said"]), stdin=b)
                    with open(self.work + "/said", encoding="ascii") as f:
                        self.assertIn(f.read().strip(), ("EISCONN", "OK"))
                    self.assertEqual(self.settle(), before)

    @shows("U-010")
    def test_path_descriptors_open_nothing(self):
        """As standard input such a descriptor is refused; as any other it does not come in."""
        for uid in users():
            self.fill(uid)
            fd = os.open(self.outside + "/file", os.O_PATH)
            for stdin, number, code, want in ((fd, 0, 125, ""),
                                              (subprocess.DEVNULL, fd, 0, "ENOENT")):
                argv = [self.probe, "reopen", str(number), "1"]
                with self.subTest(uid=uid, argv=argv):
                    p = self.run_as(uid, argv, stdin=stdin, pass_fds=[fd], capture_output=True)
                    self.assertEqual(p.stdout.strip(), "OK")
                    p = self.run_as(uid, self.inside(argv), stdin=stdin, pass_fds=[fd],
                                    capture_output=True)
                    self.assertEqual((p.stdout.strip(), p.returncode), (want, code), p.stderr)
            os.close(fd)

    def killed(self, uid, argv):
        """Whether a process of the same user outside is gone after @argv."""
        sleeper = subprocess.Popen(["sleep", "600"], **self.identity(uid))
        try:
            self.run_as(uid, argv, capture_output=True)
            time.sleep(0.2)
            return sleeper.poll() is not None, self.nice(sleeper.pid)
        finally:
            sleeper.kill()
            sleeper.wait()

    @staticmethod
    def nice(pid):
        try:
            return os.getpriority(os.PRIO_PROCESS, pid)
        except ProcessLookupError:
            return None

    @shows("X-002", "X-035")
    def test_all_processes_are_its_own(self):
        """Bare these take every process of the user, so the user is one who has no others."""
        if os.geteuid() != 0:
            self.skipTest("needs root to be another user")
        self.fill(LONELY)
        for argv, bare in (([self.probe, "kill", "-1", "9"], (True, None)),
                           ([self.probe, "nice-user", "19"], (False, 19))):
            with self.subTest(argv=argv):
                self.assertEqual(self.killed(LONELY, argv), bare)
                self.assertEqual(self.killed(LONELY, self.inside(argv)), (False, 0))
        self.fill(0)
        self.assertEqual(self.killed(0, self.inside([self.probe, "kill", "-1", "9"])), (False, 0))

    @shows("X-035")
    def test_settings_of_pid_1_are_its_own(self):
        """The control is another pid 1 of the same user; the twin is what a process does to itself."""
        bare = ["unshare", "--map-current-user", "--pid", "--fork", "setsid", "sh", "-c",
                '"$@"; exit $?', "sh"]
        processes = [(what, "1", "0", "OK") for what in (
            "limit", "affinity", "scheduler", "param", "attr", "nice", "nice-group", "io", "io-group")]
        for uid in users():
            self.fill(uid)
            everybody = [(what, str(uid), "0", "EPERM") for what in ("nice-user", "io-user")]
            for what, init, own, twin in processes + everybody:
                with self.subTest(what=what, uid=uid):
                    argv = [self.probe, "keep", what, init]
                    self.assertEqual(self.outcome(uid, bare + argv), "OK")
                    self.assertEqual(self.outcome(uid, self.inside(argv)), "EPERM")
                    argv[-1] = own
                    self.assertEqual(self.outcome(uid, self.inside(argv)), twin)

    @shows("X-032")
    def test_set_user_id_programs_give_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to make one")
        self.fill(NOBODY)
        path = os.path.join(self.outside, "suid")
        shutil.copy(self.probe, path)
        os.chown(path, 0, 0)
        os.chmod(path, 0o4755)
        argv = [path, "euid"]
        self.assertEqual(self.outcome(NOBODY, argv), "OK")
        self.assertEqual(self.outcome(NOBODY, self.inside(argv)), "EPERM")
        status = [self.probe, "exec", path, "status"]
        p = self.run_as(NOBODY, self.inside(status), capture_output=True)
        self.assertEqual(p.stdout, "OK\nOK\n")  # as confined as whoever started it

    @shows("F-019")
    def test_sizes_are_the_users_to_limit(self):
        for uid in users():
            self.fill(uid)
            argv = [self.probe, "grow", str(1 << 40), self.work + "/huge"]
            bare = self.outcome(uid, argv)
            self.assertEqual(self.outcome(uid, self.inside(argv)), bare)
            argv[2] = "5000"
            self.assertEqual(self.outcome(uid, self.inside(argv, "--limit", "fsize=5000")), "OK")
            argv[2] = "5001"
            self.assertEqual(self.outcome(uid, self.inside(argv, "--limit", "fsize=5000")), "EFBIG")

    @shows("F-021")
    def test_other_file_systems_hold_too(self):
        """A workspace on a tmpfs and on an overlay, in a mount namespace of the test's own."""
        if os.geteuid() != 0:
            self.skipTest("needs root to mount")
        script = ('set -e; cd "$1"; mkdir -p t o; mount -t tmpfs none t; mkdir t/l t/u t/w; '
                  'mount -t overlay none -o lowerdir=t/l,upperdir=t/u,workdir=t/w o; mkdir t/ws; '
                  'for d in t/ws o; do cd "$1/$d"; cp "$2" p; ./p open 0x41 "$PWD/new"; '
                  '"$3" run --no-config --ask never -q -- ./p open 0x41 "$PWD/new2"; '
                  '"$3" run --no-config --ask never -q -- ./p open 1 "$4"; done')
        self.fill(0)
        p = self.run_as(0, ["unshare", "-m", "sh", "-c", script, "sh", self.work, self.probe, SBX_NET,
                            self.outside + "/file"], capture_output=True)
        self.assertEqual(p.stdout.split(), ["OK", "OK", "EROFS"] * 2, p.stderr)

    def beats(self, path):
        try:
            return os.path.getsize(path)
        except FileNotFoundError:
            return 0

    @shows("X-005", "X-006")
    def test_daemons_end_with_the_command(self):
        for uid in users():
            self.fill(uid)
            path = os.path.join(self.work, "beat.%d" % uid)
            script = '"$1" heartbeat "$2"; while ! [ -s "$2" ]; do sleep 0.02; done; exit 7'
            p = self.run_as(uid, self.inside(["sh", "-c", script, "sh", self.probe, path]))
            self.assertEqual(p.returncode, 7)
            self.assert_still(path)

    def crowd(self, uid, argv):
        """Started in a group of its own; all that it leaves behind holds the pipe open."""
        p = subprocess.Popen(argv, cwd=self.work, env=self.env(), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, start_new_session=True, **self.identity(uid))
        self.addCleanup(p.stdout.close)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        self.assertEqual(p.stdout.readline(), b"up\n")
        return p

    def assert_gone(self, p):
        self.assertTrue(select.select([p.stdout], [], [], LIMIT)[0])
        self.assertEqual(p.stdout.read(), b"")

    @shows("X-006")
    def test_no_kind_of_process_is_left(self):
        for uid in users():
            self.fill(uid)
            argv = [self.probe, "crowd"]
            bare = self.crowd(uid, argv)
            self.assertEqual(bare.wait(LIMIT), 7)
            self.assertEqual(select.select([bare.stdout], [], [], 0)[0], [])
            os.killpg(bare.pid, signal.SIGKILL)
            self.assert_gone(bare)
            p = self.crowd(uid, self.inside(argv))
            self.assert_gone(p)
            self.assertEqual(p.wait(LIMIT), 7)
            p = self.crowd(uid, self.inside(["sh", "-c", '"$1" crowd; kill -STOP $$', "sh", self.probe]))
            p.kill()
            self.assert_gone(p)

    def assert_still(self, path):
        size = self.beats(path)
        self.assertGreater(size, 0)
        time.sleep(0.5)
        self.assertEqual(self.beats(path), size)

    @shows("X-004")
    def test_killing_the_supervisor_ends_the_run(self):
        for uid in users():
            self.fill(uid)
            path = os.path.join(self.work, "beat4.%d" % uid)
            argv = self.inside(["sh", "-c", '"$1" heartbeat "$2"; exec sleep 600', "sh",
                                self.probe, path])
            p = subprocess.Popen(argv, cwd=self.work, env=self.env(), stdin=subprocess.DEVNULL,
                                 **self.identity(uid))
            self.wait_for(lambda path=path: self.beats(path) > 0)
            p.kill()
            p.wait()
            time.sleep(0.3)
            self.assert_still(path)

    def test_options_open_what_they_say(self):
        """The positive twins of --allow-unix-sockets, --write, --read, --fs"""
        file = self.outside + "/file"
        rows = [
            (["--allow-unix-sockets"], ["socket", "1", "1", "0"], {"OK"}),
            (["--allow-unix-sockets"], ["socketpair", "2"], {"OK"}),
            (["--allow-unix-sockets"], ["socket", "17", "3", "0"], {"EPERM"}),
            (["--allow-ptrace"], ["ptrace"], {"OK"}),
            (["--allow-ptrace"], ["ptrace-child", "0x4206"], {"OK"}),
            (["--allow-ptrace"], ["ptrace-of", "1"], {"EPERM"}),
            (["--write", self.outside], ["open", "1", file], {"OK"}),
            (["--write", self.outside, "--deny-write", file], ["open", "1", file],
             {"EACCES", "EROFS", "EPERM"}),
            (["--deny-read", file], ["read", file], GONE | EMPTY),
            (["--deny-read", file, "--read", file], ["read", file], GONE | EMPTY),
            (["--write", self.outside, "--deny-write", self.outside + "/new"],
             ["open", "0x41", self.outside + "/new"], READ_ONLY | {"EISDIR"}),
            (["--write", self.outside], ["open", "0x41", self.outside + "/new"], {"OK"}),
            (["--fs", "off"], ["open", "1", file], {"OK"}),
            (["--fs", "strict", "--read", self.work, "--exec", self.work], ["open", "0", file],
             {"EACCES", "ENOENT"}),
            (["--fs", "strict", "--read", self.work, "--exec", self.work, "--read", self.outside],
             ["open", "0", file], {"OK"}),
        ]
        for uid in users():
            for options, probe, want in rows:
                self.fill(uid)
                with self.subTest(uid=uid, options=options, probe=probe):
                    got = self.outcome(uid, self.inside([self.probe] + probe, *options))
                    self.assertIn(got, want)


if __name__ == "__main__":
    main()

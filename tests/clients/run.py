#!/usr/bin/python3
"""Real clients against real servers, each in three modes; prints the README's table.

scripts/NAME.sh runs inside the sandbox and succeeds only if what it fetched is right. Its head
says what it needs, which host it talks to, and in which modes it is expected to work. Modes:
"proxy" (the variables that sbx-net sets, and --no-capture, so that nothing else can be the way),
"capture" (those variables unset), and "refused" (both again without permission: the client must
fail, and no query or connection may leave). What a head says not to work is tried, too. A client that is not installed, or a mode that this sbx-net does not have yet, is shown as
such; any other difference from what the script's head says is a failure.

    SBX_NET=... run.py [NAME]...
    run.py --table              the table that the heads promise, as the README must have it
    run.py --update             put it there

Since every client that is installed must do what its head says, that table is the result of a run
that passed. Where all tests must run, only the clients marked "where: installed" may be missing.
"""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from origins import BIG, pattern  # noqa: E402
from packages import image, openpgp_key, packages  # noqa: E402
from world import PATH, World, must_run, v4  # noqa: E402

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
             "NO_PROXY", "no_proxy", "JAVA_TOOL_OPTIONS", "NODE_USE_ENV_PROXY", "GIT_SSH_COMMAND",
             "FTP_PROXY", "ftp_proxy", "GRPC_PROXY", "grpc_proxy", "npm_config_proxy",
             "npm_config_https_proxy", "CARGO_HTTP_PROXY", "PIP_PROXY")
NOT_HERE = 78  # exit status of a script: this version of the client cannot do it in this mode


def rust():
    """Where rustup has put the toolchain of whoever runs the tests; None where that is not so."""
    rustup = shutil.which("rustup") or os.path.expanduser("~/.cargo/bin/rustup")
    try:
        done = subprocess.run([rustup, "which", "cargo"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, encoding="utf-8", check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return os.path.dirname(os.path.dirname(os.path.realpath(done.stdout.strip())))


def find(tool):
    if tool == "postgres":
        return bool(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return bool(shutil.which(tool, path=PATH)) or (tool == "cargo" and bool(rust()))


class Client:
    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)[:-3]
        with open(path, encoding="utf-8") as f:
            self.head = dict(re.findall(r"^# (\w+): (.*)$", f.read(), re.M))
        self.title, self.host = self.head["client"], self.head["host"]
        self.optional = self.head.get("where") == "installed"
        self.missing = [t for t in self.head["needs"].split() if not find(t)]


class Runner:
    def __init__(self, clients):
        self.w = World(with_nginx=True, with_sshd=True)
        self.clients = clients
        self.failures = []
        self.serial = 0
        # capture is there when the version knows how to leave it out
        self.capture = self.w.has("--no-capture")
        self.commit = self.w.git_repo()
        packages(self.w.path("tree"))
        self.layer = image(self.w.path("tree"))
        os.mkdir(self.w.path("scripts"))
        wanted = {t for c in clients if not c.missing for t in c.head["needs"].split()}
        if "psql" in wanted:
            self.postgres()
        self.key = openpgp_key(self.w.path("tree"), self.w.path("gnupg")) if "gpg" in wanted else ""
        if "mysql" in wanted:
            self.mariadb()
        self.path = PATH
        if "cargo" in wanted and not shutil.which("cargo", path=PATH):
            self.toolchain(rust())
        if "redis-cli" in wanted:
            self.server(["redis-server", "--bind", v4(63), "--port", "6379", "--save", "",
                         "--protected-mode", "no", "--dir", self.w.path("www")], 0)
            self.w.wait_port(v4(63), 6379)
        for c in clients:
            shutil.copy(c.path, self.w.path("scripts"))

    def toolchain(self, src):
        """For the user of the test world, who cannot look into the home directory of another."""
        here = self.w.path("rust")
        for part in ("bin", "lib"):
            os.makedirs(os.path.join(here, part))
        for path in [src + "/bin/cargo", src + "/bin/rustc", *glob.glob(src + "/lib/*.so*")]:
            to = os.path.join(here, os.path.relpath(path, src))
            try:
                os.link(path, to)
            except OSError:
                shutil.copy(path, to)
        self.path = "%s/bin:%s" % (here, PATH)

    def server(self, argv, uid):
        w = self.w
        with open(w.path("daemons.out"), "ab") as out:
            w.procs.append(w.popen(argv, ns=w.internet, uid=uid, cwd="/", pdeath=True,
                                   stdout=out, stderr=out))

    def postgres(self):
        w, data = self.w, self.w.path("pg")
        bindir = os.path.dirname(sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))[-1])
        os.mkdir(data, 0o700)
        os.chown(data, 103, 103)
        w.run([bindir + "/initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync",
               "--locale=C"], ns=w.internet, uid=103, cwd="/", check=True)
        with open(data + "/pg_hba.conf", "w", encoding="ascii") as f:
            f.write("host all all all trust\n")
        self.server([bindir + "/postgres", "-D", data, "-c", "listen_addresses=" + v4(54),
                     "-c", "unix_socket_directories=", "-c", "fsync=off"], 103)
        w.wait_port(v4(54), 5432, 10)

    def mariadb(self):
        w, data = self.w, self.w.path("mariadb")
        os.mkdir(data, 0o700)
        os.chown(data, 103, 103)
        self.server(["mariadbd", "--no-defaults", "--datadir=" + data, "--skip-grant-tables",
                     "--bind-address=" + v4(55), "--socket=" + data + "/s", "--pid-file=" + data +
                     "/p", "--innodb-buffer-pool-size=8M", "--innodb-fast-shutdown=2"], 103)
        w.wait_port(v4(55), 3306, 20)

    def run(self, client, mode, allow):
        w = self.w
        self.serial += 1
        out = os.path.join(w.ws, "%s-%d" % (client.name, self.serial))
        os.mkdir(out)
        os.chown(out, w.uid, w.uid)
        values = {"CA": w.ca, "OUT": out, "MODE": mode, "COMMIT": self.commit, "SBX_BIN": w.sbx,
                  "BIG_SHA": hashlib.sha256(pattern(BIG)).hexdigest(),
                  "IMAGE_LAYER": self.layer, "KEY": self.key, "BIG_FILE": w.path("www", "big.bin"), "REPO": w.path("git", "repo.git"),
                  "SSH_CONFIG": os.path.join(w.home, "ssh", "config")}
        options = [x for n, v in values.items() for x in ("--env", "%s=%s" % (n, v))]
        options += ["--env", "PATH=" + self.path] if "cargo" in client.head["needs"].split() else []
        options += client.head.get("options", "").split()
        command = ["sh", w.path("scripts", client.name + ".sh")]
        if mode == "capture":
            command = ["env", *(x for n in VARIABLES for x in ("-u", n)), *command]
        start = time.monotonic()
        if mode == "proxy":
            options.append("--no-capture")
        done = w.sbx_run((["-a", client.host] if allow else ["-a", "nothing.example"]) + options,
                         command, timeout=90)
        done.seconds = time.monotonic() - start
        if os.environ.get("SBX_CLIENTS_VERBOSE"):
            print("%s %s %s: exit %d, %.1f s" % (client.name, mode, "allowed" if allow else "refused",
                                                 done.returncode, done.seconds), file=sys.stderr)
        shutil.rmtree(out, ignore_errors=True)
        if done.returncode in (64, 125):  # the client never ran: that is no refusal
            raise SystemExit("sbx-net did not start: " + done.stderr)
        return done

    def fail(self, client, mode, why, done=None):
        said = "" if not done else "\n  exit %d\n  %s" % (
            done.returncode, (done.stdout + done.stderr)[-1500:].replace("\n", "\n  "))
        self.failures.append("%s, %s: %s%s" % (client.name, mode, why, said))

    def works(self, client, mode):
        expected = client.head[mode]
        if client.missing:
            return "-"
        if mode == "capture" and not self.capture:
            return "not yet"
        done = self.run(client, mode, True)
        if done.returncode == NOT_HERE:
            return expected
        if expected.startswith("no"):
            if done.returncode == 0:
                self.fail(client, mode, "works, though its head says otherwise", done)
            return expected
        if done.returncode:
            self.fail(client, mode, "does not work", done)
            return "FAILS"
        # (names that a search list made are refused by the DNS stub, and rightly)
        if re.search(r"refused %s(:\d+)? \(" % re.escape(client.host), done.stderr):
            self.fail(client, mode, "worked, but with refusals", done)
        return expected

    def refused(self, client):
        if client.missing:
            return "-"
        told = []
        for mode in ("proxy", "capture"):
            o = self.w.oracle()
            done = self.run(client, mode, False)
            if done.returncode == 0:
                self.fail(client, "refused by " + mode, "was not refused", done)
                return "REACHES"
            asked, accepts = o.queries(), o.accepts()
            if asked or accepts:
                self.fail(client, "refused by " + mode, "leaked %r %r" % (asked, accepts), done)
                return "LEAKS"
            if done.seconds > 60:
                self.fail(client, "refused by " + mode, "took %.0f s" % done.seconds, done)
            if "sbx-net: refused " + client.host in done.stderr:
                told.append(mode)
        if "proxy" not in told and client.head["proxy"].startswith("yes"):
            self.fail(client, "refused", "no refusal line", done)
        return "yes"

    def table(self):
        rows = []
        for c in self.clients:
            start = time.monotonic()
            rows.append((c.title, self.works(c, "proxy"), self.works(c, "capture"),
                         self.refused(c)))
            print("%-16s %5.1f s" % (c.name, time.monotonic() - start), file=sys.stderr, flush=True)
        return markdown(rows)


README = os.path.join(HERE, "..", "..", "README.md")
BEGIN, END = "<!-- clients: made by tests/clients/run.py -->\n", "<!-- clients end -->\n"


def markdown(rows):
    head = ("client", "proxy variables", "capture only", "refused when not allowed")
    return "".join("| %s |\n" % " | ".join(r) for r in [head, ("---",) * 4] + rows)


def promised(clients):
    """The table for the README, by the heads."""
    return markdown([(c.title + (" *" if c.optional else ""), c.head["proxy"], c.head["capture"],
                      "yes") for c in sorted(clients, key=lambda c: c.title.lower())])


def update(table):
    with open(README, encoding="utf-8") as f:
        before, _, rest = f.read().partition(BEGIN)
    with open(README, "w", encoding="utf-8") as f:
        f.write(before + BEGIN + table + END + rest.partition(END)[2])


def main():
    names = sys.argv[1:]
    clients = [Client(p) for p in sorted(glob.glob(os.path.join(HERE, "scripts", "*.sh")))]
    if names == ["--table"]:
        print(promised(clients), end="")
        return 0
    if names == ["--update"]:
        update(promised(clients))
        return 0
    clients = [c for c in clients if not names or c.name in names]
    runner = Runner(clients)
    try:
        table = runner.table()
    finally:
        runner.w.close()
    print(table, end="")
    if os.environ.get("SBX_CLIENTS_TABLE"):
        with open(os.environ["SBX_CLIENTS_TABLE"], "w", encoding="utf-8") as f:
            f.write(table)
    for failure in runner.failures:
        print("FAIL: " + failure, file=sys.stderr)
    missing = [c for c in clients if c.missing]
    for c in missing:
        print("SKIPPED: %s: not installed: %s" % (c.name, " ".join(c.missing)), file=sys.stderr)
    if must_run() and not all(c.optional for c in missing):
        print("SBX_TESTS_MUST_RUN=1: a skip is a failure", file=sys.stderr)
        return 1
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/python3
"""Real clients against real servers, each in three modes; prints the README's table.

scripts/NAME.sh runs inside the sandbox and succeeds only if what it fetched is right. Its head
says what it needs, which host it talks to, and in which modes it is expected to work. Modes:
"proxy" (the variables that sbx-net sets), "capture" (the same with those variables unset), and
"refused" (both again without permission: the client must fail, and no query or connection may
leave). A client that is not installed, or a mode that this sbx-net does not have yet, is shown as
such; any other difference from what the script's head says is a failure.

    SBX_NET=... run.py [NAME]...
"""
import base64
import glob
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import sys
import tarfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
from origins import BIG, pattern  # noqa: E402
from world import PATH, World, must_run, v4  # noqa: E402

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
             "NO_PROXY", "no_proxy", "JAVA_TOOL_OPTIONS", "NODE_USE_ENV_PROXY", "GIT_SSH_COMMAND",
             "FTP_PROXY", "ftp_proxy", "GRPC_PROXY", "grpc_proxy", "npm_config_proxy",
             "npm_config_https_proxy", "CARGO_HTTP_PROXY", "PIP_PROXY")
NOT_HERE = 78  # exit status of a script: this version of the client cannot do it in this mode


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def tarball(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def packages(tree):
    """A package "sbx-hello" for apt, pip, npm and cargo, as plain files."""
    deb = b"not really a package\n"
    index = ("Package: sbx-hello\nVersion: 1.0\nArchitecture: all\nMaintainer: t <t@good.example>\n"
             "Filename: ./sbx-hello_1.0_all.deb\nSize: %d\nSHA256: %s\nDescription: hello\n\n" % (
                 len(deb), hashlib.sha256(deb).hexdigest()))
    put(tree + "/apt/sbx-hello_1.0_all.deb", deb)
    put(tree + "/apt/Packages", index)
    put(tree + "/apt/Packages.gz", gzip.compress(index.encode()))

    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as z:
        meta = "sbx_hello-1.0.dist-info/"
        z.writestr("sbx_hello.py", "x = 1\n")
        z.writestr(meta + "METADATA", "Metadata-Version: 2.1\nName: sbx-hello\nVersion: 1.0\n")
        z.writestr(meta + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        z.writestr(meta + "RECORD", "")
    name = "sbx_hello-1.0-py3-none-any.whl"
    put(tree + "/simple/sbx-hello/" + name, wheel.getvalue())
    put(tree + "/simple/sbx-hello/index.html", '<a href="%s#sha256=%s">%s</a>' % (
        name, hashlib.sha256(wheel.getvalue()).hexdigest(), name))

    tgz = tarball({"package/package.json": json.dumps({"name": "sbx-hello", "version": "1.0.0",
                                                       "main": "index.js"}),
                   "package/index.js": "module.exports = 'hello';\n"})
    put(tree + "/npm/sbx-hello.tgz", tgz)
    put(tree + "/npm/sbx-hello", json.dumps({
        "name": "sbx-hello", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
            "name": "sbx-hello", "version": "1.0.0", "main": "index.js", "dist": {
                "tarball": "https://pkg.example/tree/npm/sbx-hello.tgz",
                "integrity": "sha512-" + base64.b64encode(hashlib.sha512(tgz).digest()).decode(),
                "shasum": hashlib.sha1(tgz).hexdigest()}}}}))

    crate = tarball({"sbx-hello-1.0.0/Cargo.toml": '[package]\nname = "sbx-hello"\n'
                                                   'version = "1.0.0"\nedition = "2021"\n',
                     "sbx-hello-1.0.0/src/lib.rs": "pub fn hello() {}\n"})
    put(tree + "/cargo/config.json", '{"dl": "https://pkg.example/tree/cargo/dl/{crate}.crate"}')
    put(tree + "/cargo/sb/x-/sbx-hello", json.dumps({
        "name": "sbx-hello", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
        "cksum": hashlib.sha256(crate).hexdigest()}) + "\n")
    put(tree + "/cargo/dl/sbx-hello.crate", crate)


def find(tool):
    if tool == "postgres":
        return bool(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return bool(shutil.which(tool, path=PATH))


class Client:
    def __init__(self, path):
        self.path = path
        self.name = os.path.basename(path)[:-3]
        with open(path, encoding="utf-8") as f:
            self.head = dict(re.findall(r"^# (\w+): (.*)$", f.read(), re.M))
        self.title, self.host = self.head["client"], self.head["host"]
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
        os.mkdir(self.w.path("scripts"))
        wanted = {t for c in clients if not c.missing for t in c.head["needs"].split()}
        if "psql" in wanted:
            self.postgres()
        if "redis-cli" in wanted:
            self.server(["redis-server", "--bind", v4(63), "--port", "6379", "--save", "",
                         "--protected-mode", "no", "--dir", self.w.path("www")], 0)
            self.w.wait_port(v4(63), 6379)
        for c in clients:
            shutil.copy(c.path, self.w.path("scripts"))

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

    def run(self, client, mode, allow):
        w = self.w
        self.serial += 1
        out = os.path.join(w.ws, "%s-%d" % (client.name, self.serial))
        os.mkdir(out)
        os.chown(out, w.uid, w.uid)
        values = {"CA": w.ca, "OUT": out, "MODE": mode, "COMMIT": self.commit, "SBX_BIN": w.sbx,
                  "BIG_SHA": hashlib.sha256(pattern(BIG)).hexdigest(),
                  "BIG_FILE": w.path("www", "big.bin"), "REPO": w.path("git", "repo.git"),
                  "SSH_CONFIG": os.path.join(w.home, "ssh", "config")}
        options = [x for n, v in values.items() for x in ("--env", "%s=%s" % (n, v))]
        command = ["sh", w.path("scripts", client.name + ".sh")]
        if mode == "capture":
            command = ["env", *(x for n in VARIABLES for x in ("-u", n)), *command]
        start = time.monotonic()
        done = w.sbx_run((["-a", client.host] if allow else ["-a", "nothing.example"]) + options,
                         command, timeout=90)
        done.seconds = time.monotonic() - start
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
        if expected.startswith("no"):
            return expected
        done = self.run(client, mode, True)
        if done.returncode == NOT_HERE:
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
            print("%s ..." % c.name, file=sys.stderr, flush=True)
            rows.append((c.title, self.works(c, "proxy"), self.works(c, "capture"),
                         self.refused(c)))
        head = ("client", "proxy variables", "capture only", "refused when not allowed")
        return "\n".join("| %s |" % " | ".join(r) for r in [head, ("---",) * 4] + rows)


def main():
    names = sys.argv[1:]
    clients = [Client(p) for p in sorted(glob.glob(os.path.join(HERE, "scripts", "*.sh")))]
    clients = [c for c in clients if not names or c.name in names]
    runner = Runner(clients)
    try:
        table = runner.table()
    finally:
        runner.w.close()
    print(table)
    if os.environ.get("SBX_CLIENTS_TABLE"):
        put(os.path.abspath(os.environ["SBX_CLIENTS_TABLE"]), table + "\n")
    for failure in runner.failures:
        print("FAIL: " + failure, file=sys.stderr)
    missing = sorted({t for c in clients for t in c.missing})
    if missing:
        print("not installed: " + " ".join(missing), file=sys.stderr)
        if must_run() and {"curl", "wget", "git", "ssh", "python3"} & set(missing):
            return 1
    return 1 if runner.failures else 0


if __name__ == "__main__":
    sys.exit(main())

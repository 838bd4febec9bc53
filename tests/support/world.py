#!/usr/bin/python3
"""The test world: a "host" where sbx-net runs, joined by veth to an "internet" with servers.

    host ns (45.33.32.2)  <---veth--->  internet ns (45.33.32.1, 51.15.10.0/24, ...)
    sbx-net as a made user              dnsmasq with a query log, nginx, sshd, git,
    canary listeners on every           origins.py on every address: also on those that
    address of its own                  must never be dialled (10/8, metadata, NAT64, ...)

Both are namespaces of this process's children and die with them; nothing is left behind, also
after SIGKILL. Needs root. One world serves a whole test file:

    from world import World, setup_world, teardown_world
    def setUpModule(): setup_world()
"""
import atexit
import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import ran

HERE = os.path.dirname(os.path.abspath(__file__))
LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18
PR_SET_PDEATHSIG = 1
SKIP = 77
BIG = 1000003

HOST4, HOST6 = "45.33.32.2", "2a01:4f8:1::2"
ZERO4 = "45.33.32.0"  # of HOST4's own network
GATE4, GATE6 = "45.33.32.1", "2a01:4f8:1::1"


def v4(n):
    return "51.15.10.%d" % n


def v6(n):
    return "2a01:4f8:10::%x" % n


DEAD4, DEAD6 = "51.15.99.1", "2a01:4f8:dead::1"  # packets vanish
GONE4, GONE6 = "51.15.98.1", "2a01:4f8:beef::1"  # ICMP unreachable at once

# name -> addresses
NAMES = {
    "good.example": [v4(1), v6(1)],
    "v4only.example": [v4(3)],
    "v6only.example": [v6(4)],
    "dual.example": [v4(5), DEAD6],
    "dual-gone.example": [v4(5), GONE6],
    "two.example": [DEAD4, v4(6)],
    "www.example": [v4(10), v6(0x10)],
    "ssh.example": [v4(22)],
    "evil.example": [v4(66), v6(0x66)],
    "evil.test": [v4(66), v6(0x66)],
    "other.example": [v4(1)],
    "dead.example": [DEAD4],
    "gone.example": [GONE4],
    "wild.example": [v4(30)],
    "a.wild.example": [v4(31)],
    "a.b.c.wild.example": [v4(31)],
    "i.wild.example": [v4(31)],
    "foo_bar.wild.example": [v4(31)],
    "_dmarc.wild.example": [v4(31)],
    "bad.wild.example": [v4(66)],
    "x.bad.wild.example": [v4(66)],
    "evilwild.example": [v4(66)],
    "deny.example": [v4(66)],
    "x.deny.example": [v4(66)],
    "pkg.example": [v4(40)],
    "pg.example": [v4(54)],
    "redis.example": [v4(63)],
    "mysql.example": [v4(55)],
    "mail.example": [v4(1)],
    "later.example": ["51.15.20.1"],  # not an address of anything, until a test adds it
    "127.0.0.1.ip.example": ["127.0.0.1"],
    # where the first address is dead, the next one is no way in
    "dead-lo.example": [DEAD4, "127.0.0.1"],
    "dead-ten.example": [DEAD4, "10.1.2.3"],
    "good.example.corp.test": [v4(66)],
    "intranet.corp.test": [v4(66)],
    # one good address among refused ones
    "mix-lo6.example": [v4(7), "::1"],
    "mix-mapped.example": [v4(7), "::ffff:127.0.0.1"],
    "mix-lo4.example": [v4(7), "127.0.0.1"],
    "mix-ten.example": [v4(7), "10.1.2.3"],
}

# one address each, so that an accept says which name it was: the conformance cases
for _n, _name in enumerate((
        "conf.test", "sub.conf.test", "api.conf.test", "a.b.c.conf.test", "internal.conf.test",
        "evilconf.test", "notconf.test", "conf.test.evil.test", "conf.tes.test", "api.other.test",
        "other.test", "x.test", "h.test", "a.h.test", "constructor")):
    NAMES[_name] = [v4(100 + _n)]

# name -> (address, acceptable codes): names that lead to this machine or another forbidden place
SPECIAL = {
    "lo4.example": ("127.0.0.1", {"loopback"}),
    "lo4b.example": ("127.255.255.254", {"loopback"}),
    "zero.example": ("0.0.0.0", {"loopback"}),
    "zeronet.example": ("0.1.2.3", {"loopback", "special"}),
    "lo6.example": ("::1", {"loopback"}),
    "any6.example": ("::", {"loopback"}),
    "mapped.example": ("::ffff:127.0.0.1", {"loopback"}),
    "compat.example": ("::127.0.0.1", {"loopback"}),
    "nat64.example": ("64:ff9b::7f00:1", {"loopback"}),
    "nat64meta.example": ("64:ff9b::a9fe:a9fe", {"metadata"}),
    "nat64ten.example": ("64:ff9b::a00:1", {"private"}),
    "nat64local.example": ("64:ff9b:1::a00:1", {"special", "private"}),
    "sixtofour.example": ("2002:7f00:1::1", {"loopback", "special"}),
    "meta.example": ("169.254.169.254", {"metadata"}),
    "metamapped.example": ("::ffff:169.254.169.254", {"metadata"}),
    "azure.example": ("168.63.129.16", {"metadata"}),
    "alibaba.example": ("100.100.100.200", {"metadata"}),
    "oracle.example": ("192.0.0.192", {"metadata"}),
    "meta6.example": ("fd00:ec2::254", {"metadata"}),
    "gcp6.example": ("fd20:ce::254", {"metadata"}),
    "link4.example": ("169.254.1.1", {"link-local"}),
    "link6.example": ("fe80::1", {"link-local"}),
    "ten.example": ("10.1.2.3", {"private"}),
    "oneseven2.example": ("172.16.0.1", {"private"}),
    "oneninety2.example": ("192.168.1.1", {"private"}),
    "cgnat.example": ("100.64.0.1", {"private"}),
    "cgnatend.example": ("100.127.255.255", {"private"}),
    "ula.example": ("fd12:3456::1", {"private"}),
    "site.example": ("fec0::1", {"private", "special"}),
    "bench.example": ("198.18.0.1", {"special"}),
    "docs4.example": ("203.0.113.5", {"special"}),
    "docs6.example": ("2001:db8::5", {"special"}),
    "multi4.example": ("224.0.0.1", {"special"}),
    "multi6.example": ("ff0e::1", {"special"}),
    "broad.example": ("255.255.255.255", {"special"}),
    "classe.example": ("240.0.0.1", {"special"}),
    "own4.example": (HOST4, {"own-address"}),
    "own6.example": (HOST6, {"own-address"}),
    "ownmapped.example": ("::ffff:" + HOST4, {"own-address"}),
    "ownzero.example": (ZERO4, {"own-address"}),
    "ownzeromapped.example": ("::ffff:" + ZERO4, {"own-address"}),
    "ownbroad.example": ("45.33.32.255", {"own-address"}),
}
CNAMES = {
    "cn-lo.example": "lo4.example",
    "cn-meta.example": "meta.example",
    "cn-own.example": "own4.example",
    "cn-lo6.example": "lo6.example",
    "cn-good.example": "good.example",
}
# records that are no addresses, as dnsmasq has them
RECORDS = [
    "mx-host=mail.example,mx1.wild.example,10", "mx-host=evil.test,mx1.wild.example,10",
    "txt-record=mail.example,v=spf1 ip4:%s -all" % v4(66), "txt-record=x.mail.example,below",
    "txt-record=other.example,unlisted",
    "txt-record=big.mail.example," + ",".join([c * 150 for c in "abcd"]),
    "txt-record=huge.mail.example," + ",".join([c * 190 for c in "abcde"]),
    "srv-host=_imaps._tcp.mail.example,mx1.wild.example,993,5",
    "caa-record=mail.example,0,issue,ca.example",
    "dns-rr=mail.example,44,0402" + "ab" * 32,
]
# addresses of the internet namespace that a bare program on the host can reach, and a proxied
# one never may
FORBIDDEN_NETS = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16",
                  "168.63.129.16/32", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15",
                  "203.0.113.0/24", "240.0.0.0/5",
                  "64:ff9b::/96", "64:ff9b:1::/48", "fd00::/8", "fec0::/10", "2002::/16",
                  "2001:db8::/32"]


# public neighbours of a block that is refused
NEIGHBOURS = ["100.63.255.255", "100.128.0.0"]


def must_run():
    return os.environ.get("SBX_TESTS_MUST_RUN") == "1"


def skip(why):
    """Skip the whole file, loudly; a failure where tests must run."""
    print("SKIPPED: %s" % why, file=sys.stderr)
    if must_run():
        print("SBX_TESTS_MUST_RUN=1: a skip is a failure", file=sys.stderr)
        sys.exit(1)
    sys.exit(SKIP)


def need(*tools):
    missing = [t for t in tools if not shutil.which(t, path=PATH)]
    if missing:
        skip("missing tools: " + " ".join(missing))


PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def check(rc, what):
    if rc:
        err = ctypes.get_errno()
        raise OSError(err, "%s: %s" % (what, os.strerror(err)))


def mount(source, target, fstype, flags, data=None):
    check(LIBC.mount(source.encode(), target.encode(), fstype.encode() if fstype else None,
                     ctypes.c_ulong(flags), data.encode() if data else None),
          "mount %s" % target)


class Namespace:
    """A network and a mount namespace, held by a child that dies with us."""

    def __init__(self, binds, tmpfs):
        r, w = os.pipe()
        parent = os.getpid()
        self.pid = os.fork()
        if not self.pid:
            self.hold(parent, w, binds, tmpfs)
        os.close(w)
        with os.fdopen(r) as f:
            said = f.read()
        if said != "ok":
            os.waitpid(self.pid, 0)
            raise OSError("namespace: " + (said or "child died"))
        self.net = os.open("/proc/%d/ns/net" % self.pid, os.O_RDONLY | os.O_CLOEXEC)
        self.mnt = os.open("/proc/%d/ns/mnt" % self.pid, os.O_RDONLY | os.O_CLOEXEC)

    @staticmethod
    def hold(parent, w, binds, tmpfs):
        try:
            os.setsid()  # signals to our process group are not for it
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)
            check(LIBC.unshare(CLONE_NEWNS | CLONE_NEWNET), "unshare")
            mount("none", "/", None, MS_REC | MS_PRIVATE)
            for target, mode in tmpfs:
                mount("tmpfs", target, "tmpfs", 0, "mode=" + mode)
            for source, target in binds:
                mount(source, os.path.realpath(target), None, MS_BIND)
            os.write(w, b"ok")
        except BaseException as e:
            os.write(w, str(e).encode())
            os._exit(1)
        os.close(w)
        while True:
            signal.pause()

    def enter(self):
        check(LIBC.setns(self.net, CLONE_NEWNET), "setns net")
        check(LIBC.setns(self.mnt, CLONE_NEWNS), "setns mnt")

    def close(self):
        for fd in (self.net, self.mnt):
            os.close(fd)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class Log:
    """A growing file of records; mark() and since() bracket what a test caused."""

    def __init__(self, path, parse):
        self.path = path
        self.parse = parse

    def mark(self):
        try:
            return os.stat(self.path).st_size
        except FileNotFoundError:
            return 0

    def since(self, mark=0):
        try:
            with open(self.path, "rb") as f:
                f.seek(mark)
                data = f.read()
        except FileNotFoundError:
            return []
        lines = data[:data.rfind(b"\n") + 1].decode("utf-8", "replace").splitlines()
        return [r for r in map(self.parse, lines) if r is not None]


def parse_query(line):
    """dnsmasq's "query[A] name from addr" -> (type, name)."""
    _, found, rest = line.partition(": query[")
    if not found:
        return None
    qtype, _, rest = rest.partition("] ")
    return qtype, rest.rpartition(" from ")[0]


class Oracle:
    """What reached the servers since the mark: accepts, requests, DNS queries."""

    def __init__(self, world):
        self.world = world
        self.marks = [log.mark() for log in (world.net_log, world.host_log, world.dns_log)]

    def records(self, ev=None):
        self.world.barrier()
        out = []
        for log, mark in zip((self.world.net_log, self.world.host_log), self.marks):
            out += log.since(mark)
        out = [r for r in out if r["ev"] != "barrier" and r.get("lport") != 7999]
        return [r for r in out if r["ev"] == ev] if ev else out

    def accepts(self):
        return [(r["laddr"], r["lport"]) for r in self.records("accept")]

    def requests(self):
        return self.records("request")

    def queries(self):
        self.world.dns_barrier()
        return [q for q in self.world.dns_log.since(self.marks[2])
                if not q[1].startswith("barrier-")]


class World:
    def __init__(self, with_nginx=False, with_sshd=False):
        if os.geteuid() != 0:
            skip("the test world needs root (network namespaces, veth)")
        need("ip", "dnsmasq", "openssl", *(["nginx"] if with_nginx else []),
             *(["sshd", "ssh-keygen"] if with_sshd else []))
        self.product = os.environ.get("SBX_NET", "")
        if not os.access(self.product, os.X_OK):
            print("SBX_NET does not name the program: %r" % self.product, file=sys.stderr)
            sys.exit(1)
        self.procs = []
        self.spaces = []
        self.serial = 0
        self.help = None
        # not below /tmp or /var/tmp, of which the host namespace and each run have their own
        self.remove_stale()
        self.dir = tempfile.mkdtemp(prefix="sbx-world-%d-" % os.getpid(), dir="/srv")
        atexit.register(self.close)
        try:
            self.start(with_nginx, with_sshd)
        except BaseException:
            self.close()
            raise

    @staticmethod
    def remove_stale():
        """Directories of tests that were killed before they could tidy up."""
        for name in os.listdir("/srv"):
            match = re.fullmatch(r"sbx-world-(\d+)-.*", name)
            if match and not os.path.exists("/proc/" + match.group(1)):
                shutil.rmtree(os.path.join("/srv", name), ignore_errors=True)

    # ---- making it ----

    def start(self, with_nginx, with_sshd):
        os.chmod(self.dir, 0o755)
        self.uid = 50000 + os.getpid() % 9000
        self.files()
        binds = [(self.path("passwd"), "/etc/passwd"), (self.path("group"), "/etc/group"),
                 (self.path("resolv.conf"), "/etc/resolv.conf"), (self.path("hosts"), "/etc/hosts")]
        self.host = Namespace(binds, [("/tmp", "1777")])
        self.spaces.append(self.host)
        self.internet = Namespace(binds, [("/run", "755")])
        self.spaces.append(self.internet)
        self.wire()
        self.net_log = Log(self.path("net.log"), json.loads)
        self.host_log = Log(self.path("host.log"), json.loads)
        self.dns_log = Log(self.path("dns.log"), parse_query)
        self.nginx_log = Log(self.path("nginx.log"), str)
        net = self.origins("net", self.internet, "--dns", GATE4)
        canary = self.origins("host", self.host)
        self.dnsmasq()
        if with_nginx:
            self.nginx()
        if with_sshd:
            self.sshd()
        for proc in (net, canary):
            if proc.stdout.readline() != b"ready\n":
                raise OSError("origins.py did not start")
        self.dns_barrier()
        self.barrier()
        self.tmp_before = self.tmp_listing()
        self.mounts_before = self.host_mounts()

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def files(self):
        self.home, self.ws = self.path("home"), self.path("ws")
        for d, mode in ((self.home, 0o700), (self.ws, 0o755)):
            os.mkdir(d)
            os.chown(d, self.uid, self.uid)
            os.chmod(d, mode)
        self.root_ws = self.path("root-ws")
        os.mkdir(self.root_ws)
        os.mkdir(self.path("bin"))
        self.sbx = self.path("bin", "sbx-net")
        shutil.copy(self.product, self.sbx)
        os.chmod(self.sbx, 0o755)
        for name in ("rawclient.py", "origins.py"):  # the checkout may lie below /tmp, or in $HOME
            if os.path.exists(os.path.join(HERE, name)):
                shutil.copy(os.path.join(HERE, name), self.path("bin", name))
        self.write("passwd", "root:*:0:0::/root:/bin/sh\ngit:*:0:0::%s:/bin/sh\n"
                   "sshd:*:101:65534::/run/sshd:/usr/sbin/nologin\n"
                   "_apt:*:42:65534::/nonexistent:/usr/sbin/nologin\n"
                   "postgres:*:103:103::/:/bin/sh\nredis:*:104:104::/:/bin/sh\n"
                   "nobody:*:65534:65534::/nonexistent:/usr/sbin/nologin\n"
                   "www-data:*:33:33::/var/www:/usr/sbin/nologin\n"
                   "tester:*:%d:%d::%s:/bin/sh\n" % (self.path("githome"), self.uid, self.uid,
                                                     self.home))
        self.write("group", "root:x:0:\nnogroup:x:65534:\nwww-data:x:33:\ntester:x:%d:\n"
                   "adm:x:4:\npostgres:x:103:\nredis:x:104:\n" % self.uid)
        self.write("resolv.conf", "search corp.test\noptions ndots:5\nnameserver %s\n" % GATE4)
        self.write("hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"
                   "127.0.1.1 testhost\n127.0.0.1 hosts-lo.example\n"
                   "%s hosts-good.example hosts-also.example\n"
                   # what a sandbox is tried with
                   "192.0.2.1 hosts-proof.example\n2001:db8::1 hosts-proof.example\n" % v4(1))
        self.certificates()

    def certificates(self):
        self.ca, self.cert, self.key = (self.path(n) for n in ("ca.pem", "cert.pem", "key.pem"))
        names = sorted(set(NAMES) | set(SPECIAL) | set(CNAMES))
        self.write("san.cnf", "subjectAltName=" + ",".join(
            ["DNS:" + n for n in names if "_" not in n] +
            ["IP:" + v4(1), "IP:" + v6(1), "DNS:hosts-good.example"]) + "\n")

        def openssl(*args):
            subprocess.run(("openssl",) + args, cwd=self.dir, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        ec = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        openssl("req", "-x509", *ec, "-keyout", "ca.key", "-out", "ca.pem", "-days", "7",
                "-subj", "/CN=sbx-net test CA", "-addext", "basicConstraints=critical,CA:TRUE")
        openssl("req", *ec, "-keyout", "key.pem", "-out", "leaf.csr", "-subj", "/CN=good.example")
        openssl("x509", "-req", "-in", "leaf.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-set_serial", "2", "-days", "7", "-extfile", "san.cnf", "-out", "cert.pem")

    def wire(self):
        host = """
link set lo up
link add veth0 type veth peer name veth1 netns %d
addr add %s/24 dev veth0
addr add %s/64 dev veth0 nodad
link set veth0 up
""" % (self.internet.pid, HOST4, HOST6)
        internet = """
link set lo up
addr add %s/24 dev veth1
addr add %s/64 dev veth1 nodad
link set veth1 up
route add local 51.15.10.0/24 dev lo
route add local 2a01:4f8:10::/64 dev lo
""" % (GATE4, GATE6) + "".join("route add local %s dev lo\n" % net for net in [*FORBIDDEN_NETS, *NEIGHBOURS, ZERO4])
        routes = """
route add default via %s
route add default via %s
route add unreachable 51.15.98.0/24
route add unreachable 2a01:4f8:beef::/64
""" % (GATE4, GATE6)
        self.ip(self.host, host)
        self.ip(self.internet, internet)
        self.ip(self.host, routes)
        for space in self.spaces:
            self.run(["sh", "-c", "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 >$f;"
                      " done; echo 1 >/proc/sys/net/ipv6/ip_nonlocal_bind"],
                     ns=space, uid=0, check=True)

    def ip(self, space, batch):
        self.run(["ip", "-batch", "-"], ns=space, uid=0, input=batch.strip() + "\n", check=True)

    def origins(self, role, space, *more):
        os.makedirs(self.path("git"), exist_ok=True)
        os.makedirs(self.path("tree"), exist_ok=True)
        return self.daemon(["/usr/bin/python3", self.path("bin", "origins.py"), "--role", role,
                            "--log", self.path(role + ".log"), "--cert", self.cert,
                            "--key", self.key, "--git", self.path("git"), "--tree",
                            self.path("tree"), "--parent", str(os.getpid()), *more], space,
                           stdout=subprocess.PIPE)

    def daemon(self, argv, space, **kw):
        with open(self.path("daemons.out"), "ab") as out:
            kw.setdefault("stdout", out)
            proc = self.popen(argv, ns=space, uid=0, pdeath=True, cwd="/", stderr=out, **kw)
        self.procs.append(proc)
        return proc

    def dnsmasq(self):
        hosts = "".join("%s %s\n" % (a, n) for n, addrs in NAMES.items() for a in addrs)
        hosts += "".join("%s %s\n" % (a, n) for n, (a, _) in SPECIAL.items())
        self.write("zone", hosts)
        self.write("dnsmasq.conf", "".join("cname=%s,%s\n" % x for x in CNAMES.items()) +
                   "".join(x + "\n" for x in RECORDS) + """
no-resolv
no-hosts
addn-hosts=%s
local=/example/
local=/test/
server=/odd.example/%s#5353
server=/barrier.example/%s#5353
cache-size=0
user=root
pid-file=
listen-address=%s,%s
bind-interfaces
log-queries
log-facility=%s
""" % (self.path("zone"), GATE4, GATE4, GATE4, GATE6, self.path("dns.log")))
        self.daemon(["dnsmasq", "--keep-in-foreground", "--conf-file=" + self.path("dnsmasq.conf")],
                    self.internet)

    def nginx(self):
        os.makedirs(self.path("www"), exist_ok=True)
        sys.path.insert(0, HERE)
        import origins
        with open(self.path("www", "big.bin"), "wb") as f:
            f.write(origins.pattern(BIG))
        with open(self.path("www", "index.html"), "w", encoding="utf-8") as f:
            f.write("hello from nginx\n")
        for d in ("www",):
            os.chmod(self.path(d), 0o755)
        self.write("nginx.conf", """
daemon off; master_process off; user root; worker_processes 1; pid %(d)s/nginx.pid;
error_log %(d)s/nginx.err;
events { worker_connections 1024; }
http {
  access_log %(d)s/nginx.log; client_max_body_size 0; default_type application/octet-stream;
  client_body_temp_path %(d)s/ngx-b; proxy_temp_path %(d)s/ngx-p; fastcgi_temp_path %(d)s/ngx-f;
  uwsgi_temp_path %(d)s/ngx-u; scgi_temp_path %(d)s/ngx-s;
  server {
    listen %(a)s:80 reuseport; listen [%(b)s]:80 reuseport;
    listen %(a)s:443 ssl http2 reuseport; listen [%(b)s]:443 ssl http2 reuseport;
    ssl_certificate %(d)s/cert.pem; ssl_certificate_key %(d)s/key.pem;
    root %(d)s/www;
    location /git/ { proxy_pass http://%(g)s:8080; proxy_request_buffering off; }
  }
}
""" % {"d": self.dir, "a": v4(10), "b": v6(0x10), "g": v4(1)})
        proc = self.daemon(["nginx", "-c", self.path("nginx.conf"), "-p", self.dir,
                            "-e", self.path("nginx.err")], self.internet)
        end = time.monotonic() + 5
        while not os.path.exists(self.path("nginx.pid")):
            if proc.poll() is not None or time.monotonic() > end:
                with open(self.path("nginx.err"), encoding="utf-8") as f:
                    raise OSError("nginx: " + f.read())
            time.sleep(0.01)

    def sshd(self):
        os.mkdir(self.path("githome"), 0o700)
        for name in ("hostkey", "userkey"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(name)],
                           check=True)
        shutil.copy(self.path("userkey.pub"), self.path("authorized"))
        self.write("sshd.conf", """
Port 22
ListenAddress %s
HostKey %s
AuthorizedKeysFile %s
StrictModes no
PermitRootLogin yes
UsePAM no
PidFile none
PasswordAuthentication no
Subsystem sftp internal-sftp
""" % (v4(22), self.path("hostkey"), self.path("authorized")))
        self.run(["mkdir", "-p", "/run/sshd"], ns=self.internet, uid=0, cwd="/", check=True)
        self.daemon(["/usr/sbin/sshd", "-D", "-e", "-f", self.path("sshd.conf")], self.internet)
        ssh = os.path.join(self.home, "ssh")
        os.mkdir(ssh)
        shutil.copy(self.path("userkey"), ssh)
        with open(self.path("hostkey.pub"), encoding="utf-8") as f:
            key = " ".join(f.read().split()[:2])
        self.write("home/ssh/known_hosts", "ssh.example,[ssh.example]:22 %s\n" % key)
        self.write("home/ssh/config", "Host *\n IdentityFile %s/userkey\n IdentitiesOnly yes\n"
                   " UserKnownHostsFile %s/known_hosts\n StrictHostKeyChecking yes\n"
                   " User git\n BatchMode yes\n ControlPath none\n" % (ssh, ssh))
        for name in (".", "userkey", "known_hosts", "config"):
            os.chown(os.path.join(ssh, name), self.uid, self.uid)
        os.chmod(os.path.join(ssh, "userkey"), 0o600)
        self.wait_port(v4(22), 22)

    def git_repo(self, name="repo.git", files=None):
        """A bare repository below /git/ with one commit; returns the commit's id."""
        work = self.path("git-work")
        env = {"PATH": PATH, "HOME": self.dir, "GIT_CONFIG_NOSYSTEM": "1",
               "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@good.example",
               "GIT_COMMITTER_NAME": "t", "GIT_COMMITTER_EMAIL": "t@good.example"}

        def git(*args):
            return subprocess.run(("git",) + args, env=env, check=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL).stdout.decode().strip()
        git("init", "-q", "-b", "main", work)
        with open(os.path.join(work, "file.bin"), "wb") as f:
            f.write(os.urandom(300000))
        for path, text in (files or {}).items():
            with open(os.path.join(work, path), "w", encoding="utf-8") as f:
                f.write(text)
        git("-C", work, "add", "-A")
        git("-C", work, "commit", "-q", "-m", "one")
        git("clone", "-q", "--bare", work, self.path("git", name))
        return git("-C", work, "rev-parse", "HEAD")

    # ---- running things ----

    def popen(self, argv, ns=None, uid=None, cwd=None, pdeath=False, env=None, **kw):
        ns = ns or self.host
        uid = self.uid if uid is None else uid
        cwd = cwd or (self.ws if uid else self.root_ws)
        parent = os.getpid()

        def prepare():
            ns.enter()
            os.chdir(cwd)
            if uid:
                os.setgroups([])
                os.setresgid(uid, uid, uid)
                os.setresuid(uid, uid, uid)
            if pdeath:
                LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
                if os.getppid() != parent:
                    os._exit(1)
        kw.setdefault("stdin", subprocess.DEVNULL)
        kw.setdefault("start_new_session", True)
        return subprocess.Popen(argv, preexec_fn=prepare, env=env or self.env(uid), **kw)

    def env(self, uid=None):
        env = {"PATH": PATH, "HOME": "/root" if uid == 0 else self.home, "LANG": "C.UTF-8",
               "USER": "root" if uid == 0 else "tester", "TERM": "dumb", "SHELL": "/bin/sh"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                env[name] = os.environ[name]
        return env

    def run(self, argv, input=None, check=False, timeout=60, **kw):
        """Run to the end; text unless input is bytes. Never leaves a process behind."""
        binary = isinstance(input, bytes) or kw.pop("binary", False)
        if input is not None:
            kw["stdin"] = subprocess.PIPE
        kw.setdefault("stdout", subprocess.PIPE)
        kw.setdefault("stderr", subprocess.PIPE)
        if not binary:
            kw.update(encoding="utf-8", errors="replace")
        proc = self.popen(argv, **kw)
        try:
            out, err = proc.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(proc.pid, signal.SIGKILL)
            try:  # what left the session may hold the pipes open
                out, err = proc.communicate(timeout=2)
            except subprocess.TimeoutExpired:
                out, err = "", "(pipes still open)"
            for f in (proc.stdout, proc.stderr):
                if f:
                    f.close()
            raise AssertionError("timed out after %ds: %r\nstdout: %r\nstderr: %r" % (
                timeout, argv, (out or "")[-2000:], (err or "")[-2000:])) from None
        done = subprocess.CompletedProcess(argv, proc.returncode, out, err)
        if check and done.returncode:
            raise OSError("%r: exit %d\n%s" % (argv, done.returncode, err))
        return done

    def sbx_argv(self, options, command):
        return [self.sbx, "run", "--no-config", "--ask", "never", *options, "--", *command]

    def sbx_run(self, options, command, **kw):
        """sbx-net run OPTIONS -- COMMAND on the host, as the made user unless uid=0."""
        return self.run(self.sbx_argv(options, command), **kw)

    def has(self, option):
        """Whether sbx-net run knows the option already."""
        if not self.help:
            self.help = self.run([self.sbx, "run", "--help"]).stdout.split()
        return option in self.help or option + "," in self.help

    def curl_argv(self, *args):
        return ["curl", "-sS", "--max-time", "20", "--cacert", self.ca, *args]

    def curl(self, options, *args, **kw):
        return self.sbx_run(options, self.curl_argv(*args), **kw)

    def in_net(self, ns, fn):
        """Call fn in a thread inside a network namespace; its sockets stay there for life."""
        box = []

        def body():
            try:
                check(LIBC.setns(ns.net, CLONE_NEWNET), "setns")
                box.append(fn())
            except BaseException as e:
                box.append(e)
        t = threading.Thread(target=body)
        t.start()
        t.join()
        if isinstance(box[0], BaseException):
            raise box[0]
        return box[0]

    def connect(self, addr, port, ns=None, timeout=5):
        """A bare TCP connection from the host: the positive twin of a refused one."""
        def fn():
            return socket.create_connection((addr, port), timeout=timeout)
        return self.in_net(ns or self.host, fn)

    def wait_port(self, addr, port, seconds=5):
        end = time.monotonic() + seconds
        while True:
            try:
                self.connect(addr, port, ns=self.internet, timeout=1).close()
                return
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)

    # ---- oracles ----

    def oracle(self):
        return Oracle(self)

    def barrier(self):
        """Every connection made before this call is in the logs after it."""
        for ns in (self.internet, self.host):
            with self.connect("127.0.0.1", 7999, ns=ns) as s:
                s.recv(2)

    def dns_barrier(self):
        self.serial += 1
        label = b"barrier-%d-%d" % (os.getpid(), self.serial)
        name = label.decode() + ".odd.example"
        query = struct.pack(">HHHHHH", self.serial & 0xffff, 0x100, 1, 0, 0, 0) + bytes(
            [len(label)]) + label + b"\3odd\7example\0\0\1\0\1"
        s = self.in_net(self.host, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        with s:
            s.settimeout(0.5)
            for _ in range(20):
                s.sendto(query, (GATE4, 53))
                try:
                    s.recv(512)
                    break
                except OSError:
                    time.sleep(0.05)
            else:
                raise OSError("dnsmasq does not answer")
        for _ in range(200):
            if any(q[1] == name for q in self.dns_log.since()):
                return
            time.sleep(0.005)
        raise OSError("the query log lacks the barrier")

    def processes(self, uid=None):
        """Processes of the made user: {pid: command line}."""
        uid = self.uid if uid is None else uid
        out = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.stat("/proc/" + pid).st_uid == uid or self.real_uid(pid) == uid:
                    with open("/proc/%s/cmdline" % pid, "rb") as f:
                        out[int(pid)] = f.read().replace(b"\0", b" ").decode("utf-8", "replace")
        return out

    @staticmethod
    def real_uid(pid):
        with open("/proc/%s/status" % pid, encoding="utf-8") as f:
            for line in f:
                if line.startswith("Uid:"):
                    return int(line.split()[1])
        return -1

    @staticmethod
    def processes_with(marker):
        out = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    line = f.read().replace(b"\0", b" ").decode("utf-8", "replace")
                if marker in line and int(pid) != os.getpid():
                    out[int(pid)] = line
        return out

    def host_root(self, path):
        """A path as the host namespace sees it."""
        return "/proc/%d/root%s" % (self.host.pid, path)

    def tmp_listing(self):
        out = []
        for d, dirs, files in os.walk(self.host_root("/tmp")):
            out += [os.path.join(d, x) for x in dirs + files]
        for d in ("/dev/shm", "/run/user/%d" % self.uid):
            with contextlib.suppress(OSError):
                out += [os.path.join(d, x) for x in os.listdir(d)
                        if os.lstat(os.path.join(d, x)).st_uid == self.uid]
        for d, dirs, files in os.walk(self.home):
            out += [os.path.join(d, x) for x in dirs + files]
        return sorted(out)

    def host_mounts(self):
        with open("/proc/%d/mountinfo" % self.host.pid, encoding="utf-8") as f:
            return sorted(line.split()[4] for line in f)

    def new_mounts(self):
        """Mounts that a run left behind. (A bind on /etc/passwd may vanish: the kernel takes it
        away when somebody outside replaces the file.)"""
        before = list(self.mounts_before)
        return [m for m in self.host_mounts() if not (m in before and not before.remove(m))]

    def wait_no_processes(self, seconds=3):
        end = time.monotonic() + seconds
        while True:
            left = self.processes()
            if not left or time.monotonic() > end:
                return left
            time.sleep(0.01)

    def leftovers(self):
        """Whatever runs in our namespaces or as our user, the holders excepted."""
        out = set(self.processes()) if hasattr(self, "uid") else set()
        spaces = {os.stat(s.net).st_ino: s.pid for s in self.spaces}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                inode = os.stat("/proc/%s/ns/net" % pid).st_ino
                if inode in spaces and int(pid) not in spaces.values():
                    out.add(int(pid))
        return out - {os.getpid()}

    def close(self):
        for proc in self.procs:
            with contextlib.suppress(ProcessLookupError):
                proc.kill()
            proc.wait()
            if proc.stdout:
                proc.stdout.close()
        self.procs = []
        for pid in self.leftovers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for space in self.spaces:
            space.close()
        self.spaces = []
        if self.dir and not os.environ.get("SBX_KEEP_WORLD"):
            shutil.rmtree(self.dir, ignore_errors=True)
        elif self.dir:
            print("world kept in %s" % self.dir, file=sys.stderr)
        self.dir = None
        atexit.unregister(self.close)


class WorldCase(unittest.TestCase):
    """A test with the file's world in self.w, and the refusal helpers."""
    maxDiff = None

    @property
    def w(self):
        return _world[0]

    def not_yet(self, *option):
        """Whether an option is still to come; until then it must be a usage error."""
        if self.w.has(option[0]):
            return False
        done = self.w.sbx_run(list(option), ["true"])
        self.assertEqual(done.returncode, 64, done.stderr)
        print("not yet: %s" % option[0], file=sys.stderr)
        return True

    def refusal_lines(self, stderr):
        return [x for x in stderr.splitlines() if x.startswith("sbx-net: refused ")]

    def assertQuiet(self, oracle, what=""):
        """Nothing was asked of the DNS server and nothing was connected to."""
        self.assertEqual(oracle.queries(), [], what)
        self.assertEqual(oracle.accepts(), [], what)


_world = []


def setup_world(**kw):
    _world.append(World(**kw))
    return _world[0]


def teardown_world():
    while _world:
        _world.pop().close()


def main():
    """Run the calling file's tests; a skipped test fails where tests must run."""
    module = sys.modules["__main__"]
    if not hasattr(module, "setUpModule"):
        module.setUpModule = setup_world
    if not hasattr(module, "tearDownModule"):
        module.tearDownModule = teardown_world
    # as for ctrl-C: unittest would take SystemExit for a failing test and go on
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    prog = unittest.main(module=module, exit=False, verbosity=2, testRunner=ran.Runner)
    result = prog.result
    if result.skipped:
        print("SKIPPED: %d tests" % len(result.skipped), file=sys.stderr)
        if must_run():
            print("SBX_TESTS_MUST_RUN=1: a skip is a failure", file=sys.stderr)
            sys.exit(1)
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    # a shell in the world, to look around:  SBX_NET=/bin/true world.py [host|internet]
    w = World(with_nginx=True, with_sshd=True)
    print("world in %s, user %d; exit leaves it" % (w.dir, w.uid))
    side = w.internet if sys.argv[1:] == ["internet"] else w.host
    subprocess.run(["nsenter", "-t", str(side.pid), "-n", "-m", "sh"], check=False)
    w.close()

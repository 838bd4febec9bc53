#!/usr/bin/python3
"""VECTORS 7: what must keep working inside. Each tool runs bare first.

A tool that is absent, or does not work bare, proves nothing: that is a failure where all must run
(SBX_TESTS_MUST_RUN=1), but for those of OPTIONAL, which is said aloud.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SBX_NET = os.environ.get("SBX_NET", "sbx-net")
NOBODY = 65534
LIMIT = 120
skipped, excused = [], []
# Too big for what the tests need installed; where they are, they are tried.
OPTIONAL = {"npm", "go", "java", "javac", "cargo", "strace", "gdb"}

HELLO = r"""
#include <pthread.h>
#include <stdio.h>
static void *f(void *p) { return p; }
int main(void) { pthread_t t; int x;
 if (pthread_create(&t, 0, f, &x)) return 1;
 pthread_join(t, 0); puts("threads"); return 0; }
"""

# id, program needed, shell script; it must exit 0 and its last line must be "works"
TOOLS = [
    ("C-01", "gcc", "printf '%s' \"$HELLO\" >t.c && gcc -O1 -pthread -o t t.c && ./t && echo works"),
    ("C-02", "node", "node -e 'require(\"fs\").promises.readFile(\"/etc/hosts\")"
     ".then(() => console.log(\"works\"))'"),
    ("C-03", "node", "node -e 'const r=require(\"child_process\").spawnSync(\"echo\",[\"works\"]);"
     "process.stdout.write(r.stdout); process.exit(r.status)'"),
    ("C-03", "node", "node -e 'const {Worker}=require(\"worker_threads\");"
     "new Worker(\"console.log(\\\"works\\\")\",{eval:true})'"),
    ("C-04", "python3", "python3 -c 'import asyncio\n"
     "async def f():\n"
     " p = await asyncio.create_subprocess_exec(\"echo\", \"works\")\n"
     " await p.wait()\n"
     " await asyncio.get_running_loop().run_in_executor(None, abs, 1)\n"
     "asyncio.run(f())'"),
    ("C-06", "python3", "python3 -c 'import multiprocessing as m\n"
     "q = m.get_context(\"fork\").Queue(); s = m.Semaphore(1); s.acquire()\n"
     "p = m.get_context(\"fork\").Process(target=q.put, args=(\"works\",)); p.start()\n"
     "print(q.get()); p.join()'"),
    ("C-06", "python3", "python3 -c 'from multiprocessing import shared_memory as s\n"
     "m = s.SharedMemory(create=True, size=4096); m.buf[0] = 1; m.close(); m.unlink()\n"
     "print(\"works\")'"),
    # forkserver listens on a unix socket, which is refused; the other two ways work.
    ("C-05", "python3", "cat >m.py <<'E'\nimport multiprocessing as m\n"
     "def f(x): return x * 2\n"
     "if __name__ == '__main__':\n"
     " for way in ('spawn', 'fork'):\n"
     "  with m.get_context(way).Pool(2) as p: assert p.map(f, [1, 2]) == [2, 4]\n"
     " print('works')\nE\npython3 m.py"),
    ("C-07", "npm", "export npm_config_cache=$PWD/cache npm_config_update_notifier=false && mkdir dep app &&"
     " cd dep && printf 'module.exports = 1' >index.js &&"
     " echo '{\"name\":\"dep\",\"version\":\"1.0.0\",\"scripts\":"
     "{\"postinstall\":\"node -p 1 >ran\"}}' >package.json && npm pack --silent >/dev/null &&"
     " cd ../app && echo '{\"name\":\"app\",\"version\":\"1.0.0\"}' >package.json &&"
     " npm install --offline --no-audit --no-fund --foreground-scripts"
     " ../dep/dep-1.0.0.tgz >log 2>&1 && test -s node_modules/dep/ran &&"
     " node -e 'require(\"dep\")' && npm ci --offline --no-audit --no-fund"
     " >log 2>&1 && echo works || tail -3 log"),
    ("C-07", "cargo", "export CARGO_HOME=$PWD/home && mkdir -p dep/src src &&"
     " printf '[package]\nname=\"dep\"\nversion=\"0.1.0\"\nedition=\"2021\"\n' >dep/Cargo.toml &&"
     " echo 'pub fn s() -> String { String::from(\"works\") }' >dep/src/lib.rs &&"
     " printf '[package]\nname=\"t\"\nversion=\"0.1.0\"\nedition=\"2021\"\n[dependencies]\n"
     "dep={path=\"dep\"}\n' >Cargo.toml && echo 'fn main() { std::thread::spawn(|| println!(\"{}\","
     " dep::s())).join().unwrap() }' >src/main.rs && cargo -q run --offline 2>&1"),
    ("C-07", "gcc", "printf 'int f(void);int main(void){return f();}' >a.c &&"
     " printf 'int f(void){return 0;}' >b.c && printf '%%.o: %%.c; gcc -g -flto -c $< -o $@\n"
     "p: a.o l.a; gcc -flto $^ -o $@\nl.a: b.o; gcc-ar rcs $@ $^\n' >Makefile &&"
     " make -s -j4 p && strip p && ./p && echo works"),
    ("C-09", "python3", "python3 -c 'import socket\n"
     "try: s = socket.socket(2, 1, 262)\n"
     "except OSError: s = socket.socket()\n"
     "s.bind((\"127.0.0.1\", 0)); s.listen(); socket.create_connection(s.getsockname())\n"
     "print(\"works\")'"),
    ("C-09", "go", "printf 'package main\\nimport \"net\"\\nfunc main() { l, e := net.Listen(\"tcp\","
     " \"127.0.0.1:0\"); if e != nil { panic(e) }; l.Close(); println(\"works\") }\\n' >m.go &&"
     " go run m.go 2>&1"),
    ("C-11", "python3", "python3 -c 'import os\n"
     "f = os.memfd_create(\"x\", 8); os.write(f, b\"x\"); print(\"works\")'"),
    ("C-07", "npm", "mkdir dep app && echo '{\"name\":\"dep\",\"version\":\"1.0.0\"}' >dep/package.json &&"
     " echo '{\"name\":\"app\",\"version\":\"1.0.0\"}' >app/package.json && cd app &&"
     " npm install --offline --no-audit --no-fund --cache ../cache --install-links ../dep"
     " >log 2>&1 && test -f node_modules/dep/package.json && echo works || tail -3 log"),
    ("C-07", "git", "git init -q r && cd r && git config user.email a@example.com &&"
     " git config user.name a; echo x >f && git add f &&"
     " git -c user.email=a@example.com -c user.name=a commit -qm x && git clone -q . ../c &&"
     " git -C ../c log --oneline | grep -q x && echo works"),
    ("C-07", "sqlite3", "sqlite3 d 'create table t(x); insert into t values(\"works\");"
     "select x from t'"),
    ("C-07", "python3", "python3 -c 'import sqlite3\n"
     "c = sqlite3.connect(\"d2\"); c.execute(\"pragma journal_mode=wal\")\n"
     "c.execute(\"create table t(x)\"); c.commit(); print(\"works\")'"),
    ("C-07", "sh", "mkdir a b && echo works >a/f && mv a/f b/g && ln b/g a/h && cat a/h"),
    ("C-10", "cp", "cp --reflink=auto /bin/ls l && cp -a l l2 && touch -d yesterday l2 &&"
     " chmod 700 l2 && ./l2 >/dev/null && echo works"),
    ("C-10", "tar", "mkdir d3 && echo works >d3/f && tar cf t.tar d3 && rm -r d3 && tar xpf t.tar"
     " && cat d3/f"),
    ("C-14", "java", "java -version 2>&1 && echo works"),
    ("C-14", "javac", "cat >T.java <<'E'\nimport java.net.*;\n"
     "public class T { public static void main(String[] a) throws Exception {\n"
     "  ServerSocket s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());\n"
     "  Thread t = new Thread(() -> { try { s.accept().close(); } catch (Exception e) { } });\n"
     "  t.start(); new Socket(s.getInetAddress(), s.getLocalPort()).close(); t.join();\n"
     "  if (NetworkInterface.getByName(\"lo\") == null) System.exit(1);\n"
     "  new ProcessBuilder(\"echo\", \"works\").inheritIO().start().waitFor(); } }\n"
     "E\njavac T.java && java T"),
    ("C-09", "go", "printf 'package main\\nimport (\"net\"; \"os\"; \"os/exec\")\\nfunc main() {"
     " c := make(chan error); go func() { _, e := net.InterfaceByName(\"lo\"); c <- e }();"
     " if e := <-c; e != nil { panic(e) }; p := exec.Command(\"echo\", \"works\");"
     " p.Stdout = os.Stdout; if e := p.Run(); e != nil { panic(e) } }\\n' >m.go && go build m.go &&"
     " ./m"),
    ("C-19", "getent", "getent passwd root >/dev/null && id >/dev/null && echo works"),
    ("C-21", "python3", "python3 -c 'import ctypes\n"
     "l = ctypes.CDLL(None, use_errno=True); i = l.shmget(0, 4096, 0o1600); assert i >= 0\n"
     "l.shmctl(i, 0, None); print(\"works\")'"),
    ("C-25", "nproc", "nproc >/dev/null && readlink /proc/self/exe >/dev/null &&"
     " grep -q MemTotal /proc/meminfo && grep -q . /proc/self/maps && echo works"),
    ("C-26", "python3", "python3 -c 'import os, socket, select, subprocess, tempfile, pty\n"
     "a, b = socket.socketpair(); a.send(b\"x\"); assert b.recv(1) == b\"x\"\n"
     "subprocess.run([\"true\"], check=True, close_fds=True); select.epoll()\n"
     "tempfile.TemporaryFile().write(b\"x\"); os.getrandom(8); print(\"works\")'"),
    ("getifaddrs", "python3", "python3 -c 'import socket; socket.if_nameindex(); print(\"works\")'"),
    ("getifaddrs", "python3", "python3 -c 'import ctypes\n"
     "l = ctypes.CDLL(None, use_errno=True); p = ctypes.c_void_p()\n"
     "assert l.getifaddrs(ctypes.byref(p)) == 0 and p; print(\"works\")'"),
    ("getifaddrs", "node", "node -e 'if (!require(\"os\").networkInterfaces().lo) process.exit(1);"
     "console.log(\"works\")'"),
    ("C-26", "python3", "python3 -c 'import pty, os\n"
     "m, s = pty.openpty(); os.write(s, b\"x\"); os.read(m, 1); print(\"works\")'"),
    ("C-26", "script", "script -qec true /dev/null >/dev/null </dev/null && echo works"),
    ("make", "make", "printf 'all: ; @echo works\\n' >Makefile && make -s -j2"),
    ("bash", "bash", "bash -c 'cat <(echo works) | tee /dev/stderr 2>/dev/null' | tail -1"),
]

# The same, of programs that trace: with --allow-ptrace, and not without.
TRACERS = [
    ("gcc", "printf '#include <stdlib.h>\nint main(void){void*volatile p=malloc(9);p=0;return 0;}'"
     " >l.c && gcc -fsanitize=address -o l l.c && ! ./l 2>log &&"
     " grep -q 'detected memory leaks' log && echo works"),
    ("strace", "strace -o log true && grep -q '^exit_group(0)' log && echo works"),
    ("gdb", "gdb -batch -ex run --args /bin/echo works 2>/dev/null | grep -x works"),
]


def find(name):
    """Where the program is; cargo may be a stand-in that looks for itself below its user's home."""
    if name == "cargo" and shutil.which("rustc"):
        p = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=False)
        found = os.path.join(p.stdout.strip(), "bin", name)
        if os.path.exists(found):
            return found
    return shutil.which(name) or next(iter(glob.glob("/usr/lib/postgresql/*/bin/" + name)), None)


class Tools(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.mkdtemp(prefix="escape-tools.", dir="/var/tmp")
        os.chmod(self.top, 0o755)
        self.addCleanup(shutil.rmtree, self.top, True)
        self.home = os.path.join(self.top, "home")
        os.mkdir(self.home, 0o700)

    def run_as(self, uid, argv, work):
        kw = {}
        if os.geteuid() == 0 and uid != 0:
            kw = dict(user=uid, group=uid, extra_groups=[])
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.home, "HELLO": HELLO,
               "LANG": "C.UTF-8"}
        p = subprocess.run(argv, cwd=work, env=env, stdin=subprocess.DEVNULL, timeout=LIMIT,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           check=False, **kw)
        lines = p.stdout.strip().splitlines() or [""]
        return (p.returncode, lines[-1]), p.stdout

    def work(self, uid, name):
        path = tempfile.mkdtemp(prefix=name + ".", dir=self.top)
        for p in (path, self.home):
            os.chown(p, uid, uid)
        return path

    def check(self, uid, ident, program, script, *options, works=True):
        where, missing = find(program), excused if program in OPTIONAL else skipped
        if not where:
            missing.append("%s: no %s here" % (ident, program))
            return
        argv = ["sh", "-c", 'PATH=$1:$PATH; ' + script, "sh", os.path.dirname(where)]
        bare, _ = self.run_as(uid, argv, self.work(uid, "bare"))
        if bare != (0, "works"):
            missing.append("%s uid %d: bare %s: %s" % (ident, uid, bare,
                                                          script[:40].replace("\n", ";")))
            return
        inside = [SBX_NET, "run", "--no-config", "--ask", "never", "--env", "HELLO", *options, "--"] + argv
        got, output = self.run_as(uid, inside, self.work(uid, "inside"))
        self.assertEqual(got == (0, "works"), works, output)

    def users(self):
        return [0, NOBODY] if os.geteuid() == 0 else [os.geteuid()]

    def test_tools_work_inside(self):
        for uid in self.users():
            for ident, program, script in TOOLS:
                with self.subTest(id=ident, program=program, uid=uid):
                    self.check(uid, ident, program, script)

    def test_tracers_work_where_tracing_is_allowed(self):
        for uid in self.users():
            for program, script in TRACERS:
                with self.subTest(program=program, uid=uid):
                    self.check(uid, "X-009", program, script, "--allow-ptrace")
                    self.check(uid, "X-009", program, script, works=False)

    def test_initdb_works_inside(self):
        """C-06, C-21: PostgreSQL makes and opens a cluster; it refuses to be root."""
        uid = self.users()[-1]
        if uid == 0:
            self.skipTest("nobody else to be")
        self.check(uid, "initdb", "initdb", "initdb -D db -N >log 2>&1 && echo 'select 6 * 7' |"
                   " postgres --single -D db postgres 2>>log | grep -q 42 && echo works || tail -5 log")


def main():
    program = unittest.main(verbosity=2, exit=False)
    for line in sorted(set(excused)):
        print("NOT TRIED:", line, file=sys.stderr)
    for line in sorted(set(skipped)):
        print("SKIP:", line, file=sys.stderr)
    must = os.environ.get("SBX_TESTS_MUST_RUN") == "1"
    if not program.result.wasSuccessful() or (must and (skipped or program.result.skipped)):
        sys.exit(1)
    sys.exit(77 if program.result.skipped else 0)


if __name__ == "__main__":
    main()

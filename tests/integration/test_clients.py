#!/usr/bin/python3
"""Real programs through the proxy variables: git, wget, python, node. More in tests/clients."""
import hashlib
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from origins import BIG, pattern  # noqa: E402
from world import PATH, WorldCase, main, setup_world  # noqa: E402

BIG_SHA = hashlib.sha256(pattern(BIG)).hexdigest()
_commit = []


def setUpModule():
    _commit.append(setup_world(with_nginx=True, with_sshd=True).git_repo())


class Clients(WorldCase):
    def need(self, tool):
        if not shutil.which(tool, path=PATH):
            self.skipTest("no " + tool)

    def test_git_clone_https(self):
        self.need("git")
        script = ("git -c http.sslCAInfo=%s clone -q https://www.example/git/repo.git %s && "
                  "git -C %s rev-parse HEAD && git -C %s fsck --full 2>&1")
        for name, host, ok in (("clone", "www.example", True), ("clone2", "good.example", False)):
            with self.subTest(host):
                o = self.w.oracle()
                done = self.w.sbx_run(["-a", host], ["sh", "-c", script % (self.w.ca, name, name,
                                                                          name)])
                if ok:
                    self.assertEqual(done.stdout.split()[0], _commit[0], done.stderr)
                else:
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn("sbx-net: refused www.example:443 (", done.stderr)
                    self.assertQuiet(o)

    def test_git_push_https(self):
        self.need("git")
        script = ("git -c http.sslCAInfo={ca} clone -q https://www.example/git/repo.git push && "
                  "cd push && head -c 3000000 /dev/urandom >new && git add new && "
                  "git -c user.name=t -c user.email=t@t commit -qm two && "
                  "git -c http.sslCAInfo={ca} push -q origin HEAD:refs/heads/pushed && "
                  "git rev-parse HEAD").format(ca=self.w.ca)
        done = self.w.sbx_run(["-a", "www.example"], ["sh", "-c", script])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.w.path("git", "repo.git", "refs", "heads", "pushed"), encoding="ascii") as f:
            self.assertEqual(f.read().strip(), done.stdout.strip())

    def test_ssh_is_told_why(self):
        """A captured ssh that is refused gets a disconnect of its own protocol, not a reset."""
        self.need("ssh")
        ssh = ["ssh", "-F", os.path.join(self.w.home, "ssh", "config")]
        o = self.w.oracle()
        done = self.w.sbx_run(["-q", "-a", "ssh.example:443"], [*ssh, "git@ssh.example", "true"])
        self.assertEqual(done.returncode, 255)
        self.assertRegex(done.stderr, r"(?m)^Received disconnect from \S+ port 22:1: refused "
                         r"ssh\.example:22 \(not on the allow list\); "
                         r"allow with: --allow ssh\.example:22\s*$")
        done = self.w.sbx_run(["-q"], [*ssh, "git@192.0.2.77", "true"])
        self.assertIn(":1: refused 192.0.2.77:22 (not on the allow list)", done.stderr)
        self.assertQuiet(o)
        done = self.w.sbx_run(["-q", "-a", "ssh.example:22"],
                              [*ssh, "git@ssh.example", "echo", "in"])
        self.assertEqual((done.returncode, done.stdout), (0, "in\n"), done.stderr)

    def test_wget(self):
        self.need("wget")
        for url in ("https://good.example/big", "http://good.example/big"):
            with self.subTest(url):
                cmd = "wget -q --ca-certificate=%s -O - %s | sha256sum" % (self.w.ca, url)
                done = self.w.sbx_run(["-a", "good.example"], ["sh", "-c", cmd])
                self.assertEqual(done.stdout.split()[0], BIG_SHA, done.stderr)
                o = self.w.oracle()
                done = self.w.sbx_run(["-a", "v4only.example"], ["sh", "-c", cmd])
                self.assertNotEqual(done.stdout.split()[0], BIG_SHA)
                self.assertQuiet(o)

    def test_python_urllib(self):
        script = ("import hashlib, ssl, sys, urllib.request\n"
                  "c = ssl.create_default_context(cafile=%r)\n"
                  "print(hashlib.sha256(urllib.request.urlopen(sys.argv[1], context=c).read())"
                  ".hexdigest())" % self.w.ca)
        for scheme in ("http", "https"):
            with self.subTest(scheme):
                url = scheme + "://good.example/big"
                done = self.w.sbx_run(["-a", "good.example"], ["/usr/bin/python3", "-c", script,
                                                              url])
                self.assertEqual(done.stdout.strip(), BIG_SHA, done.stderr)
                done = self.w.sbx_run([], ["/usr/bin/python3", "-c", script, url])
                self.assertIn("403", done.stderr)

    def test_node_connect(self):
        self.need("node")
        script = r"""
const http = require('http'), tls = require('tls'), fs = require('fs');
const crypto = require('crypto');
const p = new URL(process.env.HTTPS_PROXY), ca = fs.readFileSync(process.argv[1]);
const r = http.request({host: p.hostname, port: p.port, method: 'CONNECT',
                        path: 'good.example:443'});
r.on('connect', (res, socket) => {
  if (res.statusCode != 200) { console.log(res.statusCode, res.headers['sbx-net-code']);
                               process.exit(1); }
  const t = tls.connect({socket, servername: 'good.example', ca}, () =>
    t.write('GET /big HTTP/1.1\r\nHost: good.example\r\n\r\n'));
  const parts = [];
  t.on('data', d => parts.push(d));
  t.on('end', () => {
    const all = Buffer.concat(parts), at = all.indexOf('\r\n\r\n');
    console.log(crypto.createHash('sha256').update(all.subarray(at + 4)).digest('hex'));
    process.exit(0);
  });
}).end();
"""
        done = self.w.sbx_run(["-a", "good.example"], ["node", "-e", script, self.w.ca])
        self.assertEqual(done.stdout.strip(), BIG_SHA, done.stderr)
        done = self.w.sbx_run([], ["node", "-e", script, self.w.ca])
        self.assertEqual(done.stdout.strip(), "403 not-listed", done.stderr)

    def test_many_python_threads(self):  # C-22
        script = ("import concurrent.futures as f, urllib.request as u, hashlib\n"
                  "def one(i): return hashlib.sha256(u.urlopen('http://good.example/bytes/%d' %"
                  " (10000 + i)).read()).hexdigest()\n"
                  "with f.ThreadPoolExecutor(50) as e:\n"
                  " print('\\n'.join(e.map(one, range(500))))\n")
        done = self.w.sbx_run(["-a", "good.example"], ["/usr/bin/python3", "-c", script],
                              timeout=120)
        whole = pattern(20000)
        want = [hashlib.sha256(whole[:10000 + i]).hexdigest() for i in range(500)]
        self.assertEqual(done.stdout.split(), want, done.stderr[-500:])


if __name__ == "__main__":
    main()

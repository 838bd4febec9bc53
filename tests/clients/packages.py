"""What package clients fetch in the test world, as plain files below one directory."""
import base64
import gzip
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
import zipfile

from world import PATH


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

    mod = "module hello.test/hello\n"
    versions = tree + "/go/hello.test/hello/@v/v1.0.0"
    put(versions + ".info", '{"Version": "v1.0.0", "Time": "2020-01-01T00:00:00Z"}')
    put(versions + ".mod", mod)
    module = io.BytesIO()
    with zipfile.ZipFile(module, "w") as z:
        z.writestr("hello.test/hello@v1.0.0/go.mod", mod)
        z.writestr("hello.test/hello@v1.0.0/hello.go", "package hello\n\nfunc Hello() {}\n")
    put(versions + ".zip", module.getvalue())

    put(tree + "/maven/test/hello/parent/1/parent-1.pom",
        "<project><modelVersion>4.0.0</modelVersion><groupId>test.hello</groupId>"
        "<artifactId>parent</artifactId><version>1</version><packaging>pom</packaging></project>")


def image(tree):
    """A container image "hello:1" as a registry serves it. Return: the digest of its layer."""
    def blob(data):
        digest = hashlib.sha256(data).hexdigest()
        put("%s/v2/hello/blobs/sha256:%s" % (tree, digest), data)
        return {"size": len(data), "digest": "sha256:" + digest}
    layer = blob(tarball({"hello": "from a layer\n"}))
    config = blob(json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {
        "type": "layers", "diff_ids": []}}).encode())
    kind = "application/vnd.docker."
    put(tree + "/v2/hello/manifests/1", json.dumps({
        "schemaVersion": 2, "mediaType": kind + "distribution.manifest.v2+json",
        "config": {"mediaType": kind + "container.image.v1+json", **config},
        "layers": [{"mediaType": kind + "image.rootfs.diff.tar.gzip", **layer}]}))
    put(tree + "/v2/index.html", "{}")
    return layer["digest"].partition(":")[2]


def openpgp_key(tree, home):
    """A key as a keyserver serves it. Return: its fingerprint."""
    os.mkdir(home, 0o700)
    env = {"GNUPGHOME": home, "PATH": PATH}

    def gpg(*argv):
        return subprocess.run(["gpg", "-q", "--batch", "--passphrase", "", *argv], env=env,
                              check=True, capture_output=True).stdout
    gpg("--quick-gen-key", "hello@good.example", "ed25519", "sign", "never")
    listed = gpg("--list-keys", "--with-colons").decode()
    subprocess.run(["gpgconf", "--kill", "all"], env=env, check=False)
    put(tree + "/pks/lookup", gpg("--armor", "--export"))
    return re.search(r"^fpr:+([0-9A-F]+):", listed, re.M).group(1)

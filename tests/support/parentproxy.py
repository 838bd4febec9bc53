#!/usr/bin/python3
"""parentproxy.py NAMES LOG PORT [CERT KEY]: a parent proxy with a table of names of its own.

HTTP (CONNECT and absolute-form) and SOCKS5 on one port; through TLS when it has a certificate. Logs
the first line and the credentials of each request. Two targets end by themselves after PART bytes:
"whole." with the end of TLS announced, "cut." without.
"""
import json
import socket
import ssl
import sys
import threading

PART = 300000
names, log = json.loads(sys.argv[1]), open(sys.argv[2], "a", buffering=1)
tls = None
if len(sys.argv) > 4:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(sys.argv[4], sys.argv[5])


def pump(a, b):
    try:
        while (data := a.recv(65536)):
            b.sendall(data)
        if not isinstance(b, ssl.SSLSocket):
            b.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def both(a, b):
    t = threading.Thread(target=pump, args=(a, b), daemon=True)
    t.start()
    pump(b, a)
    t.join()


def dial(host, port):
    return socket.create_connection((names[host], port), timeout=20)


def http(c, data):
    while b"\r\n\r\n" not in data:
        data += c.recv(4096)
    head, rest = data.split(b"\r\n\r\n", 1)
    lines = head.decode().split("\r\n")
    auth = [x for x in lines if x.lower().startswith("proxy-authorization:")]
    log.write(json.dumps([lines[0], auth]) + "\n")
    method, url, _ = lines[0].split()
    host = url.split("://")[-1].split("/")[0]
    host, _, port = host.partition(":")
    if method == "CONNECT" and host.split(".")[0] in ("cut", "whole"):
        c.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(PART))
        if host.startswith("whole"):
            c.unwrap()
        return
    if host not in names:
        c.sendall(b"HTTP/1.1 502 no\r\nContent-Length: 0\r\n\r\n")
        return
    up = dial(host, int(port or 80))
    if method == "CONNECT":
        c.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    else:
        path = "/" + url.split("://")[-1].partition("/")[2]
        lines[0] = "%s %s HTTP/1.1" % (method, path)
        up.sendall("\r\n".join(x for x in lines if x not in auth).encode() + b"\r\n\r\n" + rest)
    both(c, up)


def socks(c):
    c.sendall(b"\5\0")
    head = c.recv(5, socket.MSG_WAITALL)
    name = c.recv(head[4], socket.MSG_WAITALL).decode()
    port = int.from_bytes(c.recv(2, socket.MSG_WAITALL), "big")
    log.write(json.dumps(["socks %d %s %d" % (head[3], name, port), []]) + "\n")
    up = dial(name, port)
    c.sendall(b"\5\0\0\1\0\0\0\0\0\0")
    both(c, up)


def one(c):
    try:
        if tls:
            c = tls.wrap_socket(c, server_side=True, suppress_ragged_eofs=False)
        data = c.recv(1)
        if data == b"\5":
            c.recv(2, socket.MSG_WAITALL)
            socks(c)
        elif data:
            http(c, data)
    except (OSError, KeyError, ValueError):
        pass
    finally:
        c.close()


s = socket.create_server(("", int(sys.argv[3])), backlog=64)
print("ready", flush=True)
while True:
    threading.Thread(target=one, args=(s.accept()[0],), daemon=True).start()

#!/usr/bin/python3
"""Bytes to the proxy, exactly as told: runs inside the sandbox, thousands of cases a start.

Reads a JSON list of cases on stdin and writes a JSON list of results in the same order.
Case: {"id", "send": [base64, ...] pieces, "mode": "whole" | "bytes", "to": [addr, port],
       "shut": half-close after sending, "wait": reply bytes to await before the next piece,
       "timeout": seconds, "limit": stop after so many reply bytes, "rst": reset instead of reading}
Result: {"id", "recv": base64, "end": "eof" | "reset" | "timeout" | "limit" | "refused",
         "seconds"}
"""
import base64
import json
import socket
import struct
import sys
import threading
import time

WORKERS = 24


def deliver(sock, data, mode):
    if mode == "bytes":
        i = 0
        while i < len(data):
            # the middle of a long message goes faster, or its time would be up on a busy machine
            n = 1 if i < 300 or i >= len(data) - 60 else min(97, len(data) - 60 - i)
            sock.sendall(data[i:i + n])
            time.sleep(0.0002)
            i += n
    else:
        sock.sendall(data)


def one(case):
    start = time.monotonic()
    out, end = b"", "timeout"
    timeout = case.get("timeout", 5)
    limit = case.get("limit", 1 << 20)
    waits = case.get("wait", [])
    try:
        sock = socket.create_connection(tuple(case.get("to", ["127.0.0.1", 3128])), timeout=timeout)
    except OSError as e:
        return {"id": case["id"], "recv": "", "end": "refused", "error": str(e),
                "seconds": time.monotonic() - start}
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for i, piece in enumerate(case["send"]):
                deliver(sock, base64.b64decode(piece), case.get("mode", "whole"))
                want = len(out) + (waits[i] if i < len(waits) else 0)
                while len(out) < want:
                    data = sock.recv(65536)
                    if not data:
                        break
                    out += data
            if case.get("shut"):
                sock.shutdown(socket.SHUT_WR)
        except TimeoutError:
            raise
        except OSError:
            pass  # the proxy closed early; what it said is still to be read
        if case.get("rst"):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end = "rst-sent"
        else:
            while len(out) < limit:
                sock.settimeout(max(0.01, timeout - (time.monotonic() - start)))
                data = sock.recv(65536)
                if not data:
                    end = "eof"
                    break
                out += data
            else:
                end = "limit"
    except TimeoutError:
        end = "timeout"
    except ConnectionResetError:
        end = "reset"
    except OSError as e:
        end = "error: %s" % e
    sock.close()
    return {"id": case["id"], "recv": base64.b64encode(out).decode(), "end": end,
            "seconds": time.monotonic() - start}


def main():
    cases = json.load(sys.stdin)
    results = [None] * len(cases)
    todo = iter(range(len(cases)))
    lock = threading.Lock()

    def worker():
        while True:
            with lock:
                i = next(todo, None)
            if i is None:
                return
            results[i] = one(cases[i])
    threads = [threading.Thread(target=worker) for _ in range(min(WORKERS, len(cases)))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()

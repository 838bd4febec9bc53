#!/bin/sh
# client: python asyncio streams
# needs: python3
# host: good.example
# proxy: no: knows no proxy
# capture: yes
set -eu
/usr/bin/python3 - <<'EOF'
import asyncio, hashlib, os, ssl
async def main():
    c = ssl.create_default_context(cafile=os.environ["CA"])
    for port, tls in ((80, None), (443, c)):
        r, w = await asyncio.wait_for(asyncio.open_connection("good.example", port, ssl=tls), 20)
        w.write(b"GET /big HTTP/1.1\r\nHost: good.example\r\n\r\n")
        await r.readuntil(b"\r\n\r\n")
        assert hashlib.sha256(await r.read()).hexdigest() == os.environ["BIG_SHA"]
        w.close()
asyncio.run(main())
EOF

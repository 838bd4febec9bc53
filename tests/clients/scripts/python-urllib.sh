#!/bin/sh
# client: python urllib
# needs: python3
# host: good.example
# proxy: yes
# capture: yes
set -eu
/usr/bin/python3 - <<'EOF'
import hashlib, os, ssl, urllib.request
c = ssl.create_default_context(cafile=os.environ["CA"])
for scheme in ("http", "https"):
    body = urllib.request.urlopen(scheme + "://good.example/big", context=c, timeout=20).read()
    assert hashlib.sha256(body).hexdigest() == os.environ["BIG_SHA"]
EOF

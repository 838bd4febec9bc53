#!/bin/sh
# client: python requests
# needs: python3
# host: good.example
# proxy: yes
# capture: yes
set -eu
/usr/bin/python3 - <<'EOF'
import hashlib, os, sys
try:
    import requests
except ImportError:
    try:
        from pip._vendor import requests
    except ImportError:
        sys.exit(78)
for scheme in ("http", "https"):
    r = requests.get(scheme + "://good.example/big", verify=os.environ["CA"], timeout=20)
    r.raise_for_status()
    assert hashlib.sha256(r.content).hexdigest() == os.environ["BIG_SHA"]
EOF

#!/bin/sh
# client: node fetch
# needs: node
# host: good.example
# proxy: from node 24 on
# capture: yes
set -eu
[ "$MODE" = capture ] || node -e 'process.exit(parseInt(process.versions.node) < 24)' || exit 78
NODE_EXTRA_CA_CERTS="$CA" node -e '
const crypto = require("crypto");
(async () => {
  for (const u of ["http://good.example/big", "https://good.example/big"]) {
    const r = await fetch(u);
    const h = crypto.createHash("sha256").update(Buffer.from(await r.arrayBuffer()));
    if (!r.ok || h.digest("hex") != process.env.BIG_SHA) throw new Error(u + " " + r.status);
  }
})().catch((e) => { console.error(e.message); process.exit(1); });
'

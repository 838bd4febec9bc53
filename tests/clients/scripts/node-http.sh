#!/bin/sh
# client: node http and https
# needs: node
# host: good.example
# proxy: from node 24.5 on; before, by an agent only
# capture: yes
set -eu
[ "$MODE" = capture ] || node -e '
const [a, b] = process.versions.node.split(".").map(Number);
process.exit(a > 24 || (a == 24 && b >= 5) ? 0 : 1)' || exit 78
NODE_EXTRA_CA_CERTS="$CA" node -e '
const crypto = require("crypto");
const get = (u) => new Promise((ok, bad) => require(u.split(":")[0]).get(u, (r) => {
  const h = crypto.createHash("sha256");
  r.on("data", (d) => h.update(d)).on("end", () => ok([r.statusCode, h.digest("hex")]));
}).on("error", bad));
(async () => {
  for (const u of ["http://good.example/big", "https://good.example/big"]) {
    const [status, sum] = await get(u);
    if (status != 200 || sum != process.env.BIG_SHA) throw new Error(u + " " + status);
  }
})().catch((e) => { console.error(e.message); process.exit(1); });
'

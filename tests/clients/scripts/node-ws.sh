#!/bin/sh
# client: node WebSocket handshake
# needs: node
# host: good.example
# proxy: no: the built-in upgrade knows no proxy
# capture: yes
set -eu
NODE_EXTRA_CA_CERTS="$CA" node -e '
const r = require("https").request({host: "good.example", path: "/ws", headers: {
  Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": 13,
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}});
r.on("upgrade", (res, s) => {
  s.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
  s.on("data", (d) => process.exit(d.toString("latin1").endsWith("hi") ? 0 : 1));
});
r.on("response", () => process.exit(1)).on("error", () => process.exit(1)).end();
'

#!/bin/sh
# client: cargo
# needs: cargo
# host: pkg.example
# proxy: yes
# capture: yes
# where: installed
set -eu
cd "$OUT" && mkdir src && echo 'fn main() {}' >src/main.rs
cat >Cargo.toml <<'EOF'
[package]
name = "t"
version = "0.1.0"
edition = "2021"
[dependencies]
sbx-hello = { version = "1", registry = "world" }
EOF
export CARGO_HOME="$OUT/home" CARGO_HTTP_CAINFO="$CA" CARGO_NET_RETRY=0
export CARGO_REGISTRIES_WORLD_INDEX="sparse+https://pkg.example/tree/cargo/"
cargo -q fetch
ls "$CARGO_HOME"/registry/src/*/sbx-hello-1.0.0/src/lib.rs >/dev/null

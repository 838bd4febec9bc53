#!/bin/sh
# client: go modules
# needs: go
# host: pkg.example
# proxy: yes
# capture: yes
# where: installed
set -eu
export GOPATH="$OUT/go" GOCACHE="$OUT/cache" GOMODCACHE="$OUT/mod" GOSUMDB=off GOFLAGS=-mod=mod
export GOPROXY=https://pkg.example/tree/go SSL_CERT_FILE="$CA"
cd "$OUT" && printf 'module t\n\ngo 1.19\n\nrequire hello.test/hello v1.0.0\n' >go.mod
go mod download -x hello.test/hello@v1.0.0 >&2
grep -q 'func Hello' "$OUT/mod/hello.test/hello@v1.0.0/hello.go"
chmod -R u+w "$OUT/mod"

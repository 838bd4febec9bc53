#!/bin/sh
# client: go net.Dial
# needs: go
# host: good.example
# proxy: no: knows no proxy
# capture: yes
# where: installed
set -eu
export GOPATH="$OUT/go" GOCACHE="$OUT/cache" GO111MODULE=off GODEBUG=netdns=go
cat >"$OUT/t.go" <<'GO'
package main

import (
	"io"
	"net"
	"os"
	"strings"
)

func main() {
	c, err := net.Dial("tcp", "good.example:8080")
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	io.WriteString(c, "GET / HTTP/1.0\r\nHost: good.example\r\n\r\n")
	all, err := io.ReadAll(c)
	if err != nil || !strings.Contains(string(all), "hello from net good.example") {
		os.Exit(1)
	}
}
GO
go run "$OUT/t.go"

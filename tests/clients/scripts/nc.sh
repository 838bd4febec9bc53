#!/bin/sh
# client: nc to an odd port
# needs: nc
# host: good.example
# proxy: no: knows no HTTP proxy by variables
# capture: yes
set -eu
[ "$(echo hi | nc -w 10 good.example 31337 | head -n 1)" = "banner 31337" ]

#!/bin/sh
# client: redis-cli
# needs: redis-cli redis-server
# host: redis.example
# proxy: no: knows no proxy
# capture: yes
set -eu
[ "$(timeout 20 redis-cli -h redis.example set key value)" = OK ]
[ "$(timeout 20 redis-cli -h redis.example get key)" = value ]

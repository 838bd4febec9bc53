#!/bin/sh
# client: psql
# needs: psql postgres
# host: pg.example
# proxy: no: knows no proxy
# capture: yes
set -eu
[ "$(PGCONNECT_TIMEOUT=20 psql -Atq -h pg.example -U postgres -c 'select 6*7' postgres)" = 42 ]

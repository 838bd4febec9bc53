#!/bin/sh
# client: mysql (MariaDB)
# needs: mysql mariadbd
# host: mysql.example
# proxy: no: knows no proxy
# capture: yes
set -eu
[ "$(mysql --no-defaults --connect-timeout=5 --skip-ssl -h mysql.example -u t -NBe 'select 6*7')" = 42 ]

#!/bin/sh
# Creates Temporal's two databases and brings their schema to the release of temporal-sql-tool. Idempotent: run it before each
# start of the server. temporal-sql-tool reads SQL_PLUGIN, SQL_HOST, SQL_PORT, SQL_USER and SQL_PASSWORD.
# CREATE_DATABASES=false: the databases exist, and SQL_USER owns them without the right to create one.
set -eu
schema=${SCHEMA_DIR:-/etc/temporal/schema/postgresql/v12}
for store in temporal:temporal temporal_visibility:visibility; do
  database=${store%%:*}
  if [ "${CREATE_DATABASES:-true}" = true ]; then temporal-sql-tool --db "$database" create; fi
  temporal-sql-tool --db "$database" setup-schema --version 0.0
  temporal-sql-tool --db "$database" update-schema --schema-dir "$schema/${store##*:}/versioned"
done

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { freePort } from '../../../src/platform/free-port.js';
import { openFolder } from '../../support/folder.js';

// The machine's own Postgres, since pg_dump rejects a server that is newer, and the tests' server has no logical WAL.

const bin = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' }).stdout?.trim();
const hasPostgres = bin !== undefined && spawnSync(join(bin, 'postgres'), ['--version']).status === 0;
if (!hasPostgres) process.stderr.write('skipped: this machine has no Postgres server beside pg_dump\n');

const folder = openFolder();
/** Moves a database with disabled endpoints in three ways, and disables an endpoint in each copy. */
const MOVES = `
[ "$(id -u)" = 0 ] && chown postgres "$D"
as() { if [ "$(id -u)" = 0 ]; then su postgres -c "$1"; else sh -c "$1"; fi; }
as "$B/initdb -D $D/data -A trust -U postgres -E UTF8 --no-locale && $B/pg_ctl -D $D/data -w -o '-p $PORT -c wal_level=logical -k $D' -l $D/log start" >&2
trap 'as "$B/pg_ctl -D $D/data -m immediate stop" >&2' EXIT
P="postgresql://postgres@127.0.0.1:$PORT"
on() { url="$P/$1"; shift; DATABASE_URL="$url" "$NODE" dist/src/cli.js "$@"; }
migrate() { on "$1" migrate --database-only >&2; }
for d in source data_only restored published; do psql -q $P/postgres -c "create database $d"; done
migrate source
client=$(on source clients create --name x --json | sed -n 's/.*"client_id": "\\(.*\\)",/\\1/p')
psql -q $P/source -c "insert into webhook_endpoints (id, client_id, url) values ('$ID', '$client', 'https://x.test/')"
on source endpoints disable $ID --yes >&2; on source endpoints enable $ID >&2
migrate data_only
pg_dump --data-only -T _prisma_migrations $P/source | psql -q -v ON_ERROR_STOP=1 $P/data_only >&2
pg_dump -Fc $P/source >"$D/dump"; pg_restore -d $P/restored "$D/dump"
migrate published
psql -q $P/published -c 'truncate _prisma_migrations'
psql -q $P/source -c 'create publication p for all tables' -c "select pg_create_logical_replication_slot('s', 'pgoutput')" >&2
psql -q $P/published -c "create subscription s connection '$P/source' publication p with (create_slot = false, slot_name = s)"
periods() { psql -At $P/$1 -c "select count(*) || '/' || count(ended_at) from endpoint_disabled_periods"; }
on source endpoints disable $ID --yes >&2; on source endpoints enable $ID >&2
until [ "$(periods published)" = 2/2 ]; do sleep 0.2; done
psql -q $P/published -c 'alter subscription s disable'
for d in data_only restored published; do on $d endpoints disable $ID --yes >&2; echo "$d $(periods $d)"; done
`;

(hasPostgres ? test : test.skip)(
  'a database that is copied by pg_dump --data-only, pg_restore or a publication disables endpoints, once each',
  async () => {
    const { status, stdout, stderr } = spawnSync('bash', ['-euc', MOVES], {
      encoding: 'utf8',
      timeout: 240_000,
      env: {
        ...{ PATH: process.env.PATH, HOME: process.env.HOME, NODE: process.execPath, ENVIRONMENT: 'sandbox' },
        ...{ B: bin, D: folder, PORT: String(await freePort()), ID: '0195f000-0000-7000-8000-000000000001' },
        MASTER_KEY: Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64'),
      },
    });
    expect([status, stdout, status === 0 ? '' : stderr]).toEqual([
      0,
      'data_only 2/1\nrestored 2/1\npublished 3/2\n',
      '',
    ]);
  },
  300_000,
);

import { createServer } from 'node:net';
import { afterAll, describe, expect, test } from '@jest/globals';
import { type Database, openDatabase } from '../../../src/platform/database/database.js';
import { isReadOnly, isUnreachable } from '../../../src/platform/database/faults.js';
import { newId } from '../../../src/platform/ids.js';
import { Secret } from '../../../src/platform/secret.js';
import { createTestDatabase, openTestDatabase, setHostileDefaults } from '../../support/database.js';
import { startHaltingProxy } from '../../support/halting-proxy.js';
import { waitFor } from '../../support/wait-for.js';

const database = await openTestDatabase();

const message = (type: string, body: string) => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, Buffer.from(body)]);
};

/** A Postgres that dies as each connection becomes ready: readiness and end arrive in one chunk. */
async function openDyingDatabase() {
  const said = Buffer.concat([
    message('R', '\0\0\0\0'),
    message('Z', 'I'),
    message('E', 'SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0'),
  ]);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(said));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const dying = openDatabase({ url: new Secret(`postgresql://x:x@127.0.0.1:${port}/x`), poolSize: 4 });
  afterAll(async () => {
    await dying.close();
    server.close();
  });
  return dying;
}
const dying = await openDyingDatabase();

test.each([
  ['a transaction', (db: Database) => db.transaction(async () => 1)],
  ['a statement', (db: Database) => db.query('select 1', [])],
  ['a hot statement', (db: Database) => db.hot('select 1', [])],
])('a connection that breaks during checkout fails %s, not the process', async (_, work) => {
  const fault = await work(dying).catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(Error);
  expect(isUnreachable(fault)).toBe(true);
});

test('closes a connection that is returned inside a transaction, so that no later statement joins it', async () => {
  const client = await database.pool.connect();
  await client.query('begin');
  const inside = await client.query('select pg_backend_pid() as pid, pg_current_xact_id()::text as id');
  client.release();
  const [after] = await database.query<{ pid: number; state: string }>(
    'select pg_backend_pid() as pid, pg_xact_status($1::text::xid8) as state',
    [inside.rows[0].id],
  );
  expect(after?.pid).not.toBe(inside.rows[0].pid);
  expect(after?.state).not.toBe('committed');
});

describe('a connection that is held for too long is destroyed', () => {
  const limits = { wait: 2_000, hold: 300 };
  const backend = 'select pg_backend_pid() as pid';

  test.each<[string, (halting: Database, halt: (pid: number) => void) => Promise<unknown>]>([
    [
      'with a statement that hangs, and the transaction is rolled back',
      (halting, halt) =>
        halting.transaction(async (tx) => {
          await tx.query('insert into held values (1) returning id', []);
          const [row] = await tx.query<{ pid: number }>(backend, []);
          halt(row?.pid ?? 0);
          await tx.query('insert into held values (2) returning id', []);
        }),
    ],
    [
      'idle in a transaction, which is rolled back',
      (halting) =>
        halting.transaction(async (tx) => {
          await tx.query('insert into held values (3) returning id', []);
          await new Promise((resolve) => setTimeout(resolve, 600));
        }),
    ],
  ])('%s', async (_, work) => {
    await database.query('create table if not exists held (id int)', []);
    const halting = openDatabase({ url: database.url, poolSize: 1, limits });
    const halted: number[] = [];
    const fault = await work(halting, (pid) => halted.push(pid) && process.kill(pid, 'SIGSTOP')).catch(
      (error: unknown) => error,
    );
    expect(isUnreachable(fault)).toBe(true);
    // The only connection of the pool is free for the next statement, while the old one is still halted.
    expect(await halting.query('select 42 as answer', [])).toEqual([{ answer: 42 }]);
    for (const pid of halted) process.kill(pid, 'SIGCONT');
    await waitFor('the end of the halted sessions', async () => {
      const left = 'select from pg_stat_activity where pid = any($1::int[])';
      return (await database.pool.query(left, [halted])).rows.length === 0;
    });
    await halting.close();
    expect(await database.query('select id from held', [])).toEqual([]);
  });

  test('during its COMMIT, and the pool loses no connection', async () => {
    const halting = openDatabase({ url: database.url, poolSize: 1, limits });
    let halted = 0;
    const fault = await halting
      .transaction(async (tx) => {
        const [row] = await tx.query<{ pid: number }>(backend, []);
        halted = row?.pid ?? 0;
        process.kill(halted, 'SIGSTOP');
      })
      .catch((error: unknown) => error);
    expect(isUnreachable(fault)).toBe(true);
    expect(await halting.query('select 42 as answer', [])).toEqual([{ answer: 42 }]);
    process.kill(halted, 'SIGCONT');
    await halting.close();
  });
});

test('statements of every kind share one pool, whose sessions have the settings of the service', async () => {
  const text = `select current_setting('plan_cache_mode') as mode, current_setting('enable_seqscan') as seqscan`;
  const usual = [{ mode: 'auto', seqscan: 'off' }];
  expect(await database.hot(text, [])).toEqual(usual);
  expect(await database.query(text, [])).toEqual(usual);
  const one = openDatabase({ url: database.url, poolSize: 1 });
  const own = 'select pg_backend_pid() as pid';
  const pids = [await one.hot(own, []), await one.query(own, []), await one.prisma.$queryRawUnsafe(own)];
  const inside = await one.transaction(async (tx) => [await tx.query(own, []), await tx.hot(own, [])]);
  await one.close();
  expect(new Set([...pids, ...inside].map((rows) => JSON.stringify(rows))).size).toBe(1);
});

test('knows since when connections fail, and when Postgres is reachable again', async () => {
  const proxy = await startHaltingProxy(database.url);
  const halting = openDatabase({ url: proxy.url, poolSize: 1, limits: { wait: 300, hold: 300 } });
  const fails = () => expect(halting.query('select 1', [])).rejects.toThrow();
  const connection = () => waitFor('a connection', () => halting.query('select 1', []).catch(() => undefined));
  expect(halting.reach.failedSince).toBeUndefined();
  await connection();
  expect(halting.reach.failedSince).toBeUndefined();
  const begun = performance.now();
  proxy.halt();
  await fails();
  const { failedSince } = halting.reach;
  expect(failedSince).toBeGreaterThan(begun);
  await fails();
  expect(halting.reach).toEqual({ failedSince, at: expect.any(Number) });
  expect(halting.reach.at).toBeLessThan(begun);
  proxy.resume();
  await connection();
  expect(halting.reach.failedSince).toBeUndefined();
  expect(halting.reach.at).toBeGreaterThan(begun);
  await halting.close();
  await proxy.close();
});

describe('a read-only session', () => {
  const write = (db: Database) => db.transaction((tx) => tx.prisma.client.create({ data: { id: newId(), name: 'x' } }));
  const pid = async (db: Database) =>
    (await db.query<{ pid: number }>('select pg_backend_pid() as pid', [])).map((row) => row.pid);

  test('is closed soon when it began so, so that each session can write as soon as Postgres can be written', async () => {
    const name = new URL(database.url.reveal()).pathname.slice(1);
    const writable = await database.openSession();
    await writable.query(`alter database ${name} set default_transaction_read_only = on`);
    const standby = openDatabase({ url: database.url, poolSize: 6 });
    const writes = () => Promise.all([1, 2, 3, 4].map(() => write(standby).catch((error: unknown) => error)));
    expect((await writes()).map(isReadOnly)).toEqual([true, true, true, true]);
    const { failedSince } = standby.reach;
    await standby.query('select 1', []);
    expect(standby.reach).toEqual({ failedSince: expect.any(Number), at: Number.NEGATIVE_INFINITY });
    expect(standby.reach.failedSince).toBe(failedSince);
    await expect(standby.requireWritable()).rejects.toThrow('read-only');
    await writable.query(`alter database ${name} reset default_transaction_read_only`);
    // They are always in use: the pool closes idle ones by itself.
    await waitFor('sessions that can write', async () => (await writes()).every((row) => !isReadOnly(row)), 5_000);
    expect(standby.reach.failedSince).toBeUndefined();
    await standby.requireWritable();
    await standby.close();
  });

  test('is closed when it rejects a statement, also where Postgres has not reported its mode', async () => {
    const one = openDatabase({ url: database.url, poolSize: 1 });
    const [before] = await pid(one);
    const fault = await one
      .transaction(async (tx) => {
        await tx.prisma.$executeRawUnsafe('set transaction read only');
        await tx.prisma.client.create({ data: { id: newId(), name: 'x' } });
      })
      .catch((error: unknown) => error);
    expect([isReadOnly(fault), isUnreachable(fault)]).toEqual([true, true]);
    expect(await pid(one)).not.toEqual([before]);
    await one.close();
  });

  test('is ended at Postgres where a pooler would keep it', async () => {
    const pooled = openDatabase({ url: database.url, poolSize: 2, pooled: true });
    const holder = await pooled.pool.connect();
    await holder.query('set default_transaction_read_only = on');
    const { rows } = await holder.query('select pg_backend_pid() as pid');
    holder.release();
    await expect(write(pooled)).rejects.toThrow('read-only');
    await waitFor('its end', async () => {
      const left = 'select from pg_stat_activity where pid = $1';
      return (await database.pool.query(left, [rows[0].pid])).rows.length === 0;
    });
    await write(pooled);
    await pooled.close();
  });
});

test('parses a hot statement once on a connection, and any other each time', async () => {
  const one = openDatabase({ url: database.url, poolSize: 1 });
  for (let run = 0; run < 3; run++) await one.hot('select $1::int as run', [run]);
  await one.query('select $1::int as other', [1]);
  await one.prisma.client.findFirst({ where: { id: newId() } });
  const kept = await one.query<{ statement: string }>('select distinct statement from pg_prepared_statements', []);
  await one.close();
  expect(kept.map(({ statement }) => statement)).toContain('select $1::int as run');
  expect(kept.filter(({ statement }) => /clients|other/.test(statement))).toEqual([]);
});

test('reads and writes the same values, whatever the defaults of the database', async () => {
  const hostile = await createTestDatabase();
  await setHostileDefaults(hostile);
  const [id, createdAt] = [newId(), new Date('2026-11-05T10:00:00.000Z')];
  await hostile.prisma.client.create({ data: { id, name: 'a\\b', networks: ['null'], createdAt } });
  await hostile.prisma.client.update({ where: { id }, data: { revokedAt: createdAt } });
  const { name, networks, ...times } = await hostile.prisma.client.findUniqueOrThrow({ where: { id } });
  expect([name, networks, times.createdAt, times.revokedAt]).toEqual(['a\\b', ['null'], createdAt, createdAt]);
  const read = `select created_at, 0.1::float8 as float, '\\' as backslash, array['null', null] as nulls,
                       current_setting('transaction_isolation') as isolation from clients where id = $1::uuid`;
  const row = {
    created_at: createdAt,
    float: 0.1,
    backslash: '\\',
    nulls: ['null', null],
    isolation: 'read committed',
  };
  expect(await hostile.hot(read, [id])).toEqual([row]);
  expect(await hostile.query(read, [id])).toEqual([row]);
  await hostile.drop();
});

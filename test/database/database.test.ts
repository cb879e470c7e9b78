import { createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Database, openDatabase } from '../../src/database/database.js';
import { isUnreachable } from '../../src/database/faults.js';
import { Secret } from '../../src/secret.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let database: TestDatabase;
let dying: { server: Server; database: Database };

beforeAll(async () => {
  database = await createTestDatabase();
  dying = await openDyingDatabase();
});

afterAll(async () => {
  await database.drop();
  await dying.database.close();
  dying.server.close();
});

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
  return { server, database: openDatabase({ url: new Secret(`postgresql://x:x@127.0.0.1:${port}/x`), poolSize: 4 }) };
}

test.each([
  ['a transaction', (db: Database) => db.transaction(async () => 1)],
  ['a statement', (db: Database) => db.query('select 1', [])],
  ['a hot statement', (db: Database) => db.hot('select 1', [])],
])('a connection that breaks during checkout fails %s, not the process', async (_, work) => {
  const fault = await work(dying.database).catch((error: unknown) => error);
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

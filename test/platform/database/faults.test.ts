import { Socket } from 'node:net';
import { constants } from 'node:os';
import { jest } from '@jest/globals';
import { type Database, openDatabase } from '../../../src/platform/database/database.js';
import { isUnreachable } from '../../../src/platform/database/faults.js';
import { Secret } from '../../../src/platform/secret.js';
import { openTestDatabase } from '../../support/database.js';

const db = await openTestDatabase();

/** What a statement throws after Postgres ended its session. */
async function afterIdleTransaction(): Promise<unknown> {
  const client = await db.pool.connect();
  const ended = new Promise((resolve) => client.once('error', resolve));
  try {
    await client.query("set idle_in_transaction_session_timeout = '50ms'");
    await client.query('begin');
    return await ended;
  } finally {
    client.release(true);
  }
}

test('a transaction that Postgres ended for idling too long is a 503, and no fault of the service', async () => {
  const error = await afterIdleTransaction();
  expect(error).toMatchObject({ code: '25P03' });
  expect(isUnreachable(error)).toBe(true);
});

test('regression: a table that the migrations have not made yet is a 503', async () => {
  const missing = 'select * from not_there';
  for (const run of [db.query, db.hot])
    expect(isUnreachable(await run(missing, []).catch((error: unknown) => error))).toBe(true);
});

test('a statement that ran longer than its limit is a 503', async () => {
  const error = await db
    .transaction(async (tx) => {
      await tx.query("select set_config('statement_timeout', '20ms', true)", []);
      await tx.query('select pg_sleep(10)', []);
    })
    .catch((fault: unknown) => fault);
  expect(isUnreachable(error)).toBe(true);
});

test.each<[string, (url: URL) => void]>([
  ['a password that was changed', (url) => Object.assign(url, { password: 'changed' })],
  ['a role that was removed', (url) => Object.assign(url, { username: 'nobody' })],
  ['a database that does not exist', (url) => Object.assign(url, { pathname: '/none' })],
  ['no TLS where it is required', (url) => Object.assign(url, { search: '?sslmode=verify-full' })],
])('%s is a 503 of every kind of statement, and no fault of the service', async (_, change) => {
  const url = new URL(db.url.reveal());
  change(url);
  const refused = openDatabase({ url: new Secret(url.href), poolSize: 2 });
  const statements = [
    refused.query('select 1', []),
    refused.hot('select 1', []),
    refused.prisma.client.count(),
    refused.transaction((tx) => tx.query('select 1', [])),
  ];
  const errors = await Promise.all(statements.map((one) => one.catch((error: unknown) => error)));
  await refused.close();
  expect(errors.map(isUnreachable)).toEqual([true, true, true, true]);
});

/** System error codes of a connection that cannot be made, or that breaks. */
const SYSTEM_CODES = [
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT', 'ENOTCONN', 'ENOENT', 'EACCES', 'EPERM'],
  ...[
    'EHOSTUNREACH',
    'EHOSTDOWN',
    'ENETUNREACH',
    'ENETDOWN',
    'Unknown system error -102',
    'EADDRNOTAVAIL',
    'EADDRINUSE',
    'EPROTO',
  ],
  ...['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EAI_AGAIN', 'EAI_FAIL', 'EAI_MEMORY', 'EAI_NODATA', 'ENOTFOUND'],
];

function systemError(code: string, syscall: string): Error {
  const errno = -((constants.errno as Record<string, number>)[code] ?? 3_001);
  return Object.assign(new Error(`${syscall} ${code}`), { code, errno, syscall });
}

/** Every kind of statement of the service, one after the other. */
async function faultsOf(database: Database): Promise<unknown[]> {
  const faults = [];
  for (const run of [
    () => database.query('select 1', []),
    () => database.hot('select 1', []),
    () => database.prisma.client.count(),
    () => database.transaction((tx) => tx.query('select 1', [])),
    () => database.transaction((tx) => tx.prisma.client.count()),
  ]) {
    faults.push(await run().catch((error: unknown) => error));
  }
  return faults;
}

test.each(SYSTEM_CODES)('a connection that cannot be made (%s) is a 503 of every kind of statement', async (code) => {
  const database = openDatabase({ url: db.url, poolSize: 2 });
  const connect = jest.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket) {
    process.nextTick(() => this.destroy(systemError(code, 'connect')));
    return this;
  });
  try {
    expect((await faultsOf(database)).map(isUnreachable)).toEqual([true, true, true, true, true]);
  } finally {
    connect.mockRestore();
    await database.close();
  }
});

test.each(SYSTEM_CODES)('a connection that breaks during a statement (%s) is a 503 of every kind', async (code) => {
  const database = openDatabase({ url: db.url, poolSize: 2 });
  let breaks = false;
  // The statement has been sent, and this process sees nothing of Postgres's response.
  const write = Socket.prototype.write;
  const broken = jest.spyOn(Socket.prototype, 'write').mockImplementation(function (this: Socket, ...args) {
    if (breaks && /select/i.test(String(args[0]))) this.destroy(systemError(code, 'read'));
    return Reflect.apply(write, this, args);
  });
  try {
    await database.hot('values (1)', []);
    breaks = true;
    expect((await faultsOf(database)).map(isUnreachable)).toEqual([true, true, true, true, true]);
  } finally {
    broken.mockRestore();
    await database.close();
  }
});

test.each([
  ['another session holds the lock', { code: '55P03' }, true],
  ['a connection of the pool has ended', new Error('Client was closed and is not queryable'), true],
  ['a standby has no unlogged table', { code: '0A000', message: 'cannot access … relations during recovery' }, true],
  ['a feature that is not supported', { code: '0A000', message: 'is not supported' }, false],
  ['a syntax error', { code: '42601' }, false],
  ['refused data', { code: '23505' }, false],
])('%s', (_, error, unreachable) => {
  expect(isUnreachable(error)).toBe(unreachable);
});

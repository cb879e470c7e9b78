import { DriverAdapterError, type MappedError } from '@prisma/driver-adapter-utils';
import { isConflict, isRefusedData, isUnreachable } from '../../src/database/faults.js';
import { Prisma } from '../../src/database/generated/client.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let db: TestDatabase;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

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

test('a statement that ran longer than its limit is a 503', async () => {
  const error = await db
    .transaction(async (tx) => {
      await tx.query("select set_config('statement_timeout', '20ms', true)", []);
      await tx.query('select pg_sleep(10)', []);
    })
    .catch((fault: unknown) => fault);
  expect(isUnreachable(error)).toBe(true);
});

test.each(['ConnectionClosed', 'DatabaseNotReachable', 'SocketTimeout'] as const)(
  'a raw statement of a transaction whose connection breaks (%s) is a 503, and no fault of the service',
  (kind) => {
    const driverAdapterError = new DriverAdapterError({ kind } as MappedError);
    const error = new Prisma.PrismaClientKnownRequestError('Raw query failed. Code: `N/A`.', {
      code: 'P2010',
      clientVersion: '7',
      meta: { driverAdapterError },
    });
    expect(isUnreachable(error)).toBe(true);
    expect(isUnreachable(Object.assign(error, { meta: {} }))).toBe(false);
  },
);

test.each([
  ['another session holds the lock', { code: '55P03' }, true],
  ['a connection of the pool has ended', new Error('Client was closed and is not queryable'), true],
  ['a syntax error', { code: '42601' }, false],
  ['refused data', { code: '23505' }, false],
])('%s', (_, error, unreachable) => {
  expect(isUnreachable(error)).toBe(unreachable);
});

test('refused data and conflicts have classes of their own', () => {
  expect([isRefusedData({ code: '22P05' }), isConflict({ code: '40P01' })]).toEqual([true, true]);
});

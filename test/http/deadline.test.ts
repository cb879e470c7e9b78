import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { limitsWithin, openDatabase } from '../../src/platform/database/database.js';
import { startApi, type TestApi, type TestClient } from '../support/api.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { type HaltingProxy, startHaltingProxy } from '../support/halting-proxy.js';
import { transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

const DEADLINE = 2_000;

let database: TestDatabase;
let proxy: HaltingProxy;
let api: TestApi;
let client: TestClient;

beforeAll(async () => {
  database = await createTestDatabase();
  proxy = await startHaltingProxy(database.url);
  const halting = openDatabase({ url: proxy.url, poolSize: 4, limits: limitsWithin(DEADLINE) });
  api = await startApi({
    env: { REQUEST_DEADLINE: '2s' },
    database: Object.assign(halting, { url: proxy.url, drop: database.drop }) as unknown as TestDatabase,
  });
  // On a busy machine the first statements may take longer than the limits of this API.
  client = await waitFor('a client', () => api.client().catch(() => undefined));
  // A transfer with this reference is inserted slowly, one with the status PROCESSING is changed slowly.
  await database.pool.query(`
    create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(4); return new; end $$;
    create trigger slow before insert on transfers for each row when (new.reference = 'slow') execute function slow();
    create trigger slow_change before update on transfers for each row when (new.status = 'PROCESSING') execute function slow();
    create function late() returns trigger language plpgsql as $$ begin perform pg_sleep(0.6); return new; end $$;
    create trigger late before update on transfers for each row when (new.status = 'CANCELLED') execute function late()`);
});
afterAll(async () => {
  await api.close();
  await api.database.close();
  await proxy.close();
  await database.drop();
});

const create = (reference: string, key?: string) =>
  client.call('POST', '/transfers', {
    json: { ...transferRequest(), reference },
    ...(key !== undefined && { headers: { 'Idempotency-Key': key } }),
  });

/** The number of transfers, when no statement of the API is left. */
async function countTransfers(reference: string): Promise<number> {
  await waitFor('the end of every statement', async () => {
    const { rows } = await database.pool.query(
      `select from pg_stat_activity where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`,
    );
    return rows.length === 0;
  });
  return database.prisma.transfer.count({ where: { reference } });
}

/** Repeats a request until it is carried out, as an integrator does. */
function repeat(reference: string, key: string) {
  return waitFor('the transfer', async () => {
    const reply = await create(reference, key);
    return [409, 503].includes(reply.status) ? undefined : reply;
  });
}

async function expectUnavailable(request: () => Promise<Awaited<ReturnType<typeof create>>>): Promise<void> {
  const { status, headers, body } = await request();
  expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '2']);
}

describe('every request gets a response by its deadline', () => {
  test('if Postgres is halted, with or without a key, and more requests wait than there are connections', async () => {
    proxy.halt();
    const requests = Array.from(
      { length: 12 },
      (_, i) => () => create('halted', i % 2 === 0 ? `halted ${i}` : undefined),
    );
    await Promise.all(requests.map(expectUnavailable));
    await expectUnavailable(() => client.call('GET', '/transfers'));
    proxy.resume();
    for (let i = 0; i < 12; i += 2) expect((await repeat('halted', `halted ${i}`)).status).toBe(201);
    expect(await countTransfers('halted')).toBe(6);
  });

  test('if its dependency never responds', async () => {
    const stalled = await startApi({
      env: { REQUEST_DEADLINE: '1s' },
      database,
      dependencies: { readiness: () => new Promise(() => {}) },
    });
    const { status, headers } = await stalled.call('GET', '/readyz');
    await stalled.close();
    expect([status, headers.get('retry-after')]).toEqual([503, '2']);
  });
});

describe('a change that Postgres is too slow for', () => {
  test('is not made later, and its repeat with the same key makes it once', async () => {
    await expectUnavailable(() => create('slow', 'slow'));
    expect(await countTransfers('slow')).toBe(0);
    await database.pool.query('drop trigger slow on transfers');
    expect((await repeat('slow', 'slow')).status).toBe(201);
    expect((await create('slow', 'slow')).headers.get('idempotency-replayed')).toBe('true');
    expect(await countTransfers('slow')).toBe(1);
    await database.pool.query(
      `create trigger slow before insert on transfers for each row when (new.reference = 'slow') execute function slow()`,
    );
  });

  test('is not made later without a key either, nor is a change that shares its statement', async () => {
    await expectUnavailable(() => create('slow'));
    const { body } = await repeat('to change', 'to change');
    await expectUnavailable(() =>
      client.call('POST', `/sandbox/transfers/${body.id}/status`, { json: { status: 'PROCESSING' } }),
    );
    expect(await countTransfers('slow')).toBe(1);
    expect((await client.call('GET', `/transfers/${body.id}`)).body.status).toBe('CREATED');
  });
});

// The connection of a change that began late would outlive the request.
test.each([[{}], [{ 'Idempotency-Key': 'late' }]])(
  'is not made after the response if it began late: %j',
  async (headers) => {
    const { body: transfer } = await repeat('late', 'made for the late ones');
    const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
    const late = request(`${api.url}/transfers/${transfer.id}/cancel`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${client.token}`, 'Content-Type': 'application/json', ...headers },
    });
    late.once('response', resolve).write('{');
    setTimeout(() => late.end('}'), DEADLINE - 400);
    expect((await promise).resume().statusCode).toBe(503);
    expect(await countTransfers('late')).toBe(1);
    expect((await client.call('GET', `/transfers/${transfer.id}`)).body.status).toBe('CREATED');
  },
);

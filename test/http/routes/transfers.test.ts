import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { newId, timeOf } from '../../../src/platform/ids.js';
import { startApi, type TestApi, type TestClient } from '../../support/api.js';
import { createTestDatabase, setHostileDefaults } from '../../support/database.js';
import { transferRequest } from '../../support/transfers.js';

let api: TestApi;
let client: TestClient;
let operator: TestClient;

beforeAll(async () => {
  api = await startApi();
  client = await api.client();
  operator = await api.client(['operator']);
});
afterAll(() => api.close());

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

async function create(overrides = {}) {
  const { status, body } = await client.call('POST', '/transfers', { json: transferRequest(overrides) });
  expect(status).toBe(201);
  return body;
}

/** The data of a transfer's events, oldest first. */
const eventsOf = async (transferId: string): Promise<{ id: string; status: string }[]> =>
  (await api.database.prisma.event.findMany({ where: { transferId }, orderBy: { id: 'asc' } })).map(
    ({ body }) => JSON.parse(body).data,
  );

describe('GET /transfers', () => {
  it('filters by status, reference and time, and keeps the filters in the link to the next page', async () => {
    const own = await api.client();
    const make = async (reference: string) =>
      (await own.call('POST', '/transfers', { json: transferRequest({ reference }) })).body;
    const made = [await make('A b&c'), await make('A b&c'), await make('other')];
    await own.call('POST', `/transfers/${made[0].id}/cancel`);
    const list = async (query: string) => own.call('GET', `/transfers?${query}`);
    const ids = async (query: string) => (await list(query)).body.data.map(({ id }: { id: string }) => id);

    expect(await ids('')).toEqual([made[2].id, made[1].id, made[0].id]);
    expect(await ids('status=CANCELLED')).toEqual([made[0].id]);
    expect(await ids('reference=A%20b%26c')).toEqual([made[1].id, made[0].id]);
    expect(await ids('created_after=2000-01-01T00:00:00Z&created_before=2000-01-02T00:00:00%2B01:00')).toEqual([]);
    expect(await ids(`created_before=${made[0].created_at}`)).toEqual([]);
    expect(await ids(`created_after=${made[2].created_at}`)).toEqual([]);
    expect(await ids('created_after=2000-01-01T00:00:00.5Z')).toHaveLength(3);

    const first = await list('reference=A+b%26c&limit=1');
    expect(first.body).toMatchObject({ has_more: true, data: [{ id: made[1].id }] });
    const [, link] = /^<https:\/\/api\.test(.*)>; rel="next"$/.exec(first.headers.get('link') ?? '') ?? [];
    const second = await own.call('GET', link ?? '');
    expect(second.body).toMatchObject({ has_more: false, next_cursor: null, data: [{ id: made[0].id }] });
    expect(second.headers.get('link')).toBeNull();
  });

  it.each([
    ['limit=0', 'limit', 'invalid_limit'],
    ['limit=101', 'limit', 'invalid_limit'],
    ['limit=1e1', 'limit', 'invalid_limit'],
    ['limit=', 'limit', 'invalid_limit'],
    ['cursor=', 'cursor', 'invalid_cursor'],
    ['cursor=abc', 'cursor', 'invalid_cursor'],
    ['status=sent', 'status', 'invalid_value'],
    ['status=', 'status', 'invalid_value'],
    ['reference=%00', 'reference', 'invalid_text'],
    [`reference=${'x'.repeat(141)}`, 'reference', 'too_long'],
    ['created_after=2026-01-01', 'created_after', 'invalid_time'],
    ['created_after=2026-01-01T00:00:00', 'created_after', 'invalid_time'],
    ['created_before=2026-02-30T00:00:00Z', 'created_before', 'invalid_time'],
    ['created_before=yesterday', 'created_before', 'invalid_time'],
    ['created_after=2026-01-01T00:00:00%2B0000', 'created_after', 'invalid_time'],
    ['created_after=2026-01-01+00:00:00Z', 'created_after', 'invalid_time'],
    ['created_after=2026-01-01T00:00:00+0200', 'created_after', 'invalid_time'],
    ['created_after=0000-12-31T23:59:59Z', 'created_after', 'invalid_time'],
    ['created_after=0001-01-01T00:00:00%2B00:01', 'created_after', 'invalid_time'],
    ['created_before=9999-12-31T23:59:59-01:00', 'created_before', 'invalid_time'],
    ['page=2', 'page', 'unknown_parameter'],
    ['__proto__=2', '__proto__', 'unknown_parameter'],
    ['limit=1&limit=2', 'limit', 'repeated_parameter'],
  ])('refuses ?%s', async (query, parameter, code) => {
    const { status, body } = await client.call('GET', `/transfers?${query}`);
    expect([status, body.code]).toEqual([422, 'invalid_request']);
    expect(body.errors).toEqual([{ parameter, code, detail: expect.any(String) }]);
  });

  it.each([
    'created_after=0001-01-01T00:00:00Z',
    'created_after=0000-12-31T23:59:00-00:01',
    'created_before=9999-12-31T23:59:59.9999Z',
    'created_before=2024-02-29T00:00:00Z',
    'created_after=2026-01-01t00:00:00z',
    'created_after=2026-01-01T00:00:00.5+02:00',
    'created_after=2026-01-01T00:00:00%2B02:00',
  ])('accepts ?%s', async (query) => {
    expect((await client.call('GET', `/transfers?${query}`)).status).toBe(200);
  });

  it('has cursors that other lists of the same client reject', async () => {
    const own = await api.client();
    for (let i = 0; i < 2; i++) await own.call('POST', '/transfers', { json: transferRequest() });
    const { next_cursor } = (await own.call('GET', '/transfers?limit=1')).body;
    expect((await own.call('GET', `/transfers?cursor=${next_cursor}`)).status).toBe(200);
    for (const list of ['/events', '/webhook-endpoints']) {
      const { status, body } = await own.call('GET', `${list}?cursor=${next_cursor}`);
      expect([status, body.errors]).toMatchObject([422, [{ parameter: 'cursor', code: 'invalid_cursor' }]]);
    }
  });

  it('rejects a cursor that was altered', async () => {
    await create();
    await create();
    const cursor: string = (await client.call('GET', '/transfers?limit=1')).body.next_cursor;
    for (let i = 0; i < cursor.length; i++) {
      const changed = cursor.slice(0, i) + (cursor[i] === 'A' ? 'B' : 'A') + cursor.slice(i + 1);
      const { status, body } = await client.call('GET', `/transfers?cursor=${changed}`);
      expect([status, body.errors[0].parameter]).toEqual([422, 'cursor']);
    }
  });
});

describe('GET /operator/transfers', () => {
  const read = (query: string) => operator.call('GET', `/operator/transfers?${query}`);
  const ids = async (query: string) => (await read(query)).body.data.map(({ id }: { id: string }) => id);

  it("has every client's transfers as its client sees them, with client_id", async () => {
    const other = await api.client();
    const [mine, theirs] = [await create(), (await other.call('POST', '/transfers', { json: transferRequest() })).body];
    expect((await read('limit=2')).body.data).toEqual([
      { ...theirs, client_id: other.id },
      { ...mine, client_id: client.id },
    ]);
    const one = await operator.call('GET', `/operator/transfers/${mine.id}`);
    const own = (await client.call('GET', `/transfers/${mine.id}`)).body;
    expect(one.body).toEqual({ ...own, client_id: client.id });
    expect((await operator.call('GET', `/operator/transfers/${newId()}`)).status).toBe(404);
  });

  it('filters in both orders, and pages through all without repeating one', async () => {
    const [a, b] = [await api.client(), await api.client()];
    const made: string[] = [];
    for (const each of [a, b, a, b]) {
      const json = transferRequest({ reference: 'of two clients' });
      made.push((await each.call('POST', '/transfers', { json })).body.id);
    }
    await a.call('POST', `/transfers/${made[0]}/cancel`);
    await operator.call('POST', `/operator/transfers/${made[3]}/status`, { json: { status: 'PROCESSING' } });
    const since = `created_after=${new Date(timeOf(made[0]!) - 1).toISOString()}`;
    const select = async (query: string, ...places: number[]) => {
      const expected = places.map((place) => made[place]);
      expect([query, await ids(`${query}&order=oldest`)]).toEqual([query, expected]);
      expect([query, await ids(query)]).toEqual([query, expected.reverse()]);
    };
    await select(since, 0, 1, 2, 3);
    await select(`status=CREATED&${since}`, 1, 2);
    await select(`status=PROCESSING&${since}`, 3);
    await select(`status=CANCELLED&${since}`, 0);
    await select(`client_id=${a.id.toUpperCase()}`, 0, 2);
    await select(`client_id=${a.id}&status=CREATED`, 2);
    await select('reference=of+two+clients', 0, 1, 2, 3);
    await select('reference=of+two+clients&status=CREATED', 1, 2);
    await select(`reference=of+two+clients&client_id=${b.id}`, 1, 3);
    await select(`client_id=${newId()}`);
    for (const filter of ['', '&status=CREATED', '&reference=of+two+clients', `&client_id=${a.id}`]) {
      for (const order of ['newest', 'oldest']) {
        const query = `${since}${filter}&order=${order}`;
        const paged: string[] = [];
        let next: string | undefined = `/operator/transfers?${query}&limit=1`;
        while (next) {
          const { body, headers } = await operator.call('GET', next);
          paged.push(...body.data.map(({ id }: { id: string }) => id));
          next = /^<https:\/\/api\.test(.*)>/.exec(headers.get('link') ?? '')?.[1];
        }
        expect([query, paged]).toEqual([query, await ids(query)]);
      }
    }
  });

  it.each([
    ['order=up', 'order'],
    ['client_id=1', 'client_id'],
    ['status=new', 'status'],
    ['cursor=abc', 'cursor'],
  ])('rejects %s', async (query, parameter) => {
    const { status, body } = await read(query);
    expect([status, body.errors]).toMatchObject([422, [{ parameter }]]);
  });
});

describe('a transfer', () => {
  it('has its history, oldest first', async () => {
    const { id, created_at } = await create();
    const set = (status: string, reason?: string) =>
      operator.call('POST', `/operator/transfers/${id}/status`, { json: { status, reason } });
    expect((await set('PROCESSING', 'Funds received')).status).toBe(200);
    expect((await set('SENT')).body).toMatchObject({ id, status: 'SENT' });
    const { body } = await client.call('GET', `/transfers/${id}`);
    expect(body).toMatchObject({ id, status: 'SENT', created_at });
    expect(body.status_history).toEqual([
      { status: 'CREATED', at: created_at, reason: null, reason_code: null },
      { status: 'PROCESSING', at: expect.stringMatching(TIME), reason: 'Funds received', reason_code: null },
      { status: 'SENT', at: expect.stringMatching(TIME), reason: null, reason_code: null },
    ]);
    expect((await eventsOf(id)).map(({ status }) => status)).toEqual(['PROCESSING', 'SENT']);
  });

  it('has its history and its events in their order, also through APIs whose clocks differ', async () => {
    const now = Date.now;
    const clock = jest.spyOn(Date, 'now');
    const through = (secondsAhead: number) => clock.mockImplementation(() => now() + secondsAhead * 1_000);
    try {
      through(20);
      const { id } = await create();
      const statuses = ['PROCESSING', 'SENT', 'COMPLETED', 'RETURNED'];
      for (const [i, status] of statuses.entries()) {
        through(i % 2 ? 20 : -20);
        await client.call('POST', `/sandbox/transfers/${id}/status`, { json: { status } });
      }
      const { body } = await client.call('GET', `/transfers/${id}`);
      const times = body.status_history.map(({ at }: { at: string }) => at);
      expect(times).toEqual([...new Set(times)].sort());
      expect([body.created_at, body.updated_at]).toEqual([times[0], times[4]]);
      const events = (await client.call('GET', `/events?transfer_id=${id}`)).body.data;
      expect(events.map(({ data }: { data: { status: string } }) => data.status)).toEqual([...statuses].reverse());
      expect(events.map((event: { created_at: string }) => `${event.created_at}Z`)).toEqual(times.slice(1).reverse());
    } finally {
      clock.mockRestore();
    }
  });

  it('is cancelled by its client only while it is CREATED', async () => {
    const { id } = await create();
    const { status, body } = await client.call('POST', `/transfers/${id}/cancel`);
    expect([status, body.status]).toEqual([200, 'CANCELLED']);
    const again = await client.call('POST', `/transfers/${id}/cancel`);
    expect([again.status, again.body.code]).toEqual([409, 'invalid_transition']);
    const other = await create();
    await client.call('POST', `/sandbox/transfers/${other.id}/status`, { json: { status: 'PROCESSING' } });
    const late = await client.call('POST', `/transfers/${other.id}/cancel`, { json: {} });
    expect([late.status, late.body.code]).toEqual([409, 'invalid_transition']);
  });

  it('is found by its id in upper case, and its event carries the id in lower case', async () => {
    const { id } = await create();
    const loud = id.toUpperCase();
    expect((await client.call('GET', `/transfers/${loud}`)).body.id).toBe(id);
    expect((await client.call('POST', `/transfers/${loud}/cancel`)).body).toMatchObject({ id, status: 'CANCELLED' });
    expect(await eventsOf(id)).toEqual([{ id, status: 'CANCELLED' }]);
  });

  it('accepts no field in a cancel request', async () => {
    const { id } = await create();
    const { status, body } = await client.call('POST', `/transfers/${id}/cancel`, { json: { reason: 'x' } });
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/reason', code: 'unknown_field' }]]);
  });

  it.each<[string, unknown, string, string]>([
    ['no status', {}, '/status', 'required'],
    ['an unknown status', { status: 'DONE' }, '/status', 'invalid_value'],
    ['a long reason', { status: 'SENT', reason: 'x'.repeat(256) }, '/reason', 'too_long'],
    ['U+0000 in the reason', { status: 'SENT', reason: '\0' }, '/reason', 'invalid_text'],
    ['an unknown field', { status: 'SENT', by: 'me' }, '/by', 'unknown_field'],
  ])('refuses a change of status with %s', async (_, json, pointer, code) => {
    const { id } = await create();
    for (const reply of [
      await operator.call('POST', `/operator/transfers/${id}/status`, { json }),
      await client.call('POST', `/sandbox/transfers/${id}/status`, { json }),
    ]) {
      expect([reply.status, reply.body.errors]).toMatchObject([422, [{ pointer, code }]]);
    }
  });

  it('rejects a change to CREATED, and from CREATED to SENT', async () => {
    const { id } = await create();
    for (const status of ['CREATED', 'SENT']) {
      const reply = await operator.call('POST', `/operator/transfers/${id}/status`, { json: { status } });
      expect([reply.status, reply.body.code]).toEqual([409, 'invalid_transition']);
    }
  });
});

it('responds the same, whatever the defaults of the database', async () => {
  const database = await createTestDatabase();
  await setHostileDefaults(database);
  const other = await startApi({ database });
  const own = await other.client();
  const { body: made } = await own.call('POST', '/transfers', { json: transferRequest({ reference: 'C:\\new' }) });
  expect(made).toMatchObject({ reference: 'C:\\new', created_at: expect.stringMatching(TIME) });
  const { body: moved } = await own.call('POST', `/sandbox/transfers/${made.id}/status`, {
    json: { status: 'PROCESSING' },
  });
  const { body: read } = await own.call('GET', `/transfers/${made.id}`);
  expect([read.created_at, read.updated_at]).toEqual([made.created_at, moved.updated_at]);
  expect(Math.abs(Date.parse(read.updated_at) - Date.now())).toBeLessThan(60_000);
  expect((await own.call('GET', '/events')).body.data).toMatchObject([{ data: { id: made.id } }]);
  await other.close();
  await database.drop();
});

import { describe, expect, it, jest } from '@jest/globals';
import { newId, timeOf } from '../../../src/platform/ids.js';
import { openApi } from '../../support/api.js';
import { transferRequest } from '../../support/transfers.js';

const api = await openApi();
const client = await api.client();
const operator = await api.client(['operator']);

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
});

describe('a transfer', () => {
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
});

describe('POST /transfers', () => {
  it('returns the created transfer and its address', async () => {
    const before = api.committed.length;
    const reply = await client.call('POST', '/transfers', { json: transferRequest() });
    expect(reply.status).toBe(201);
    expect(reply.headers.get('location')).toBe(`https://api.test/transfers/${reply.body.id}`);
    expect(reply.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'CREATED',
      reason_code: null,
      amount: { value: 12_500, currency: 'EUR' },
      destination: { name: 'Ada Lovelace', account: 'DE89370400440532013000' },
      reference: 'Invoice 2026-117',
      metadata: { order: '4711' },
      idempotency_key: null,
      created_at: expect.stringMatching(TIME),
      updated_at: expect.stringMatching(TIME),
    });
    expect(api.committed).toHaveLength(before);
  });

  it('keeps text as it was sent, to the last code point', async () => {
    const name = `${'😀'.repeat(139)}é`;
    const body = await create({ destination: { name, account: 'x' }, metadata: { constructor: 'a', 'a/b~c': '' } });
    expect(body.destination.name).toBe(name);
    expect(body.metadata).toEqual({ constructor: 'a', 'a/b~c': '' });
  });

  it.each([
    ['the largest', 9007199254740991, 9007199254740991],
    ['an integer with an exponent', '1e3', 1000],
    ['an integer with a fraction of zero', '25.0', 25],
    ['an integer with a fraction and a negative exponent', '250.00e-1', 25],
    ['the largest with a fraction of zero', '9007199254740991.0', 9007199254740991],
  ])('accepts %s', async (_, value, kept) => {
    const raw = JSON.stringify(transferRequest()).replace('12500', String(value));
    const { status, body } = await client.call('POST', '/transfers', { raw });
    expect([status, body.amount.value]).toEqual([201, kept]);
    expect((await client.call('GET', `/transfers/${body.id}`)).body.amount.value).toBe(kept);
  });
  it.each([
    ['a value above the range of a number', '1e400', 'invalid_type'],
    ['minus zero', '-0', 'too_small'],
    ['a value above the exact integers', '9007199254740993', 'too_big'],
    ['a fraction that is rounded to the largest integer', '9007199254740991.4', 'invalid_type'],
  ])('refuses %s', async (_, value, code) => {
    const raw = JSON.stringify(transferRequest()).replace('12500', value);
    const { status, body } = await client.call('POST', '/transfers', { raw });
    expect([status, body.errors[0]]).toMatchObject([422, { pointer: '/amount/value', code }]);
  });

  it('accepts metadata of at most 4096 bytes as compact JSON', async () => {
    // {"a":"…","b":"…", …}: each é takes two bytes.
    const text = (length: number) => 'é'.repeat(length);
    const eight = Object.fromEntries([...'abcdefgh'].map((name) => [name, text(250)]));
    const left = 4_096 - Buffer.byteLength(JSON.stringify({ ...eight, i: '' }));
    await create({ metadata: { ...eight, i: 'x'.repeat(left) } });
    const json = transferRequest({ metadata: { ...eight, i: 'x'.repeat(left + 1) } });
    const { status, body } = await client.call('POST', '/transfers', { json });
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/metadata', code: 'too_large' }]]);
  });

  it('accepts 20 pairs, and rejects the name __proto__', async () => {
    await create({ metadata: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'v'])) });
    const raw = JSON.stringify(transferRequest()).replace('"order"', '"__proto__"');
    const { status, body } = await client.call('POST', '/transfers', { raw });
    expect([status, body.errors[0]]).toMatchObject([422, { pointer: '/metadata/__proto__', code: 'invalid_name' }]);
  });
});

const newTransfer = async () => (await create()).id as string;
const change = (id: string, json: object) => client.call('POST', `/sandbox/transfers/${id}/status`, { json });

describe('reason_code', () => {
  it('is on the transfer, in its history and in every list', async () => {
    const reason_code = 'insufficient_funds';
    const id = await newTransfer();
    const { status, body } = await change(id, { status: 'FAILED', reason: 'Bank said no', reason_code });
    expect([status, body.reason_code]).toEqual([200, reason_code]);
    const read = (await client.call('GET', `/transfers/${id}`)).body;
    expect(read.reason_code).toBe(reason_code);
    expect(read.status_history).toEqual([
      { status: 'CREATED', at: expect.any(String), reason: null, reason_code: null },
      { status: 'FAILED', at: expect.any(String), reason: 'Bank said no', reason_code },
    ]);
    const [listed] = (await client.call('GET', '/transfers?limit=1')).body.data;
    expect(listed).toMatchObject({ id, reason_code });
  });

  it.each(['PROCESSING', 'SENT', 'COMPLETED', 'CREATED'])(
    'is rejected with %s, and nothing changes',
    async (status) => {
      const id = await newTransfer();
      const refused = await change(id, { status, reason_code: 'other' });
      expect(refused.status).toBe(422);
      expect(refused.body.errors).toEqual([
        expect.objectContaining({ pointer: '/reason_code', code: 'not_applicable' }),
      ]);
      expect((await client.call('GET', `/transfers/${id}`)).body.status).toBe('CREATED');
    },
  );

  it('of an operator is in the audit entry; the event has no reason code', async () => {
    const id = await newTransfer();
    const path = `/operator/transfers/${id}/status`;
    const { body } = await operator.call('POST', path, { json: { status: 'FAILED', reason_code: 'compliance' } });
    expect(body.reason_code).toBe('compliance');
    const [entry] = await api.database.prisma.auditEntry.findMany({ where: { target: id } });
    expect(entry?.details).toMatchObject({ from: 'CREATED', to: 'FAILED', reason_code: 'compliance' });
    const [event] = (await client.call('GET', `/events?transfer_id=${id}`)).body.data;
    expect(event.data).toEqual({ id, status: 'FAILED' });
  });
});

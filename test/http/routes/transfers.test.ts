import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApi, type TestApi, type TestClient } from '../../support/api.js';
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

describe('POST /transfers', () => {
  it('answers the transfer, created, with its address', async () => {
    const reply = await client.call('POST', '/transfers', { json: transferRequest() });
    expect(reply.status).toBe(201);
    expect(reply.headers.get('location')).toBe(`https://api.test/transfers/${reply.body.id}`);
    expect(reply.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      status: 'CREATED',
      amount: { value: 12_500, currency: 'EUR' },
      destination: { name: 'Ada Lovelace', account: 'DE89370400440532013000' },
      reference: 'Invoice 2026-117',
      metadata: { order: '4711' },
      created_at: expect.stringMatching(TIME),
      updated_at: expect.stringMatching(TIME),
    });
    expect(api.committed).toEqual([]);
  });

  it('leaves out what is optional as null and {}', async () => {
    const { amount, destination } = transferRequest();
    const { body } = await client.call('POST', '/transfers', { json: { amount, destination } });
    expect(body).toMatchObject({ reference: null, metadata: {} });
  });

  it('keeps text as it was given, to the last code point', async () => {
    const name = `${'😀'.repeat(139)}é`;
    const body = await create({ destination: { name, account: 'x' }, metadata: { constructor: 'a', 'a/b~c': '' } });
    expect(body.destination.name).toBe(name);
    expect(body.metadata).toEqual({ constructor: 'a', 'a/b~c': '' });
  });

  it.each([
    ['the largest', 9007199254740991, 9007199254740991],
    ['an integer with an exponent', '1e3', 1000],
    ['an integer with a fraction of zero', '25.0', 25],
  ])('takes %s', async (_, value, kept) => {
    const raw = JSON.stringify(transferRequest()).replace('12500', String(value));
    const { status, body } = await client.call('POST', '/transfers', { raw });
    expect([status, body.amount.value]).toEqual([201, kept]);
    expect((await client.call('GET', `/transfers/${body.id}`)).body.amount.value).toBe(kept);
  });

  const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
  it.each<[string, unknown, string, string]>([
    ['no amount', { amount: undefined }, '/amount', 'required'],
    ['an amount that is no object', { amount: 5 }, '/amount', 'invalid_type'],
    ['amount null', { amount: null }, '/amount', 'invalid_type'],
    ['no value', { amount: { currency: 'EUR' } }, '/amount/value', 'required'],
    ['zero', { amount: { value: 0, currency: 'EUR' } }, '/amount/value', 'too_small'],
    ['a negative value', { amount: { value: -1, currency: 'EUR' } }, '/amount/value', 'too_small'],
    ['a fraction', { amount: { value: 1.5, currency: 'EUR' } }, '/amount/value', 'invalid_type'],
    ['2^53', { amount: { value: 2 ** 53, currency: 'EUR' } }, '/amount/value', 'too_big'],
    ['a text', { amount: { value: '5', currency: 'EUR' } }, '/amount/value', 'invalid_type'],
    ['a boolean', { amount: { value: true, currency: 'EUR' } }, '/amount/value', 'invalid_type'],
    ['no currency', { amount: { value: 1 } }, '/amount/currency', 'required'],
    ['a currency in lower case', { amount: { value: 1, currency: 'eur' } }, '/amount/currency', 'invalid_currency'],
    ['a currency of the past', { amount: { value: 1, currency: 'DEM' } }, '/amount/currency', 'invalid_currency'],
    ['no currency of this world', { amount: { value: 1, currency: 'ZZZ' } }, '/amount/currency', 'invalid_currency'],
    ['more in amount', { amount: { value: 1, currency: 'EUR', unit: 'x' } }, '/amount/unit', 'unknown_field'],
    ['no destination', { destination: undefined }, '/destination', 'required'],
    ['no name', { destination: { account: 'x' } }, '/destination/name', 'required'],
    ['an empty name', { destination: { name: '', account: 'x' } }, '/destination/name', 'too_short'],
    ['a long name', { destination: { name: 'x'.repeat(141), account: 'x' } }, '/destination/name', 'too_long'],
    ['U+0000 in a name', { destination: { name: 'a\0', account: 'x' } }, '/destination/name', 'invalid_text'],
    ['half a character', { destination: { name: 'a\ud800', account: 'x' } }, '/destination/name', 'invalid_text'],
    ['no account', { destination: { name: 'x' } }, '/destination/account', 'required'],
    ['a long account', { destination: { name: 'x', account: 'x'.repeat(65) } }, '/destination/account', 'too_long'],
    ['an account that is a number', { destination: { name: 'x', account: 5 } }, '/destination/account', 'invalid_type'],
    [
      'more in destination',
      { destination: { name: 'x', account: 'x', bic: 'y' } },
      '/destination/bic',
      'unknown_field',
    ],
    ['a long reference', { reference: 'x'.repeat(141) }, '/reference', 'too_long'],
    ['a reference that is a number', { reference: 5 }, '/reference', 'invalid_type'],
    ['U+0000 in a reference', { reference: '\0' }, '/reference', 'invalid_text'],
    ['metadata that is a list', { metadata: ['a'] }, '/metadata', 'invalid_type'],
    ['21 pairs', { metadata: pairs(21) }, '/metadata', 'too_many'],
    ['a pair of no text', { metadata: { a: 1 } }, '/metadata/a', 'invalid_type'],
    ['a nested pair', { metadata: { a: { b: 'c' } } }, '/metadata/a', 'invalid_type'],
    ['a long name of a pair', { metadata: { ['x'.repeat(41)]: '' } }, `/metadata/${'x'.repeat(41)}`, 'too_long'],
    ['a long value of a pair', { metadata: { 'a/b~': 'x'.repeat(501) } }, '/metadata/a~1b~0', 'too_long'],
    ['U+0000 in the name of a pair', { metadata: { '\0': '' } }, '/metadata/\0', 'invalid_text'],
    ['U+0000 in the value of a pair', { metadata: { a: '\0' } }, '/metadata/a', 'invalid_text'],
    ['a field that is not', { amout: 1 }, '/amout', 'unknown_field'],
    ['a status of its own', { status: 'SENT' }, '/status', 'unknown_field'],
  ])('refuses %s', async (_, overrides, pointer, code) => {
    const { status, headers, body } = await client.call('POST', '/transfers', {
      json: transferRequest(overrides as Record<string, unknown>),
    });
    expect([status, body.code]).toEqual([422, 'invalid_request']);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(body.errors).toEqual([{ pointer, code, detail: expect.any(String) }]);
  });

  it.each([
    ['more than a number holds', '1e400', 'invalid_type'],
    ['minus zero', '-0', 'too_small'],
    ['one more than can be told apart', '9007199254740993', 'too_big'],
  ])('refuses %s', async (_, value, code) => {
    const raw = JSON.stringify(transferRequest()).replace('12500', value);
    const { status, body } = await client.call('POST', '/transfers', { raw });
    expect([status, body.errors[0]]).toMatchObject([422, { pointer: '/amount/value', code }]);
  });

  it('takes metadata of 4096 bytes as compact JSON, and no more', async () => {
    // {"a":"…","b":"…", …} in which each é is two bytes.
    const text = (length: number) => 'é'.repeat(length);
    const eight = Object.fromEntries([...'abcdefgh'].map((name) => [name, text(250)]));
    const left = 4_096 - Buffer.byteLength(JSON.stringify({ ...eight, i: '' }));
    await create({ metadata: { ...eight, i: 'x'.repeat(left) } });
    const json = transferRequest({ metadata: { ...eight, i: 'x'.repeat(left + 1) } });
    const { status, body } = await client.call('POST', '/transfers', { json });
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/metadata', code: 'too_large' }]]);
  });

  it('takes 20 pairs, and no prototype for one', async () => {
    await create({ metadata: pairs(20) });
    const raw = JSON.stringify(transferRequest()).replace('"order"', '"__proto__"');
    const { status, body } = await client.call('POST', '/transfers', { raw });
    expect([status, body.errors[0]]).toMatchObject([422, { pointer: '/metadata/__proto__', code: 'invalid_name' }]);
  });

  it('names every mistake at once', async () => {
    const { body } = await client.call('POST', '/transfers', { json: { amount: {}, x: 1, y: 2 } });
    expect(body.errors.map((validationError: { pointer: string }) => validationError.pointer).sort()).toEqual([
      '/amount/currency',
      '/amount/value',
      '/destination',
      '/x',
      '/y',
    ]);
  });
});

describe('GET /transfers', () => {
  it('filters by status, reference and time, and keeps the filters in the link', async () => {
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
    ['page=2', 'page', 'unknown_parameter'],
    ['__proto__=2', '__proto__', 'unknown_parameter'],
    ['limit=1&limit=2', 'limit', 'repeated_parameter'],
  ])('refuses ?%s', async (query, parameter, code) => {
    const { status, body } = await client.call('GET', `/transfers?${query}`);
    expect([status, body.code]).toEqual([422, 'invalid_request']);
    expect(body.errors).toEqual([{ parameter, code, detail: expect.any(String) }]);
  });

  it('refuses a cursor that was changed', async () => {
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
      { status: 'CREATED', at: created_at, reason: null },
      { status: 'PROCESSING', at: expect.stringMatching(TIME), reason: 'Funds received' },
      { status: 'SENT', at: expect.stringMatching(TIME), reason: null },
    ]);
    const told = api.committed.filter(({ transferId }) => transferId === id);
    expect(told.map(({ body }) => JSON.parse(body).data.status)).toEqual(['PROCESSING', 'SENT']);
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

  it('is found in whichever case its id is written; its event carries the id in lower case, as the transfer does', async () => {
    const { id } = await create();
    const loud = id.toUpperCase();
    expect((await client.call('GET', `/transfers/${loud}`)).body.id).toBe(id);
    expect((await client.call('POST', `/transfers/${loud}/cancel`)).body).toMatchObject({ id, status: 'CANCELLED' });
    const told = api.committed.find(({ transferId }) => transferId === id);
    expect(JSON.parse(told?.body ?? '{}').data).toEqual({ id, status: 'CANCELLED' });
  });

  it('takes no field to be cancelled', async () => {
    const { id } = await create();
    const { status, body } = await client.call('POST', `/transfers/${id}/cancel`, { json: { reason: 'x' } });
    expect([status, body.errors]).toMatchObject([422, [{ pointer: '/reason', code: 'unknown_field' }]]);
  });

  it.each<[string, unknown, string, string]>([
    ['no status', {}, '/status', 'required'],
    ['an unknown status', { status: 'DONE' }, '/status', 'invalid_value'],
    ['a long reason', { status: 'SENT', reason: 'x'.repeat(256) }, '/reason', 'too_long'],
    ['U+0000 in the reason', { status: 'SENT', reason: '\0' }, '/reason', 'invalid_text'],
    ['more', { status: 'SENT', by: 'me' }, '/by', 'unknown_field'],
  ])('is not changed with %s', async (_, json, pointer, code) => {
    const { id } = await create();
    for (const reply of [
      await operator.call('POST', `/operator/transfers/${id}/status`, { json }),
      await client.call('POST', `/sandbox/transfers/${id}/status`, { json }),
    ]) {
      expect([reply.status, reply.body.errors]).toMatchObject([422, [{ pointer, code }]]);
    }
  });

  it('is refused to become what it is, or CREATED', async () => {
    const { id } = await create();
    for (const status of ['CREATED', 'SENT']) {
      const reply = await operator.call('POST', `/operator/transfers/${id}/status`, { json: { status } });
      expect([reply.status, reply.body.code]).toEqual([409, 'invalid_transition']);
    }
  });
});

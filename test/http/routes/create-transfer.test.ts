import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApi, type TestApi, type TestClient } from '../../support/api.js';
import { transferRequest } from '../../support/transfers.js';

let api: TestApi;
let client: TestClient;

beforeAll(async () => {
  api = await startApi();
  client = await api.client();
});
afterAll(() => api.close());

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

async function create(overrides = {}) {
  const { status, body } = await client.call('POST', '/transfers', { json: transferRequest(overrides) });
  expect(status).toBe(201);
  return body;
}

describe('POST /transfers', () => {
  it('returns the created transfer and its address', async () => {
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
      created_at: expect.stringMatching(TIME),
      updated_at: expect.stringMatching(TIME),
    });
    expect(api.committed).toEqual([]);
  });

  it('fills optional fields with null and {}', async () => {
    const { amount, destination } = transferRequest();
    const { body } = await client.call('POST', '/transfers', { json: { amount, destination } });
    expect(body).toMatchObject({ reference: null, metadata: {} });
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

  const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 'v']));
  it.each<[string, unknown, string, string]>([
    ['no amount', { amount: undefined }, '/amount', 'required'],
    ['an amount that is not an object', { amount: 5 }, '/amount', 'invalid_type'],
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
    ['a former currency', { amount: { value: 1, currency: 'DEM' } }, '/amount/currency', 'invalid_currency'],
    ['an unknown currency', { amount: { value: 1, currency: 'ZZZ' } }, '/amount/currency', 'invalid_currency'],
    [
      'an unknown field in amount',
      { amount: { value: 1, currency: 'EUR', unit: 'x' } },
      '/amount/unit',
      'unknown_field',
    ],
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
      'an unknown field in destination',
      { destination: { name: 'x', account: 'x', bic: 'y' } },
      '/destination/bic',
      'unknown_field',
    ],
    ['a long reference', { reference: 'x'.repeat(141) }, '/reference', 'too_long'],
    ['a reference that is a number', { reference: 5 }, '/reference', 'invalid_type'],
    ['U+0000 in a reference', { reference: '\0' }, '/reference', 'invalid_text'],
    ['metadata that is a list', { metadata: ['a'] }, '/metadata', 'invalid_type'],
    ['21 pairs', { metadata: pairs(21) }, '/metadata', 'too_many'],
    ['a pair that is not text', { metadata: { a: 1 } }, '/metadata/a', 'invalid_type'],
    ['a nested pair', { metadata: { a: { b: 'c' } } }, '/metadata/a', 'invalid_type'],
    ['a long name of a pair', { metadata: { ['x'.repeat(41)]: '' } }, `/metadata/${'x'.repeat(41)}`, 'too_long'],
    ['a long value of a pair', { metadata: { 'a/b~': 'x'.repeat(501) } }, '/metadata/a~1b~0', 'too_long'],
    ['U+0000 in the name of a pair', { metadata: { '\0': '' } }, '/metadata/\0', 'invalid_text'],
    ['U+0000 in the value of a pair', { metadata: { a: '\0' } }, '/metadata/a', 'invalid_text'],
    ['an unknown field', { amout: 1 }, '/amout', 'unknown_field'],
    ['a status', { status: 'SENT' }, '/status', 'unknown_field'],
  ])('refuses %s', async (_, overrides, pointer, code) => {
    const { status, headers, body } = await client.call('POST', '/transfers', {
      json: transferRequest(overrides as Record<string, unknown>),
    });
    expect([status, body.code]).toEqual([422, 'invalid_request']);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(body.errors).toEqual([{ pointer, code, detail: expect.any(String) }]);
  });

  it.each([
    ['a value above the range of a number', '1e400', 'invalid_type'],
    ['minus zero', '-0', 'too_small'],
    ['a value above the exact integers', '9007199254740993', 'too_big'],
    ['a fraction that is rounded to the largest integer', '9007199254740991.4', 'invalid_type'],
    ['a fraction that is rounded up to 1', '0.99999999999999999999', 'invalid_type'],
    ['a fraction that is rounded down to 1', '1.0000000000000000001', 'invalid_type'],
    ['a fraction with an exponent that is rounded to 1', '10000000000000000001e-19', 'invalid_type'],
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
    await create({ metadata: pairs(20) });
    const raw = JSON.stringify(transferRequest()).replace('"order"', '"__proto__"');
    const { status, body } = await client.call('POST', '/transfers', { raw });
    expect([status, body.errors[0]]).toMatchObject([422, { pointer: '/metadata/__proto__', code: 'invalid_name' }]);
  });

  it('returns every validation error at once', async () => {
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

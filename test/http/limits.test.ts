import { describe, expect, it } from '@jest/globals';
import { MAX_MEMBERS } from '../../src/http/body.js';
import { newId } from '../../src/platform/ids.js';
import { LIMITS } from '../../src/platform/limits.js';
import { openApi, startApi, type TestClient } from '../support/api.js';
import { deliverTo, type History } from '../support/history.js';
import { setUses } from '../support/limits.js';
import { endpointRequest, transferRequest } from '../support/transfers.js';

const api = await openApi();
const client = await api.client();

const times = (count: number, one: (i: number) => string) => Array.from({ length: count }, (_, i) => one(i));
const members = (count: number) => times(count, (i) => `"${i.toString(36)}":1`).join();
const transfer = (more: string) => {
  const { amount, destination } = transferRequest();
  return `{"amount":${JSON.stringify(amount)},"destination":${JSON.stringify(destination)},${more}}`;
};

describe('a query', () => {
  it.each([
    ['21 names', times(21, (i) => `a${i}=1`).join('&')],
    ['one name 21 times', times(21, () => 'limit=1').join('&')],
    ['names without values', times(21, (i) => `a${i}`).join('&')],
    [
      '13 KB of names, each twice',
      times(1_700, (i) => `n${i}&n${i}`)
        .join('&')
        .slice(0, 13_000),
    ],
    ['21 parameters with an invalid limit', ['limit=0', ...times(20, (i) => `a${i}`)].join('&')],
  ])('of %s is refused before its parameters are checked', async (_, query) => {
    for (const path of [
      '/transfers',
      '/events',
      '/webhook-endpoints',
      `/deliveries/${newId()}/attempts`,
      '/deliveries/x',
    ]) {
      const { status, body, text } = await client.call('GET', `${path}?${query}`);
      expect([path, status, body.code, body.errors]).toEqual([path, 422, 'too_many_parameters', undefined]);
      expect(text.length).toBeLessThan(1_000);
    }
  });

  it('may have 20 parameters, and separators with nothing between them', async () => {
    const twenty = times(20, (i) => `a${i}`).join('&');
    const { status, body } = await client.call('GET', `/transfers?&&${twenty}${'&'.repeat(5_000)}`);
    expect([status, body.code, body.errors.length]).toEqual([422, 'invalid_request', 20]);
    const seen = await client.call('GET', `/transfers?${'&'.repeat(5_000)}limit=1`);
    expect(seen.status).toBe(200);
  });
});

describe('a body', () => {
  const post = (raw: string, path = '/transfers') => client.call('POST', path, { raw });
  const tooMany = (pointer: string) => [{ pointer, code: 'too_many', detail: expect.any(String) }];

  it('of 7,000 invalid metadata values is rejected by their count', async () => {
    const { status, body } = await post(transfer(`"metadata":{${members(6_700)}}`));
    expect([status, body.code, body.errors]).toEqual([422, 'invalid_request', tooMany('/metadata')]);
  });

  it.each([
    ['names in another object', transfer(`"x":{${members(MAX_MEMBERS)}}`), '/x', 'unknown_field'],
    ['items of an array', `[${'1,'.repeat(30_000)}1]`, '', 'invalid_type'],
    ['items of arrays in an array', `[${'[],'.repeat(20_000)}1]`, '', 'invalid_type'],
    ['arrays in arrays', `${'['.repeat(32_000)}${']'.repeat(32_000)}`, '', 'invalid_type'],
    ['objects in objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, '/a', 'too_deep'],
  ])('of too many %s is refused', async (_, raw, pointer, code) => {
    const { status, body } = await post(raw);
    expect([status, body.code]).toEqual([422, 'invalid_request']);
    expect(body.errors).toEqual([{ pointer, code, detail: expect.any(String) }]);
  });

  it('cuts a long name in errors without splitting a character', async () => {
    const name = `${'n'.repeat(127)}😀`.repeat(200);
    const { body, text } = await post(transfer(`"${name}":1`));
    expect(body.errors).toEqual([
      { pointer: `/${'n'.repeat(127)}…`, code: 'unknown_field', detail: expect.any(String) },
    ]);
    expect(text.length).toBeLessThan(1_000);
  });

  it('with too many fields is rejected, even within fields that a PUT ignores', async () => {
    const { body: endpoint } = await client.call('POST', '/webhook-endpoints', { json: endpointRequest() });
    const raw = `{"url":"https://example.com/hooks","created_at":{${members(200)}}}`;
    const { status, body } = await client.call('PUT', `/webhook-endpoints/${endpoint.webhookId}`, { raw });
    expect([status, body.errors]).toEqual([422, tooMany('/created_at')]);
  });
});

// How a limit counts: test/platform/rate-limit.test.ts.
it.each<[keyof typeof LIMITS, keyof History | undefined, (of: History) => [string, string, object?]]>([
  ['statements', undefined, ({ webhookId: id }) => ['GET', `/webhook-endpoints/${id}/statement`]],
  ['statements', undefined, ({ webhookId: id }) => ['GET', `/events?missing_from=${id}&created_after=${SINCE}`]],
  ['explanations', undefined, ({ deliveryId: id }) => ['POST', `/deliveries/${id}/attempts/1/explain-signature`, V0]],
  ['retries', 'deliveryId', ({ deliveryId: id }) => ['POST', `/deliveries/${id}/retry`]],
  ['recoveries', 'webhookId', ({ webhookId: id }) => ['POST', `/webhook-endpoints/${id}/recover`, { since: SINCE }]],
  ['checks', undefined, ({ webhookId: id }) => ['POST', `/webhook-endpoints/${id}/checks`]],
  ['checksOfEndpoint', 'webhookId', ({ webhookId: id }) => ['POST', `/webhook-endpoints/${id}/checks`]],
])('the limit of %s rejects one use too many, and says when to try again', async (name, of, request) => {
  const { amount, code } = LIMITS[name];
  const used = async (count: number) => {
    const own = await api.client();
    const history = await deliverTo(api, own);
    const stored = name === 'checksOfEndpoint' ? 'checks of an endpoint' : name;
    await setUses(api.database, stored, of ? history[of] : own.id, count);
    const [method, path, json] = request(history);
    const { status, body, headers } = await own.call(method, path, { json });
    return [status, body.code, Number(headers.get('retry-after')) > 0];
  };
  expect((await used(amount - 1))[0]).toBeLessThan(300);
  expect(await used(amount)).toEqual([429, code, true]);
});
const SINCE = new Date(Date.now() - 3_600_000).toISOString();
const V0 = { v0: '' };

describe('the rate limit', () => {
  const left = (headers: Headers) => Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);

  it('counts a request rejected for its size as five, in RateLimit too', async () => {
    const limited = await startApi({ env: { RATE_LIMIT: '1000' }, database: api.database });
    try {
      const query = times(21, (i) => `a${i}`).join('&');
      const large = { raw: `{${members(7_200)}}` };
      for (const call of [
        (own: TestClient) => own.call('GET', `/transfers?${query}`),
        (own: TestClient) => own.call('POST', '/transfers', large),
        (own: TestClient) => own.call('POST', '/transfers', { raw: ' '.repeat(70_000) }),
      ]) {
        const { headers } = await call(await limited.client());
        expect([left(headers), headers.get('ratelimit-policy')]).toEqual([995, '"default";q=1000;w=1']);
      }
      const wrong = await (await limited.client()).call('GET', '/transfers?limit=0');
      expect(left(wrong.headers)).toBe(999);
    } finally {
      await limited.close();
    }
  });
});

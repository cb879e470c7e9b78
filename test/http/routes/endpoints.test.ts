import { describe, expect, it } from '@jest/globals';
import { EndpointHours } from '../../../src/endpoints/hours.js';
import { openApi, startApi } from '../../support/api.js';
import { MASTER_KEY, refusedBy } from '../../support/factories.js';
import { silentLog } from '../../support/silent-log.js';
import { endpointRequest, SECRET } from '../../support/transfers.js';

const api = await openApi({ env: { MAX_ENDPOINTS: '1000' } });
const client = await api.client();

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

async function register(overrides = {}) {
  const { status, body } = await client.call('POST', '/webhook-endpoints', { json: endpointRequest(overrides) });
  expect(status).toBe(201);
  return body;
}

const patch = (id: string, json: unknown, headers = {}) =>
  client.call('PATCH', `/webhook-endpoints/${id}`, { json, headers });
const put = (id: string, json: unknown) => client.call('PUT', `/webhook-endpoints/${id}`, { json });

describe('POST /webhook-endpoints', () => {
  it('returns the endpoint with its Location, without the secret', async () => {
    const reply = await client.call('POST', '/webhook-endpoints', { json: endpointRequest() });
    expect(reply.status).toBe(201);
    expect(reply.headers.get('location')).toBe(`https://api.test/webhook-endpoints/${reply.body.webhookId}`);
    expect(reply.body).toEqual({
      webhookId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      url: 'https://example.com/hooks',
      description: 'Orders',
      max_concurrency: null,
      max_per_second: null,
      signatures: [],
      headers: [],
      enabled: true,
      disabled_reason: null,
      created_at: expect.stringMatching(TIME),
      updated_at: reply.body.created_at,
    });
    const row = await api.database.prisma.endpoint.findUniqueOrThrow({ where: { id: reply.body.webhookId } });
    expect(row.secretEnvelope).not.toContain(SECRET);
    expect(api.dependencies.masterKeys.open(row.secretEnvelope ?? '', row.id).reveal()).toBe(SECRET);
  });

  it.each([
    ['16 characters', 'x'.repeat(16)],
    ['256 characters', '~'.repeat(256)],
    ['spaces at both ends', '  fourteen chars  '],
  ])('keeps a secret of %s as it is', async (_, secret) => {
    const { webhookId } = await register({ secret });
    const row = await api.database.prisma.endpoint.findUniqueOrThrow({ where: { id: webhookId } });
    expect(api.dependencies.masterKeys.open(row.secretEnvelope ?? '', row.id).reveal()).toBe(secret);
  });

  it('keeps signatures through a PATCH that has none, and clears them by a PUT that has none', async () => {
    const { webhookId, url, signatures } = await register({ signatures: ['standard'] });
    expect(signatures).toEqual(['standard']);
    expect((await patch(webhookId, { description: 'x' })).body.signatures).toEqual(['standard']);
    expect((await patch(webhookId, { signatures: null })).body.signatures).toEqual([]);
    expect((await put(webhookId, { url, signatures: ['standard'] })).body.signatures).toEqual(['standard']);
    expect((await put(webhookId, { url })).body.signatures).toEqual([]);
  });

  it('rejects a literal address that is blocked', async () => {
    const json = endpointRequest({ url: 'http://127.0.0.1:8080/' });
    const { status, body } = await client.call('POST', '/webhook-endpoints', { json });
    expect([status, body.code, body.errors]).toMatchObject([422, 'blocked_address', [{ pointer: '/url' }]]);
  });

  it('rejects a url that a client would rewrite, and names the form to register', async () => {
    const add = (url: string) => client.call('POST', '/webhook-endpoints', { json: endpointRequest({ url }) });
    const { status, body } = await add("https://example.com/a/./b?it's {x}");
    expect([status, body.code]).toEqual([422, 'url_not_canonical']);
    expect(body.errors).toEqual([{ pointer: '/url', code: 'url_not_canonical', detail: expect.any(String) }]);
    const canonical = "https://example.com/a/b?it's%20%7Bx%7D";
    expect(body.detail).toBe(`The url is not canonical; register it as ${canonical}`);
    expect((await add(canonical)).body).toMatchObject({ url: canonical });
  });

  it('enforces the limit for concurrent registrations', async () => {
    const limited = await startApi({ env: { MAX_ENDPOINTS: '3' }, database: api.database });
    const own = await limited.client();
    const add = (url: string) => own.call('POST', '/webhook-endpoints', { json: endpointRequest({ url }) });
    const replies = await Promise.all(Array.from({ length: 12 }, (_, i) => add(`https://example.com/${i}`)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(3);
    const refused = replies.filter(({ status }) => status === 422);
    expect(refused.map(({ body }) => body.code)).toEqual(Array(9).fill('endpoint_limit_reached'));
    const { body } = await own.call('GET', '/webhook-endpoints');
    await own.call('DELETE', `/webhook-endpoints/${body.data[0].webhookId}`);
    expect((await add('https://example.com/12')).status).toBe(201);
    // At the limit, one more is for the switch of a secret.
    const { webhookId, url } = body.data[1];
    await own.call('PATCH', `/webhook-endpoints/${webhookId}`, { json: { enabled: false } });
    expect((await add(url)).body.code).toBe('endpoint_limit_reached');
    await own.call('PATCH', `/webhook-endpoints/${webhookId}`, { json: { enabled: true } });
    const race = await Promise.all([add(url), add(url), add('https://example.com/13')]);
    expect(race.map(({ status }) => status).sort()).toEqual([201, 422, 422]);
    await own.call('DELETE', `/webhook-endpoints/${webhookId}`);
    expect((await add('https://example.com/13')).status).toBe(422);
    expect((await add(url)).status).toBe(201);
    await limited.close();
  });
});

describe('PUT /webhook-endpoints/{webhookId}', () => {
  it('replaces the endpoint: an omitted description becomes null, an omitted enabled does not change', async () => {
    const { webhookId } = await register({ enabled: false });
    const { status, body } = await put(webhookId, { url: 'https://example.org/?a=b' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ webhookId, url: 'https://example.org/?a=b', description: null, enabled: false });
  });

  it.each(['max_concurrency', 'max_per_second'])(
    'changes %s; omitted or null, it is that of the service',
    async (name) => {
      const { webhookId, url, [name]: registered } = await register({ [name]: 1 });
      const limitAfter = async (json: object) => (await put(webhookId, { url, ...json })).body[name];
      expect([registered, await limitAfter({ [name]: 100 })]).toEqual([1, 100]);
      expect(await limitAfter({})).toBeNull();
      await limitAfter({ [name]: 100 });
      expect(await limitAfter({ [name]: null })).toBeNull();
      expect((await patch(webhookId, { [name]: 7 })).body[name]).toBe(7);
      expect((await patch(webhookId, { description: null })).body[name]).toBe(7);
      expect((await patch(webhookId, { [name]: null })).body[name]).toBeNull();
    },
  );

  it('accepts the response of a GET, and ignores read-only fields', async () => {
    const endpoint = await register();
    const { status, body } = await put(endpoint.webhookId, {
      ...endpoint,
      webhookId: 'other',
      created_at: null,
      disabled_reason: 5,
      description: 'Renamed',
    });
    expect(status).toBe(200);
    expect(body).toEqual({ ...endpoint, description: 'Renamed', updated_at: expect.stringMatching(TIME) });
  });
});

describe('PATCH /webhook-endpoints/{webhookId}', () => {
  it.each(['application/merge-patch+json', 'application/json'])('changes what is given, as %s', async (type) => {
    const endpoint = await register({ max_concurrency: 5 });
    const change = async (json: object) => {
      const { status, body } = await patch(endpoint.webhookId, json, { 'Content-Type': type });
      expect(status).toBe(200);
      return body;
    };
    const present = { ...endpoint, updated_at: expect.stringMatching(TIME) };
    expect(await change({})).toEqual(present);
    expect(await change({ url: 'https://example.net/' })).toEqual({ ...present, url: 'https://example.net/' });
    expect(await change({ url: endpoint.url, description: 'Renamed' })).toEqual({ ...present, description: 'Renamed' });
    expect(await change({ description: null })).toEqual({ ...present, description: null });
    expect(await change({ description: endpoint.description, max_concurrency: null })).toEqual({
      ...present,
      max_concurrency: null,
    });
    expect(await change({ enabled: false })).toMatchObject({ enabled: false, disabled_reason: 'owner' });
    expect(await change({ enabled: true })).toMatchObject({ enabled: true, max_concurrency: null });
    expect(await change(endpoint)).toEqual(present);
  });

  it.each<[string, Record<string, unknown>, string, string]>([
    ['PUT', { url: 'https://example.com', secret: SECRET }, 'secret_immutable', '/secret'],
    ['PATCH', { secret: SECRET }, 'secret_immutable', '/secret'],
    ['PATCH', { secret: null }, 'secret_immutable', '/secret'],
    ['PATCH', { url: null }, 'invalid_request', '/url'],
    ['PATCH', { enabled: null }, 'invalid_request', '/enabled'],
    ['PUT', { url: 'http://[::1]/' }, 'blocked_address', '/url'],
    ['PATCH', { url: 'http://[::1]/' }, 'blocked_address', '/url'],
  ])('of a %s that has %j changes nothing', async (method, fields, code, pointer) => {
    const endpoint = await register();
    const json = { description: 'Renamed', ...fields };
    const { status, body, text } = await client.call(method, `/webhook-endpoints/${endpoint.webhookId}`, { json });
    expect([status, body.code]).toEqual([422, code]);
    expect(body.errors).toEqual([expect.objectContaining({ pointer })]);
    expect(text).not.toContain(SECRET);
    expect((await client.call('GET', `/webhook-endpoints/${endpoint.webhookId}`)).body).toEqual(endpoint);
  });

  it('rejects other media types, and a merge patch is none for a PUT', async () => {
    const { webhookId, url } = await register();
    const path = `/webhook-endpoints/${webhookId}`;
    const send = async (method: string, type: string) =>
      (await client.call(method, path, { json: { url }, headers: { 'Content-Type': type } })).status;
    expect(await send('PATCH', 'application/json-patch+json')).toBe(415);
    expect(await send('PATCH', 'application/merge-patch+json; charset=latin1')).toBe(415);
    expect(await send('PUT', 'application/merge-patch+json')).toBe(415);
    expect(await send('PATCH', 'application/merge-patch+json; charset=utf-8')).toBe(200);
  });
});

describe('GET /webhook-endpoints/{webhookId}/health', () => {
  it("shows what is known of the endpoint's attempts, and null for the rest", async () => {
    const { webhookId } = (await client.call('POST', '/webhook-endpoints', { json: endpointRequest() })).body;
    const path = `/webhook-endpoints/${webhookId}/health`;
    const nothing = {
      ...{ webhookId, last_success_at: null, last_failure_at: null, last_error: null, last_response_status: null },
      ...{ failing_since: null, pending: 0, next_attempt_at: null, slowed_until: null },
      attempts_24h: { succeeded: 0, failed: 0 },
      response_ms_24h: { p50: null, p95: null },
    };
    expect((await client.call('GET', path)).body).toEqual(nothing);
    const slowed = (seconds: number) =>
      api.database.query(
        `update webhook_endpoints set slowed_until = now() + make_interval(secs => $2) where id = $1::uuid`,
        [webhookId, seconds],
      );
    await slowed(60);
    expect((await client.call('GET', path)).body).toEqual({ ...nothing, slowed_until: expect.stringMatching(TIME) });
    await slowed(-1);
    expect((await client.call('GET', path)).body).toEqual(nothing);
    const hours = new EndpointHours(api.database, silentLog);
    const startedAt = new Date();
    hours.count(webhookId, { ...refusedBy(503), startedAt, durationMs: 20 });
    await hours.write();
    const at = new Date(startedAt.getTime() + 20).toISOString();
    expect((await client.call('GET', path)).body).toEqual({
      ...nothing,
      ...{ last_failure_at: at, failing_since: at, last_error: 'status', last_response_status: 503 },
      ...{ attempts_24h: { succeeded: 0, failed: 1 }, response_ms_24h: { p50: 18, p95: 18 } },
    });
  });
});

describe('an endpoint', () => {
  it('is gone after deletion, with its secret', async () => {
    const { webhookId } = await register();
    const path = `/webhook-endpoints/${webhookId}`;
    const deleted = await client.call('DELETE', path);
    expect([deleted.status, deleted.text]).toEqual([204, '']);
    for (const [method, where] of [
      ['GET', path],
      ['DELETE', path],
      ['GET', `${path}/deliveries`],
    ] as const) {
      expect((await client.call(method, where)).status).toBe(404);
    }
    expect((await put(webhookId, { url: 'https://example.com' })).status).toBe(404);
    const listed = await client.call('GET', '/webhook-endpoints?limit=100');
    expect(listed.body.data.map((endpoint: { webhookId: string }) => endpoint.webhookId)).not.toContain(webhookId);
    const row = await api.database.prisma.endpoint.findUniqueOrThrow({ where: { id: webhookId } });
    expect(row.secretEnvelope).toBeNull();
  });

  it.each(['not-a-uuid', '%00', '..%2f', '00000000-0000-0000-0000-000000000000', "'; drop table"])(
    'is not found by %s',
    async (id) => {
      const { status, body } = await client.call('GET', `/webhook-endpoints/${id}`);
      expect([status, body.code]).toEqual([404, 'not_found']);
    },
  );
});

it('production requires an https: URL, and has no path of the sandbox', async () => {
  const production = await startApi({ env: { ENVIRONMENT: 'production', MASTER_KEY }, database: api.database });
  const own = await production.client();
  const json = endpointRequest({ url: 'http://example.com/' });
  const { status, body } = await own.call('POST', '/webhook-endpoints', { json });
  expect([status, body.errors]).toMatchObject([422, [{ pointer: '/url', code: 'invalid_scheme' }]]);
  const transfer = '/sandbox/transfers/00000000-0000-0000-0000-000000000000/status';
  expect((await own.call('POST', transfer, { json: { status: 'SENT' } })).body.detail).toMatch(/no such path/);
  await production.close();
});

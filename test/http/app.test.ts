import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { openDatabase } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids.js';
import { Secret } from '../../src/platform/secret.js';
import { createLog, type Log } from '../../src/platform/telemetry/log.js';
import { createMetrics } from '../../src/platform/telemetry/metrics.js';
import { openApi, startApi } from '../support/api.js';
import { quickly } from '../support/quickly.js';
import { endpointRequest, transferRequest } from '../support/transfers.js';

const api = await openApi();
const client = await api.client();

it('counts and logs requests that the server rejects', async () => {
  const lines: object[] = [];
  const log = { ...createLog('silent', 'test'), info: (line: object) => lines.push(line) } as unknown as Log;
  const metrics = createMetrics();
  const rejecting = await startApi({ database: api.database, dependencies: { log, metrics } });
  for (const text of ['pony', 'GET /a HTTP/1.1\r\nX-Request-Id: one']) {
    const socket = connect(rejecting.port, '127.0.0.1');
    socket.end(`${text}\r\n\r\n`).resume();
    await once(socket, 'close');
  }
  const common = { route: null, status: 400, address: '127.0.0.1' };
  expect(lines).toMatchObject([
    { ...common, method: 'unreadable' },
    { ...common, method: 'GET', request_id: 'one' },
  ]);
  const counted = await metrics.text();
  for (const method of ['other', 'GET']) {
    expect(counted).toContain(`http_requests_total{method="${method}",route="none",status="400"} 1\n`);
  }
  await rejecting.close();
});

describe('a path', () => {
  it.each(['/%', '/transfers/%E0%A4%A', '/%ff', '/transfers/%zz'])('%s cannot be decoded', async (path) => {
    const { status, headers, body } = await client.call('GET', path);
    expect([status, body.code]).toEqual([400, 'malformed_request']);
    expect(headers.get('content-type')).toBe('application/problem+json');
  });

  it.each(['/nothing', '/transfer', '/transfers/', '/transfers//', '/TRANSFERS', '/%00', '/transfers/a/b/c'])(
    '%s is not found, with or without a token',
    async (path) => {
      for (const { status, body } of [await api.call('GET', path), await client.call('GET', path)]) {
        expect([status, body.code]).toEqual([404, 'not_found']);
      }
    },
  );

  it.each([
    ['/transfers', 'GET, HEAD, OPTIONS, POST'],
    [`/webhook-endpoints/${newId()}`, 'DELETE, GET, HEAD, OPTIONS, PATCH, PUT'],
    [`/transfers/${newId()}/cancel`, 'OPTIONS, POST'],
    ['/healthz', 'GET, HEAD, OPTIONS'],
    ['/oauth/token', 'OPTIONS, POST'],
  ])('%s lists its methods for OPTIONS, and for one that it has not', async (path, allow) => {
    const { status, headers, text } = await api.call('OPTIONS', path);
    expect([status, headers.get('allow'), text]).toEqual([204, allow, '']);
    const other = await api.call('PROPFIND', path);
    expect([other.status, other.headers.get('allow')]).toEqual([405, allow]);
  });

  it('serves HEAD like GET without a body', async () => {
    const head = await client.call('HEAD', '/transfers');
    const get = await client.call('GET', '/transfers');
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
  });
});

describe('every response', () => {
  it('carries the request id that was sent, or a new one', async () => {
    const id = 'x'.repeat(128);
    expect(
      (await client.call('GET', '/transfers', { headers: { 'X-Request-Id': id } })).headers.get('x-request-id'),
    ).toBe(id);
    for (const bad of ['', 'a b', 'x'.repeat(129), 'é']) {
      const { headers, body } = await client.call('GET', '/nothing', { headers: { 'X-Request-Id': bad } });
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(body.request_id).toBe(headers.get('x-request-id'));
    }
  });

  it('tells browsers to use nothing but https if that is the scheme of BASE_URL', async () => {
    const plain = await startApi({ env: { BASE_URL: 'http://localhost:3000' }, database: api.database });
    const headersOf = async (at: typeof api) => (await at.call('GET', '/healthz')).headers;
    const [secure, insecure] = [await headersOf(api), await headersOf(plain)];
    expect(secure.get('strict-transport-security')).toBe('max-age=63072000');
    expect(secure.get('x-content-type-options')).toBe('nosniff');
    expect(insecure.has('strict-transport-security')).toBe(false);
    await plain.close();
  });

  it('that reports an error is a problem document (RFC 9457)', async () => {
    const { status, headers, body } = await client.call('GET', `/transfers/${newId()}?x=1`);
    expect(status).toBe(422);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect(body).toEqual({
      type: 'https://api.test/docs/guide#invalid_request',
      title: 'Invalid request',
      status: 422,
      detail: 'The query is invalid; see errors.',
      instance: expect.stringMatching(/^\/transfers\/[0-9a-f-]{36}$/),
      code: 'invalid_request',
      request_id: headers.get('x-request-id'),
      errors: [{ parameter: 'x', code: 'unknown_parameter', detail: 'is not a parameter of this request' }],
    });
  });
});

it('the rate limit counts each client separately, reports the count in headers, and omits operators', async () => {
  const limited = await startApi({ env: { RATE_LIMIT: '3' }, database: api.database });
  const [other, operator] = [await limited.client(), await limited.client(['operator'])];
  const replies = await quickly(333, async () => {
    const one = await limited.client();
    return Promise.all(Array.from({ length: 5 }, () => one.call('GET', '/events')));
  });
  const allowed = replies.filter(({ status }) => status === 200);
  expect(allowed.map(({ headers }) => headers.get('ratelimit-policy'))).toEqual(Array(3).fill('"default";q=3;w=1'));
  const left = allowed.map(({ headers }) => headers.get('ratelimit')).sort();
  expect(left).toEqual([0, 1, 2].map((n) => `"default";r=${n};t=1`));
  const refused = replies.filter(({ status }) => status === 429);
  const said = refused.map(({ headers, body }) => [headers.get('retry-after'), body.code]);
  expect(said).toEqual(Array(2).fill(['1', 'rate_limited']));
  expect((await other.call('GET', '/events')).status).toBe(200);
  for (let i = 0; i < 6; i++) {
    const reply = await operator.call('GET', `/operator/transfers/${newId()}`);
    expect([reply.status, reply.headers.get('ratelimit')]).toEqual([404, null]);
  }
  await limited.close();
});

it('/readyz is 503 while the process is not ready', async () => {
  const checks = { postgres: 'unreachable', migrations: 'unknown', temporal: 'ok' };
  const readiness = async () => ({ ready: false, checks });
  const sick = await startApi({ database: api.database, dependencies: { readiness } });
  const { status, headers, body } = await sick.call('GET', '/readyz');
  expect([status, headers.get('retry-after')]).toEqual([503, '2']);
  expect(body).toMatchObject({ code: 'unavailable', checks });
  await sick.close();
});

describe('a fault', () => {
  it('returns a request id that is also in the log, and no other detail', async () => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog('silent', 'test');
    log.error = ((fields: Record<string, unknown>) => lines.push(fields)) as typeof log.error;
    const broken = await startApi({
      database: api.database,
      dependencies: {
        log,
        readiness: () => Promise.reject(new Error('password=hunter2')),
      },
    });
    const { status, text, body, headers } = await broken.call('GET', '/readyz');
    expect([status, body.code]).toEqual([500, 'internal_error']);
    expect(text).not.toContain('hunter2');
    expect(lines).toMatchObject([{ request_id: headers.get('x-request-id'), err: expect.any(Error) }]);
    await broken.close();
  });

  it('of the database is a 503 with Retry-After', async () => {
    const nowhere = openDatabase({ url: new Secret('postgresql://postgres@127.0.0.1:1/none'), poolSize: 2 });
    const cut = await startApi({ database: api.database, dependencies: { database: nowhere } });
    const own = await cut.client();
    for (const [method, path, json] of [
      ['GET', '/transfers', undefined],
      ['POST', '/transfers', transferRequest()],
      ['POST', '/webhook-endpoints', endpointRequest()],
      ['GET', '/events', undefined],
      ['POST', `/transfers/${newId()}/cancel`, undefined],
    ] as const) {
      const reply = await own.call(method, path, { json, headers: { 'Idempotency-Key': 'x' } });
      expect([method, path, reply.status, reply.body.code]).toEqual([method, path, 503, 'unavailable']);
      expect(reply.headers.get('retry-after')).toBe('2');
    }
    await cut.close();
    await nowhere.close();
  });
});

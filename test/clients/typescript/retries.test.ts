import { describe, expect, jest, test } from '@jest/globals';
import type { TransferServiceClient } from '../../../clients/typescript/src/client.js';
import { parseRetryAfter } from '../../../clients/typescript/src/retry.js';
import type { Fetch } from '../../../clients/typescript/src/settings.js';
import { openStubService, problem, type StubAnswer } from '../../support/stub-service.js';
import { transferRequest } from '../../support/transfers.js';

const stub = await openStubService();

const keys = () => stub.requests.map(({ headers }) => headers['idempotency-key']);
const BUSY = problem(429, 'rate_limited');
const IN_USE = problem(409, 'idempotency_key_in_use');

test.each<[string, StubAnswer]>([
  ['a 429', BUSY],
  ['a 503', problem(503, 'unavailable')],
  ['a 500', problem(500, 'internal_error')],
  ["a proxy's 502", { status: 502, text: '<h1>Bad gateway</h1>' }],
  ["a proxy's 504", { status: 504, text: '' }],
  ['a broken connection', 'broken'],
  ['the first request with this key, which is still running', IN_USE],
])('tries a POST again after %s, with the same key', async (_, answer) => {
  stub.answers = [answer, answer];
  await expect(stub.client().transfers.create(transferRequest())).resolves.toEqual({ id: 'made' });
  expect(stub.requests).toHaveLength(3);
  expect(new Set(keys()).size).toBe(1);
  expect(keys()[0]).toMatch(/^[0-9a-f-]{36}$/);
  expect(new Set(stub.requests.map(({ body }) => body)).size).toBe(1);
});

test('two calls have two keys, and an explicit key is sent as given', async () => {
  const client = stub.client();
  await client.transfers.create(transferRequest());
  await client.transfers.create(transferRequest());
  await client.transfers.create(transferRequest(), { idempotencyKey: 'order-4711' });
  expect(new Set(keys()).size).toBe(3);
  expect(keys()[2]).toBe('order-4711');
  await client.transfers.get('t-1');
  expect(keys()[3]).toBeUndefined();
});

test('tries at most four times, and the error has the key for a later repeat', async () => {
  stub.otherwise = () => 'broken';
  await expect(stub.client().transfers.create(transferRequest(), { idempotencyKey: 'k-1' })).rejects.toMatchObject({
    name: 'TransferServiceError',
    code: 'connection_failed',
    status: undefined,
    idempotencyKey: 'k-1',
  });
  expect(stub.requests).toHaveLength(4);
});

describe('a failure that another try cannot mend', () => {
  const failing = (error: Error) => {
    let tries = 0;
    const fetch = () => {
      tries++;
      return Promise.reject(error);
    };
    return { client: stub.client({ fetch }), tries: () => tries };
  };
  const coded = (code: string) => new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code }) });

  test.each<[string, Error, string]>([
    ['a port that fetch blocks', new TypeError('fetch failed', { cause: new Error('bad port') }), ': bad port'],
    ['an argument', coded('UND_ERR_INVALID_ARG'), ' (UND_ERR_INVALID_ARG)'],
    ['no TLS', coded('ERR_SSL_WRONG_VERSION_NUMBER'), ' (ERR_SSL_WRONG_VERSION_NUMBER)'],
  ])('keeps its words and is not tried again: %s', async (_, error, words) => {
    const { client, tries } = failing(error);
    const message = `POST /oauth/token: the connection failed${words}`;
    await expect(client.transfers.get('t-1')).rejects.toMatchObject({ code: 'connection_failed', message });
    expect(tries()).toBe(1);
  });

  test('is not a broken connection without a code, whose words name it', async () => {
    const { client, tries } = failing(new TypeError('error sending request: Connection refused (os error 111)'));
    const message = expect.stringContaining('Connection refused (os error 111)');
    await expect(client.transfers.get('t-1')).rejects.toMatchObject({ message });
    expect(tries()).toBe(4);
  });
});

test.each([400, 403, 404, 409, 422])('a %i is an error at once', async (status) => {
  stub.otherwise = () =>
    problem(status, 'some_code', { errors: [{ pointer: '/url', code: 'required', detail: 'is required' }] });
  await expect(stub.client().transfers.create(transferRequest())).rejects.toMatchObject({
    status,
    code: 'some_code',
    requestId: 'r-1',
    errors: [{ pointer: '/url', code: 'required', detail: 'is required' }],
    message: `POST /transfers: ${status} some_code: because of some_code: /url is required`,
  });
  expect(stub.requests).toHaveLength(1);
});

describe('the delay', () => {
  /** The delays that a call asks of its timers, ms; they all end at once. */
  function delays(): number[] {
    const asked: number[] = [];
    const original = globalThis.setTimeout;
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(((callback: () => void, ms: number) => {
      // Neither the time limit of a try nor a timer of fetch is a delay.
      const isOfClient = new Error().stack?.includes('/clients/typescript/src/');
      if (!isOfClient || (ms > 14_000 && ms <= 60_000)) return original(callback, ms);
      asked.push(ms);
      return original(callback, 0);
    }) as typeof setTimeout);
    return asked;
  }

  test('is random between 0 and 1, 4 and 16 s', async () => {
    stub.answers = ['broken', 'broken', 'broken'];
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    const asked = delays();
    await stub.client().transfers.get('t-1');
    expect(asked).toEqual([500, 2_000, 8_000]);
  });

  test('follows after what Retry-After asks for', async () => {
    stub.answers = [problem(429, 'rate_limited')];
    (stub.answers[0] as { headers: Record<string, string> }).headers['retry-after'] = '3';
    jest.spyOn(Math, 'random').mockReturnValue(0.25);
    const asked = delays();
    await stub.client().transfers.get('t-1');
    expect(asked).toEqual([3_250]);
  });

  test('is skipped if it would exceed 60 s in all', async () => {
    stub.answers = [problem(429, 'retry_limit_reached')];
    (stub.answers[0] as { headers: Record<string, string> }).headers['retry-after'] = '600';
    await expect(stub.client().deliveries.retry('d-1')).rejects.toMatchObject({ code: 'retry_limit_reached' });
    expect(stub.requests).toHaveLength(1);
  });
});

test.each([
  ['2', 2_000],
  ['0', 0],
  ['Sun, 22 Nov 2026 10:00:05 GMT', 5_000],
  ['Sun, 22 Nov 2026 09:00:00 GMT', 0],
  ['soon', 0],
  [null, 0],
])('reads Retry-After: %s', (value, expected) => {
  expect(parseRetryAfter(value, Date.UTC(2026, 10, 22, 10, 0, 0))).toBe(expected);
});

describe.each([500, 502, 504])('after a %i', (status) => {
  test.each<[string, (client: TransferServiceClient) => Promise<unknown>]>([
    ['a GET', (client) => client.transfers.get('t-1')],
    ['a PUT', (client) => client.webhookEndpoints.update('w-1', { url: 'https://example.com/' })],
    ['a DELETE', (client) => client.webhookEndpoints.delete('w-1')],
    ['a POST whose response is a link', (client) => client.consoleSessions.create()],
  ])('%s, which has no key, is not tried again', async (_, call) => {
    stub.otherwise = () => problem(status, 'some_code');
    await expect(call(stub.client())).rejects.toMatchObject({ status, code: 'some_code', idempotencyKey: undefined });
    expect(stub.requests).toHaveLength(1);
  });

  test('a request for a token, which is a secret, is not tried again', async () => {
    stub.tokenAnswers = [{ status }];
    await expect(stub.client().transfers.cancel('t-1')).rejects.toMatchObject({ status });
    expect(stub.tokens).toHaveLength(1);
  });
});

test('a link to the console is not made twice after a broken connection, and a 503 is tried again', async () => {
  stub.answers = [problem(503, 'unavailable'), 'broken'];
  await expect(stub.client().consoleSessions.create()).rejects.toMatchObject({ code: 'connection_failed' });
  expect(stub.requests).toHaveLength(2);
});

describe('a DELETE that finds 404', () => {
  const GONE = problem(404, 'not_found');

  test.each<[string, StubAnswer[]]>([
    ['a lost response', ['broken', GONE]],
    ["a proxy's 503", [{ status: 503, text: 'the upstream did not respond' }, GONE]],
    ['a lost response and the 503 of the service', ['broken', problem(503, 'unavailable'), GONE]],
  ])('has succeeded after %s', async (_, answers) => {
    stub.answers = answers;
    await expect(stub.client().webhookEndpoints.delete('w-1')).resolves.toBeUndefined();
  });

  test.each<[string, StubAnswer[]]>([
    ['at once', [GONE]],
    ['after the 503 of the service, which did nothing', [problem(503, 'unavailable'), GONE]],
    ['after a 429', [BUSY, GONE]],
    ['after a 401', [problem(401, 'invalid_token'), GONE]],
  ])('%s has failed', async (_, answers) => {
    stub.answers = answers;
    await expect(stub.client().webhookEndpoints.delete('w-1')).rejects.toMatchObject({ code: 'not_found' });
  });

  /** A client whose first DELETE fails so. */
  const failing = (first: Fetch) => {
    let failed = false;
    return stub.client({
      fetch: (input, init) => {
        if (init.method !== 'DELETE' || failed) return fetch(input, init);
        failed = true;
        return first(input, init);
      },
    });
  };

  const thrown = (cause: object) => Promise.reject(new TypeError('fetch failed', { cause }));
  test.each<[string, object, boolean]>([
    ['a refused connection', { code: 'ECONNREFUSED', syscall: 'connect' }, false],
    ['an unknown host', { code: 'ENOTFOUND', syscall: 'getaddrinfo' }, false],
    ['a time-out of the connection', { code: 'UND_ERR_CONNECT_TIMEOUT' }, false],
    ['no route to any address', { code: 'ETIMEDOUT', errors: [{ code: 'ETIMEDOUT', syscall: 'connect' }] }, false],
    ['a wrong certificate', { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }, false],
    ['a route that was lost', { code: 'EHOSTUNREACH', syscall: 'read' }, true],
    ['a time-out of an open connection', { code: 'ETIMEDOUT', syscall: 'read' }, true],
    ['a reset', { code: 'ECONNRESET', syscall: 'read' }, true],
    ['an error without a code', {}, true],
  ])('after %s', async (_, cause, succeeds) => {
    stub.answers = [GONE];
    const deletion = failing(() => thrown(cause)).webhookEndpoints.delete('w-1');
    await (succeeds
      ? expect(deletion).resolves.toBeUndefined()
      : expect(deletion).rejects.toMatchObject({ code: 'not_found' }));
  });
});

describe('time limits', () => {
  test.each([Number.NaN, 0, -1, '500'])('a timeoutMs of %p is a TypeError, and nothing is sent', async (timeoutMs) => {
    const call = stub.client().transfers.get('t-1', { timeoutMs: timeoutMs as number });
    await expect(call).rejects.toThrow(TypeError);
    expect(stub.requests).toEqual([]);
  });

  // Timers count whole milliseconds: the limit of a call ended a fraction early, and the call sent another request.
  test('a call sends nothing more after its time limit, although its deadline by the clock is still ahead', async () => {
    stub.otherwise = () => 'silent';
    jest.spyOn(performance, 'now').mockReturnValue(performance.now());
    const call = stub.client().transfers.get('t-1', { timeoutMs: 200 });
    await expect(call).rejects.toMatchObject({ code: 'timeout' });
    expect(stub.requests.length).toBeLessThanOrEqual(1);
  });

  test('a fetch that ignores its signal does not hold a call', async () => {
    const client = stub.client({ fetch: () => new Promise<never>(() => {}) });
    await expect(client.service.meta({ timeoutMs: 100 })).rejects.toMatchObject({ code: 'timeout' });
    await expect(client.transfers.get('t-1', { timeoutMs: 100 })).rejects.toMatchObject({ code: 'timeout' });
  });

  test('an abort ends a call with the reason of the signal, even during a delay', async () => {
    jest.spyOn(Math, 'random').mockReturnValue(1);
    stub.otherwise = () => BUSY;
    const reason = new Error('no longer needed');
    const abort = new AbortController();
    const call = stub.client().transfers.get('t-1', { signal: abort.signal });
    stub.otherwise = () => {
      setImmediate(() => abort.abort(reason));
      return BUSY;
    };
    await expect(call).rejects.toBe(reason);
    expect(stub.requests).toHaveLength(1);
    await expect(stub.client().transfers.get('t-1', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

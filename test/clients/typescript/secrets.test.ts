import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { refuseBrowser } from '../../../clients/typescript/src/browser.js';
import { TransferServiceClient } from '../../../clients/typescript/src/client.js';
import {
  openStubService,
  problem,
  STUB_SECRET,
  type StubAnswer,
  type StubService,
  startStubService,
} from '../../support/stub-service.js';
import { endpointRequest, SECRET } from '../../support/transfers.js';

const stub = await openStubService();

/** Everything that a program could print of a value. */
function printed(value: unknown): string {
  const error = value as { message?: string; stack?: string; cause?: unknown };
  const deep = inspect(value, { depth: 20, showHidden: true, getters: true });
  return [deep, JSON.stringify(value), String(value), error.message, error.stack, inspect(error.cause)].join('\n');
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: unknown) => error,
  );
}

test('a client shows neither secret nor token', async () => {
  const client = stub.client();
  await client.transfers.get('t-1');
  const text = printed(client) + printed(client.transfers) + Object.keys(client);
  expect(text).not.toContain(STUB_SECRET);
  expect(text).not.toContain('token-1');
});

/** A server, or something between, that returns everything it was sent. */
const echo = (status: number): StubAnswer =>
  problem(status, 'some_code', {
    detail: `${STUB_SECRET} Bearer token-1 ${SECRET}`,
    errors: [{ pointer: `/${SECRET}`, code: STUB_SECRET, detail: 'token-1' }],
  });

test.each<[string, Partial<StubService>]>([
  ['an error that returns the secrets', { otherwise: () => echo(422) }],
  ['a 503 that returns the secrets', { otherwise: () => echo(503) }],
  ['a second 401', { otherwise: () => echo(401) }],
  ['a broken connection', { otherwise: () => 'broken' }],
  ['a page of a proxy', { otherwise: () => ({ status: 502, text: STUB_SECRET + SECRET }) }],
  [
    'no JSON',
    { otherwise: () => ({ status: 200, text: STUB_SECRET, headers: { 'content-type': 'application/json' } }) },
  ],
  [
    'a rejected token',
    { tokenAnswers: [{ status: 401, json: { error: 'invalid_client', error_description: STUB_SECRET } }] },
  ],
  ['a redirect', { otherwise: () => ({ status: 307, headers: { location: `http://127.0.0.1:1/${STUB_SECRET}` } }) }],
])('no error shows a secret or a token: %s', async (_, answers) => {
  Object.assign(stub, answers);
  const error = await failureOf(stub.client().webhookEndpoints.register(endpointRequest()));
  expect((error as Error).name).toBe('TransferServiceError');
  const text = printed(error);
  for (const secret of [STUB_SECRET, SECRET, 'token-1', 'token-2']) expect(text).not.toContain(secret);
  expect(error).not.toHaveProperty('cause');
});

test('no error shows a secret that a function returned, nor the one before it', async () => {
  const secrets = ['the-secret-before-rotation', STUB_SECRET];
  stub.otherwise = () => problem(401, 'invalid_token', { detail: secrets.join() });
  const remaining = [...secrets];
  const error = await failureOf(stub.client({ clientSecret: () => remaining.shift()! }).transfers.get('t-1'));
  expect(remaining).toEqual([]);
  for (const secret of secrets) expect(printed(error)).not.toContain(secret);
});

test.each([STUB_SECRET, 'a "quoted" client secret'])(
  'a fetch that throws its arguments shows no secret',
  async (secret) => {
    const client = stub.client({
      clientSecret: secret,
      fetch: (input, init) => Promise.reject(new Error(`${input} ${JSON.stringify(init)}`, { cause: init })),
    });
    const error = await failureOf(client.transfers.get('t-1'));
    for (const form of [secret, JSON.stringify(secret).slice(1, -1)]) expect(printed(error)).not.toContain(form);
    expect(error).toMatchObject({ code: 'connection_failed' });
  },
);

describe('a redirect', () => {
  test.each([301, 302, 307, 308])('%i takes neither token nor secret to another server', async (status) => {
    const other = await startStubService();
    stub.otherwise = () => ({ status, headers: { location: `${other.url}/transfers` } });
    await expect(stub.client().webhookEndpoints.register(endpointRequest())).rejects.toMatchObject({
      code: 'redirected',
    });
    expect(stub.requests).toHaveLength(1);
    stub.tokenAnswers = [{ status, headers: { location: `${other.url}/oauth/token` } }];
    await expect(stub.client().transfers.get('t-1')).rejects.toMatchObject({ code: 'redirected' });
    expect([...other.requests, ...other.tokens]).toEqual([]);
    await other.close();
  });
});

describe('the options', () => {
  const valid = { baseUrl: 'https://api.example.com', clientId: 'c', clientSecret: STUB_SECRET };
  const refused: [string, Record<string, unknown>, RegExp][] = [
    ['http: to another machine', { baseUrl: 'http://api.example.com' }, /^baseUrl must be https:/],
    [
      'http: to a name that begins like this machine',
      { baseUrl: 'http://127.0.0.1.example.com' },
      /^baseUrl must be https:/,
    ],
    ['http: to the token endpoint elsewhere', { authUrl: 'http://10.0.0.1' }, /^authUrl must be https:/],
    [
      'credentials in the URL',
      { baseUrl: `https://u:${STUB_SECRET}@api.example.com` },
      /^baseUrl must have no user name/,
    ],
    ['an empty secret', { clientSecret: '' }, /^clientSecret/],
  ];
  test.each(refused)('%s is rejected, and the secret is not shown', (_, wrong, says) => {
    let error: unknown;
    try {
      new TransferServiceClient({ ...valid, ...wrong } as typeof valid);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(says);
    expect(printed(error)).not.toContain(STUB_SECRET);
  });

  test('a header that cannot be sent is rejected before a request', async () => {
    const client = stub.client();
    await expect(client.transfers.cancel('t-1', { idempotencyKey: 'two\r\nlines' })).rejects.toThrow(TypeError);
    await expect(client.transfers.get('t-1', { requestId: 'a b' })).rejects.toThrow(TypeError);
    await expect(client.transfers.get('..')).rejects.toThrow('id must be an id');
    await expect(client.transfers.get('')).rejects.toThrow('id must be an id');
    await client.transfers.get('a/../b?c#d');
    expect(stub.requests.map(({ url }) => url)).toEqual(['/transfers/a%2F..%2Fb%3Fc%23d']);
  });
});

test('a browser gets a clear error, and a server does not', () => {
  const text = `(${refuseBrowser.toString()})()`;
  for (const browser of [{ document: {} }, { importScripts: () => {} }, { document: {}, process: { versions: {} } }]) {
    expect(() => runInNewContext(text, browser)).toThrow(/servers only/);
  }
  expect(() => runInNewContext(text, { document: {}, process: { versions: { node: '20.0.0' } } })).not.toThrow();
  expect(() => runInNewContext(text, {})).not.toThrow();
});

test.each(['short', 'url', 'invalid_request'])(
  'the secret %j changed the words of an error: too_[redacted]',
  async (secret) => {
    const detail = 'must have at least 16 characters';
    stub.otherwise = () =>
      problem(422, 'invalid_request', {
        detail: 'The body is invalid; see errors.',
        errors: [{ pointer: '/secret', code: 'too_short', detail }],
      });
    const error = await failureOf(stub.client().webhookEndpoints.register(endpointRequest({ secret })));
    expect(error).toMatchObject({
      code: 'invalid_request',
      errors: [{ pointer: '/secret', code: 'too_short', detail }],
      message: `POST /webhook-endpoints: 422 invalid_request: The body is invalid: /secret ${detail}`,
    });
  },
);

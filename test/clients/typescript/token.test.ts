import { describe, expect, jest, test } from '@jest/globals';
import { openStubService, problem, STUB_SECRET } from '../../support/stub-service.js';
import { waitFor } from '../../support/wait-for.js';

const stub = await openStubService();

const bearers = () => stub.requests.map(({ headers }) => headers.authorization);

test('requests a token as the specification says: JSON with all four fields', async () => {
  await stub.client().transfers.get('t-1');
  const [{ headers, body } = stub.tokens[0]!] = stub.tokens;
  expect(headers['content-type']).toBe('application/json');
  expect(JSON.parse(body)).toEqual({
    client_id: 'the-client',
    client_secret: STUB_SECRET,
    audience: stub.url,
    grant_type: 'client_credentials',
  });
});

test('many callers at once share one token request', async () => {
  const client = stub.client();
  await Promise.all(Array.from({ length: 50 }, (_, i) => client.transfers.get(`t-${i}`)));
  expect(stub.tokens).toHaveLength(1);
  expect(new Set(bearers())).toEqual(new Set(['Bearer token-1']));
});

test('a token is renewed in the background before it expires, while calls use the old one', async () => {
  stub.lifetime = 10;
  const now = performance.now();
  const clock = jest.spyOn(performance, 'now').mockReturnValue(now);
  const client = stub.client();
  await client.transfers.get('t-1');
  // It expires after 9 s.
  clock.mockReturnValue(now + 8_500);
  await client.transfers.get('t-2');
  await waitFor('the renewal', () => stub.tokens.length === 2);
  // The call that began the renewal did not wait for it.
  expect(bearers()).toEqual(['Bearer token-1', 'Bearer token-1']);
  await waitFor('the new token', async () => {
    await client.transfers.get('t-3');
    return bearers().at(-1) === 'Bearer token-2';
  });
});

describe('a 401 of the API', () => {
  test('renews the token once, and the call succeeds without a delay', async () => {
    stub.answers = [problem(401, 'invalid_token')];
    await stub.client().transfers.get('t-1');
    expect(bearers()).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  test('is the error when the new token is rejected too', async () => {
    stub.otherwise = () => problem(401, 'invalid_token');
    await expect(stub.client().transfers.get('t-1')).rejects.toMatchObject({ status: 401, code: 'invalid_token' });
    expect(bearers()).toEqual(['Bearer token-1', 'Bearer token-2']);
  });
});

describe('invalid_client', () => {
  const INVALID = { status: 401, json: { error: 'invalid_client', error_description: 'wrong secret' } };
  const REJECTED = { name: 'TransferServiceError', code: 'invalid_client', status: 401 };
  const sentSecrets = () => stub.tokens.map(({ body }) => JSON.parse(body).client_secret);

  test('does not send the same secret again for a minute, however many calls follow, and does then', async () => {
    const now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockReturnValue(now);
    stub.tokenAnswers = [INVALID];
    const client = stub.client();
    for (let call = 0; call < 3; call++) await expect(client.transfers.get('t-1')).rejects.toMatchObject(REJECTED);
    clock.mockReturnValue(now + 59_000);
    await expect(client.transfers.get('t-1')).rejects.toMatchObject(REJECTED);
    expect([stub.tokens.length, stub.requests.length]).toEqual([1, 0]);
    clock.mockReturnValue(now + 60_000);
    await expect(client.transfers.get('t-1')).resolves.toEqual({ id: 'made' });
  });

  test('leaves the next call to a rotated secret, which the function returns', async () => {
    stub.tokenAnswers = [INVALID];
    const secrets = ['the-secret-before', 'the-secret-before', 'the-secret-after'];
    const client = stub.client({ clientSecret: async () => secrets.shift()! });
    await expect(client.transfers.get('t-1')).rejects.toMatchObject(REJECTED);
    await expect(client.transfers.get('t-1')).rejects.toMatchObject(REJECTED);
    await expect(client.transfers.get('t-1')).resolves.toEqual({ id: 'made' });
    expect(sentSecrets()).toEqual(['the-secret-before', 'the-secret-after']);
  });

  test('of a renewal lets calls use the token that is still valid', async () => {
    stub.lifetime = 10;
    const now = performance.now();
    const clock = jest.spyOn(performance, 'now').mockReturnValue(now);
    const client = stub.client();
    await client.transfers.get('t-1');
    // Of each try: one whose connection breaks is repeated.
    stub.tokenAnswers = Array.from({ length: 10 }, () => INVALID);
    clock.mockReturnValue(now + 8_500);
    await client.transfers.get('t-2');
    await waitFor('the renewal', () => stub.tokens.length === 2);
    await client.transfers.get('t-3');
    clock.mockReturnValue(now + 8_900);
    await client.transfers.get('t-4');
    expect(bearers()).toEqual(Array.from({ length: 4 }, () => 'Bearer token-1'));
    // It has expired.
    clock.mockReturnValue(now + 9_000);
    await expect(client.transfers.get('t-5')).rejects.toMatchObject(REJECTED);
  });
});

describe('a function as clientSecret', () => {
  test('is called for each token, and its errors reach the caller', async () => {
    const failed = new Error('the vault is sealed');
    const clientSecret = jest.fn<() => string>().mockReturnValueOnce('the-first-secret').mockReturnValueOnce('');
    clientSecret.mockImplementationOnce(() => {
      throw failed;
    });
    stub.otherwise = () => problem(401, 'invalid_token');
    const client = stub.client({ clientSecret });
    await expect(client.transfers.get('t-1')).rejects.toThrow('the result of clientSecret must be a string');
    await expect(client.transfers.get('t-1')).rejects.toBe(failed);
    expect(clientSecret).toHaveBeenCalledTimes(3);
  });

  test('that never returns does not hold a call, nor the calls after it', async () => {
    let calls = 0;
    const client = stub.client({ clientSecret: () => (calls++ === 0 ? new Promise(() => {}) : 'the-secret') });
    await expect(client.transfers.get('t-1', { timeoutMs: 50 })).rejects.toMatchObject({ code: 'timeout' });
    await expect(client.transfers.get('t-1')).resolves.toEqual({ id: 'made' });
  });
});

test('503, 429 and a broken connection of the token endpoint are tried again', async () => {
  stub.tokenAnswers = [{ status: 503 }, { status: 429, headers: { 'retry-after': '0' } }, 'broken'];
  await stub.client().transfers.get('t-1');
  expect(stub.tokens).toHaveLength(4);
});

test('a caller that aborts stops waiting, and the token request continues for the others', async () => {
  stub.tokenAnswers = ['broken'];
  const client = stub.client();
  const abort = new AbortController();
  const aborted = client.transfers.get('t-1', { signal: abort.signal });
  const other = client.transfers.get('t-2');
  abort.abort(new Error('changed my mind'));
  await expect(aborted).rejects.toThrow('changed my mind');
  await expect(other).resolves.toEqual({ id: 'made' });
});

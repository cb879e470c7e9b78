import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Authority } from '../../src/auth/authority.js';
import { allowNetworks, createClient, revokeClient, revokeSecret, rotateSecret } from '../../src/auth/clients.js';
import { Secret } from '../../src/secret.js';
import { ADDRESS, LIFETIME, TestClock, testAuthority, verifiedClient, watched } from '../support/authority.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { OPERATOR } from '../support/factories.js';

let database: TestDatabase;
let clock: TestClock;
let authority: Authority;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(() => {
  clock = new TestClock();
  authority = testAuthority(database, { clock });
});

const refusal = (code: string) => expect.objectContaining({ name: 'Refusal', code });
/** ms until a change takes effect at the latest (contract, Scopes). */
const NOTICED_AFTER = 5_000;

async function tokenHolder(wanted: Parameters<typeof verifiedClient>[2] = {}) {
  const client = await verifiedClient(authority, database, wanted);
  const { accessToken } = await authority.issue(client);
  const caller = () => authority.authenticate(accessToken, ADDRESS);
  await caller();
  return { ...client, accessToken, caller };
}

it('returns the client, the secret and the scopes of a token as the caller', async () => {
  const client = await verifiedClient(authority, database, { scopes: ['transfers:read', 'operator'] });
  const { accessToken } = await authority.issue(client, ['operator']);
  expect(await authority.authenticate(accessToken, ADDRESS)).toEqual({
    clientId: client.clientId,
    secretId: client.secretId,
    scopes: new Set(['operator']),
  });
});

describe('refuses a live token within 5 s after', () => {
  it.each<[string, string, (clientId: string, secretId: string) => Promise<unknown>]>([
    ['its client was revoked', 'invalid_token', (clientId) => revokeClient(database, OPERATOR, clientId)],
    [
      'its secret was revoked',
      'invalid_token',
      (clientId, secretId) => revokeSecret(database, OPERATOR, clientId, secretId),
    ],
    [
      'its secret was set to expire',
      'invalid_token',
      (clientId) => rotateSecret(database, OPERATOR, clientId, { expireOldIn: 0 }),
    ],
    [
      'its network was removed',
      'network_not_allowed',
      (clientId) => allowNetworks(database, OPERATOR, clientId, ['10.0.0.0/8']),
    ],
    [
      'its secret was revoked by a rotation',
      'invalid_token',
      (clientId, secretId) => rotateSecret(database, OPERATOR, clientId, { revoke: secretId }),
    ],
  ])('%s', async (_, code, change) => {
    const { caller, clientId, secretId } = await tokenHolder();
    await change(clientId, secretId);
    clock.pass(NOTICED_AFTER);
    await expect(caller()).rejects.toEqual(refusal(code));
  });

  it('omits the scopes that the client no longer has', async () => {
    const { caller, clientId } = await tokenHolder();
    await database.prisma.client.update({ where: { id: clientId }, data: { scopes: ['webhooks:read'] } });
    clock.pass(NOTICED_AFTER);
    expect((await caller()).scopes).toEqual(new Set(['webhooks:read']));
  });
});

it('keeps the other secret and its tokens valid if one secret is revoked', async () => {
  const { client, clientSecret } = await createClient(database, OPERATOR, { name: 'test' });
  const first = await authority.verifyClient(client.id, clientSecret, ADDRESS);
  const { clientSecret: newer } = await rotateSecret(database, OPERATOR, client.id);
  const { accessToken } = await authority.issue((await authority.verifyClient(client.id, newer, ADDRESS))!);
  await revokeSecret(database, OPERATOR, client.id, first!.secretId);
  clock.pass(NOTICED_AFTER);
  await expect(authority.authenticate(accessToken, ADDRESS)).resolves.toBeDefined();
  expect(await authority.verifyClient(client.id, clientSecret, ADDRESS)).toBeUndefined();
});

it('accepts a token of a new secret in a process that has an older record of the client', async () => {
  const { client, clientSecret } = await createClient(database, OPERATOR, { name: 'test' });
  const elsewhere = testAuthority(database, { clock });
  const one = await authority.issue((await authority.verifyClient(client.id, clientSecret, ADDRESS))!);
  await elsewhere.authenticate(one.accessToken, ADDRESS);
  const { clientSecret: newer } = await rotateSecret(database, OPERATOR, client.id);
  const two = await authority.issue((await authority.verifyClient(client.id, newer, ADDRESS))!);
  await expect(elsewhere.authenticate(two.accessToken, ADDRESS)).resolves.toBeDefined();
});

it('issues tokens that expire no later than their secret', async () => {
  const { client, clientSecret } = await createClient(database, OPERATOR, { name: 'test' });
  await rotateSecret(database, OPERATOR, client.id, { expireOldIn: 600_000 });
  const { expiresIn } = await authority.issue((await authority.verifyClient(client.id, clientSecret, ADDRESS))!);
  expect(expiresIn).toBeGreaterThan(500);
  expect(expiresIn).toBeLessThanOrEqual(600);
  expect(expiresIn).toBeLessThan(LIFETIME / 1000);
});

it('accepts a client from its networks only, also with a valid secret', async () => {
  const networks = ['203.0.113.0/24', '2001:db8::/32'];
  const { client, clientSecret } = await createClient(database, OPERATOR, { name: 'test', networks });
  const { accessToken } = await authority.issue((await authority.verifyClient(client.id, clientSecret, ADDRESS))!);
  for (const address of ['203.0.113.200', '2001:db8::1']) {
    await expect(authority.authenticate(accessToken, address)).resolves.toBeDefined();
  }
  for (const address of ['198.51.100.1', '::1', 'unknown']) {
    await expect(authority.authenticate(accessToken, address)).rejects.toEqual(refusal('network_not_allowed'));
    await expect(authority.verifyClient(client.id, clientSecret, address)).rejects.toEqual(
      refusal('network_not_allowed'),
    );
    expect(await authority.verifyClient(client.id, new Secret('wrong'), address)).toBeUndefined();
  }
});

it('runs one statement for an unknown client and for a wrong secret alike', async () => {
  const { client } = await createClient(database, OPERATOR, { name: 'test' });
  const watch = watched(database);
  const one = testAuthority(watch.database, { clock });
  const asked: string[][] = [];
  for (const id of [client.id, '0198f5a0-0000-7000-8000-000000000000', 'no-uuid', '\0']) {
    expect(await one.verifyClient(id, new Secret('wrong'), ADDRESS)).toBeUndefined();
    asked.push(watch.statements.splice(0));
  }
  expect(asked.map((statements) => statements.length)).toEqual([1, 1, 1, 1]);
  expect(new Set(asked.flat()).size).toBe(1);
});

describe('the cache', () => {
  it('shares one look-up among concurrent requests, and looks up again behind them after 2 s', async () => {
    const { accessToken } = await tokenHolder();
    const watch = watched(database);
    const one = testAuthority(watch.database, { clock });
    await one.prepare();
    const lookUps = () => watch.statements.filter((text) => text.includes('from clients')).length;
    await Promise.all(Array.from({ length: 30 }, () => one.authenticate(accessToken, ADDRESS)));
    clock.pass(1_999);
    await one.authenticate(accessToken, ADDRESS);
    expect(lookUps()).toBe(1);
    clock.pass(2);
    await Promise.all(Array.from({ length: 30 }, () => one.authenticate(accessToken, ADDRESS)));
    expect(lookUps()).toBe(2);
  });

  it('answers from the record and the keys at hand while a read takes long, so that a busy machine refuses nobody', async () => {
    const { accessToken, clientId } = await tokenHolder();
    const watch = watched(database);
    let slow: Promise<unknown> = Promise.resolve();
    const hot: typeof database.hot = (text, values) => slow.then(() => watch.database.hot(text, values));
    const one = testAuthority({ ...watch.database, hot }, { clock });
    await one.authenticate(accessToken, ADDRESS);
    let finish = () => {};
    slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    for (const pass of [2_000, 900]) {
      clock.pass(pass);
      await expect(one.authenticate(accessToken, ADDRESS)).resolves.toBeDefined();
    }
    await revokeClient(database, OPERATOR, clientId);
    finish();
    clock.pass(101);
    await expect(one.authenticate(accessToken, ADDRESS)).rejects.toEqual(refusal('invalid_token'));
  });

  it.each<[string, () => Promise<never>]>([
    ['fails', () => Promise.reject(new Error('connection refused'))],
    ['hangs', () => new Promise(() => {})],
  ])(
    'serves a cached record while the store %s, and throws unavailable when the record is too old',
    async (_, failure) => {
      const { accessToken } = await tokenHolder();
      const watch = watched(database);
      const one = testAuthority(watch.database, { clock });
      await one.authenticate(accessToken, ADDRESS);
      watch.breakWith(failure);
      clock.pass(2_999);
      await expect(one.authenticate(accessToken, ADDRESS)).resolves.toBeDefined();
      clock.pass(2);
      await expect(one.authenticate(accessToken, ADDRESS)).rejects.toEqual(refusal('unavailable'));
      watch.breakWith(undefined);
      await expect(one.authenticate(accessToken, ADDRESS)).resolves.toBeDefined();
    },
  );

  it('counts the age of a record from the start of its look-up', async () => {
    const { accessToken, clientId } = await tokenHolder();
    const watch = watched(database);
    const hot: typeof database.hot = async (text, values) => {
      const rows = await watch.database.hot(text, values);
      if (text.includes('from clients')) clock.pass(1_400);
      return rows as never;
    };
    const one = testAuthority({ ...watch.database, hot }, { clock });
    await one.authenticate(accessToken, ADDRESS);
    await revokeClient(database, OPERATOR, clientId);
    clock.pass(1_601);
    await expect(one.authenticate(accessToken, ADDRESS)).rejects.toEqual(refusal('invalid_token'));
  });
});

it('throws unavailable for tokens and clients while the store is down', async () => {
  const { client, clientSecret } = await createClient(database, OPERATOR, { name: 'test' });
  const watch = watched(database);
  const one = testAuthority(watch.database, { clock });
  watch.breakWith(() => Promise.reject(new Error('connection refused')));
  await expect(one.verifyClient(client.id, clientSecret, ADDRESS)).rejects.toEqual(refusal('unavailable'));
  await expect(one.jwks()).rejects.toEqual(refusal('unavailable'));
});

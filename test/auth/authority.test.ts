import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT } from 'jose';
import type { Authority, VerifiedClient } from '../../src/auth/authority.js';
import { changeClient, createClient, revokeClient, revokeSecret, rotateSecret } from '../../src/auth/clients.js';
import { newId } from '../../src/platform/ids.js';
import { Secret } from '../../src/platform/secret.js';
import { ADDRESS, AUDIENCE, ISSUER, LIFETIME, TestClock, testAuthority, verifiedClient } from '../support/authority.js';
import { openTestDatabase } from '../support/database.js';
import { masterKeys, OPERATOR } from '../support/factories.js';

const database = await openTestDatabase();
let clock: TestClock;
let authority: Authority;
beforeEach(() => {
  clock = new TestClock();
  authority = testAuthority(database, { clock });
});

const refusal = (code: string) => expect.objectContaining({ name: 'Refusal', code });
/** ms until a change takes effect at the latest. */
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
    byKey: false,
    scopes: new Set(['operator']),
    rateLimit: null,
  });
});

describe('rejects a live token within 5 s after', () => {
  const by = [database, OPERATOR] as const;
  it.each<[string, (id: string, secretId: string) => Promise<unknown>]>([
    ['its client was revoked', (id) => revokeClient(...by, id)],
    ['its secret was revoked', (id, secretId) => revokeSecret(...by, id, secretId)],
    ['its secret was set to expire', (id) => rotateSecret(...by, id, { expireOldIn: 0 })],
    ['its secret was revoked by a rotation', (id, revoke) => rotateSecret(...by, id, { revoke })],
    ['its network was removed', (id) => changeClient(...by, id, { networks: ['10.0.0.0/8'] })],
  ])('%s', async (reason, change) => {
    const { caller, clientId, secretId } = await tokenHolder();
    await change(clientId, secretId);
    clock.pass(NOTICED_AFTER);
    await expect(caller()).rejects.toEqual(
      refusal(reason.includes('network') ? 'network_not_allowed' : 'invalid_token'),
    );
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
  const verified = (await authority.verifyClient(client.id, clientSecret, ADDRESS))!;
  // Postgres's clock set the end, the test's clock the start.
  const { accessToken, expiresIn } = await authority.issue(verified);
  const secretEnds = Math.floor(verified.secretExpiresAt! / 1_000);
  expect(decodeJwt(accessToken).exp).toBe(secretEnds);
  expect(expiresIn).toBe(secretEnds - Math.floor(clock.now() / 1_000));
  expect(expiresIn).toBeLessThan(LIFETIME / 1_000);
});

it('issues no token without a second to live in the last second of a secret, and rejects it with the secret', async () => {
  const client = await verifiedClient(authority, database);
  clock.pass(1_000 - (clock.now() % 1_000));
  const secretExpiresAt = clock.now() + 999;
  for (const left of [1, 999, 1_000]) {
    const issued = await authority.issue({ ...client, secretExpiresAt: clock.now() + left });
    expect(issued).toMatchObject({ expiresIn: 1 });
  }
  const { accessToken } = await authority.issue({ ...client, secretExpiresAt });
  await database.prisma.clientSecret.update({
    where: { id: client.secretId },
    data: { expiresAt: new Date(secretExpiresAt) },
  });
  await expect(authority.authenticate(accessToken, ADDRESS)).resolves.toBeDefined();
  clock.pass(999);
  await expect(authority.authenticate(accessToken, ADDRESS)).rejects.toEqual(refusal('invalid_token'));
});

it('accepts a client from its networks only, even with a valid secret', async () => {
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

describe('access tokens', () => {
  let client: VerifiedClient;
  let good: string;
  beforeEach(async () => {
    client = await verifiedClient(authority, database);
    good = (await authority.issue(client)).accessToken;
  });

  const authenticate = (token: string) => authority.authenticate(token, ADDRESS);

  it('issues a token with the claims of RFC 9068 and the id of its secret', async () => {
    const seconds = Math.floor(clock.now() / 1000);
    const { accessToken, expiresIn, scope } = await authority.issue(client, ['transfers:read', 'webhooks:read']);
    const { keys } = await authority.jwks();
    expect(decodeProtectedHeader(accessToken)).toEqual({ alg: 'RS256', typ: 'at+jwt', kid: keys[0]?.kid });
    expect(decodeJwt(accessToken)).toEqual({
      iss: ISSUER,
      aud: AUDIENCE,
      sub: client.clientId,
      client_id: client.clientId,
      secret_id: client.secretId,
      iat: seconds,
      exp: seconds + 3600,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      scope: 'transfers:read webhooks:read',
    });
    expect([expiresIn, scope]).toEqual([3600, 'transfers:read webhooks:read']);
  });

  describe('a token is rejected', () => {
    const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });

    /** Signs with the environment's own key, so that only the changed parts are invalid. */
    async function forged(
      header: Record<string, unknown>,
      claims: JWTPayload,
      without: string[] = [],
    ): Promise<string> {
      const [row] = await database.prisma.signingKey.findMany();
      const key = masterKeys.open(row!.privateKeyEnvelope, row!.kid).reveal();
      const payload: JWTPayload = { ...decodeJwt(good), jti: newId(), ...claims };
      for (const name of without) delete payload[name];
      const { createPrivateKey } = await import('node:crypto');
      return new SignJWT(payload)
        .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: row!.kid, ...header })
        .sign(createPrivateKey(key));
    }

    it('but not unchanged, which proves that the helper signs valid tokens', async () => {
      await expect(authenticate(await forged({}, {}))).resolves.toMatchObject({ clientId: client.clientId });
    });

    it.each<[string, () => string | Promise<string>]>([
      ['with alg none', () => `${base64url({ alg: 'none', typ: 'at+jwt' })}.${good.split('.')[1]}.`],
      [
        'with alg none and the original signature',
        () => `${base64url({ alg: 'none' })}.${good.split('.').slice(1).join('.')}`,
      ],
      [
        'with HS256 keyed with the public key',
        async () => {
          const { keys } = await authority.jwks();
          const pem = createPublicKey({ key: { ...keys[0] }, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
          const signed = `${base64url({ alg: 'HS256', typ: 'at+jwt', kid: keys[0]?.kid })}.${good.split('.')[1]}`;
          return `${signed}.${createHmac('sha256', pem).update(signed).digest('base64url')}`;
        },
      ],
      ["with RS512 and the environment's key", () => forged({ alg: 'RS512' }, {})],
      ["with PS256 and the environment's key", () => forged({ alg: 'PS256' }, {})],
      [
        "with a foreign key under the environment's kid",
        () =>
          new SignJWT(decodeJwt(good))
            .setProtectedHeader({ ...decodeProtectedHeader(good), alg: 'RS256' })
            .sign(stranger.privateKey),
      ],
      [
        'with a foreign key in the header',
        () =>
          new SignJWT(decodeJwt(good))
            .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', jwk: stranger.publicKey.export({ format: 'jwk' }) })
            .sign(stranger.privateKey),
      ],
      ['with an unknown kid', () => forged({ kid: 'unknown' }, {})],
      ['with no kid', () => forged({ kid: undefined }, {})],
      ['of type JWT', () => forged({ typ: 'JWT' }, {})],
      ['of no type', () => forged({ typ: undefined }, {})],
      ['of another issuer', () => forged({}, { iss: 'https://sandbox.test' })],
      ['for another audience', () => forged({}, { aud: 'https://sandbox.test' })],
      ['that has expired', () => forged({}, { exp: Math.floor(clock.now() / 1000) })],
      ['not valid yet', () => forged({}, { nbf: Math.floor(clock.now() / 1000) + 60 })],
      ['for an unknown client', () => forged({}, { client_id: newId(), sub: newId() })],
      ['of an unknown secret', () => forged({}, { secret_id: newId() })],
      ['with a client_id that is not a text', () => forged({}, { client_id: 5 })],
      ['with a client_id that is not a UUID', () => forged({}, { client_id: '\0' })],
      ...['exp', 'iat', 'iss', 'aud', 'sub', 'jti', 'client_id', 'secret_id', 'scope'].map(
        (claim): [string, () => Promise<string>] => [`without ${claim}`, () => forged({}, {}, [claim])],
      ),
      [
        'with another payload',
        () => good.replace(/\.[^.]+\./, `.${base64url({ ...decodeJwt(good), scope: 'operator' })}.`),
      ],
      ['with no signature', () => good.replace(/[^.]+$/, '')],
      ['that is truncated', () => good.slice(0, -4)],
      ['that is empty', () => ''],
      ['that is a client_secret', () => newId()],
    ])('%s', async (_, make) => {
      await expect(authenticate(await make())).rejects.toMatchObject({ name: 'Refusal', code: 'invalid_token' });
    });

    it('with random characters', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(
            fc.string({ unit: 'binary' }),
            fc.string().map((text) => `${good}${text}x`),
          ),
          async (token) => {
            await expect(authenticate(token)).rejects.toMatchObject({ code: 'invalid_token' });
          },
        ),
        { numRuns: 200 },
      );
    });
  });

  it('rejects a cached token once it has expired', async () => {
    const { accessToken } = await authority.issue(client);
    clock.pass(LIFETIME - 1_000);
    await expect(authenticate(accessToken)).resolves.toBeDefined();
    clock.pass(1_000);
    await expect(authenticate(accessToken)).rejects.toMatchObject({ code: 'invalid_token' });
  });
});

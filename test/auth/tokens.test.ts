import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, SignJWT } from 'jose';
import type { Authority, VerifiedClient } from '../../src/auth/authority.js';
import { newId } from '../../src/ids.js';
import { ADDRESS, AUDIENCE, ISSUER, LIFETIME, TestClock, testAuthority, verifiedClient } from '../support/authority.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { masterKeys } from '../support/factories.js';

let database: TestDatabase;
let authority: Authority;
let client: VerifiedClient;
let good: string;
const clock = new TestClock();

beforeAll(async () => {
  database = await createTestDatabase();
  authority = testAuthority(database, { clock });
  client = await verifiedClient(authority, database);
  good = (await authority.issue(client)).accessToken;
});
afterAll(() => database.drop());

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

it('gives every token its own id', async () => {
  const tokens = await Promise.all(Array.from({ length: 20 }, () => authority.issue(client)));
  expect(new Set(tokens.map(({ accessToken }) => decodeJwt(accessToken).jti)).size).toBe(20);
});

describe('a token is refused', () => {
  const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });

  /** Signs with the environment's own key, so that only the changed parts are invalid. */
  async function forged(header: Record<string, unknown>, claims: JWTPayload, without: string[] = []): Promise<string> {
    const [row] = await database.prisma.signingKey.findMany();
    const key = masterKeys.open(row!.privateKeyEnvelope, row!.kid).reveal();
    const payload: JWTPayload = { ...decodeJwt(good), jti: newId(), ...claims };
    for (const name of without) delete payload[name];
    const { createPrivateKey } = await import('node:crypto');
    return new SignJWT(payload)
      .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: row!.kid, ...header })
      .sign(createPrivateKey(key));
  }

  it('but not without a change, which proves that the helper signs valid tokens', async () => {
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

it('refuses a cached token once it has expired', async () => {
  const { accessToken } = await authority.issue(client);
  clock.pass(LIFETIME - 1_000);
  await expect(authenticate(accessToken)).resolves.toBeDefined();
  clock.pass(1_000);
  await expect(authenticate(accessToken)).rejects.toMatchObject({ code: 'invalid_token' });
});

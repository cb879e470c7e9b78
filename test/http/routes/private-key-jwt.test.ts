import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { newId } from '../../../src/platform/ids.js';
import { startApi } from '../../support/api.js';
import { basic } from '../../support/auth-api.js';
import { testAuthority } from '../../support/authority.js';
import { from, openTokenApi, tokenError } from '../../support/token-api.js';
import { importTool } from '../../support/tooling.js';
import { waitFor } from '../../support/wait-for.js';

const openid = await importTool('openid-client');
const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

interface Key {
  jwk: JWK;
  privateKey: CryptoKey;
}

const keys = new Map<string, Key>();
const keyOf = (alg: string) => keys.get(alg)!;

const auth = await openTokenApi();
for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA']) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  keys.set(alg, { jwk: await exportJWK(publicKey), privateKey });
}

const tokenOf = async (credentials: object) => {
  const { status, body } = await auth.token({ ...credentials });
  expect(status).toBe(200);
  return body.access_token as string;
};
const operator = await tokenOf(await auth.client({ scopes: ['operator:clients'] }));
const call = (method: string, path: string, json?: unknown) =>
  auth.api.call(method, path, { json, headers: { ...from(), Authorization: `Bearer ${operator}` } });
const setKeys = (id: string, ...jwks: object[]) => call('PUT', `/operator/clients/${id}/jwks`, { keys: jwks });
const opens = async (token: string) =>
  (await auth.api.call('GET', '/transfers', { headers: { Authorization: `Bearer ${token}` } })).status;

interface Forged {
  alg?: string;
  kid?: string;
  key?: CryptoKey;
  header?: object;
  claims?: object;
}
const seconds = () => Math.floor(Date.now() / 1_000);

/** An assertion that is right but for the overrides of a test; undefined leaves a claim out. */
async function assert(id: string, { alg = 'ES256', kid, key = keyOf(alg).privateKey, header, claims }: Forged = {}) {
  const { authUrl } = auth;
  const all = { iss: id, sub: id, aud: authUrl, exp: seconds() + 60, iat: seconds(), jti: newId(), ...claims };
  return new SignJWT({ ...all }).setProtectedHeader({ alg, ...(kid && { kid }), ...header }).sign(key);
}
const ask = (assertion: unknown, others: object = {}) =>
  auth.token({ client_assertion: assertion, client_assertion_type: TYPE, ...others });
const askAs = async (id: string, forged?: Forged) => ask(await assert(id, forged));

/** A client with the key of ES256. */
async function keyed(wanted = {}) {
  const { client_id: id } = await auth.client(wanted);
  expect((await setKeys(id, keyOf('ES256').jwk)).status).toBe(200);
  return id;
}

describe('an assertion', () => {
  it.each(['RS256', 'PS256', 'ES256', 'EdDSA'])('signed with %s gets a token, which names the key', async (alg) => {
    const { client_id: id } = await auth.client();
    const set = await setKeys(id, { ...keyOf(alg).jwk, kid: 'a', alg, x5t: 'ignored', key_ops: ['verify'] });
    expect([set.status, set.body]).toEqual([200, { keys: [{ kid: 'a', alg, created_at: expect.any(String) }] }]);
    const reply = await askAs(id, { alg, kid: 'a' });
    expect(reply).toMatchObject({ status: 200, body: { token_type: 'Bearer', expires_in: 3600 } });
    expect(await opens(reply.body.access_token)).toBe(200);
    const claims = JSON.parse(Buffer.from(reply.body.access_token.split('.')[1], 'base64url').toString());
    const { id: keyId } = await auth.database.prisma.clientKey.findFirstOrThrow({ where: { clientId: id } });
    expect([claims.key_id, claims.secret_id, claims.sub]).toEqual([keyId, undefined, id]);
  });

  it('is accepted in a form, with its client_id, for the token endpoint, and at the ends of its times', async () => {
    const id = await keyed();
    const form = { client_assertion: await assert(id), client_assertion_type: TYPE, client_id: id, ...auth.grant() };
    expect((await auth.form(form)).status).toBe(200);
    for (const claims of [
      { aud: `${auth.authUrl}/oauth/token` },
      { aud: ['https://other.example', auth.authUrl] },
      { exp: seconds() + 355 },
      { exp: seconds() - 50 },
      { nbf: seconds() + 50 },
      { jti: 'x'.repeat(255) },
      { iat: undefined },
    ]) {
      expect([claims, (await askAs(id, { claims })).status]).toEqual([claims, 200]);
    }
  });

  it('gets one token of all processes, and another client may use the same jti', async () => {
    const [id, other] = [await keyed(), await keyed()];
    const { database, authUrl, baseUrl } = auth;
    const authority = testAuthority(database, { config: { authUrl, baseUrl, accessTokenLifetime: 3_600_000 } });
    const second = await startApi({ database, env: { TRUSTED_PROXIES: '127.0.0.0/8' }, dependencies: { authority } });
    const claims = { jti: newId() };
    const assertion = await assert(id, { claims });
    const json = { client_assertion: assertion, client_assertion_type: TYPE, ...auth.grant() };
    const replies = await Promise.all([
      ...Array.from({ length: 4 }, () => ask(assertion)),
      ...Array.from({ length: 4 }, () => second.call('POST', '/oauth/token', { json, headers: from() })),
    ]);
    await second.close();
    expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(401)]);
    expect(tokenError(await askAs(id, { claims }))).toEqual([401, 'invalid_client']);
    expect((await askAs(other, { claims })).status).toBe(200);
  });

  it.each<[string, (id: string) => Forged]>([
    ['another key', () => ({ alg: 'EdDSA' })],
    ['another key of the same type', () => ({ key: keyOf('other').privateKey })],
    ['another issuer than subject', () => ({ claims: { iss: newId() } })],
    ['another subject', () => ({ claims: { sub: newId() } })],
    ['an unknown client', () => ({ claims: { iss: newId(), sub: newId() } })],
    ['another audience', () => ({ claims: { aud: 'https://other.example' } })],
    ['the API as audience', () => ({ claims: { aud: `${auth.baseUrl}/x` } })],
    ['no audience', () => ({ claims: { aud: undefined } })],
    ['no exp', () => ({ claims: { exp: undefined } })],
    ['an exp of 61 s ago', () => ({ claims: { exp: seconds() - 61 } })],
    ['an exp more than 360 s ahead', () => ({ claims: { exp: seconds() + 365 } })],
    ['an nbf more than 60 s ahead', () => ({ claims: { nbf: seconds() + 70 } })],
    ['no jti', () => ({ claims: { jti: undefined } })],
    ['an empty jti', () => ({ claims: { jti: '' } })],
    ['a jti of 256 characters', () => ({ claims: { jti: 'x'.repeat(256) } })],
    ['a jti that is no text', () => ({ claims: { jti: 7 } })],
    ['an unknown critical header', () => ({ header: { crit: ['x'], x: 1 } })],
  ])('is rejected with %s, and its jti is not used up', async (_, forge) => {
    const { publicKey: _public, privateKey } = await generateKeyPair('ES256');
    keys.set('other', { jwk: {}, privateKey });
    const id = await keyed();
    const jti = newId();
    const { claims, ...forged } = forge(id);
    const reply = await askAs(id, { ...forged, claims: { jti, ...claims } }).catch(() => undefined);
    if (reply) expect(tokenError(reply)).toEqual([401, 'invalid_client']);
    expect((await askAs(id, { claims: { jti } })).status).toBe(200);
  });

  it('is rejected without a signature, or with the public key as an HMAC secret', async () => {
    const id = await keyed();
    const [, payload] = (await assert(id)).split('.');
    const unsigned = Buffer.from('{"alg":"none"}').toString('base64url');
    const hmac = await assert(id, { alg: 'HS256', key: createHash('sha256').digest() as never });
    for (const assertion of [`${unsigned}.${payload}.`, hmac, 'x', 'a.b.c', `${await assert(id)}x`]) {
      expect(tokenError(await ask(assertion))).toEqual([401, 'invalid_client']);
    }
  });

  it('is a bad request by halves, beside a secret, and with another client_id', async () => {
    const { client_id: id, client_secret } = await auth.client();
    await setKeys(id, keyOf('ES256').jwk);
    const assertion = await assert(id);
    for (const reply of [
      await auth.token({ client_assertion: assertion }),
      await auth.token({ client_assertion_type: TYPE }),
      await ask(assertion, { client_id: id, client_secret }),
      await ask(assertion, { client_secret }),
      await auth.token(
        { client_assertion: assertion, client_assertion_type: TYPE },
        basic({ client_id: id, client_secret }),
      ),
      await ask(['x']),
    ]) {
      expect(tokenError(reply)).toEqual([400, 'invalid_request']);
    }
    const saml = await ask(assertion, { client_assertion_type: TYPE.replace('jwt', 'saml2') });
    const other = await ask(assertion, { client_id: newId() });
    expect([tokenError(saml), tokenError(other)]).toEqual(Array(2).fill([401, 'invalid_client']));
    expect((await ask(assertion)).status).toBe(200);
  });

  it('from outside the networks of the client is denied, and not used up', async () => {
    const id = await keyed({ networks: ['2001:db8:ffff::/48'] });
    const assertion = await assert(id);
    expect(tokenError(await ask(assertion))).toEqual([403, 'access_denied']);
    const inside = { 'X-Forwarded-For': '2001:db8:ffff::1' };
    const reply = await auth.token({ client_assertion: assertion, client_assertion_type: TYPE }, inside);
    expect(reply.status).toBe(200);
  });
});

describe('the keys of a client', () => {
  it('rotate without an outage; a token ends with its key', async () => {
    const id = await keyed();
    const next = { ...keyOf('EdDSA').jwk, kid: 'next' };
    const { body: first } = await askAs(id, { kid: 'any' });
    await setKeys(id, { ...keyOf('ES256').jwk, kid: 'old' }, next);
    expect(await opens(first.access_token)).toBe(200);
    expect(tokenError(await askAs(id))).toEqual([401, 'invalid_client']);
    expect((await askAs(id, { kid: 'old' })).status).toBe(200);
    const { body: second } = await askAs(id, { alg: 'EdDSA', kid: 'next' });
    await setKeys(id, next);
    expect(tokenError(await askAs(id, { kid: 'old' }))).toEqual([401, 'invalid_client']);
    await waitFor('the end of the token', async () => (await opens(first.access_token)) === 401);
    expect(await opens(second.access_token)).toBe(200);
    expect((await call('GET', `/operator/clients/${id}`)).body.keys).toEqual([
      { kid: 'next', alg: 'EdDSA', created_at: expect.any(String) },
    ]);
    expect((await setKeys(id)).body).toEqual({ keys: [] });
  });

  it('bind their alg: an RSA key with RS256 verifies no PS256', async () => {
    const { client_id: id } = await auth.client();
    const { jwk, privateKey } = keyOf('RS256');
    const exported = await crypto.subtle.exportKey('pkcs8', privateKey);
    const algorithm = { name: 'RSA-PSS', hash: 'SHA-256' };
    const pss = await crypto.subtle.importKey('pkcs8', exported, algorithm, false, ['sign']);
    await setKeys(id, jwk);
    expect((await askAs(id, { alg: 'PS256', key: pss })).status).toBe(200);
    expect((await call('GET', `/operator/clients/${id}`)).body.keys[0].alg).toBeNull();
    await setKeys(id, { ...jwk, alg: 'RS256' });
    expect((await askAs(id, { alg: 'PS256', key: pss })).status).toBe(401);
    expect((await askAs(id, { alg: 'RS256' })).status).toBe(200);
  });

  it('are rejected if they are private, weak, of another kind, or not told apart', async () => {
    const { client_id: id } = await auth.client();
    const [rsa, ec, ed] = ['RS256', 'ES256', 'EdDSA'].map((alg) => keyOf(alg).jwk) as [JWK, JWK, JWK];
    const weak = await crypto.subtle.generateKey(
      { name: 'RSASSA-PKCS1-v1_5', modulusLength: 1024, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
      true,
      ['sign', 'verify'],
    );
    const p384 = await generateKeyPair('ES384', { extractable: true });
    const cases: [object[], string][] = [
      [[await exportJWK(keyOf('ES256').privateKey)], '/keys/0/d'],
      [[await exportJWK(keyOf('RS256').privateKey)], '/keys/0/d'],
      [[{ kty: 'oct', k: 'c2VjcmV0' }], '/keys/0/k'],
      [[await exportJWK(weak.publicKey)], '/keys/0/n'],
      [[{ ...rsa, e: 'AQ' }], '/keys/0/e'],
      [[{ ...ed, x: Buffer.alloc(32).toString('base64url') }], '/keys/0/x'],
      [[await exportJWK(p384.publicKey)], '/keys/0/crv'],
      [[{ kty: 'OKP', crv: 'Ed448', x: 'AA' }], '/keys/0/crv'],
      [[{ ...ec, x: ec.y }], '/keys/0'],
      [[{ ...ec, use: 'enc' }], '/keys/0/use'],
      [[{ ...ec, alg: 'RS256' }], '/keys/0/alg'],
      [[{ ...ec, alg: 'HS256' }], '/keys/0/alg'],
      [[{ ...ec, kid: '' }], '/keys/0/kid'],
      [[{ ...ec, kid: 7 }], '/keys/0/kid'],
      [[{ ...ec, kid: 'a' }, ed], '/keys/1/kid'],
      [[ed, ec].map((jwk) => ({ ...jwk, kid: 'a' })), '/keys/1/kid'],
      [['a', 'b'].map((kid) => ({ ...ec, kid })), '/keys/1'],
      [Array.from({ length: 5 }, (_, i) => ({ ...ec, kid: String(i) })), '/keys'],
      [['x' as never], '/keys/0'],
      [[{}], '/keys/0/kty'],
    ];
    for (const [jwks, pointer] of cases) {
      const { status, body } = await setKeys(id, ...jwks);
      expect([status, body.code, body.errors[0].pointer]).toEqual([422, 'invalid_request', pointer]);
    }
    expect((await call('GET', `/operator/clients/${id}`)).body.keys).toEqual([]);
    expect((await setKeys(newId(), ec)).status).toBe(404);
  });
});

describe('require_private_key', () => {
  it('ends the secrets, their tokens and their sessions, and needs a key', async () => {
    const credentials = await auth.client();
    const path = `/operator/clients/${credentials.client_id}`;
    const none = await call('PATCH', path, { require_private_key: true });
    expect([none.status, none.body.code]).toEqual([409, 'no_keys']);
    expect((await call('POST', '/operator/clients', { name: 'x', require_private_key: true })).body.code).toBe(
      'no_keys',
    );
    const token = await tokenOf(credentials);
    await setKeys(credentials.client_id, keyOf('ES256').jwk);
    expect(tokenError(await ask('x'))).toEqual([401, 'invalid_client']);
    const required = await call('PATCH', path, { require_private_key: true });
    expect(required).toMatchObject({ status: 200, body: { require_private_key: true } });
    expect(tokenError(await auth.token(credentials))).toEqual([401, 'invalid_client']);
    await waitFor('the end of the token', async () => (await opens(token)) === 401);
    expect((await askAs(credentials.client_id)).status).toBe(200);
    expect((await call('PATCH', path, { require_private_key: null })).status).toBe(422);
    expect((await call('PATCH', path, { require_private_key: false })).status).toBe(200);
    expect((await auth.token(credentials)).status).toBe(200);
  });
});

it('openid-client discovers the method and authenticates by it', async () => {
  const id = await keyed();
  const execute = [openid.allowInsecureRequests];
  const method = openid.PrivateKeyJwt(keyOf('ES256').privateKey);
  const server = await openid.discovery(new URL(auth.authUrl), id, {}, method, { algorithm: 'oauth2', execute });
  expect(server.serverMetadata()).toMatchObject({
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ['RS256', 'PS256', 'ES256', 'EdDSA'],
  });
  const { access_token: token } = await openid.clientCredentialsGrant(server, { scope: 'transfers:read' });
  expect(await opens(token)).toBe(200);
});

import { describe, expect, it } from '@jest/globals';
import { decodeJwt } from 'jose';
import { rotateSecret } from '../../../src/auth/clients.js';
import { newId } from '../../../src/platform/ids.js';
import { type AuthApi, basic, startAuthApi } from '../../support/auth-api.js';
import type { Reply } from '../../support/documented.js';
import { OPERATOR } from '../../support/factories.js';
import { FORM, from, openTokenApi, tokenError } from '../../support/token-api.js';

const auth = await openTokenApi();
const { credentials: client, token, form, raw, grant } = auth;

describe('a token is issued', () => {
  const ALL = 'transfers:read transfers:write webhooks:read webhooks:write';
  const good = (reply: Reply, scope = ALL) => {
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 3600, scope });
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
    expect([reply.headers.get('cache-control'), reply.headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
    const claims = decodeJwt(reply.body.access_token);
    expect([claims.scope, claims.aud]).toEqual([scope, auth.baseUrl]);
  };
  const anyCase = { Authorization: basic(client).Authorization.replace('Basic', 'bAsIc') };
  const encode = (text: string) => text.replace(/./g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  const encoded = basic({ client_id: encode(client.client_id), client_secret: encode(client.client_secret) });

  it.each<[string, () => Promise<Reply>]>([
    ['JSON', () => token(client)],
    ['JSON with a charset', () => token(client, { 'Content-Type': 'Application/JSON; charset=utf-8' })],
    ['a form', () => form({ ...client, ...grant() })],
    ['a form with HTTP Basic', () => form(grant(), basic(client))],
    ['JSON with HTTP Basic', () => token({}, basic(client))],
    ['HTTP Basic and the client_id', () => form({ ...grant(), client_id: client.client_id }, basic(client))],
    ['a scheme in any case', () => form(grant(), anyCase)],
    ['HTTP Basic with every character form-encoded', () => form(grant(), encoded)],
    ['resource instead of audience', () => token({ ...client, audience: undefined, resource: auth.baseUrl })],
    ['resource and audience', () => token({ ...client, resource: auth.baseUrl })],
    ['no audience', () => token({ ...client, audience: undefined })],
    ['no audience in a form', () => form({ grant_type: 'client_credentials' }, basic(client))],
    ['unknown fields', () => token({ ...client, toString: null, extra: { deep: [] } })],
    ...['', null].map((none): [string, () => Promise<Reply>] => [
      `fields that are ${none}`,
      () => token({ ...client, audience: none, scope: none, resource: none }),
    ]),
  ])('for %s', async (_, ask) => good(await ask()));

  it('for some of the scopes, in the order of the documented list', async () => {
    const reply = await token({ ...client, scope: 'webhooks:read  transfers:read webhooks:read' });
    good(reply, 'transfers:read webhooks:read');
  });

  it('for either of two secrets', async () => {
    const credentials = await auth.client();
    const { clientSecret } = await rotateSecret(auth.database, OPERATOR, credentials.client_id);
    good(await token(credentials));
    good(await token({ ...credentials, client_secret: clientSecret.reveal() }));
  });
});

describe('a request is invalid', () => {
  it.each([['client_id'], ['client_secret'], ['grant_type']])('without %s', async (field) => {
    for (const value of [undefined, null, '']) {
      expect(tokenError(await token({ ...client, [field]: value }))).toEqual([400, 'invalid_request']);
    }
  });

  it.each(['client_id', 'client_secret', 'grant_type', 'audience', 'resource', 'scope'])(
    'when %s is not text',
    async (field) => {
      for (const value of [0, 1, true, [], ['a'], {}]) {
        expect(tokenError(await token({ ...client, [field]: value }))).toEqual([400, 'invalid_request']);
      }
    },
  );

  it.each(['client_id', 'client_secret', 'grant_type', 'audience', 'scope', 'resource'])(
    'when %s is repeated',
    async (field) => {
      const fields = { ...client, grant_type: 'client_credentials', audience: auth.baseUrl };
      const json = JSON.stringify(fields).replace('{', `{"${field}":"x","${field}":"y",`);
      expect(tokenError(await raw(json))).toEqual([400, 'invalid_request']);
      const body = `${new URLSearchParams(fields)}&${field}=x&${field}=x`;
      expect(tokenError(await raw(body, FORM))).toEqual([400, 'invalid_request']);
    },
  );

  it.each<[string, string | Uint8Array, Record<string, string>]>([
    ['empty', '', {}],
    ['not JSON', '{', {}],
    ['not an object', '[]', {}],
    ['null', 'null', {}],
    ['not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), {}],
    ['not UTF-8, as a form', Buffer.from([0x61, 0x3d, 0xff]), FORM],
    ['deeply nested', '['.repeat(8_000), {}],
    ['text', 'x', { 'Content-Type': 'text/plain' }],
    ['multipart', 'x', { 'Content-Type': 'multipart/form-data; boundary=x' }],
    ['of no type', 'x', { 'Content-Type': '' }],
    ['JSON called a form', '{"client_id":"x"}&client_id=x', FORM],
    ['a form called JSON', 'client_id=x', {}],
    ['compressed', 'x', { 'Content-Encoding': 'gzip' }],
  ])('with a body that is %s', async (_, body, headers) => {
    expect(tokenError(await raw(body, headers))).toEqual([400, 'invalid_request']);
  });

  it('with two ways of authentication', async () => {
    expect(tokenError(await token(client, basic(client)))).toEqual([400, 'invalid_request']);
    expect(tokenError(await token({ client_id: newId() }, basic(client)))).toEqual([400, 'invalid_request']);
  });

  it('with more than 8 KiB, and accepted with 8 KiB', async () => {
    const fields = new URLSearchParams({ ...client, ...grant(), extra: '' }).toString();
    const sized = (bytes: number) => raw(fields.padEnd(bytes, 'x'), FORM);
    expect(tokenError(await sized(8_193))).toEqual([413, 'invalid_request']);
    expect((await sized(8_192)).status).toBe(200);
    expect(tokenError(await token({ ...client, extra: 'x'.repeat(8_192) }))).toEqual([413, 'invalid_request']);
  });

  it.each(['GET', 'PUT', 'DELETE', 'PATCH'])('with the method %s', async (method) => {
    const reply = await auth.api.call(method, '/oauth/token', { headers: from() });
    expect(tokenError(reply)).toEqual([405, 'invalid_request']);
    expect(reply.headers.get('allow')).toBe('OPTIONS, POST');
  });
});

it.each(['password', 'authorization_code', 'CLIENT_CREDENTIALS', 'client_credentials ', '\0'])(
  'grant_type %j is not supported',
  async (grant_type) => {
    expect(tokenError(await token({ ...client, grant_type }))).toEqual([400, 'unsupported_grant_type']);
  },
);

it.each(['https://api.example.com', 'x', '\0', 'http://127.0.0.1'])('audience %j is unknown', async (audience) => {
  for (const fields of [{ audience }, { audience: undefined, resource: audience }, { resource: audience }]) {
    expect(tokenError(await token({ ...client, ...fields }))).toEqual([400, 'invalid_target']);
  }
});

it.each([
  'operator',
  'transfers:read operator:clients operator',
  'unknown',
  'TRANSFERS:READ',
  '\0',
  'transfers:read,webhooks:read',
  '"',
])('scope %j is not granted, and the error names the scopes of the client', async (scope) => {
  const reply = await token({ ...client, scope });
  expect(tokenError(reply)).toEqual([400, 'invalid_scope']);
  const own = 'transfers:read, transfers:write, webhooks:read, webhooks:write';
  expect(reply.body.error_description).toBe(`The client's scopes are ${own}.`);
});

it("grants an operator one of the operator's scopes alone, and its token opens what that scope does", async () => {
  const operator = await auth.client({ scopes: ['operator'] });
  const { status, body } = await token({ ...operator, scope: 'operator:transfers' });
  expect([status, body.scope]).toEqual([200, 'operator:transfers']);
  const headers = { Authorization: `Bearer ${body.access_token}` };
  const statuses = ['/operator/transfers', '/operator/clients'].map(
    async (path) => (await auth.api.call('GET', path, { headers })).status,
  );
  expect(await Promise.all(statuses)).toEqual([200, 403]);
});

it("lets the pages of BASE_URL's origin alone read its responses, where AUTH_URL has another origin", async () => {
  const apart = await startAuthApi({ authHost: 'auth.localhost' });
  const asked = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'authorization' };
  const allowed = async (at: AuthApi, method: string, path: string, Origin: string) => {
    const { status, headers } = await at.api.call(method, path, { headers: { Origin, ...asked } });
    const allow = ['origin', 'headers', 'methods'].map((name) => headers.get(`access-control-allow-${name}`));
    return [status, ...allow, headers.get('access-control-allow-credentials')];
  };
  const { baseUrl } = apart;
  expect(await allowed(apart, 'OPTIONS', '/oauth/token', baseUrl)).toEqual([
    204,
    baseUrl,
    expect.stringContaining('Authorization'),
    'POST',
    null,
  ]);
  // An error too, so that the explorer shows it.
  expect((await allowed(apart, 'POST', '/oauth/token', baseUrl)).slice(0, 2)).toEqual([400, baseUrl]);
  const nobody = [null, null, null, null];
  for (const path of ['/oauth/token', '/transfers', '/console/sign-in']) {
    const foreign = path === '/oauth/token' ? 'https://evil.test' : baseUrl;
    expect((await allowed(apart, 'OPTIONS', path, foreign)).slice(1)).toEqual(nobody);
  }
  expect((await allowed(auth, 'OPTIONS', '/oauth/token', auth.baseUrl)).slice(1)).toEqual(nobody);
  await apart.close();
});

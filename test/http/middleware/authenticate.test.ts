import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { allowNetworks } from '../../../src/auth/clients.js';
import type { Reply } from '../../support/api.js';
import { type AuthApi, startAuthApi } from '../../support/auth-api.js';
import { OPERATOR } from '../../support/factories.js';

let auth: AuthApi;
let token: string;
beforeAll(async () => {
  auth = await startAuthApi({ env: { TRUSTED_PROXIES: '127.0.0.0/8', ALLOWED_NETWORKS: '203.0.113.0/24' } });
  token = await tokenOf({});
});
afterAll(() => auth.close());

const HERE = { 'X-Forwarded-For': '203.0.113.7' };
const get = (headers: Record<string, string>, path = '/webhook-endpoints') =>
  auth.api.call('GET', path, { headers: { ...HERE, ...headers } });

async function tokenOf(wanted: { scopes?: string[]; networks?: string[] }): Promise<string> {
  const { body } = await auth.token(await auth.client(wanted), HERE);
  return body.access_token;
}

function problem({ status, headers, body }: Reply): [number, string, string | null] {
  expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
  return [status, body.code, headers.get('www-authenticate')];
}

it.each(['Bearer', 'bearer', 'BEARER'])('a token is taken from the header as %s', async (scheme) => {
  expect((await get({ Authorization: `${scheme} ${token}` })).status).toBe(200);
});

describe('nobody is let in', () => {
  const challenge = 'Bearer realm="transfer-service", error="invalid_token"';

  it.each<[string, () => Record<string, string>]>([
    ['without a token', () => ({})],
    ['with Basic', () => ({ Authorization: `Basic ${token}` })],
    ['with the scheme alone', () => ({ Authorization: 'Bearer' })],
    ['with two tokens', () => ({ Authorization: `Bearer ${token} ${token}` })],
    ['with characters that no token has', () => ({ Authorization: 'Bearer "x"' })],
  ])('%s', async (_, headers) => {
    expect(problem(await get(headers()))).toEqual([401, 'unauthorized', challenge]);
  });

  it('with a token that is wrong', async () => {
    expect(problem(await get({ Authorization: 'Bearer x.y.z' }))).toEqual([401, 'invalid_token', challenge]);
  });

  it('with a token in the query', async () => {
    expect(problem(await get({}, `/webhook-endpoints?access_token=${token}`))).toEqual([
      401,
      'unauthorized',
      challenge,
    ]);
  });
});

it('a token without the scope is forbidden, and told which one it needs', async () => {
  const other = await tokenOf({ scopes: ['transfers:read'] });
  expect(problem(await get({ Authorization: `Bearer ${other}` }))).toEqual([
    403,
    'insufficient_scope',
    'Bearer realm="transfer-service", error="insufficient_scope", scope="webhooks:read"',
  ]);
});

describe('from elsewhere', () => {
  const denied = [403, 'network_not_allowed', expect.stringMatching(/^Bearer .*error="/)];

  it("a good token outside of its client's networks is forbidden", async () => {
    const other = await tokenOf({ networks: ['203.0.113.7/32'] });
    expect((await get({ Authorization: `Bearer ${other}` })).status).toBe(200);
    expect(problem(await get({ Authorization: `Bearer ${other}`, 'X-Forwarded-For': '203.0.113.8' }))).toEqual(denied);
  });

  it.each(['198.51.100.1', '203.0.113.7, 198.51.100.1', 'unknown', '203.0.113.7, garbage'])(
    'a request forwarded for %s is forbidden, whatever it carries',
    async (address) => {
      const headers = { 'X-Forwarded-For': address, Authorization: `Bearer ${token}` };
      expect(problem(await get(headers))).toEqual(denied);
    },
  );

  it('a token request is refused in the words of OAuth, with no challenge', async () => {
    const { status, headers, body } = await auth.token(await auth.client(), { 'X-Forwarded-For': '198.51.100.1' });
    expect([status, body]).toEqual([403, { error: 'access_denied', error_description: expect.any(String) }]);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('www-authenticate')).toBeNull();
  });

  it('a request that passed a second trusted proxy is judged by the address before', async () => {
    const headers = { 'X-Forwarded-For': '203.0.113.7, 127.0.0.2', Authorization: `Bearer ${token}` };
    expect((await get(headers)).status).toBe(200);
  });
});

it('a network taken off the list counts for the next look-up', async () => {
  const credentials = await auth.client({ networks: ['203.0.113.0/24'] });
  await allowNetworks(auth.database, OPERATOR, credentials.client_id, ['10.0.0.0/8']);
  const { status, body } = await auth.token(credentials, HERE);
  expect([status, body.error]).toEqual([403, 'access_denied']);
});

import { describe, expect, it } from '@jest/globals';
import { openAuthApi } from '../support/auth-api.js';
import type { Reply } from '../support/documented.js';

const auth = await openAuthApi({ env: { TRUSTED_PROXIES: '127.0.0.0/8', ALLOWED_NETWORKS: '203.0.113.0/24' } });

const HERE = { 'X-Forwarded-For': '203.0.113.7' };
const get = (headers: Record<string, string>, path = '/webhook-endpoints') =>
  auth.api.call('GET', path, { headers: { ...HERE, ...headers } });

async function tokenOf(wanted: { scopes?: string[]; networks?: string[] }): Promise<string> {
  const { body } = await auth.token(await auth.client(wanted), HERE);
  return body.access_token;
}
const token = await tokenOf({});

function problem({ status, headers, body }: Reply): [number, string, string | null] {
  expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
  return [status, body.code, headers.get('www-authenticate')];
}

it.each(['Bearer', 'bearer', 'BEARER'])('reads a token from the header with the scheme %s', async (scheme) => {
  expect((await get({ Authorization: `${scheme} ${token}` })).status).toBe(200);
});

describe('responds with 401 to a request', () => {
  const challenge = 'Bearer realm="transfer-service", error="invalid_token"';

  it.each([
    ['without a token', undefined, 'unauthorized'],
    ['with Basic', `Basic ${token}`, 'unauthorized'],
    ['with the scheme alone', 'Bearer', 'unauthorized'],
    ['with two tokens', `Bearer ${token} ${token}`, 'unauthorized'],
    ['with characters that are invalid in a token', 'Bearer "x"', 'unauthorized'],
    ['with an invalid token', 'Bearer x.y.z', 'invalid_token'],
  ])('%s', async (_, authorization, code) => {
    const headers: Record<string, string> = authorization ? { Authorization: authorization } : {};
    expect(problem(await get(headers))).toEqual([401, code, challenge]);
  });

  it('with a token in the query', async () => {
    const path = `/webhook-endpoints?access_token=${token}`;
    expect(problem(await get({}, path))).toEqual([401, 'unauthorized', challenge]);
  });
});

it('responds with 403 to a token without the scope, and names the scope', async () => {
  const other = await tokenOf({ scopes: ['transfers:read'] });
  expect(problem(await get({ Authorization: `Bearer ${other}` }))).toEqual([
    403,
    'insufficient_scope',
    'Bearer realm="transfer-service", error="insufficient_scope", scope="webhooks:read"',
  ]);
});

describe('from outside the allowed networks', () => {
  const denied = [403, 'network_not_allowed', expect.stringMatching(/^Bearer .*error="/)];

  it("a valid token outside its client's networks is forbidden", async () => {
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

  it('a token request gets an OAuth error without a challenge', async () => {
    const { status, headers, body } = await auth.token(await auth.client(), { 'X-Forwarded-For': '198.51.100.1' });
    expect([status, body]).toEqual([403, { error: 'access_denied', error_description: expect.any(String) }]);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('www-authenticate')).toBeNull();
  });
});

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type AuthApi, startAuthApi } from '../support/auth-api.js';
import { ADDRESS, testAuthority } from '../support/authority.js';

const MASTER_KEY = randomBytes(32).toString('base64');

let sandbox: AuthApi;
let production: AuthApi;
beforeAll(async () => {
  sandbox = await startAuthApi({ publicUrl: 'https://sandbox.test' });
  production = await startAuthApi({
    publicUrl: 'https://production.test',
    env: { ENVIRONMENT: 'production', MASTER_KEY },
  });
});
afterAll(() => Promise.all([sandbox.close(), production.close()]));

const list = (at: AuthApi, token: string) =>
  at.api.call('GET', '/transfers', { headers: { Authorization: `Bearer ${token}` } });

describe.each([
  ['sandbox', 'production', () => [sandbox, production] as const],
  ['production', 'sandbox', () => [production, sandbox] as const],
])('of %s, in %s', (_, __, both) => {
  it('credentials are rejected for the audience of either environment', async () => {
    const [home, other] = both();
    const credentials = await home.client();
    expect((await home.token(credentials)).status).toBe(200);
    for (const audience of [home.baseUrl, other.baseUrl]) {
      const { status, body } = await other.token({ ...credentials, audience });
      expect([status, body.error]).toEqual([401, 'invalid_client']);
    }
  });

  it('the audience of the other environment is rejected at home', async () => {
    const [home, other] = both();
    const { status, body } = await home.token({ ...(await home.client()), audience: other.baseUrl });
    expect([status, body.error]).toEqual([400, 'invalid_target']);
  });

  it('tokens are rejected', async () => {
    const [home, other] = both();
    const { access_token } = (await home.token(await home.client())).body;
    expect((await list(home, access_token)).status).toBe(200);
    const { status, body } = await list(other, access_token);
    expect([status, body.code]).toEqual([401, 'invalid_token']);
  });

  it('tokens are rejected by issuer and audience alone, even with the same clients and keys', async () => {
    const [home, other] = both();
    const { access_token } = (await home.token(await home.client())).body;
    const config = { authUrl: other.authUrl, baseUrl: other.baseUrl, accessTokenLifetime: 3_600_000 };
    const twin = testAuthority(home.database, { config });
    await expect(home.authority.authenticate(access_token, ADDRESS)).resolves.toBeDefined();
    await expect(twin.authenticate(access_token, ADDRESS)).rejects.toMatchObject({ code: 'invalid_token' });
  });
});

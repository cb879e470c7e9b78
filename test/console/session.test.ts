import { describe, expect, test } from '@jest/globals';
import { changeClient, revokeSecret, rotateSecret } from '../../src/auth/clients.js';
import { type AuthApi, type Credentials, openAuthApi, startAuthApi } from '../support/auth-api.js';
import { type ConsoleBrowser, consoleBrowser, signedInBrowser } from '../support/console.js';
import { OPERATOR } from '../support/factories.js';

const auth = await openAuthApi({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } });

const signIn = async (fields: Record<string, string> = {}, credentials?: Credentials) =>
  signedInBrowser(auth, credentials ?? (await auth.client()), fields);

/** Where a page sends the person: undefined if it is shown. */
async function sentTo(browser: ConsoleBrowser, path = '/console'): Promise<string | null | undefined> {
  const { status, headers } = await browser.get(path);
  return status === 200 ? undefined : headers.get('location');
}

const sessionOf = async ({ client_id }: Credentials) =>
  (await auth.database.prisma.consoleSession.findMany({ where: { clientId: client_id }, orderBy: { id: 'asc' } })).at(
    -1,
  );

/** Moves a time of the session back, on Postgres's clock. */
const age = (id: string, column: 'last_seen_at' | 'created_at', minutes: number) =>
  auth.database.query(
    `update console_sessions set ${column} = now() - $2::int * interval '1 minute' where id = $1::uuid returning 1`,
    [id, minutes],
  );

describe('the cookie', () => {
  const sent = async (api: AuthApi) => {
    const browser = consoleBrowser({ url: api.api.url, baseUrl: api.baseUrl });
    const { headers } = await browser.post('/console/sign-in', await api.client());
    return headers.getSetCookie();
  };

  test('over http has the port in its name and is sent to the console only', async () => {
    const { port } = new URL(auth.baseUrl);
    expect(await sent(auth)).toEqual([
      expect.stringMatching(
        new RegExp(`^console_session_${port}=[\\w-]{43}; HttpOnly; SameSite=Strict; Path=/console$`),
      ),
    ]);
  });

  test('over https is bound to the host', async () => {
    const secure = await startAuthApi({ publicUrl: 'https://api.test' });
    expect(await sent(secure)).toEqual([
      expect.stringMatching(/^__Host-console_session=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/; Secure$/),
    ]);
    await secure.close();
  });

  test('is new at each sign-in, even if the browser brings a value, and is stored as a hash only', async () => {
    const credentials = await auth.client();
    const { port } = new URL(auth.baseUrl);
    const planted = `console_session_${port}=${'x'.repeat(43)}`;
    const browser = consoleBrowser({ url: auth.api.url, baseUrl: auth.baseUrl });
    browser.cookie = planted;
    expect((await browser.post('/console/sign-in', credentials)).status).toBe(303);
    const other = await signIn({}, credentials);
    expect(new Set([planted, browser.cookie, other.cookie]).size).toBe(3);
    const { rows } = await auth.database.pool.query('select console_sessions::text as row from console_sessions');
    for (const { cookie } of [browser, other]) {
      const token = cookie?.split('=')[1] ?? '';
      expect(token).toHaveLength(43);
      for (const { row } of rows) expect(row).not.toContain(token);
    }
  });

  test('works only under /console, where a Bearer token does not', async () => {
    const credentials = await auth.client();
    const { cookie } = await signIn({}, credentials);
    for (const path of ['/transfers', '/webhook-endpoints', '/events']) {
      const { status, body } = await auth.api.call('GET', path, { headers: { Cookie: cookie ?? '' } });
      expect([status, body.code]).toEqual([401, 'unauthorized']);
    }
    const made = await auth.api.call('POST', '/console-sessions', { json: {}, headers: { Cookie: cookie ?? '' } });
    expect(made.status).toBe(401);
    const { body } = await auth.token(credentials);
    const stranger = consoleBrowser({ url: auth.api.url, baseUrl: auth.baseUrl });
    const { status } = await stranger.get('/console', { Authorization: `Bearer ${body.access_token}` });
    expect(status).toBe(303);
  });
});

describe('a session', () => {
  test('ends after an hour without a page; live updates do not extend it', async () => {
    const credentials = await auth.client();
    const browser = await signIn({}, credentials);
    const { id } = (await sessionOf(credentials))!;
    await age(id, 'last_seen_at', 59);
    expect((await browser.get('/console', { 'X-Live': '1' })).status).toBe(200);
    expect(Date.now() - (await sessionOf(credentials))!.lastSeenAt.getTime()).toBeGreaterThan(58 * 60_000);
    expect(await sentTo(browser)).toBeUndefined();
    expect(Date.now() - (await sessionOf(credentials))!.lastSeenAt.getTime()).toBeLessThan(58 * 60_000);
    await age(id, 'last_seen_at', 61);
    expect((await browser.get('/console', { 'X-Live': '1' })).status).toBe(401);
    browser.cookie ??= (await signIn({}, credentials)).cookie;
    await age((await sessionOf(credentials))!.id, 'last_seen_at', 61);
    expect(await sentTo(browser, '/console/settings')).toBe('/console/sign-in?next=%2Fconsole%2Fsettings');
    expect(browser.cookie).toBeUndefined();
  });

  test('ends 8 hours after the sign-in, also in use', async () => {
    const credentials = await auth.client();
    const browser = await signIn({}, credentials);
    const { id } = (await sessionOf(credentials))!;
    await age(id, 'created_at', 8 * 60 - 1);
    expect(await sentTo(browser)).toBeUndefined();
    await age(id, 'created_at', 8 * 60 + 1);
    expect(await sentTo(browser)).toBe('/console/sign-in');
  });

  test('ends with the secret that made it, revoked or expired, and not with another', async () => {
    const credentials = await auth.client();
    const browser = await signIn({}, credentials);
    const { secretId } = (await sessionOf(credentials))!;
    const { secretId: other } = await rotateSecret(auth.database, OPERATOR, credentials.client_id);
    await revokeSecret(auth.database, OPERATOR, credentials.client_id, other);
    expect(await sentTo(browser)).toBeUndefined();
    await revokeSecret(auth.database, OPERATOR, credentials.client_id, secretId!);
    expect(await sentTo(browser)).toBe('/console/sign-in');

    const expiring = await auth.client();
    const second = await signIn({}, expiring);
    await rotateSecret(auth.database, OPERATOR, expiring.client_id, { expireOldIn: 0 });
    expect(await sentTo(second)).toBe('/console/sign-in');
  });

  test('whose secret was revoked is in no list, and displaces no live session', async () => {
    const credentials = await auth.client();
    const rotated = await rotateSecret(auth.database, OPERATOR, credentials.client_id);
    const renewed = { ...credentials, client_secret: rotated.clientSecret.reveal() };
    const oldest = await signIn({}, renewed);
    const oldestId = (await sessionOf(credentials))!.id;
    await signIn({}, credentials);
    const { id, secretId } = (await sessionOf(credentials))!;
    await Promise.all(Array.from({ length: 18 }, () => signIn({}, renewed)));
    await age(id, 'last_seen_at', -1);
    await revokeSecret(auth.database, OPERATOR, credentials.client_id, secretId!);
    expect((await oldest.get('/console/settings')).text).not.toContain(id);
    await age(oldestId, 'last_seen_at', 30);
    await signIn({}, renewed);
    expect(await sentTo(oldest)).toBeUndefined();
  });

  test("ends when it is used from outside its client's networks", async () => {
    const credentials = await auth.client({ networks: ['203.0.113.0/24'] });
    const from = (address: string) => ({ 'X-Forwarded-For': address });
    const browser = consoleBrowser({ url: auth.api.url, baseUrl: auth.baseUrl });
    const outside = await browser.post('/console/sign-in', credentials, from('198.51.100.1'));
    expect([outside.status, browser.cookie]).toEqual([403, undefined]);
    expect((await browser.post('/console/sign-in', credentials, from('203.0.113.7'))).status).toBe(303);
    expect((await browser.get('/console', from('203.0.113.9'))).status).toBe(200);
    await changeClient(auth.database, OPERATOR, credentials.client_id, { networks: ['198.51.100.0/24'] });
    expect((await browser.get('/console', from('203.0.113.9'))).status).toBe(403);
    await changeClient(auth.database, OPERATOR, credentials.client_id, { networks: [] });
    expect((await browser.get('/console', from('203.0.113.9'))).status).toBe(303);
  });

  test('of a client is one of 20: one more sign-in ends the least recently used', async () => {
    const credentials = await auth.client();
    const first = await signIn({}, credentials);
    const second = await signIn({}, credentials);
    await age((await sessionOf(credentials))!.id, 'last_seen_at', 30);
    await Promise.all(Array.from({ length: 19 }, () => signIn({}, credentials)));
    expect(await auth.database.prisma.consoleSession.count({ where: { clientId: credentials.client_id } })).toBe(20);
    expect(await sentTo(first)).toBeUndefined();
    expect(await sentTo(second)).toBe('/console/sign-in');
  });
});

describe('a viewer', () => {
  test('ends only its own session, and the rejected form is shown on its page', async () => {
    const credentials = await auth.client();
    const editor = await signIn({}, credentials);
    const { id } = (await sessionOf(credentials))!;
    const viewer = await signIn({ role: 'viewer' }, credentials);
    const own = (await sessionOf(credentials))!.id;
    const refused = await viewer.post(`/console/sessions/${id}/end`);
    expect(refused.status).toBe(403);
    expect(refused.text).toContain('A viewer may end only its own session.');
    expect(refused.text).toContain('<h1>Settings</h1>');
    expect(await sentTo(editor)).toBeUndefined();
    expect((await viewer.post(`/console/sessions/${own}/end`)).status).toBe(303);
    expect(await sentTo(viewer)).toBe('/console/sign-in');
  });
});

test("another client's session cannot be ended, and is in no list", async () => {
  const theirs = await auth.client();
  const their = await signIn({}, theirs);
  const ours = await signIn();
  const { id } = (await sessionOf(theirs))!;
  await ours.post(`/console/sessions/${id}/end`);
  expect(await sentTo(their)).toBeUndefined();
  expect((await ours.get('/console/settings')).text).not.toContain(id);
});

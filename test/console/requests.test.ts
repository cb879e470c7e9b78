import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { openAuthApi, startAuthApi } from '../support/auth-api.js';
import { type ConsoleBrowser, consoleBrowser, signedInBrowser } from '../support/console.js';
import { setUses } from '../support/limits.js';

const auth = await openAuthApi({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } });

const browser = () => consoleBrowser({ url: auth.api.url, baseUrl: auth.baseUrl });
let addresses = 0;
const somewhere = () => ({ 'X-Forwarded-For': `198.51.100.${++addresses}` });
const failed = (from: ReturnType<typeof somewhere>, count: number) =>
  setUses(auth.database, 'failed-authentications', from['X-Forwarded-For'], count);

describe('the origin of a form', () => {
  const wrong: [string, Record<string, string>][] = [
    ['another', { Origin: 'https://evil.test' }],
    ['null', { Origin: 'null' }],
    ['only in Referer', { Origin: 'https://evil.test', Referer: 'BASE_URL/console' }],
    ['of another site, by fetch metadata', { 'Sec-Fetch-Site': 'cross-site' }],
    ['of a sibling host, by fetch metadata', { 'Sec-Fetch-Site': 'same-site' }],
    ['of no page, by fetch metadata', { 'Sec-Fetch-Site': 'none' }],
    ['with metadata of nobody', { 'Sec-Fetch-Site': '' }],
  ];

  test.each(wrong)('%s is rejected before anything else', async (_, headers) => {
    const credentials = await auth.client();
    const session = await signedInBrowser(auth, credentials);
    for (const [path, fields] of [
      ['/console/sign-in', credentials],
      ['/console/sign-in/019abe01-7a10-7c44-9d02-3f1f6f0c8a11', { code: 'x' }],
      ['/console/sign-out', {}],
      ['/console/sessions/019abe01-7a10-7c44-9d02-3f1f6f0c8a11/end', {}],
      ['/console/nothing', {}],
    ] as const) {
      const { status, text, headers: sent } = await session.post(path, { ...fields }, headers);
      expect([path, status]).toEqual([path, 403]);
      expect(text).toContain('Foreign origin');
      expect(sent.get('set-cookie')).toBeNull();
    }
    expect((await session.get('/console')).status).toBe(200);
  });

  test.each(['null', 'https://evil.test'])(
    '%s does not matter where fetch metadata says same-origin',
    async (Origin) => {
      const own = { Origin, 'Sec-Fetch-Site': 'same-origin' };
      const person = browser();
      expect((await person.post('/console/sign-in', await auth.client(), own)).status).toBe(303);
      expect((await person.post('/console/sign-out', {}, own)).status).toBe(303);
      expect(person.cookie).toBeUndefined();
    },
  );
});

test('failed sign-ins and failed token requests of an address count in one limit', async () => {
  const from = somewhere();
  const { client_id, client_secret } = await auth.client();
  const fails = async (index: number) =>
    index % 2 === 0
      ? (await browser().post('/console/sign-in', { client_id, client_secret: 'wrong' }, from)).status
      : (await auth.token({ client_id, client_secret: 'wrong' }, from)).status;
  await failed(from, 96);
  for (let i = 0; i < 4; i++) expect(await fails(i)).toBe(401);
  const refused = await browser().post('/console/sign-in', { client_id, client_secret }, from);
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
  expect((await auth.token({ client_id, client_secret }, from)).status).toBe(429);
  const elsewhere = await browser().post('/console/sign-in', { client_id, client_secret }, somewhere());
  expect(elsewhere.status).toBe(303);
});

test('a sign-in does not replace a live session, so nobody is unknowingly signed in as somebody else', async () => {
  const [own, theirs] = [await auth.client({ name: 'Own' }), await auth.client({ name: 'Theirs' })];
  const session = await signedInBrowser(auth, own);
  const { cookie } = session;
  const { body } = await auth.token(theirs);
  const headers = { Authorization: `Bearer ${body.access_token}` };
  const { pathname, hash } = new URL(
    (await auth.api.call('POST', '/console-sessions', { json: {}, headers })).body.url,
  );
  for (const reply of [
    await session.post('/console/sign-in', theirs),
    await session.post(pathname, { code: hash.slice(1) }),
  ]) {
    expect([reply.status, reply.headers.get('set-cookie')]).toEqual([409, null]);
    expect(reply.text).toContain('You are signed in');
  }
  expect(session.cookie).toBe(cookie);
  expect((await session.get('/console')).text).toContain('Own');
  // The code was not used up.
  expect((await browser().post(pathname, { code: hash.slice(1) })).status).toBe(303);
});

describe('the way to the requested page', () => {
  test('leads through the sign-in, within the console only', async () => {
    const credentials = await auth.client();
    const person = browser();
    const first = await person.get('/console/settings?x=1&y=%3C');
    const location = first.headers.get('location')!;
    expect([first.status, location]).toEqual([303, '/console/sign-in?next=%2Fconsole%2Fsettings%3Fx%3D1%26y%3D%253C']);
    const { text } = await person.get(location);
    expect(text).toContain('value="/console/settings?x=1&amp;y=%3C"');
    const done = await person.post('/console/sign-in', { ...credentials, next: '/console/settings?x=1' });
    expect(done.headers.get('location')).toBe('/console/settings?x=1');
  });

  test.each([
    '//evil.test/',
    '/consolecopy',
    '/console/\\evil',
    '/console/../transfers',
    '/console/%2E%2e/transfers',
    '/console/events/../sign-out',
    '/transfers',
    'javascript:alert(1)',
  ])('ignores %s', async (next) => {
    const { headers } = await browser().post('/console/sign-in', { ...(await auth.client()), next });
    expect(headers.get('location')).toBe('/console');
    expect((await browser().get(`/console/sign-in?next=${encodeURIComponent(next)}`)).text).not.toContain(
      'name="next"',
    );
  });

  test('from another site loads the page again, since the browser withheld the cookie', async () => {
    const { status, headers } = await browser().get('/console/settings', { 'Sec-Fetch-Site': 'cross-site' });
    expect([status, headers.get('refresh')]).toEqual([200, '0']);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  });

  test('never names the host of a request whose target is a whole URL', async () => {
    for (const site of ['cross-site', 'same-origin']) {
      const { location, text } = await requestTarget('http://evil.test/console/settings?x=1', site);
      const next = '/console/sign-in?next=/console/settings?x=1';
      expect(location && decodeURIComponent(location)).toBe(site === 'cross-site' ? undefined : next);
      expect(`${location}${text}`).not.toContain('evil.test');
    }
  });

  const requestTarget = async (target: string, site: string) => {
    const { hostname, port } = new URL(auth.api.url);
    const sent = request({ hostname, port, path: target, headers: { 'Sec-Fetch-Site': site } }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return { location: response.headers.location, text: await text(response) };
  };
});

describe('bodies', () => {
  let session: ConsoleBrowser;
  beforeAll(async () => {
    session = await signedInBrowser(auth, await auth.client());
  });
  const path = '/console/sessions/019abe01-7a10-7c44-9d02-3f1f6f0c8a11/end';

  test('of a sign-in have at most 8 KiB, of other forms 64 KiB', async () => {
    const big = await browser().post('/console/sign-in', { client_id: 'x'.repeat(9_000) }, somewhere());
    expect([big.status, big.headers.get('content-type')]).toEqual([413, 'text/html; charset=utf-8']);
    expect((await session.post(path, { x: 'x'.repeat(60_000) })).status).toBe(303);
    expect((await session.post(path, { x: 'x'.repeat(66_000) })).status).toBe(413);
  });
});

describe('every response of the console', () => {
  test('has the headers that keep other sites, scripts and caches out', async () => {
    const session = await signedInBrowser(auth, await auth.client({ name: 'Acme' }));
    const headers = somewhere();
    const replies = await Promise.all([
      session.get('/console', headers),
      session.get('/console/settings', headers),
      session.get('/console/nothing', headers),
      session.get('/console/', headers),
      session.get('/console/%ff', headers),
      session.post('/console/settings', {}, headers),
      session.post('/console/sign-out', {}, { ...headers, Origin: 'null' }),
      browser().get('/console', headers),
      browser().get('/console/sign-in', headers),
      browser().get('/console/assets/console.css', headers),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 404, 303, 400, 405, 403, 303, 200, 200]);
    for (const { headers: sent, status } of replies) {
      const policy = sent.get('content-security-policy') ?? '';
      for (const part of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"]) {
        expect(policy).toContain(part);
      }
      expect(policy).not.toMatch(/unsafe|https?:|\*/);
      expect(sent.get('referrer-policy')).toBe('same-origin');
      expect(sent.get('cross-origin-opener-policy')).toBe('same-origin');
      expect(sent.get('x-content-type-options')).toBe('nosniff');
      expect([...sent.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      if (status !== 200 || sent.get('content-type')?.includes('html')) {
        expect(sent.get('cache-control')).toBe('no-store');
      }
    }
    const [, , missing, , , wrongMethod] = replies;
    expect(missing?.text).toContain('The console has no such page.');
    expect(missing?.text).toContain('Acme');
    expect(wrongMethod?.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    for (const { text, headers: sent } of replies) {
      if (sent.get('content-type')?.includes('html')) expect(text).not.toMatch(/ style=|<style| on\w+=|javascript:/);
    }
  });

  test('no response of the API has Access-Control-Allow-*, except for the public documents', async () => {
    const open = ['/openapi.json', '/meta', '/.well-known/jwks.json'];
    const paths = [...open, '/docs', '/docs/signature-vectors.json', '/transfers', '/healthz', '/console'];
    const allowed = [];
    for (const path of paths) {
      const { headers } = await auth.api.call('GET', path, {
        headers: { Origin: 'https://evil.test', ...somewhere() },
      });
      expect(headers.get('access-control-allow-credentials')).toBeNull();
      if (headers.get('access-control-allow-origin') !== null) allowed.push(path);
    }
    expect(allowed.filter((path) => !open.includes(path))).toEqual([]);
  });
});

test('a client signs in at most 60 times a minute, by credentials and links together', async () => {
  const credentials = await auth.client();
  await setUses(auth.database, 'console-sign-ins', credentials.client_id, 58);
  for (let i = 0; i < 2; i++) await signedInBrowser(auth, credentials);
  const refused = await browser().post('/console/sign-in', credentials);
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
  const { body } = await auth.token(credentials);
  const headers = { Authorization: `Bearer ${body.access_token}` };
  const { pathname, hash } = new URL(
    (await auth.api.call('POST', '/console-sessions', { json: {}, headers })).body.url,
  );
  expect((await browser().post(pathname, { code: hash.slice(1) })).status).toBe(429);
  await signedInBrowser(auth, await auth.client());
});

test('behind a proxy that strips the path of BASE_URL, every address of a page has that path', async () => {
  const proxied = await startAuthApi({ publicUrl: 'https://example.test/transfers' });
  const session = consoleBrowser({ url: proxied.api.url, baseUrl: proxied.baseUrl });
  const first = await session.get('/console/settings');
  expect(first.headers.get('location')).toBe('/transfers/console/sign-in?next=%2Fconsole%2Fsettings');
  const done = await session.post('/console/sign-in', { ...(await proxied.client()), next: '/console/settings' });
  expect(done.headers.get('location')).toBe('/transfers/console/settings');
  const { text } = await session.get('/console/settings');
  const addresses = [...text.matchAll(/ (?:href|src|action)="([^"#]+)/g)].map(([, address]) => address);
  expect(addresses.length).toBeGreaterThan(5);
  expect(addresses.filter((address) => !address?.startsWith('/transfers/console'))).toEqual([
    'https://example.test/transfers/docs/guide',
    'https://example.test/transfers/docs',
  ]);
  await proxied.close();
});

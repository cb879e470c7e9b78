import { expect, it } from '@jest/globals';
import { LIMITS } from '../../../src/platform/limits.js';
import { openApi } from '../../support/api.js';
import type { Reply } from '../../support/documented.js';

const api = await openApi({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } });

let addresses = 0;
const from = (address: string) => ({ headers: { 'X-Forwarded-For': address } });
const anybody = () => from(`203.0.113.${++addresses}`);

it('responds to / with links: JSON for clients, a page for browsers', async () => {
  const ask = (Accept: string) => api.call('GET', '/', { headers: { ...anybody().headers, Accept } });
  const json = await ask('*/*');
  expect([json.status, json.body.docs, json.headers.get('vary')]).toEqual([
    200,
    `${api.dependencies.config.baseUrl}/docs`,
    'Accept',
  ]);
  const page = await ask('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8');
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  for (const [, url = ''] of page.text.matchAll(/href="([^"]+)"/g)) expect(Object.values(json.body)).toContain(url);
  expect(page.text).toContain(`href="${api.dependencies.config.baseUrl}/docs/guide"`);
});

it.each([
  ['/docs/', '/docs'],
  ['/docs//?a=b', '/docs?a=b'],
  ['/docs/guide/', '/docs/guide'],
  ['/console/sign-in/', '/console/sign-in'],
  ['/console/endpoints/x/?limit=1', '/console/endpoints/x?limit=1'],
])('leads from %s to %s, wherever a proxy serves the API', async (typed, page) => {
  const { status, headers } = await api.call('GET', typed, anybody());
  const location = headers.get('location') ?? '';
  for (const prefix of ['', '/api']) {
    const { pathname, search } = new URL(location, `http://host${prefix}${typed}`);
    expect([status, `${pathname}${search}`]).toEqual([303, `${prefix}${page}`]);
  }
});

it.each(['/', '/openapi.json', '/docs/guide', '/llms.txt', '/docs/explorer.js'])(
  'responds with 304 to the ETag of %s',
  async (path) => {
    const first = await api.call('GET', path, anybody());
    const etag = first.headers.get('etag') ?? '';
    expect([first.status, etag]).toEqual([200, expect.stringMatching(/^"[\w-]{43}"$/)]);
    expect(Number(first.headers.get('content-length'))).toBe(Buffer.byteLength(first.text));
    const conditional = (tag: string) =>
      api.call('GET', path, { headers: { ...anybody().headers, 'If-None-Match': tag } });
    const again = await conditional(etag);
    expect([again.status, again.text.length, again.headers.get('etag')]).toEqual([304, 0, etag]);
    expect(again.headers.get('cache-control')).toBe('public, max-age=300');
    expect((await conditional('"other"')).status).toBe(200);
  },
);

it.each(['/openapi.json', '/docs', '/meta', '/.well-known/jwks.json'])('limits %s by address', async (path) => {
  const host = anybody();
  let refused: Reply | undefined;
  // Half as many again as an address may read in a second, on a slow machine a few times.
  for (let batch = 0; batch < 10 && !refused; batch++) {
    const reads = Array.from({ length: LIMITS.documents.amount * 1.5 }, () => api.call('GET', path, host));
    refused = (await Promise.all(reads)).find(({ status }) => status === 429);
  }
  expect([refused?.status, refused?.body.code]).toEqual([429, 'rate_limited']);
  expect(refused?.headers.get('content-type')).toBe('application/problem+json');
  expect(refused?.headers.get('retry-after')).toBe('1');
  expect((await api.call('GET', path, anybody())).status).toBe(200);
});

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { limitsWithin, openDatabase } from '../../src/platform/database/database.js';
import { LIMITS } from '../../src/platform/limits.js';
import { startApi } from '../support/api.js';
import { type AuthApi, openAuthApi, startAuthApi } from '../support/auth-api.js';
import { type ConsoleBrowser, consoleBrowser, operatorBrowser, signedInBrowser } from '../support/console.js';
import { makeEndpoint } from '../support/factories.js';
import { startHaltingProxy } from '../support/halting-proxy.js';
import { waitFor } from '../support/wait-for.js';

const RATE_LIMIT = 10;

const auth = await openAuthApi({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } });

let addresses = 0;
const somewhere = () => ({ 'X-Forwarded-For': `198.51.100.${++addresses}` });

/** The points that a response has left, and those of a whole second. */
const pointsLeft = (headers: Headers) => Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);

describe('each page', () => {
  test('counts its points against the client of the session', async () => {
    for (const [path, points] of [
      ['/console', 6],
      ['/console/settings', 2],
      ['/console/deliveries', 6],
      ['/console/nothing', 1],
    ] as const) {
      const session = await signedInBrowser(auth, await auth.client());
      const { headers } = await session.get(path, somewhere());
      expect([path, pointsLeft(headers)]).toEqual([path, 100_000 - points]);
    }
  });
});

describe('a request is counted before any work', () => {
  let limited: AuthApi;
  beforeAll(async () => {
    limited = await startAuthApi({ env: { TRUSTED_PROXIES: '127.0.0.0/8', RATE_LIMIT: String(RATE_LIMIT) } });
  });
  afterAll(() => limited.close());

  const browser = () => consoleBrowser({ url: limited.api.url, baseUrl: limited.baseUrl });

  /** Sends forty requests at once while no session can be read, and waits until most of them are rejected. */
  async function refusedWithoutSessions(send: (index: number) => ReturnType<ConsoleBrowser['get']>): Promise<void> {
    const lock = await limited.database.openSession();
    await lock.query('begin; lock table console_sessions in access exclusive mode');
    let refused = 0;
    const all = Array.from({ length: 40 }, async (_, index) => {
      if ((await send(index)).status === 429) refused++;
    });
    await waitFor('thirty rejected requests', async () => refused >= 30);
    await lock.query('rollback');
    await Promise.all(all);
  }

  test('with the cookie of a live session, by its client', async () => {
    const session = await signedInBrowser(limited, await limited.client());
    await session.get('/console/settings', somewhere());
    await refusedWithoutSessions(() => session.get('/console/deliveries', somewhere()));
  });

  // A busy client kept the operator out of its console.
  test("with the cookie of an operator's link, apart from the client", async () => {
    const credentials = await limited.client();
    const session = await signedInBrowser(limited, credentials);
    const operator = await operatorBrowser(limited, credentials.client_id, somewhere());
    const own = Array.from({ length: 60 }, () => session.get('/console/settings', somewhere()));
    const { status } = await operator.get('/console/settings', somewhere());
    expect(status).toBe(200);
    expect((await Promise.all(own)).filter((reply) => reply.status === 429).length).toBeGreaterThan(0);
  });

  test.each([
    ['a page without a session', '/console'],
    ['a path without a page', '/console/nothing'],
    ['the sign-in', '/console/sign-in'],
  ])('%s, by address', async (_, path) => {
    const from = somewhere();
    const replies = await Promise.all(
      Array.from({ length: 10 * LIMITS.documents.amount }, () => browser().get(path, from)),
    );
    expect(replies.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
    expect((await browser().get(path, somewhere())).status).not.toBe(429);
  });

  test('forms of another origin, by address: they use up nothing of the client whose cookie they have', async () => {
    const session = consoleBrowser({ url: limited.api.url, baseUrl: limited.baseUrl });
    await session.post('/console/sign-in', { ...(await limited.client()) }, somewhere());
    const foreign = { ...somewhere(), Origin: 'https://evil.test' };
    const path = '/console/sessions/019abe01-7a10-7c44-9d02-3f1f6f0c8a11/end';
    const replies = await Promise.all(Array.from({ length: 40 }, () => session.post(path, {}, foreign)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([403, 429]));
    expect((await session.get('/console/settings', somewhere())).status).toBe(200);
  });
});

describe('the last use of a session', () => {
  const lastSeen = async (clientId: string) =>
    (await auth.database.prisma.consoleSession.findFirstOrThrow({ where: { clientId } })).lastSeenAt.getTime();
  const age = async (clientId: string, seconds: number) => {
    await auth.database.pool.query(
      `update console_sessions set last_seen_at = now() - $2 * interval '1 second' where client_id = $1`,
      [clientId, seconds],
    );
    return lastSeen(clientId);
  };

  test('is written once a minute', async () => {
    const credentials = await auth.client();
    const session = await signedInBrowser(auth, credentials);
    const recent = await age(credentials.client_id, 30);
    await session.get('/console/settings');
    expect(await lastSeen(credentials.client_id)).toBe(recent);
    const older = await age(credentials.client_id, 90);
    await session.get('/console/settings');
    expect(await lastSeen(credentials.client_id)).toBeGreaterThan(older);
  });

  test('is not written by a path without a page, which takes no notice either', async () => {
    const credentials = await auth.client();
    const session = await signedInBrowser(auth, credentials);
    const ended = '/console/sessions/019abe01-7a10-7c44-9d02-3f1f6f0c8a11/end';
    await session.post(ended);
    const older = await age(credentials.client_id, 90);
    expect((await session.get('/console/nothing')).status).toBe(404);
    expect(await lastSeen(credentials.client_id)).toBe(older);
    expect((await session.get('/console/settings')).text).toContain('The session is ended.');
  });
});

describe('a query and a form have at most 20 parameters, counted before they are read', () => {
  const many = (count: number) => Array.from({ length: count }, (_, i) => `${i}=`).join('&');

  test('in every page, and without a session', async () => {
    const credentials = await auth.client();
    const session = await signedInBrowser(auth, credentials);
    const { id } = await makeEndpoint(auth.database, credentials.client_id);
    for (const path of [`/console/endpoints/${id}/statement`, '/console/deliveries', '/console/settings']) {
      const { status, text } = await session.get(`${path}?${many(21)}`);
      expect([path, status]).toEqual([path, 422]);
      expect(text).toContain('A query may have at most 20 parameters.');
    }
    expect((await session.get(`/console/settings?${many(20)}`)).status).toBe(200);
    const stranger = consoleBrowser({ url: auth.api.url, baseUrl: auth.baseUrl });
    expect((await stranger.get(`/console/sign-in?${many(21)}`, somewhere())).status).toBe(422);
  });

  test('in every form', async () => {
    const session = await signedInBrowser(auth, await auth.client());
    const fields = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [String(i), '']));
    const { status, text } = await session.post('/console/transfers/new', fields);
    expect(status).toBe(422);
    expect(text).toContain('A form may have at most 20 parameters.');
  });
});

test('if Postgres is halted, a page responds before the request deadline, and a person can try again', async () => {
  const proxy = await startHaltingProxy(auth.database.url);
  const halting = openDatabase({ url: proxy.url, poolSize: 4, limits: limitsWithin(20_000) });
  const { authority, authUrl, baseUrl } = auth;
  const dependencies = { authority, database: halting };
  const env = { BASE_URL: baseUrl, AUTH_URL: authUrl, REQUEST_DEADLINE: '20s' };
  const api = await startApi({ env, database: auth.database, dependencies });
  const session = consoleBrowser({ url: api.url, baseUrl });
  session.cookie = (await signedInBrowser(auth, await auth.client())).cookie;
  expect((await session.get('/console/deliveries')).status).toBe(200);
  proxy.halt();
  const begun = performance.now();
  const { status, text } = await session.get('/console/deliveries?status=failed');
  expect(status).toBe(503);
  // The page's own limit of 4 s, and not the 20 s of the request, on a machine that does other work too.
  expect(performance.now() - begun).toBeLessThan(15_000);
  expect(text).toMatch(/<a [^>]*href="\/console\/deliveries\?status=failed"[^>]*>Try again<\/a>/);
  proxy.resume();
  expect((await session.get('/console/deliveries?status=failed')).status).toBe(200);
  await api.close();
  await halting.close();
  await proxy.close();
}, 60_000);

test('a read that takes longer than 4 s ends in Postgres too, and the page says how to try again', async () => {
  const session = await signedInBrowser(auth, await auth.client());
  const lock = await auth.database.openSession();
  await lock.query('begin; lock table transfers in access exclusive mode');
  const { status, text, headers } = await session.get('/console/transfers?status=SENT');
  expect([status, headers.get('retry-after')]).toEqual([503, '2']);
  expect(text).toMatch(/<a [^>]*href="\/console\/transfers\?status=SENT"[^>]*>Try again<\/a>/);
  const { rows } = await lock.query(`select pid from pg_stat_activity where datname = current_database()
    and wait_event_type = 'Lock'`);
  expect(rows).toEqual([]);
  await lock.query('rollback');
  expect((await session.get('/console/transfers?status=SENT')).status).toBe(200);
});

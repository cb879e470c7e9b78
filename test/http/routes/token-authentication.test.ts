import { describe, expect, it } from '@jest/globals';
import { revokeClient, showClient } from '../../../src/auth/clients.js';
import { createLog } from '../../../src/platform/telemetry/log.js';
import { basic } from '../../support/auth-api.js';
import { watched } from '../../support/authority.js';
import type { Reply } from '../../support/documented.js';
import { OPERATOR } from '../../support/factories.js';
import { setUses } from '../../support/limits.js';
import { from, openTokenApi, tokenError } from '../../support/token-api.js';

/** The lines of the access log. */
const lines: Record<string, unknown>[] = [];
const log = createLog('silent', 'test');
log.info = ((fields: Record<string, unknown>) => lines.push(fields)) as typeof log.info;

let store: ReturnType<typeof watched>;
const auth = await openTokenApi({
  dependencies: { log },
  store: (database) => {
    store = watched(database);
    return { ...database, ...store.database };
  },
});
const { credentials: client, token, form, grant } = auth;

// Each refused client and secret: test/auth/client-record.test.ts.
describe('the same 401', () => {
  const cases: [string, () => Promise<Reply>][] = [
    ['a wrong secret', () => token({ ...client, client_secret: 'wrong' })],
    ['a lone surrogate', () => token({ ...client, client_secret: '\ud800' })],
    ['a wrong secret by Basic', () => form(grant(), basic({ ...client, client_secret: 'wrong' }))],
    ['a Basic header that is not base64', () => form(grant(), { Authorization: 'Basic !!!' })],
    ['a Basic header with no colon', () => form(grant(), { Authorization: `Basic ${btoa('x')}` })],
    ['a Basic header with bad encoding', () => form(grant(), { Authorization: `Basic ${btoa('%zz:%zz')}` })],
    ['another scheme', () => form(grant(), { Authorization: 'Bearer x' })],
    [
      'a revoked client outside its networks',
      async () => {
        const credentials = await auth.client({ networks: ['10.0.0.0/8'] });
        await revokeClient(auth.database, OPERATOR, credentials.client_id);
        return token(credentials);
      },
    ],
  ];

  it.each(cases)('for %s', async (by, ask) => {
    const reply = await ask();
    expect(tokenError(reply)).toEqual([401, 'invalid_client']);
    const challenge = reply.headers.get('www-authenticate');
    if (by.includes('Basic')) expect(challenge).toMatch(/^Basic realm="/);
    else expect(challenge).toBeNull();
    expect(reply.body.error_description).toBe('The client is unknown or its secret is wrong.');
  });
});

it('challenges a request without credentials, which counts as no failed authentication', async () => {
  const here = from('192.0.2.40');
  await setUses(auth.database, 'failed-authentications', '192.0.2.40', 99);
  const none = { client_id: null, client_secret: '' };
  for (const ask of [form(grant(), here), form({}, here), token({}, here), token(none, here)]) {
    const reply = await ask;
    expect(tokenError(reply)).toEqual([401, 'invalid_client']);
    expect(reply.headers.get('www-authenticate')).toMatch(/^Basic realm="/);
  }
  expect((await token(client, here)).status).toBe(200);
});

it('a client outside its networks is denied, and only a caller with the right secret gets that error', async () => {
  const credentials = await auth.client({ networks: ['203.0.113.0/24'] });
  expect((await token(credentials, from('203.0.113.9'))).status).toBe(200);
  expect((await token(credentials, from('::ffff:203.0.113.9'))).status).toBe(200);
  expect(tokenError(await token(credentials, from('198.51.100.9')))).toEqual([403, 'access_denied']);
  const wrong = { ...credentials, client_secret: 'wrong' };
  expect(tokenError(await token(wrong, from('198.51.100.9')))).toEqual([401, 'invalid_client']);
});

describe('failed authentications', () => {
  const wrong = () => ({ ...client, client_secret: 'wrong' });
  const failed = (network: string, count: number) => setUses(auth.database, 'failed-authentications', network, count);

  it('are limited to 100 a minute for an address, with no effect on other addresses', async () => {
    const here = from('192.0.2.50');
    await failed('192.0.2.50', 95);
    const replies = await Promise.all(Array.from({ length: 10 }, () => token(wrong(), here)));
    const limited = replies.filter(({ status }) => status === 429);
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(5);
    expect(limited).toHaveLength(5);
    for (const reply of limited) {
      expect(tokenError(reply)).toEqual([429, 'temporarily_unavailable']);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(reply.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    }
    store.statements.length = 0;
    expect((await token(wrong(), here)).status).toBe(429);
    expect(store.statements).toEqual([]);
    expect((await token(client, from('192.0.2.51'))).status).toBe(200);
  });

  it('count neither successes nor invalid requests', async () => {
    const here = from('192.0.2.70');
    const clients = await Promise.all(Array.from({ length: 4 }, () => auth.client()));
    const some = Array.from({ length: 60 }, (_, i) => {
      const own = clients[i % 4];
      return [token({ ...own }, here), token({ ...own, scope: 'x' }, here)];
    });
    const statuses = (await Promise.all(some.flat())).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([200, 400]));
    expect((await token(wrong(), here)).status).toBe(401);
  });
});

describe('a client that requests too many tokens', () => {
  it('gets 429 with Retry-After while other clients get tokens', async () => {
    const eager = await auth.client();
    let limited: Reply | undefined;
    // On a slow machine a burst may take seconds, and each second allows 20 more.
    for (let burst = 0; !limited && burst < 20; burst++) {
      const replies = await Promise.all(Array.from({ length: 50 }, () => token(eager)));
      limited = replies.find(({ status }) => status !== 200);
    }
    if (!limited) throw new Error('1,000 tokens and no 429');
    expect(tokenError(limited)).toEqual([429, 'temporarily_unavailable']);
    expect(limited.headers.get('retry-after')).toBe('1');
    expect((await token(await auth.client())).status).toBe(200);
  });
});

describe('the log names the client that requests a token', () => {
  const lineOf = async (asking: Promise<Reply>) => {
    const id = (await asking).headers.get('x-request-id');
    return lines.find(({ request_id }) => request_id === id);
  };

  it("with the client and its secret's id after authentication", async () => {
    const { secrets } = await showClient(auth.database, client.client_id);
    const known = { client_id: client.client_id, secret_id: secrets[0]?.id };
    expect(await lineOf(form(grant(), basic(client)))).toMatchObject({ status: 200, ...known });
    expect(await lineOf(token({ ...client, scope: 'x' }))).toMatchObject({ status: 400, ...known });
  });

  it("also when the right secret arrives from outside the client's networks", async () => {
    const inside = await auth.client({ networks: ['10.0.0.0/8'] });
    const { secrets } = await showClient(auth.database, inside.client_id);
    expect(await lineOf(token(inside))).toMatchObject({
      ...{ status: 403, client_id: inside.client_id, secret_id: secrets[0]?.id },
    });
  });
});

it('returns 503 with Retry-After while the database is unreachable', async () => {
  store.breakWith(() => Promise.reject(new Error('connection refused')));
  try {
    const reply = await token(client);
    expect(tokenError(reply)).toEqual([503, 'temporarily_unavailable']);
    expect(reply.headers.get('retry-after')).toBe('1');
  } finally {
    store.breakWith(undefined);
  }
  expect((await token(client)).status).toBe(200);
});

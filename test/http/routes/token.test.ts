import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decodeJwt } from 'jose';
import { revokeClient, revokeSecret, rotateSecret, showClient } from '../../../src/auth/clients.js';
import { newId } from '../../../src/ids.js';
import { createLog } from '../../../src/telemetry/log.js';
import type { Reply } from '../../support/api.js';
import { type AuthApi, basic, type Credentials, startAuthApi } from '../../support/auth-api.js';
import { watched } from '../../support/authority.js';
import { OPERATOR } from '../../support/factories.js';

const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };

/** What the access log has written. */
const lines: Record<string, unknown>[] = [];
const log = createLog('silent', 'test');
log.info = ((fields: Record<string, unknown>) => lines.push(fields)) as typeof log.info;

let auth: AuthApi;
let client: Credentials;
let store: ReturnType<typeof watched>;
beforeAll(async () => {
  auth = await startAuthApi({
    dependencies: { log },
    // Each test comes from an address of its own, so that the failures of one do not count for another.
    env: { TRUSTED_PROXIES: '127.0.0.0/8' },
    store: (database) => {
      store = watched(database);
      return { ...database, ...store.database };
    },
  });
  client = await auth.client();
});
afterAll(() => auth.close());

let last = 0;
const from = (address = `2001:db8:0:${(++last).toString(16)}::1`) => ({ 'X-Forwarded-For': address });
const token = (fields: Record<string, unknown>, headers: Record<string, string> = {}) =>
  auth.token(fields, { ...from(), ...headers });
const raw = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
  auth.api.call('POST', '/oauth/token', { raw: body, headers: { ...from(), ...headers } });
const form = (fields: Record<string, string>, headers: Record<string, string> = {}) =>
  raw(new URLSearchParams(fields).toString(), { ...FORM, ...headers });

const grant = () => ({ grant_type: 'client_credentials', audience: auth.baseUrl });

/** Status and code, once it is sure that the answer has the form of RFC 6749 §5.2. */
function refusal({ status, headers, body }: Reply): [number, string] {
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  expect([headers.get('cache-control'), headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
  expect(Object.keys(body)).toEqual(['error', 'error_description']);
  expect(body.error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/);
  return [status, body.error];
}

describe('a token is given', () => {
  const good = (reply: Reply, scope = 'transfers:read transfers:write webhooks:read webhooks:write') => {
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 3600, scope });
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
    expect([reply.headers.get('cache-control'), reply.headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
    expect(decodeJwt(reply.body.access_token).scope).toBe(scope);
  };

  it('for JSON, the form of the spec', async () => good(await token(client)));
  it('for JSON with a charset', async () =>
    good(await token(client, { 'Content-Type': 'Application/JSON; charset=utf-8' })));
  it('for a form', async () => good(await form({ ...client, ...grant() })));
  it('for a form with HTTP Basic', async () => good(await form(grant(), basic(client))));
  it('for JSON with HTTP Basic', async () => good(await token({}, basic(client))));
  it('for HTTP Basic with the client_id in the body too', async () =>
    good(await form({ ...grant(), client_id: client.client_id }, basic(client))));
  it('for a scheme in any case', async () =>
    good(await form(grant(), { Authorization: basic(client).Authorization.replace('Basic', 'bAsIc') })));
  it('for HTTP Basic with every character form-encoded', async () => {
    const encode = (text: string) => text.replace(/./g, (char) => `%${char.charCodeAt(0).toString(16)}`);
    const encoded = { client_id: encode(client.client_id), client_secret: encode(client.client_secret) };
    good(await form(grant(), basic(encoded)));
  });
  it('for resource in place of audience', async () =>
    good(await token({ ...client, audience: undefined, resource: auth.baseUrl })));
  it('for both, where they agree', async () => good(await token({ ...client, resource: auth.baseUrl })));
  it('with unknown fields ignored, whatever they are', async () =>
    good(await token({ ...client, client_assertion: 5, toString: null, extra: { deep: [] } })));
  it('with what is empty taken for left out', async () => good(await token({ ...client, scope: '', resource: '' })));
  it('for some of the scopes, in the order of the list', async () =>
    good(
      await token({ ...client, scope: 'webhooks:read  transfers:read webhooks:read' }),
      'transfers:read webhooks:read',
    ));
  it('for either of two secrets', async () => {
    const credentials = await auth.client();
    const { clientSecret } = await rotateSecret(auth.database, OPERATOR, credentials.client_id);
    good(await token(credentials));
    good(await token({ ...credentials, client_secret: clientSecret.reveal() }));
  });
  it('that opens the API', async () => {
    const { access_token } = (await token(client)).body;
    const headers = { Authorization: `Bearer ${access_token}`, ...from() };
    expect((await auth.api.call('GET', '/webhook-endpoints', { headers })).status).toBe(200);
  });
});

describe('a request is invalid', () => {
  it.each([['client_id'], ['client_secret'], ['grant_type'], ['audience']])('without %s', async (field) => {
    for (const value of [undefined, '']) {
      expect(refusal(await token({ ...client, [field]: value }))).toEqual([400, 'invalid_request']);
    }
  });

  it.each(['client_id', 'client_secret', 'grant_type', 'audience', 'resource', 'scope'])(
    'where %s is no text',
    async (field) => {
      for (const value of [null, 0, 1, true, [], ['a'], {}]) {
        expect(refusal(await token({ ...client, [field]: value }))).toEqual([400, 'invalid_request']);
      }
    },
  );

  it.each(['client_id', 'client_secret', 'grant_type', 'audience', 'scope', 'resource'])(
    'where %s is repeated',
    async (field) => {
      const fields = { ...client, grant_type: 'client_credentials', audience: auth.baseUrl };
      const json = JSON.stringify(fields).replace('{', `{"${field}":"x","${field}":"y",`);
      expect(refusal(await raw(json))).toEqual([400, 'invalid_request']);
      const body = `${new URLSearchParams(fields)}&${field}=x&${field}=x`;
      expect(refusal(await raw(body, FORM))).toEqual([400, 'invalid_request']);
    },
  );

  it.each<[string, string | Uint8Array, Record<string, string>]>([
    ['empty', '', {}],
    ['empty, as a form', '', FORM],
    ['no JSON', '{', {}],
    ['no object', '[]', {}],
    ['null', 'null', {}],
    ['no UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), {}],
    ['no UTF-8, as a form', Buffer.from([0x61, 0x3d, 0xff]), FORM],
    ['deep', '['.repeat(8_000), {}],
    ['text', 'x', { 'Content-Type': 'text/plain' }],
    ['multipart', 'x', { 'Content-Type': 'multipart/form-data; boundary=x' }],
    ['of no type', 'x', { 'Content-Type': '' }],
    ['JSON called a form', '{"client_id":"x"}', FORM],
    ['a form called JSON', 'client_id=x', {}],
    ['compressed', 'x', { 'Content-Encoding': 'gzip' }],
  ])('whose body is %s', async (_, body, headers) => {
    expect(refusal(await raw(body, headers))).toEqual([400, 'invalid_request']);
  });

  it('that authenticates in two ways', async () => {
    expect(refusal(await token(client, basic(client)))).toEqual([400, 'invalid_request']);
    expect(refusal(await token({ client_id: newId() }, basic(client)))).toEqual([400, 'invalid_request']);
  });

  it('with credentials in the query', async () => {
    const path = `/oauth/token?${new URLSearchParams({ ...client })}`;
    const json = { grant_type: 'client_credentials', audience: auth.baseUrl };
    expect(refusal(await auth.api.call('POST', path, { json }))).toEqual([400, 'invalid_request']);
  });

  it('with more than 8 KiB, and is not with 8 KiB', async () => {
    const fields = new URLSearchParams({ ...client, ...grant(), extra: '' }).toString();
    const sized = (bytes: number) => raw(fields.padEnd(bytes, 'x'), FORM);
    expect(refusal(await sized(8_193))).toEqual([413, 'invalid_request']);
    expect((await sized(8_192)).status).toBe(200);
    expect(refusal(await token({ ...client, extra: 'x'.repeat(8_192) }))).toEqual([413, 'invalid_request']);
  });

  it.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('by %s', async (method) => {
    const reply = await auth.api.call(method, '/oauth/token', { headers: from() });
    expect(refusal(reply)).toEqual([405, 'invalid_request']);
    expect(reply.headers.get('allow')).toBe('POST');
  });
});

it.each(['password', 'authorization_code', 'CLIENT_CREDENTIALS', 'client_credentials ', '\0'])(
  'grant_type %j is not supported',
  async (grant_type) => {
    expect(refusal(await token({ ...client, grant_type }))).toEqual([400, 'unsupported_grant_type']);
  },
);

it.each(['https://api.example.com', 'x', '\0', 'http://127.0.0.1'])('audience %j is unknown', async (audience) => {
  expect(refusal(await token({ ...client, audience }))).toEqual([400, 'invalid_target']);
  expect(refusal(await token({ ...client, audience: undefined, resource: audience }))).toEqual([400, 'invalid_target']);
  expect(refusal(await token({ ...client, resource: audience }))).toEqual([400, 'invalid_target']);
});

it.each([
  'operator',
  'transfers:read operator',
  'unknown',
  'TRANSFERS:READ',
  '\0',
  'transfers:read,webhooks:read',
  '"',
])('scope %j is not granted', async (scope) => {
  expect(refusal(await token({ ...client, scope }))).toEqual([400, 'invalid_scope']);
});

describe('one and the same 401', () => {
  const cases: [string, () => Promise<Reply>][] = [
    ['a wrong secret', () => token({ ...client, client_secret: 'wrong' })],
    ['an unknown client', () => token({ ...client, client_id: newId() })],
    ['a client_id that is no UUID', () => token({ ...client, client_id: 'x' })],
    ['NUL in client_id', () => token({ ...client, client_id: '\0' })],
    ['NUL in client_secret', () => token({ ...client, client_secret: `${client.client_secret}\0` })],
    ['a lone surrogate', () => token({ ...client, client_secret: '\ud800' })],
    ['a secret in other case', () => token({ ...client, client_secret: client.client_secret.toUpperCase() })],
    ['an empty secret by Basic', () => form(grant(), basic({ ...client, client_secret: '' }))],
    ['a wrong secret by Basic', () => form(grant(), basic({ ...client, client_secret: 'wrong' }))],
    ['a Basic header that is no base64', () => form(grant(), { Authorization: 'Basic !!!' })],
    ['a Basic header with no colon', () => form(grant(), { Authorization: `Basic ${btoa('x')}` })],
    ['a Basic header with bad encoding', () => form(grant(), { Authorization: `Basic ${btoa('%zz:%zz')}` })],
    ['another scheme', () => form(grant(), { Authorization: 'Bearer x' })],
    [
      'a revoked client',
      async () => {
        const credentials = await auth.client();
        await revokeClient(auth.database, OPERATOR, credentials.client_id);
        return token(credentials);
      },
    ],
    [
      'a revoked secret',
      async () => {
        const credentials = await auth.client();
        const { secrets } = await showClient(auth.database, credentials.client_id);
        await revokeSecret(auth.database, OPERATOR, credentials.client_id, secrets[0]!.id);
        return token(credentials);
      },
    ],
    [
      'an expired secret',
      async () => {
        const credentials = await auth.client();
        await rotateSecret(auth.database, OPERATOR, credentials.client_id, { expireOldIn: 0 });
        return token(credentials);
      },
    ],
    [
      'a revoked client from outside of its networks',
      async () => {
        const credentials = await auth.client({ networks: ['10.0.0.0/8'] });
        await revokeClient(auth.database, OPERATOR, credentials.client_id);
        return token(credentials);
      },
    ],
  ];

  it.each(cases)('for %s', async (_, ask) => {
    const reply = await ask();
    expect(refusal(reply)).toEqual([401, 'invalid_client']);
    expect(reply.headers.get('www-authenticate')).toMatch(/^Basic realm="/);
    expect(reply.body.error_description).toBe('The client is unknown or its secret is wrong.');
  });
});

it('outside of its networks a client is denied, and only who knows its secret learns so', async () => {
  const credentials = await auth.client({ networks: ['203.0.113.0/24'] });
  expect((await token(credentials, from('203.0.113.9'))).status).toBe(200);
  expect((await token(credentials, from('::ffff:203.0.113.9'))).status).toBe(200);
  expect(refusal(await token(credentials, from('198.51.100.9')))).toEqual([403, 'access_denied']);
  const wrong = { ...credentials, client_secret: 'wrong' };
  expect(refusal(await token(wrong, from('198.51.100.9')))).toEqual([401, 'invalid_client']);
});

it('no text anywhere makes a fault', async () => {
  const text = fc.string({ unit: 'binary', maxLength: 60 });
  const fields = fc.record(
    { client_id: text, client_secret: text, grant_type: text, audience: text, scope: text, resource: text },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fields, fc.boolean(), fc.boolean(), async (made, asForm, known) => {
      const sent = known ? { ...client, grant_type: 'client_credentials', ...made } : made;
      const reply = asForm ? await form(sent as Record<string, string>) : await token(sent);
      expect(reply.status).toBeLessThan(500);
    }),
    { numRuns: 150 },
  );
});

describe('failed authentications', () => {
  const wrong = () => ({ ...client, client_secret: 'wrong' });

  it('are 100 a minute for an address, also when they come at once, and lock out nobody elsewhere', async () => {
    const here = from('192.0.2.50');
    const replies = await Promise.all(Array.from({ length: 120 }, () => token(wrong(), here)));
    const limited = replies.filter(({ status }) => status === 429);
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(100);
    expect(limited).toHaveLength(20);
    for (const reply of limited) {
      expect(refusal(reply)).toEqual([429, 'temporarily_unavailable']);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(reply.headers.get('retry-after'))).toBeLessThanOrEqual(60);
    }
    expect((await token(wrong(), here)).status).toBe(429);
    expect((await token(client, from('192.0.2.51'))).status).toBe(200);
  });

  it('cost nothing more once they are too many', async () => {
    const here = from('192.0.2.60');
    await Promise.all(Array.from({ length: 101 }, () => token(wrong(), here)));
    store.statements.length = 0;
    expect((await token(wrong(), here)).status).toBe(429);
    expect(store.statements).toEqual([]);
  });

  it('do not count successes or requests that are invalid', async () => {
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

  it('count a whole /64 of IPv6 as one address', async () => {
    const host = (n: number) => from(`2001:db8:beef:1::${n.toString(16)}`);
    await Promise.all(Array.from({ length: 100 }, (_, n) => token(wrong(), host(n + 1))));
    expect((await token(client, host(5_000))).status).toBe(429);
    expect((await token(client, from('2001:db8:beef:2::1'))).status).toBe(200);
  });
});

describe('a client that asks for too many tokens', () => {
  it('gets 429 with Retry-After, whatever others get', async () => {
    const eager = await auth.client();
    let limited: Reply | undefined;
    // On a slow machine a burst may take seconds, and each second allows 20 more.
    for (let burst = 0; !limited && burst < 20; burst++) {
      const replies = await Promise.all(Array.from({ length: 50 }, () => token(eager)));
      limited = replies.find(({ status }) => status !== 200);
    }
    if (!limited) throw new Error('1,000 tokens and no 429');
    expect(refusal(limited)).toEqual([429, 'temporarily_unavailable']);
    expect(limited.headers.get('retry-after')).toBe('1');
    expect((await token(await auth.client())).status).toBe(200);
  });

  it('uses up nothing by requests that are refused for another reason', async () => {
    const client = await auth.client();
    const invalid = await Promise.all(Array.from({ length: 30 }, () => token({ ...client, audience: 'x' })));
    expect(new Set(invalid.map(({ status }) => status))).toEqual(new Set([400]));
    expect((await token(client)).status).toBe(200);
  });

  it('is told of a wrong secret all the same: the limit counts those who have shown theirs', async () => {
    const eager = await auth.client();
    const wrong = await Promise.all(Array.from({ length: 30 }, () => token({ ...eager, client_secret: 'wrong' })));
    expect(new Set(wrong.map(({ status }) => status))).toEqual(new Set([401]));
    expect((await token(eager)).status).toBe(200);
  });
});

describe('the log names who asks for a token', () => {
  const lineOf = async (asking: Promise<Reply>) => {
    const id = (await asking).headers.get('x-request-id');
    return lines.find(({ request_id }) => request_id === id);
  };

  it('with the client and the secret, once they are known', async () => {
    const { secrets } = await showClient(auth.database, client.client_id);
    const known = { client_id: client.client_id, secret_id: secrets[0]?.id };
    expect(await lineOf(token(client))).toMatchObject({ status: 200, ...known });
    expect(await lineOf(form(grant(), basic(client)))).toMatchObject({ status: 200, ...known });
    expect(await lineOf(token({ ...client, scope: 'x' }))).toMatchObject({ status: 400, ...known });
    const { access_token } = (await token(client)).body;
    const headers = { Authorization: `Bearer ${access_token}`, ...from() };
    expect(await lineOf(auth.api.call('GET', '/transfers', { headers }))).toMatchObject({ status: 200, ...known });
  });

  it('also where a right secret comes from outside of the networks', async () => {
    const inside = await auth.client({ networks: ['10.0.0.0/8'] });
    const { secrets } = await showClient(auth.database, inside.client_id);
    expect(await lineOf(token(inside))).toMatchObject({
      ...{ status: 403, client_id: inside.client_id, secret_id: secrets[0]?.id },
    });
  });

  it('with what is claimed where the secret is wrong, if it has the form of an id, and never a secret', async () => {
    const wrong = await lineOf(token({ ...client, client_secret: 'a-wrong-secret' }));
    expect(wrong).toMatchObject({ status: 401, client_id: client.client_id });
    expect(wrong?.secret_id).toBeUndefined();
    const odd = await lineOf(token({ client_id: `${client.client_id}\n${'x'.repeat(4_000)}`, client_secret: 'x' }));
    expect(odd).toMatchObject({ status: 401 });
    expect(odd?.client_id).toBeUndefined();
    const text = JSON.stringify(lines);
    for (const hidden of ['a-wrong-secret', client.client_secret]) expect(text).not.toContain(hidden);
  });
});

it('with the database away the answer is 503, and says when to come back', async () => {
  store.breakWith(() => Promise.reject(new Error('connection refused')));
  try {
    const reply = await token(client);
    expect(refusal(reply)).toEqual([503, 'temporarily_unavailable']);
    expect(reply.headers.get('retry-after')).toBe('1');
  } finally {
    store.breakWith(undefined);
  }
  expect((await token(client)).status).toBe(200);
});

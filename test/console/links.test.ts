import { describe, expect, test } from '@jest/globals';
import { changeClient } from '../../src/auth/clients.js';
import { makeOperatorLink } from '../../src/auth/console-sessions.js';
import { revokeSigningKey } from '../../src/auth/signing-keys.js';
import { openApi } from '../support/api.js';
import { type Credentials, openAuthApi } from '../support/auth-api.js';
import { consoleBrowser, operatorBrowser, signedInBrowser } from '../support/console.js';
import { OPERATOR } from '../support/factories.js';
import { setUses } from '../support/limits.js';

const env = { TRUSTED_PROXIES: '127.0.0.0/8' };
const auth = await openAuthApi({ env });
const { authority, database } = auth;
/** A second process of the API. */
const second = await openApi({ env: { ...env, BASE_URL: auth.baseUrl }, database, dependencies: { authority } });

const browser = (url = auth.api.url) => consoleBrowser({ url, baseUrl: auth.baseUrl });

async function bearer(credentials: Credentials, scope?: string): Promise<Record<string, string>> {
  const { body } = await auth.token({ ...credentials, ...(scope !== undefined && { scope }) });
  return { Authorization: `Bearer ${body.access_token}` };
}

const ask = (headers: Record<string, string>, json: unknown = {}) =>
  auth.api.call('POST', '/console-sessions', { json, headers });

async function makeLink(credentials: Credentials, json: unknown = {}, scope?: string) {
  const { status, body } = await ask(await bearer(credentials, scope), json);
  expect(status).toBe(201);
  const { pathname, hash } = new URL(body.url);
  return { path: pathname, code: hash.slice(1), expiresAt: new Date(body.expires_at), url: body.url as string };
}

describe('POST /console-sessions', () => {
  test('makes a link with the code in the fragment, for 5 minutes and for a viewer by default', async () => {
    const credentials = await auth.client();
    const { url, code, expiresAt } = await makeLink(credentials);
    expect(url).toMatch(new RegExp(`^${auth.baseUrl}/console/sign-in/[0-9a-f-]{36}#[\\w-]{43}$`));
    expect(Math.abs(expiresAt.getTime() - Date.now() - 300_000)).toBeLessThan(30_000);
    const [row] = await auth.database.prisma.consoleCode.findMany({ where: { clientId: credentials.client_id } });
    expect(row).toMatchObject({ role: 'viewer', scopes: ['transfers:read', 'webhooks:read'] });
    expect(Buffer.from(row!.codeHash).toString('base64url')).not.toBe(code);
    expect(row!.codeHash).toHaveLength(32);
  });

  test('ignores Idempotency-Key, and stores nothing under it', async () => {
    const headers = { ...(await bearer(await auth.client())), 'Idempotency-Key': 'same' };
    const [one, other] = [await ask(headers), await ask(headers, { role: 'editor' })];
    expect([one.status, other.status]).toEqual([201, 201]);
    expect(one.body.url).not.toBe(other.body.url);
    expect(other.headers.get('idempotency-replayed')).toBeNull();
    expect(await auth.database.prisma.idempotencyKey.count()).toBe(0);
  });

  test('gives no link to an operator, nor to a viewer who could see nothing', async () => {
    const operator = await auth.client({ scopes: ['operator'] });
    expect((await ask(await bearer(operator))).body).toMatchObject({ status: 403, code: 'insufficient_scope' });
    const writing = await bearer(await auth.client(), 'webhooks:write');
    expect((await ask(writing)).body).toMatchObject({ status: 403, code: 'insufficient_scope' });
  });

  test('gives at most 20 open links to a client, also for concurrent requests', async () => {
    const credentials = await auth.client();
    const headers = await bearer(credentials);
    const replies = await Promise.all(Array.from({ length: 25 }, () => ask(headers)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(20);
    const refused = replies.find(({ status }) => status === 429)!;
    expect(refused.body.code).toBe('console_link_limit_reached');
    const wait = Number(refused.headers.get('retry-after'));
    expect(wait).toBeGreaterThan(200);
    expect(wait).toBeLessThanOrEqual(300);
    const { pathname, hash } = new URL(replies.find(({ status }) => status === 201)!.body.url);
    await browser().post(pathname, { code: hash.slice(1) });
    expect((await ask(headers)).status).toBe(201);
    expect((await ask(await bearer(await auth.client()))).status).toBe(201);
  });

  // 20 open links of a client made `clients console-link` fail.
  test("does not count the operator's links, nor the operator's sign-ins, which a client cannot block", async () => {
    const credentials = await auth.client();
    const { client_id: id } = credentials;
    const operatorLink = () => makeOperatorLink(auth.database, OPERATOR, auth.baseUrl, id, 'viewer');
    const headers = await bearer(credentials);
    for (let i = 0; i < 20; i++) expect((await ask(headers)).status).toBe(201);
    expect((await ask(headers)).status).toBe(429);
    const links = [];
    for (let i = 0; i < 20; i++) links.push(await operatorLink());
    await expect(operatorLink()).rejects.toMatchObject({ code: 'console_link_limit_reached' });
    await setUses(auth.database, 'console-sign-ins', id, 60);
    expect((await browser().post('/console/sign-in', credentials)).status).toBe(429);
    const { pathname, hash } = new URL(links[0]?.url ?? '');
    expect((await browser().post(pathname, { code: hash.slice(1) })).status).toBe(303);
    // Used by the operator, the link made room for one of the operator's, and none of the client's.
    await operatorLink();
    expect((await ask(headers)).status).toBe(429);
  });

  // Twenty sign-ins of a client ended the operator's session.
  test("leaves the operator's session alone: a client's sign-ins do not end it", async () => {
    const credentials = await auth.client();
    const operator = await operatorBrowser(auth, credentials.client_id);
    for (let i = 0; i < 25; i++) await signedInBrowser(auth, credentials);
    expect((await operator.get('/console/settings')).status).toBe(200);
  });
});

describe('a link', () => {
  test('is exchanged once, even by simultaneous requests to two processes', async () => {
    const credentials = await auth.client();
    for (let round = 0; round < 5; round++) {
      const { path, code } = await makeLink(credentials);
      const people = Array.from({ length: 8 }, (_, index) => browser(index % 2 ? second.url : auth.api.url));
      const replies = await Promise.all(people.map((person) => person.post(path, { code })));
      expect(replies.map(({ status }) => status).sort()).toEqual([303, ...Array(7).fill(401)]);
      expect(people.filter(({ cookie }) => cookie !== undefined)).toHaveLength(1);
    }
    expect(await auth.database.prisma.consoleSession.count({ where: { clientId: credentials.client_id } })).toBe(5);
  });

  test('accepts only its own code, pasted with or without the rest of the link', async () => {
    const credentials = await auth.client();
    const [one, other] = [await makeLink(credentials), await makeLink(credentials)];
    const wrong = await browser().post(one.path, { code: other.code });
    expect(wrong.status).toBe(401);
    expect(wrong.text).not.toContain(other.code);
    expect((await browser().post(one.path, { code: one.url })).status).toBe(303);
    expect((await browser().post(other.path, { code: ` ${other.code}\n` })).status).toBe(303);
  });

  test("works only from its client's networks, and still works after a rejection", async () => {
    const credentials = await auth.client();
    const { path, code } = await makeLink(credentials);
    await changeClient(auth.database, OPERATOR, credentials.client_id, { networks: ['203.0.113.0/24'] });
    expect((await browser().post(path, { code }, { 'X-Forwarded-For': '198.51.100.1' })).status).toBe(403);
    expect((await browser().post(path, { code }, { 'X-Forwarded-For': '203.0.113.1' })).status).toBe(303);
  });

  test('passes on the scopes of its token and no more', async () => {
    const credentials = await auth.client();
    const { path, code } = await makeLink(credentials, { role: 'editor' }, 'webhooks:write');
    await browser().post(path, { code });
    const session = await auth.database.prisma.consoleSession.findFirstOrThrow({
      where: { clientId: credentials.client_id },
    });
    expect(session.scopes).toEqual(['webhooks:write']);
  });

  test('of a client that has since lost a scope gives a session without it', async () => {
    const credentials = await auth.client();
    const { path, code } = await makeLink(credentials, { role: 'editor' });
    const scopes = ['transfers:read', 'operator'];
    await auth.database.prisma.client.update({ where: { id: credentials.client_id }, data: { scopes } });
    const person = browser();
    await person.post(path, { code });
    const { text } = await person.get('/console/settings');
    expect(text).toContain('<dd>transfers:read</dd>');
    const overview = await person.get('/console');
    expect(overview.headers.get('location')).toMatch(/^\/console\/(transfers|settings)$/);
  });

  test('ends with its session when a signing key was stolen, since a forged token may have made it', async () => {
    const credentials = await auth.client();
    const [used, open] = [await makeLink(credentials), await makeLink(credentials)];
    const [byLink, byCredentials] = [browser(), await signedInBrowser(auth, credentials)];
    await byLink.post(used.path, { code: used.code });
    const [key] = await auth.database.prisma.signingKey.findMany({ where: { retiredAt: null } });
    await revokeSigningKey(auth.database, OPERATOR, auth.api.dependencies.masterKeys, key!.kid);
    expect((await byLink.get('/console')).status).toBe(303);
    expect((await browser().post(open.path, { code: open.code })).status).toBe(401);
    expect((await byCredentials.get('/console')).status).toBe(200);
  });
});

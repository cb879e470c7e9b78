import { expect, test } from '@jest/globals';
import { CLIENT_SCOPES } from '../../src/auth/caller.js';
import { isForm } from '../../src/console/page.js';
import { declared } from '../../src/console/pages/index.js';
import { listEntries } from '../../src/platform/audit.js';
import { newId } from '../../src/platform/ids.js';
import { openAuthApi } from '../support/auth-api.js';
import { consoleBrowser, signedInBrowser } from '../support/console.js';

const auth = await openAuthApi();

const browser = () => consoleBrowser({ url: auth.api.url, baseUrl: auth.baseUrl });

test('a wrong secret and an unknown client get the same page, without the secret', async () => {
  const { client_id } = await auth.client();
  const wrong = await browser().post('/console/sign-in', { client_id, client_secret: 'hunter2hunter2' });
  const nobody = newId();
  const unknown = await browser().post('/console/sign-in', { client_id: nobody, client_secret: 'hunter2hunter2' });
  expect([wrong.status, unknown.status]).toEqual([401, 401]);
  expect(wrong.text.replace(client_id, nobody)).toBe(unknown.text);
  expect(wrong.text).not.toContain('hunter2');
});

const forms = declared.filter(isForm);
const pages = declared.filter((one) => !isForm(one));

const pathOf = ({ path }: { path: string }) =>
  path.replace(/{(\w+)}/g, (_, name) => (name === 'number' ? '1' : newId()));

test.each(CLIENT_SCOPES)('pages and forms of other scopes reject a session with %s alone', async (scope) => {
  const session = await signedInBrowser(auth, await auth.client({ scopes: [scope] }));
  for (const page of [...pages, ...forms]) {
    const send = isForm(page) ? session.post : session.get;
    const { status, headers } = await send(pathOf(page));
    const permitted = page.scope === null || page.scope === scope;
    if (page.path === '/console' && scope !== 'webhooks:read') {
      expect(headers.get('location')).toMatch(/^\/console\/(transfers|settings)$/);
    } else if (!permitted) expect([page.path, status]).toEqual([page.path, 403]);
    // A page that also reads with another scope may reject too; it never fails.
    else expect([page.path, status < 500]).toEqual([page.path, true]);
  }
});

test('tells a browser that blocks cookies so, when it comes back from the sign-in without one', async () => {
  const { call } = auth.api;
  const Referer = `${auth.baseUrl}/console/sign-in?next=%2Fconsole`;
  const { headers } = await call('GET', '/console/settings', { headers: { Referer } });
  expect(headers.get('location')).toBe('/console/sign-in?next=%2Fconsole%2Fsettings&cookie=missing');
  const { text } = await call('GET', headers.get('location') ?? '');
  expect(text).toContain(`blocks the cookies of this site. Allow them for ${auth.baseUrl}.`);
});

test('without a session every page leads to the sign-in, and no form does anything', async () => {
  const nobody = consoleBrowser({ url: auth.api.url, baseUrl: auth.baseUrl });
  for (const page of declared) {
    const send = isForm(page) ? nobody.post : nobody.get;
    const { status, headers } = await send(pathOf(page));
    expect([page.path, status]).toEqual([page.path, 303]);
    expect(headers.get('location')).toMatch(/^\/console\/sign-in(\?next=|$)/);
  }
});

test('links, sign-ins, ended sessions and sign-outs are audit entries without a code or a cookie', async () => {
  const credentials = await auth.client();
  const { client_id } = credentials;
  const { body } = await auth.token(credentials);
  const made = await auth.api.call('POST', '/console-sessions', {
    json: {},
    headers: { Authorization: `Bearer ${body.access_token}` },
  });
  const { pathname, hash } = new URL(made.body.url);
  const viewer = consoleBrowser({ url: auth.api.url, baseUrl: auth.baseUrl });
  await viewer.post(pathname, { code: hash.slice(1) });
  const editor = await signedInBrowser(auth, credentials);
  const sessions = await auth.database.prisma.consoleSession.findMany({
    where: { clientId: client_id },
    orderBy: { id: 'asc' },
  });
  const [viewing, editing] = sessions.map(({ id }) => id);
  await editor.post(`/console/sessions/${viewing}/end`);
  await editor.post('/console/sign-out');

  const newest = await listEntries(auth.database, { action: 'console', take: 10 });
  const entries = newest.filter((entry) => entry.actor.endsWith(client_id));
  const link = pathname.split('/').at(-1);
  const secret_id = sessions[0]?.secretId;
  const byViewer = { session: viewing, role: 'viewer', address: '127.0.0.1', signed_in_by: 'link', link };
  const byEditor = { session: editing, role: 'editor', address: '127.0.0.1', signed_in_by: 'credentials' };
  const actor = `console:${client_id}`;
  expect(entries.map(({ id, at, databaseRole, ...entry }) => entry)).toEqual([
    { actor, action: 'console.sign-out', target: client_id, details: byEditor },
    { actor, action: 'console.end-session', target: viewing, details: { ...byEditor, reason: 'by_hand' } },
    { actor, action: 'console.sign-in', target: client_id, details: byEditor },
    { actor, action: 'console.sign-in', target: client_id, details: byViewer },
    {
      actor: `client:${client_id}`,
      action: 'console.link',
      target: client_id,
      details: { link, role: 'viewer', expires_at: made.body.expires_at, secret_id },
    },
  ]);
});

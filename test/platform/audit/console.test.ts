import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { listEntries } from '../../../src/platform/audit.js';
import { type AuthApi, startAuthApi } from '../../support/auth-api.js';
import { consoleBrowser, signedInBrowser } from '../../support/console.js';

let auth: AuthApi;
beforeAll(async () => {
  auth = await startAuthApi();
});
afterAll(() => auth.close());

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
  const sessions = await auth.database.prisma.consoleSession.findMany({ orderBy: { id: 'asc' } });
  const [viewing, editing] = sessions.map(({ id }) => id);
  await editor.post(`/console/sessions/${viewing}/end`);
  await editor.post('/console/sign-out');

  const entries = await listEntries(auth.database, { action: 'console', take: 10 });
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

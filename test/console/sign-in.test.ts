import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../src/platform/ids.js';
import { type AuthApi, startAuthApi } from '../support/auth-api.js';
import { consoleBrowser, signedInBrowser } from '../support/console.js';

let auth: AuthApi;
beforeAll(async () => {
  auth = await startAuthApi();
});
afterAll(() => auth.close());

const browser = () => consoleBrowser({ url: auth.api.url, baseUrl: auth.baseUrl });

test('a sign-in with credentials opens the overview, which names client and environment', async () => {
  const session = await signedInBrowser(auth, await auth.client({ name: 'Acme <Ltd>' }));
  const { status, text } = await session.get('/console');
  expect(status).toBe(200);
  expect(text).toContain('<h1>Overview</h1>');
  expect(text).toContain('Acme &lt;Ltd>');
  expect(text).toContain('sandbox');
});

test('a wrong secret and an unknown client get the same page, without the secret', async () => {
  const { client_id } = await auth.client();
  const wrong = await browser().post('/console/sign-in', { client_id, client_secret: 'hunter2hunter2' });
  const nobody = newId();
  const unknown = await browser().post('/console/sign-in', { client_id: nobody, client_secret: 'hunter2hunter2' });
  expect([wrong.status, unknown.status]).toEqual([401, 401]);
  expect(wrong.text.replace(client_id, nobody)).toBe(unknown.text);
  expect(wrong.text).not.toContain('hunter2');
});

test('a secret that was typed in the field of the client id is not echoed', async () => {
  const swapped = { client_id: 'hunter2hunter2', client_secret: newId() };
  const { status, text } = await browser().post('/console/sign-in', swapped);
  expect(status).toBe(401);
  expect(text).not.toContain('hunter2');
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CLIENT_SCOPES } from '../../src/auth/caller.js';
import { isForm } from '../../src/console/page.js';
import { declared } from '../../src/console/pages/index.js';
import { newId } from '../../src/platform/ids.js';
import { type AuthApi, startAuthApi } from '../support/auth-api.js';
import { consoleBrowser, signedInBrowser } from '../support/console.js';

let auth: AuthApi;
beforeAll(async () => {
  auth = await startAuthApi();
});
afterAll(() => auth.close());

const forms = declared.filter(isForm);
const pages = declared.filter((one) => !isForm(one));
const pathOf = ({ path }: { path: string }) =>
  path.replace(/{(\w+)}/g, (_, name) => (name === 'number' ? '1' : newId()));

test('every form that changes something rejects a viewer', async () => {
  const viewer = await signedInBrowser(auth, await auth.client(), { role: 'viewer' });
  const changing = forms.filter(({ scope }) => scope !== null);
  expect(changing.length).toBeGreaterThan(5);
  for (const form of changing) {
    const { status, text } = await viewer.post(pathOf(form));
    expect([form.path, status]).toEqual([form.path, 403]);
    expect(text).toContain('Your session lacks the scope');
  }
});

test('the only forms that every session may send end sessions', () => {
  expect(forms.filter(({ scope }) => scope === null).map(({ path }) => path)).toEqual(['/console/sessions/{id}/end']);
});

test.each(CLIENT_SCOPES)('pages and forms of other scopes reject a session with %s alone', async (scope) => {
  const session = await signedInBrowser(auth, await auth.client({ scopes: [scope] }));
  for (const page of [...pages, ...forms]) {
    const send = isForm(page) ? session.post : session.get;
    const { status, headers } = await send(pathOf(page));
    const permitted = page.scope === null || page.scope === scope;
    if (page.path === '/console' && !permitted) {
      expect(headers.get('location')).toMatch(/^\/console\/\w+$/);
    } else if (!permitted) expect([page.path, status]).toEqual([page.path, 403]);
    // A page that also reads with another scope may reject too; it never fails.
    else expect([page.path, status < 500]).toEqual([page.path, true]);
  }
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

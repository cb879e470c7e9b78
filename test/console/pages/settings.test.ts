import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type AuthApi, startAuthApi } from '../../support/auth-api.js';
import { signedInBrowser } from '../../support/console.js';

let auth: AuthApi;
beforeAll(async () => {
  auth = await startAuthApi();
});
afterAll(() => auth?.close());

test('the settings name both conditions that disable a failing endpoint', async () => {
  const browser = await signedInBrowser(auth, await auth.client());
  const { text } = await browser.get('/console/settings');
  expect(text).toContain('Disabled after 5 days without a success, if at least two deliveries are exhausted');
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../src/platform/ids.js';
import { type AuthApi, startAuthApi } from '../support/auth-api.js';
import { runCommand } from '../support/command.js';
import { consoleBrowser } from '../support/console.js';

let auth: AuthApi;
let env: Record<string, string>;
beforeAll(async () => {
  auth = await startAuthApi();
  env = { DATABASE_URL: auth.database.url.reveal(), BASE_URL: auth.baseUrl };
});
afterAll(() => auth.close());

const consoleLink = (...args: string[]) => runCommand(['clients', 'console-link', ...args], env);

test("clients console-link makes a link with the client's scopes, which the audit names", async () => {
  const { client_id } = await auth.client({ name: 'Acme', scopes: ['webhooks:read', 'webhooks:write'] });
  for (const [args, scopes] of [
    [[], 'webhooks:read webhooks:write'],
    [['--viewer'], 'webhooks:read'],
  ] as const) {
    const { code, stdout } = await consoleLink(client_id, ...args, '--json');
    expect(code).toBe(0);
    const { url, expires_at } = JSON.parse(stdout);
    expect(Date.parse(expires_at)).toBeGreaterThan(Date.now());
    const { pathname, hash } = new URL(url);
    const person = consoleBrowser({ url: auth.api.url, baseUrl: auth.baseUrl });
    expect((await person.post(pathname, { code: hash.slice(1) })).status).toBe(303);
    const { text } = await person.get('/console/settings');
    expect(text).toContain(`<dd>${scopes}</dd>`);
    expect(text).toContain('operator-link');
  }
  const { stdout } = await runCommand(
    ['audit', 'list', '--target', client_id, '--action', 'console.link', '--json'],
    env,
  );
  expect(JSON.parse(stdout)).toMatchObject([
    { actor: expect.stringMatching(/^cli:/), details: { role: 'viewer' } },
    { actor: expect.stringMatching(/^cli:/), details: { role: 'editor' } },
  ]);
  expect(stdout).not.toContain('#');
});

test('clients console-link states why it cannot make a link', async () => {
  const revoked = await auth.client();
  await runCommand(['clients', 'revoke', revoked.client_id, '--yes'], env);
  for (const [id, reason] of [
    [newId(), 'There is no such client.'],
    [revoked.client_id, 'The client is revoked.'],
  ] as const) {
    const { code, stderr } = await consoleLink(id);
    expect([code, stderr]).toEqual([1, expect.stringContaining(reason)]);
  }
  const { code, stderr } = await runCommand(['clients', 'console-link', newId()], {
    DATABASE_URL: env.DATABASE_URL as string,
    ENVIRONMENT: 'production',
  });
  expect([code, stderr]).toEqual([1, expect.stringContaining('BASE_URL: is not set')]);
});

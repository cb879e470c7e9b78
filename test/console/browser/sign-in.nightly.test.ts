import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { accessibilityViolations, describeInBrowser } from '../../support/browser.js';
import { type ConsoleService, startConsoleService } from '../../support/console-service.js';

describeInBrowser('signing in, in a browser', () => {
  let console: ConsoleService;
  beforeAll(async () => {
    console = await startConsoleService();
  });
  afterAll(() => console.close());

  const link = async (call: Awaited<ReturnType<ConsoleService['makeClient']>>['call'], role = 'viewer') =>
    (await call('POST', '/console-sessions', { role })).body.url as string;

  test('a link leaves no code in the address or the history, and opens a session by its button', async () => {
    const { call } = await console.makeClient({ name: 'Acme' });
    const visitor = await console.visitor();
    const { page } = visitor;
    const url = await link(call);
    const code = new URL(url).hash.slice(1);
    await page.goto(url);
    await page.waitForURL((address) => address.hash === '');
    expect(await page.evaluate('[location.href, history.length]')).toEqual([url.split('#')[0], 2]);
    await page.getByText('Acme').first().waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.content()).not.toContain(code);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL('**/console');
    await page.goBack();
    expect(page.url()).not.toContain(code);
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });
});

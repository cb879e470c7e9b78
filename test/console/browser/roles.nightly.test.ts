import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { accessibilityViolations, describeInBrowser, overflows, signIn } from '../../support/browser.js';
import { type ConsoleService, startConsoleService } from '../../support/console-service.js';
import { SECRET } from '../../support/transfers.js';

describeInBrowser('sessions and roles, in a browser', () => {
  let console: ConsoleService;
  beforeAll(async () => {
    console = await startConsoleService();
  });
  afterAll(() => console.close());

  test('a viewer finds no button that changes anything, on any page', async () => {
    const { credentials, call } = await console.client({ name: 'Acme' });
    await call('POST', '/webhook-endpoints', { url: `${console.baseUrl}/healthz`, secret: SECRET });
    const { body: transfer } = await call('POST', '/transfers', {
      amount: { value: 1, currency: 'EUR' },
      destination: { name: 'A', account: 'B' },
    });
    await call('POST', `/sandbox/transfers/${transfer.id}/status`, { status: 'PROCESSING' });
    const visitor = await console.visitor();
    const { page } = visitor;
    await signIn(visitor, credentials, { viewer: true });
    const visited = new Set<string>();
    const waiting = ['/console'];
    for (let path = waiting.pop(); path !== undefined && visited.size < 40; path = waiting.pop()) {
      visited.add(path);
      await page.goto(path);
      expect([path, await page.locator('form[method=post]').evaluateAll(actionsOf)]).toEqual([
        path,
        ['/console/sign-out'],
      ]);
      expect([path, await overflows(page)]).toEqual([path, false]);
      expect(await page.title()).toContain('Acme · sandbox');
      const html = await page.content();
      for (const secret of [SECRET, credentials.client_secret]) expect(html).not.toContain(secret);
      const links = (await page.locator('a[href^="/console"]').evaluateAll(linksOf)).filter(
        // The presets of times lead to the same pages.
        (link) => !visited.has(link) && !/created_after=|period=/.test(link),
      );
      waiting.push(...new Set(links.filter((link) => !waiting.includes(link))));
    }
    const sections = ['endpoints', 'events', 'deliveries', 'transfers', 'settings'].map((name) => `/console/${name}`);
    expect([...visited]).toEqual(expect.arrayContaining(['/console', ...sections]));
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  }, 240_000);

  test('an editor ends the session of a colleague, who is asked to sign in again', async () => {
    const { credentials } = await console.client({ name: 'Acme' });
    const [colleague, editor] = [await console.visitor(), await console.visitor()];
    await signIn(colleague, credentials, { viewer: true });
    await signIn(editor, credentials);
    await editor.page.goto('/console/settings');
    expect(await accessibilityViolations(editor.page)).toEqual([]);
    await editor.page.getByRole('button', { name: /^End/ }).click();
    await editor.page.getByRole('status').getByText('The session is ended.').waitFor();
    await colleague.page.goto('/console/settings');
    await colleague.page.getByRole('heading', { name: 'Sign in to the sandbox' }).waitFor();
    await signIn(colleague, credentials);
    expect([...editor.complaints, ...colleague.complaints]).toEqual([]);
    await Promise.all([colleague.close(), editor.close()]);
  });

  test('a link from another site opens the page that it names', async () => {
    const { credentials } = await console.client({ name: 'Acme' });
    const visitor = await console.visitor();
    const { page } = visitor;
    await signIn(visitor, credentials);
    // The same server under another name: for the browser, another site.
    const elsewhere = console.baseUrl.replace('127.0.0.1', 'localhost');
    await page.goto(`${elsewhere}/healthz`);
    await page.setContent(`<a href="${console.baseUrl}/console/settings">settings</a>`);
    await page.getByRole('link').click();
    await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
    await visitor.close();
  });

  test('a page of an unknown address names the client and leads back, by keyboard too', async () => {
    const { credentials } = await console.client({ name: 'Acme' });
    const visitor = await console.visitor();
    const { page } = visitor;
    await signIn(visitor, credentials);
    await page.goto('/console/nothing');
    expect(await page.title()).toBe('Not found · Acme · sandbox');
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent.trim()')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });
});

const actionsOf = (forms: { getAttribute(name: string): string | null }[]) =>
  forms.map((form) => form.getAttribute('action') ?? '');
const linksOf = (links: { getAttribute(name: string): string | null }[]) =>
  links.map((link) => (link.getAttribute('href') ?? '').split('#')[0] ?? '');

import type { Browser, Page } from 'playwright-core';
import { CLIENT_SCOPES } from '../../../src/auth/caller.js';
import { type AuthApi, type Credentials, startAuthApi } from '../../support/auth-api.js';
import { describeInBrowser, openVisitor, startBrowser, type Visitor } from '../../support/browser.js';
import { waitFor } from '../../support/wait-for.js';

let auth: AuthApi;
let browser: Browser;
let credentials: Credentials;
let open: Visitor | undefined;
const visit = async (path = '/docs', options = {}) => {
  open = await openVisitor(browser, auth.baseUrl, options);
  const requests: string[] = [];
  open.page.on('request', (request) => {
    const { protocol, pathname } = new URL(request.url());
    if (protocol === 'http:') requests.push(`${request.method()} ${pathname}`);
  });
  await open.page.goto(path);
  return { ...open, requests };
};

describeInBrowser('/docs in a browser', () => {
  beforeAll(async () => {
    [auth, browser] = await Promise.all([startAuthApi(), startBrowser()]);
    credentials = await auth.client();
  });
  afterAll(async () => {
    await browser.close();
    await auth.close();
  });
  afterEach(() => open?.close());

  it('shows the operations, and fetches nothing but its own files', async () => {
    const { page, complaints, requests } = await visit();
    for (const tag of ['Tokens', 'Webhook endpoints', 'Transfers', 'Events and deliveries', 'Sandbox']) {
      await page.getByText(tag, { exact: true }).first().waitFor();
    }
    await page.getByText('Get an access token').first().waitFor();
    expect(requests.sort()).toEqual([
      'GET /docs',
      'GET /docs/explorer.js',
      'GET /docs/swagger-ui.css',
      'GET /docs/swagger-ui.js',
    ]);
    expect(complaints).toEqual([]);
  });

  /** Gets a token with the dialog of the explorer. @returns the response of the token request */
  const authorize = async (page: Page) => {
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    await page.getByLabel('client_id').fill(credentials.client_id);
    await page.getByLabel('client_secret').fill(credentials.client_secret);
    const answered = page.waitForResponse((response) => new URL(response.url()).pathname === '/oauth/token');
    await page.getByRole('button', { name: 'Apply given OAuth2 credentials' }).first().click();
    const response = await answered;
    await page.getByRole('button', { name: 'Close' }).first().click();
    return response;
  };

  it('gets a token for all the scopes that it offers, and sends requests with it, with no parameter that the reader did not choose', async () => {
    const { page, complaints, requests } = await visit();
    const token = await authorize(page);
    expect((await token.json()).scope.split(' ').sort()).toEqual([...CLIENT_SCOPES].sort());

    const send = async (operationId: string, path: string) => {
      const operation = page.locator(`[id$="-${operationId}"]`);
      await operation.locator('.opblock-summary-control').click();
      const answered = page.waitForResponse((response) => new URL(response.url()).pathname === path);
      await operation.getByRole('button', { name: 'Execute' }).click();
      const response = await answered;
      await operation.locator('.live-responses-table').getByText(String(response.status())).first().waitFor();
      return response;
    };
    const created = await send('createTransfer', '/transfers');
    expect([created.status(), await created.request().headerValue('idempotency-key')]).toEqual([201, null]);
    const listed = await send('listTransfers', '/transfers');
    expect([listed.status(), new URL(listed.url()).search]).toEqual([200, '']);
    expect((await listed.json()).data).toHaveLength(1);
    expect(requests.slice(4)).toEqual(['POST /oauth/token', 'POST /transfers', 'GET /transfers']);
    expect(complaints).toEqual([]);
  });

  it('cannot reach the console, nor another origin', async () => {
    const { page, complaints } = await visit();
    const outcome = (url: string) =>
      page.evaluate(`fetch(${JSON.stringify(url)}).then(() => 'answered', () => 'refused')`);
    expect(await outcome('/healthz')).toBe('answered');
    for (const url of ['/console', '/console/assets/live.js', '/console-sessions', 'https://example.com/']) {
      expect([url, await outcome(url)]).toEqual([url, 'refused']);
    }
    const refused = () => complaints.filter((complaint) => complaint.startsWith('policy: connect-src')).length;
    await waitFor('four reports', () => refused() === 4);
  });
});

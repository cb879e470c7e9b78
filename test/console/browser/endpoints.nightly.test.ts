import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { accessibilityViolations, describeInBrowser, overflows, signIn } from '../../support/browser.js';
import type { Caller } from '../../support/caller.js';
import { type ConsoleService, startConsoleService } from '../../support/console-service.js';
import { ENDPOINT_SECRET } from '../../support/factories.js';

type Visitor = Awaited<ReturnType<ConsoleService['visitor']>>;

describeInBrowser('endpoints, in a browser', () => {
  let service: ConsoleService;
  let receiver: Server;
  let url: string;
  /** The status of the receiver's responses. */
  const answer = 204;

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      request.resume().on('end', () => response.writeHead(answer).end());
    }).listen(0, '127.0.0.1');
    service = await startConsoleService();
    url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`;
  });
  afterAll(async () => {
    receiver?.close();
    await service?.close();
  });

  async function editor() {
    const { credentials, call } = await service.makeClient({ name: 'Acme' });
    const visitor = await service.visitor();
    await signIn(visitor, credentials);
    return { credentials, call, visitor, page: visitor.page };
  }

  const endsWell = async ({ complaints, close }: Visitor) => {
    expect(complaints).toEqual([]);
    await close();
  };

  /** Makes a transfer and changes its status once, which makes one event. */
  async function makeEvent(call: Caller): Promise<void> {
    const amount = { value: 1250, currency: 'EUR' };
    const destination = { name: 'Ada Lovelace', account: 'DE02120300000000202051' };
    const { body } = await call('POST', '/transfers', { amount, destination });
    const { status } = await call('POST', `/sandbox/transfers/${body.id}/status`, { status: 'PROCESSING' });
    expect(status).toBe(200);
  }

  async function fits({ page }: { page: Visitor['page'] }): Promise<void> {
    // Text is there before the style sheet is.
    await page.waitForLoadState('load');
    expect(await accessibilityViolations(page)).toEqual([]);
    for (const width of [360, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      expect([page.url(), width, await overflows(page)]).toEqual([page.url(), width, false]);
    }
  }

  test('a newcomer registers an endpoint, and sees the first delivery without a reload', async () => {
    const { visitor, page, call } = await editor();
    await fits(visitor);
    await page.getByRole('link', { name: 'Register an endpoint' }).click();
    await page.getByRole('heading', { name: 'Register an endpoint' }).waitFor();
    await page.getByText('Headers').click();
    await fits(visitor);
    await page.getByLabel('URL').fill(url);
    await page.getByLabel('Description').fill('Orders, live');
    await page.getByLabel('Secret', { exact: true }).fill('too short');
    await page.getByRole('button', { name: 'Register' }).click();
    await page.locator('#error-secret').waitFor();
    expect(await page.getByLabel('Secret', { exact: true }).inputValue()).toBe('');
    expect(await page.getByLabel('URL').inputValue()).toBe(url);
    await fits(visitor);
    await page.getByLabel('Secret', { exact: true }).fill(ENDPOINT_SECRET);
    await page.getByRole('button', { name: 'Register' }).click();
    await page.getByText('The endpoint is registered.').waitFor();
    await makeEvent(call);
    await page.getByRole('cell', { name: 'succeeded' }).waitFor();
    await page.getByRole('cell', { name: '100 % of 1' }).waitFor();
    await fits(visitor);
    await endsWell(visitor);
  });
});

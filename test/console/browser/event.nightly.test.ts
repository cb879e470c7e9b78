import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeInBrowser, signIn } from '../../support/browser.js';
import { type ConsoleService, startConsoleService } from '../../support/console-service.js';

describeInBrowser('one event, in a browser', () => {
  let console: ConsoleService;
  let receiver: Server;
  let receiverUrl: string;
  /** Status and body of the receiver's next responses. */
  let answer = { status: 503, body: 'down' };

  beforeAll(async () => {
    console = await startConsoleService({ DELIVERY_RETRY_DELAYS: '0s,1h,2h' });
    receiver = createServer((request, response) => {
      request
        .resume()
        .on('end', () => response.writeHead(answer.status, { 'content-type': 'text/html' }).end(answer.body));
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`;
  });
  afterAll(async () => {
    await console?.close();
    receiver?.close();
  });

  /** A client with one endpoint and one changed transfer, so one event is in delivery. */
  async function setUp(name = 'Acme') {
    const { credentials, call } = await console.makeClient({ name });
    const endpoint = { url: receiverUrl, secret: 'a secret of sixteen or more', description: 'Ledger' };
    await call('POST', '/webhook-endpoints', endpoint);
    const amount = { value: 1250, currency: 'EUR' };
    const destination = { name: 'Ada Lovelace', account: 'DE89370400440532013000' };
    const { id } = (await call('POST', '/transfers', { amount, destination })).body;
    const move = (status: string) => call('POST', `/sandbox/transfers/${id}/status`, { status });
    await move('PROCESSING');
    const event = (await call('GET', '/events')).body.data[0];
    return { credentials, call, move, transferId: id as string, eventId: event.id as string };
  }

  const next = (page: Page) => page.locator('.next');

  test('a change elsewhere appears while focus and what was opened stay, and is announced', async () => {
    answer = { status: 503, body: 'down' };
    const { credentials, call, move, eventId } = await setUp();
    const visitor = await console.visitor();
    const { page } = visitor;
    await signIn(visitor, credentials);
    await page.goto(`/console/events/${eventId}`);
    await next(page)
      .getByText(/Waiting: attempt 3/)
      .waitFor();
    const details = page.locator('details.attempt-details').first();
    await details.locator('summary').first().click();
    await details.getByRole('heading', { name: 'Response 503' }).waitFor();
    await page.getByRole('button', { name: 'Retry now' }).focus();
    await page.evaluate('window.loadedOnce = true');

    answer = { status: 204, body: '' };
    const [delivery] = (await call('GET', `/events/${eventId}/deliveries`)).body.data;
    expect((await call('POST', `/deliveries/${delivery.id}/retry`)).status).toBe(202);
    await next(page)
      .getByText(/Delivered\./)
      .waitFor();
    await page
      .locator('body > [role=status]')
      .getByText(/Delivered\./)
      .waitFor();
    expect(await page.evaluate('window.loadedOnce')).toBe(true);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Send again');
    expect(await details.getByRole('heading', { name: 'Response 503' }).isVisible()).toBe(true);

    await page.goto('/console/deliveries');
    const box = page.locator(`input[name=delivery][value="${delivery.id}"]`);
    await box.check();
    await move('SENT');
    await page.locator('input[name=delivery]').nth(1).waitFor();
    expect(await box.isChecked()).toBe(true);
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });
});

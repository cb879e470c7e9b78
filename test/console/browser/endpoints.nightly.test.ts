import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/ids.js';
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
  let answer = 204;

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
    const { credentials, call } = await service.client({ name: 'Acme' });
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

  const register = async (call: Caller, fields: object = {}): Promise<string> =>
    (await call('POST', '/webhook-endpoints', { url, secret: ENDPOINT_SECRET, ...fields })).body.webhookId;

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

  test('a disabled endpoint has a banner; enabling it leads to what it missed, with the count', async () => {
    const { visitor, page, call } = await editor();
    const id = await register(call, { description: 'Orders, live' });
    await page.goto(`/console/endpoints/${id}`);
    await page.getByRole('link', { name: 'Disable' }).click();
    await page.getByText('No pending deliveries will be cancelled.').waitFor();
    await fits(visitor);
    await page.getByRole('button', { name: 'Disable this endpoint' }).click();
    await page.getByRole('heading', { name: 'Disabled by you' }).waitFor();
    await makeEvent(call);
    await makeEvent(call);
    await page.goto('/console');
    await page.getByText('Endpoints that need your attention: 1 of 1').waitFor();
    await fits(visitor);
    await page.getByRole('button', { name: 'Enable and count what it missed' }).click();
    await page.getByRole('heading', { name: 'Not complete: 2 events did not arrive' }).waitFor();
    await fits(visitor);
    await page.getByRole('button', { name: 'Recover 2 events' }).click();
    await page.getByText('The recovery has started.').waitFor();
    await page.getByRole('cell', { name: '2 of 2' }).waitFor();
    await endsWell(visitor);
  });

  test('the overview names what is wrong with an endpoint, and shows the rates of all in one table', async () => {
    const { visitor, page, call } = await editor();
    await register(call);
    await register(call, { description: 'Orders, live' });
    answer = 503;
    await makeEvent(call);
    await page.goto('/console');
    const line = page.getByRole('listitem').filter({ hasText: 'Orders, live: The receiver responded with 503, since' });
    await line.getByText('1 delivery pending').waitFor();
    answer = 204;
    await page.getByRole('link', { name: 'Orders, live' }).first().waitFor();
    const rows = page.getByRole('row', { name: /failing.* 0 % / });
    expect(await rows.count()).toBe(2);
    await fits(visitor);
    // The label of a filter stands directly above its control.
    await page.goto('/console/deliveries');
    const distance = await page.evaluate<number>(
      `document.querySelector('#field-status').getBoundingClientRect().top -
       document.querySelector('[for=field-status]').getBoundingClientRect().bottom`,
    );
    expect(distance).toBeLessThan(8);
    for (const width of [375, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      const hidden = await page.evaluate<number>(
        "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector('.table-card'))",
      );
      expect([width, hidden]).toEqual([width, 0]);
    }
    await endsWell(visitor);
  });

  test('a secret is switched on a page that can be left', async () => {
    const { visitor, page, call } = await editor();
    const first = await register(call);
    answer = 503;
    await makeEvent(call);
    await page.goto(`/console/endpoints/${first}/new-secret`);
    await fits(visitor);
    await page.getByLabel('Secret', { exact: true }).fill(`${ENDPOINT_SECRET}, the second`);
    await page.getByRole('button', { name: 'Register the second endpoint' }).click();
    await page.getByText('The second endpoint is registered.').waitFor();
    await page.goto('/console');
    await page.goto(`/console/endpoints/${first}/new-secret`);
    await page.getByText('Pending at the first endpoint alone: 1 delivery.').waitFor();
    expect(await page.getByRole('button', { name: /Delete the first endpoint/ }).count()).toBe(0);
    await fits(visitor);
    answer = 204;
    await page.getByRole('link', { name: 'recover them at the second endpoint' }).click();
    await page.getByRole('button', { name: 'Recover 1 event' }).click();
    await page.getByText('The recovery has started.').waitFor();
    await page.goto(`/console/endpoints/${first}/new-secret`);
    await page.getByText('The second has received.').waitFor();
    await fits(visitor);
    await page.getByRole('button', { name: 'Delete the first endpoint' }).click();
    await page.getByText('The switch is complete').waitFor();
    expect((await call('GET', `/webhook-endpoints/${first}`)).status).toBe(404);
    expect((await call('GET', '/webhook-endpoints')).body.data).toHaveLength(1);
    await endsWell(visitor);
  });

  test('a statement proves in words that everything arrived', async () => {
    const { visitor, page, call } = await editor();
    const id = await register(call);
    await makeEvent(call);
    await page.goto(`/console/endpoints/${id}`);
    await page.getByRole('cell', { name: 'succeeded' }).waitFor();
    await page.getByRole('link', { name: 'Statement and recovery' }).click();
    await page.getByRole('button', { name: 'Create the statement' }).click();
    await page.getByText('Complete: this endpoint has received every event').waitFor();
    await page.getByLabel('Since').fill('3 h');
    await page.getByLabel('Until').fill('2 h');
    await page.getByRole('button', { name: 'Create the statement' }).click();
    await page.getByText('Signature', { exact: true }).click();
    await page.getByRole('button', { name: 'Copy the signature' }).waitFor();
    await fits(visitor);
    await endsWell(visitor);
  });

  test('a check shows which of the nine cases a receiver that verifies nothing gets wrong', async () => {
    const { visitor, page, call } = await editor();
    const id = await register(call);
    await page.goto(`/console/endpoints/${id}/check`);
    await page.getByRole('button', { name: 'Check the receiver' }).click();
    await page.getByRole('heading', { name: 'Failed: 5 of 9 cases passed' }).waitFor();
    await page.getByText('The request').last().click();
    await page.getByLabel('The request of missing_signature').getByText('Service-Webhooks/1.0').waitFor();
    await fits(visitor);
    await endsWell(visitor);
  });

  test('twenty endpoints with the longest names and 10,000 deliveries fit every window', async () => {
    const { credentials, visitor, page, call } = await editor();
    const ids: string[] = [];
    for (let i = 0; i < 20; i++) {
      const longest = i % 2 === 0 ? { url: `${url}/${'x'.repeat(2_000)}`, description: 'W'.repeat(255) } : {};
      ids.push(await register(call, longest));
    }
    await fillDeliveries(credentials.client_id, ids, 10_000);
    await page.goto('/console');
    await page.getByText('1,000+').first().waitFor();
    await fits(visitor);
    for (const path of ['/console/endpoints', `/console/endpoints/${ids[0]}`, `/console/endpoints/${ids[0]}/edit`]) {
      await page.goto(path);
      await fits(visitor);
    }
    await endsWell(visitor);
  });

  /** Pending deliveries that no process works on, the half of them of the first endpoint. */
  async function fillDeliveries(clientId: string, endpointIds: readonly string[], count: number): Promise<void> {
    const { prisma } = service.database;
    const nextAttemptAt = new Date(Date.now() + 3_600_000);
    const event = { clientId, transferId: newId(), type: 'transfer.status_changed', createdAt: new Date() };
    const body = JSON.stringify({ type: event.type, data: { id: event.transferId, status: 'PROCESSING' } });
    const rows = Array.from({ length: count }, (_, i) => ({
      id: newId(),
      eventId: newId(),
      endpointId: endpointIds[i % 2 === 0 ? 0 : i % endpointIds.length] ?? '',
    }));
    await prisma.event.createMany({
      data: rows.map(({ eventId }) => ({ ...event, id: eventId, body })),
    });
    await prisma.delivery.createMany({ data: rows.map((row) => ({ ...row, clientId, nextAttemptAt, ladder: '0s' })) });
  }
});

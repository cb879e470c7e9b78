import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { accessibilityViolations, describeInBrowser, overflows, signIn } from '../../support/browser.js';
import { makeTimeline } from '../../support/console-data.js';
import { type ConsoleService, startConsoleService } from '../../support/console-service.js';

describeInBrowser('transfers and lists, in a browser', () => {
  let console: ConsoleService;
  beforeAll(async () => {
    console = await startConsoleService({ SANDBOX_STEP: '500ms' });
  });
  afterAll(() => console?.close());

  test('a transfer is created and its status changed, and its events follow on the page', async () => {
    const { credentials, call } = await console.client();
    const visitor = await console.visitor();
    const { page } = visitor;
    await signIn(visitor, credentials);
    await page.goto('/console/transfers');
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Make a transfer' }).first().click();
    await page.getByRole('heading', { name: 'Make a transfer' }).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByLabel('To', { exact: true }).fill('Grace <b>Hopper</b>');
    await page.getByRole('button', { name: 'Make the transfer' }).click();
    await page.getByRole('heading', { name: '12.50 EUR to Grace <b>Hopper</b>' }).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'PROCESSING' }).click();
    await page.getByText('The transfer is PROCESSING.').first().waitFor();
    await page.getByRole('link', { name: 'PROCESSING' }).waitFor();

    // A change through the API appears without a reload.
    const id = new URL(page.url()).pathname.split('/').at(-1);
    await call('POST', `/sandbox/transfers/${id}/status`, { status: 'FAILED', reason_code: 'compliance' });
    await page.getByRole('link', { name: 'FAILED' }).waitFor();
    await page.getByText('FAILED is final').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });

  test('a simulated transfer is followed without a reload', async () => {
    const { credentials } = await console.client();
    const visitor = await console.visitor();
    const { page } = visitor;
    await signIn(visitor, credentials);
    await page.goto('/console/transfers/new');
    await page.getByLabel('Outcome').selectOption('SANDBOX-RETURN-ACCOUNT_CLOSED');
    await page.getByRole('button', { name: 'Make the transfer' }).click();
    await page.getByText('RETURNED is final').waitFor();
    const changes = page.locator('[id^=change-]');
    expect(await changes.count()).toBe(5);
    expect(await changes.last().textContent()).toContain('account_closed');
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });

  test('a list of 10,000 deliveries with long and hostile texts is paged and fits a narrow window', async () => {
    const { credentials } = await console.client();
    const clientId = credentials.client_id;
    const url = `https://hooks.example.com/${'x'.repeat(300)}\u202e<b>`;
    const { endpointId, eventId } = await makeTimeline(console.database, clientId, { url });
    // The rows differ by their ids alone.
    await console.database.query(
      `insert into deliveries (id, event_id, endpoint_id, client_id, status, attempt_count, finished_at, ladder)
       select overlay($1::text placing lpad(to_hex(n), 12, '0') from 25)::uuid, $2::uuid, $3::uuid, $4::uuid, 'succeeded', 1, now(), '0s'
         from generate_series(1, 9999) n returning id`,
      [eventId, eventId, endpointId, clientId],
    );
    const visitor = await console.visitor({ viewport: { width: 360, height: 800 } });
    const { page } = visitor;
    await signIn(visitor, credentials);
    await page.goto('/console/deliveries');
    expect(await page.locator('tbody tr').count()).toBe(20);
    expect(await overflows(page)).toBe(false);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByRole('link', { name: 'Newest' }).waitFor();
    await page.waitForLoadState();
    expect(await page.locator('tbody tr').count()).toBe(20);
    await page.getByText('Filters').click();
    await page.getByLabel('Status').selectOption('pending');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByText('Filters (1)').waitFor();
    await page.waitForLoadState();
    expect(await page.locator('tbody tr').count()).toBe(1);
    for (const width of [768, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      for (const path of ['deliveries', 'events', 'transfers']) {
        await page.goto(`/console/${path}`);
        expect([path, width, await overflows(page)]).toEqual([path, width, false]);
        expect(await accessibilityViolations(page)).toEqual([]);
      }
    }
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });
});

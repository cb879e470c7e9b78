import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { accessibilityViolations, describeInBrowser, overflows, signIn, type Visitor } from '../../support/browser.js';
import { makePast } from '../../support/console-past.js';
import { type ConsoleService, startConsoleService } from '../../support/console-service.js';
import { makeEvent } from '../../support/events.js';
import { makeEndpoint } from '../../support/factories.js';

/** With PICTURES, the pictures of `docs/images` are written there. */
const PICTURES = process.env.PICTURES;
const PICTURED = /^((overview|endpoint|event)-(full|empty)|deliveries|operator)$/;

describeInBrowser('plots, in a browser', () => {
  let service: ConsoleService;
  let full: Visitor;
  let empty: Visitor;
  let operator: Visitor;
  let unsent: string;
  let untried: string;
  let past: Awaited<ReturnType<typeof makePast>>;

  beforeAll(async () => {
    service = await startConsoleService();
    const [client, newcomer] = [
      await service.makeClient({ name: 'Acme' }),
      await service.makeClient({ name: 'Newcomer' }),
    ];
    past = await makePast(service.database, client.credentials.client_id);
    full = await service.visitor();
    await signIn(full, client.credentials);
    empty = await service.visitor();
    await signIn(empty, newcomer.credentials);
    const clientId = newcomer.credentials.client_id;
    untried = (await makeEndpoint(service.database, clientId, { url: 'https://hooks.example.com/new' })).id;
    unsent = await makeEvent(service.database, clientId, Date.now());
    operator = await service.visitor();
    await signIn(operator, (await service.makeClient({ name: 'Operator', scopes: ['operator'] })).credentials);
  }, 120_000);
  afterAll(() => service?.close());

  const pages = (): [string, Visitor, string][] => [
    ['overview-full', full, '/console'],
    ['overview-month', full, '/console?period=30d'],
    ['endpoint-full', full, `/console/endpoints/${past.ledger.id}`],
    ['endpoint-week', full, `/console/endpoints/${past.ledger.id}?period=7d`],
    ['event-full', full, `/console/events/${past.made[1]?.eventId}`],
    ['event-gone', full, `/console/events/${past.made[3]?.eventId}`],
    ['deliveries', full, '/console/deliveries?status=failed'],
    ['transfer', full, `/console/transfers/${past.made[1]?.transferId}`],
    ['search', full, '/console/search?q=nothing'],
    ['overview-empty', empty, '/console'],
    ['endpoint-empty', empty, `/console/endpoints/${untried}`],
    ['event-empty', empty, `/console/events/${unsent}`],
    ['operator', operator, '/console/operator?period=7d'],
  ];

  test('each page fits every width in both themes, is accessible, and has no inline style or script', async () => {
    for (const [name, { page }, path] of pages()) {
      await page.goto(path);
      expect([name, await accessibilityViolations(page)]).toEqual([name, []]);
      for (const width of [360, 390, 768, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        expect([name, width, await overflows(page)]).toEqual([name, width, false]);
      }
    }
    expect([full, empty, operator].map(({ complaints }) => complaints)).toEqual([[], [], []]);
  }, 120_000);

  test('a step of a plot shows its figures on focus, and opens the deliveries of its time', async () => {
    const { page } = full;
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`/console/endpoints/${past.ledger.id}`);
    const step = page.locator('a.plot-step').last();
    await page.keyboard.press('Tab');
    await step.focus();
    expect(await step.locator('.plot-figures').first().isVisible()).toBe(true);
    await step.press('Enter');
    await page.waitForURL((url) => url.searchParams.has('created_after'));
    expect(await page.getByRole('heading', { name: 'Deliveries', exact: true }).isVisible()).toBe(true);
  });

  test('`/` leads to the search, where the end of an id and a reference open what they name', async () => {
    const { page } = full;
    await page.goto('/console');
    await page.keyboard.press('/');
    await page.keyboard.type(`…${past.made[0]?.eventId.slice(-8)}`);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/console/events/${past.made[0]?.eventId}`);
    await page.keyboard.press('/');
    await page.keyboard.type('Invoice 2026-1043');
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/console/transfers/${past.made[1]?.transferId}`);
  });

  (PICTURES ? test : test.skip)(
    'takes its pictures',
    async () => {
      for (const [name, { page }, path] of pages().filter(([one]) => PICTURED.test(one))) {
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          for (const width of [390, 1280]) {
            await page.setViewportSize({ width, height: 900 });
            await page.goto(path);
            const file = `${PICTURES}/console-${name}-${colorScheme}-${width}.png`;
            await page.screenshot({ path: file, fullPage: true });
          }
        }
      }
    },
    180_000,
  );
});

import { expect, test } from '@jest/globals';
import { openAuthApi } from '../../support/auth-api.js';
import { signedInBrowser } from '../../support/console.js';
import { makeTransfer } from '../../support/factories.js';

const auth = await openAuthApi();

async function visitor(fields: Record<string, string> = {}) {
  const credentials = await auth.client();
  return { clientId: credentials.client_id, browser: await signedInBrowser(auth, credentials, fields) };
}

const NEW = { outcome: 'DE1', value: '1250', currency: 'eur', name: 'Ada', reference: 'Invoice 7' };

test('a transfer is created, its status changed, and listed by status and reference', async () => {
  const { browser } = await visitor();
  const made = await browser.post('/console/transfers/new', NEW);
  expect(made.status).toBe(303);
  const path = made.headers.get('location') ?? '';
  expect((await browser.get(path)).text).toContain('12.50 EUR');
  const moved = await browser.post(`${path}/status`, { status: 'FAILED' });
  expect([moved.status, moved.headers.get('location')]).toEqual([303, path]);
  const { text } = await browser.get(path);
  expect(text).toContain('FAILED is final');
  expect(text).toMatch(/class="row-link" href="\/console\/events\/[^"]*">FAILED</);
  const listed = async (query: string) => (await browser.get(`/console/transfers?${query}`)).text.includes(path);
  expect(await listed('status=FAILED&reference=Invoice+7')).toBe(true);
  expect(await listed('status=SENT')).toBe(false);
  expect(await listed('reference=Invoice')).toBe(false);
});

test('a change that the table of statuses forbids is rejected, and the transfer is shown as it is', async () => {
  const { clientId, browser } = await visitor();
  const { id } = await makeTransfer(auth.database, clientId, 'SENT');
  const refused = await browser.post(`/console/transfers/${id}/status`, { status: 'PROCESSING' });
  expect(refused.status).toBe(409);
  expect(refused.text).toContain('SENT');
  expect((await browser.post(`/console/transfers/${id}/status`, { status: 'nothing' })).status).toBe(422);
});

test('the page of a transfer shows the texts of its changes as texts', async () => {
  const { clientId, browser } = await visitor();
  const { id } = await makeTransfer(auth.database, clientId);
  const change = { reason: 'No <b>', reasonCode: 'compliance' };
  await auth.database.prisma.statusChange.updateMany({ where: { transferId: id }, data: change });
  const { text } = await browser.get(`/console/transfers/${id}`);
  expect(text).toContain('No &lt;b>');
  expect(text).toContain('<code>compliance</code>');
});

import { expect, test } from '@jest/globals';
import { openAuthApi } from '../support/auth-api.js';
import { signedInBrowser } from '../support/console.js';
import { makeTimeline } from '../support/console-data.js';
import { makeEndpoint, makeTransfer } from '../support/factories.js';
import { setUses } from '../support/limits.js';

const auth = await openAuthApi();

async function editor() {
  const credentials = await auth.client();
  return { clientId: credentials.client_id, browser: await signedInBrowser(auth, credentials) };
}

const rowsOf = (text: string) => [...text.matchAll(/<tr id="delivery-([^"]+)"/g)].map(([, id]) => id);

test('deliveries are filtered by their last response, and keep it on the way to the next page', async () => {
  const { clientId, browser } = await editor();
  const { id: endpointId } = await makeEndpoint(auth.database, clientId);
  const make = (outcomes: (number | string)[]) =>
    makeTimeline(auth.database, clientId, { endpointId, outcomes, status: 'failed' });
  const timeout = (await make([503, 'timeout'])).deliveryId;
  const refused = (await make([401])).deliveryId;
  const missing = (await make([404])).deliveryId;
  const pending = (await makeTimeline(auth.database, clientId, { endpointId, outcomes: [500] })).deliveryId;
  const list = async (query: string) => rowsOf((await browser.get(`/console/deliveries?${query}`)).text);
  expect(await list('response=timeout')).toEqual([timeout]);
  expect(await list('response=4xx')).toEqual([missing, refused]);
  expect(await list(`response=401&webhookId=${endpointId}&status=failed&created_after=2+h`)).toEqual([refused]);
  expect(await list('response=5xx&status=failed')).toEqual([]);
  expect(await list('status=pending')).toEqual([pending]);
  expect(await list('webhookId=019abe01-7a10-7c44-9d02-3f1f6f0c8a11')).toEqual([]);
  expect(await list('created_before=2+h')).toEqual([]);
  const unknown = await browser.get('/console/deliveries?response=odd');
  expect([unknown.status, /id="error-response"/.test(unknown.text)]).toEqual([422, true]);
  for (let i = 0; i < 20; i++) await make([401]);
  const first = await browser.get('/console/deliveries?response=401');
  expect(rowsOf(first.text)).toHaveLength(20);
  const next = /href="([^"]*cursor=[^"]*)"/.exec(first.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  expect(rowsOf((await browser.get(next)).text)).toEqual([refused]);
});

test('events are filtered by endpoint and last response, together with their other filters', async () => {
  const { clientId, browser } = await editor();
  const [one, other] = [await makeEndpoint(auth.database, clientId), await makeEndpoint(auth.database, clientId)];
  const make = (endpointId: string, outcomes: (number | string)[], status: 'failed' | 'pending' = 'failed') =>
    makeTimeline(auth.database, clientId, { endpointId, outcomes, status });
  const refused = await make(one.id, [503, 401]);
  const waiting = await make(one.id, [500], 'pending');
  const timeout = await make(other.id, ['timeout']);
  const list = async (query: string) => {
    const { text } = await browser.get(`/console/events?${query}`);
    return [...text.matchAll(/<tr id="event-([^"]+)"/g)].map(([, id]) => id);
  };
  const ids = [timeout, waiting, refused].map(({ eventId }) => eventId);
  expect(await list('webhookId=&response=')).toEqual(ids);
  expect(await list(`webhookId=${one.id}`)).toEqual(ids.slice(1));
  expect(await list(`webhookId=${one.id}&outcome=pending&created_after=2+h`)).toEqual([waiting.eventId]);
  expect(await list('response=4xx')).toEqual([refused.eventId]);
  expect(await list(`response=timeout&transfer_id=${timeout.transferId}`)).toEqual([timeout.eventId]);
  expect(await list(`response=timeout&transfer_id=${refused.transferId}`)).toEqual([]);
  expect((await browser.get('/console/events?response=odd')).status).toBe(422);
  for (let i = 0; i < 20; i++) await make(other.id, [401]);
  const { text } = await browser.get(`/console/events?webhookId=${other.id}`);
  const next = /href="([^"]*cursor=[^"]*)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  expect(await list(next.split('?')[1] ?? '')).toEqual([timeout.eventId]);
});

test('a search finds an id, the end of an id as rows show it, and a reference, of this client alone', async () => {
  const { clientId, browser } = await editor();
  const { eventId, deliveryId, endpointId } = await makeTimeline(auth.database, clientId);
  const transfer = await makeTransfer(auth.database, clientId);
  await auth.database.prisma.transfer.update({ where: { id: transfer.id }, data: { reference: 'Invoice 7' } });
  const found = async (q: string, by = browser) => {
    const reply = await by.get(`/console/search?${new URLSearchParams({ q })}`);
    return reply.headers.get('Location') ?? reply.status;
  };
  const delivery = `/console/events/${eventId}?delivery=${deliveryId}#delivery-${deliveryId}`;
  for (const q of [eventId, `…${eventId.slice(-8)}`]) expect(await found(q)).toBe(`/console/events/${eventId}`);
  for (const q of [` ${deliveryId.toUpperCase()}`, `...${deliveryId.slice(-12)}`])
    expect(await found(q)).toBe(delivery);
  for (const q of [endpointId, endpointId.slice(-8)]) expect(await found(q)).toBe(`/console/endpoints/${endpointId}`);
  for (const q of [transfer.id, 'Invoice 7']) expect(await found(q)).toBe(`/console/transfers/${transfer.id}`);
  const { browser: other } = await editor();
  for (const q of [eventId, deliveryId, endpointId, transfer.id, eventId.slice(-8), 'Invoice 7', '%', '']) {
    expect([q, await found(q, other)]).toEqual([q, 200]);
  }
});

test('an editor retries the selected deliveries, and sees what became of each', async () => {
  const { clientId, browser } = await editor();
  const { id: endpointId } = await makeEndpoint(auth.database, clientId);
  const made = [];
  for (let i = 0; i < 3; i++) made.push(await makeTimeline(auth.database, clientId, { endpointId, status: 'failed' }));
  const [one = '', two = '', limited = ''] = made.map(({ deliveryId }) => deliveryId);
  await setUses(auth.database, 'retries', limited, 10);
  const page = await browser.get('/console/deliveries');
  expect(page.text).toContain(`form="retry-selected" name="delivery" value="${one}"`);
  const fields = [one, two, limited, one].map((id) => ['delivery', id] as const);
  const sent = await browser.post('/console/deliveries/retry', fields as never);
  expect(sent.status).toBe(303);
  const { text } = await browser.get(sent.headers.get('Location') ?? '');
  expect(text).toContain('2 of 3 retries requested.');
  expect(rowsOf(text)).toEqual([limited, two, one]);
  expect(text.match(/data-label="Retry">[^<]*/g)?.map((cell) => cell.slice(19))).toEqual([
    expect.stringMatching(/limit/i),
    'requested',
    'requested',
  ]);
  expect(await auth.database.prisma.queuedAttempt.count({ where: { endpointId, trigger: 'manual' } })).toBe(2);
  const none = await browser.post('/console/deliveries/retry', {});
  expect(none.headers.get('Location')).toBe('/console/deliveries');
});

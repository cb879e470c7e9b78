import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '../../../src/ids.js';
import { startApi, type TestApi } from '../../support/api.js';
import { makeDelivered, makeEvent } from '../../support/events.js';
import { endpointRequest } from '../../support/transfers.js';

const DAY = 86_400_000;

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

it('lists the events that have no delivery for the endpoint, newest first, page by page; refuses the rest', async () => {
  const client = await api.client();
  const register = async () =>
    (await client.call('POST', '/webhook-endpoints', { json: endpointRequest() })).body.webhookId;
  const [webhookId, other] = [await register(), await register()];
  const at = Date.now() - DAY;
  const missing: string[] = [];
  for (let i = 0; i < 5; i++) {
    missing.unshift(await makeEvent(api.database, client.id, at + 3 * i));
    const delivered = { clientId: client.id, at: at + 3 * i + 1, status: 'failed' as const };
    await makeDelivered(api.database, { ...delivered, endpointId: webhookId });
    missing.unshift(
      (await makeDelivered(api.database, { ...delivered, at: at + 3 * i + 2, endpointId: other })).eventId,
    );
  }
  const list = (query: Record<string, string>) =>
    client.call('GET', `/events?${new URLSearchParams({ missing_from: webhookId, ...query })}`);
  const created_after = new Date(at - 1).toISOString();
  const found: string[] = [];
  for (let cursor: string | null = '', pages = 0; cursor !== null && pages < 9; pages++) {
    const { status, body } = await list({ created_after, limit: '4', ...(cursor && { cursor }) });
    expect(status).toBe(200);
    found.push(...body.data.map(({ id }: { id: string }) => id));
    cursor = body.next_cursor;
    expect(body.has_more).toBe(cursor !== null);
  }
  expect(found).toEqual(missing);
  expect((await list({})).body.errors).toMatchObject([{ parameter: 'created_after', code: 'required' }]);
  const tooOld = await list({ created_after: new Date(Date.now() - 32 * DAY).toISOString() });
  expect([tooOld.status, tooOld.body.errors[0].code]).toEqual([422, 'window_too_long']);
  expect((await list({ created_after, missing_from: newId() })).status).toBe(404);
});

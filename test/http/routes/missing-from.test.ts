import { describe, expect, it } from '@jest/globals';
import { openApi, type TestClient } from '../../support/api.js';
import { makeDelivered, makeEvent, makeManyDelivered } from '../../support/events.js';
import { endpointRequest } from '../../support/transfers.js';

const DAY = 86_400_000;

const api = await openApi();

const iso = (at: number) => new Date(at).toISOString();

const register = async (client: TestClient): Promise<string> =>
  (await client.call('POST', '/webhook-endpoints', { json: endpointRequest() })).body.webhookId;

const list = (client: TestClient, query: Record<string, string>) =>
  client.call('GET', `/events?${new URLSearchParams(query)}`);

const idsOf = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id);

/** The ids of every page. */
async function walk(client: TestClient, query: Record<string, string>): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { status, body, headers } = await list(client, { ...query, ...(cursor && { cursor }) });
    expect(status).toBe(200);
    pages.push(idsOf(body));
    cursor = body.next_cursor;
    expect(body.has_more).toBe(cursor !== null);
    expect(headers.get('link')?.includes(`cursor=${cursor}`) ?? false).toBe(cursor !== null);
    if (pages.length > 9) throw new Error('the list does not end');
  }
  return pages;
}

async function setUp() {
  const client = await api.client();
  const webhookId = await register(client);
  const at = Date.now() - DAY;
  return { client, webhookId, at, query: { missing_from: webhookId, created_after: iso(at - 1) } };
}

describe('the events that an endpoint missed', () => {
  it('are those without a delivery for it, newest first, page by page', async () => {
    const { client, webhookId, at, query } = await setUp();
    const other = await register(client);
    const missing: string[] = [];
    for (let i = 0; i < 5; i++) {
      missing.unshift(await makeEvent(api.database, client.id, at + 3 * i));
      const delivered = { clientId: client.id, at: at + 3 * i + 1, status: 'failed' as const };
      await makeDelivered(api.database, { ...delivered, endpointId: webhookId });
      const toOther = { ...delivered, at: at + 3 * i + 2, endpointId: other };
      missing.unshift((await makeDelivered(api.database, toOther)).eventId);
    }
    await makeEvent(api.database, client.id, at - 1);
    await makeEvent(api.database, (await api.client()).id, at);
    expect((await walk(client, { ...query, limit: '4' })).flat()).toEqual(missing);
    expect(await walk(client, { ...query, created_before: iso(at + 3) })).toEqual([missing.slice(-2)]);
  });

  it('are searched among 10,000 events a page: pages may be short or empty, and all of them together are complete', async () => {
    const { client, webhookId, at, query } = await setUp();
    const many = { clientId: client.id, endpointId: webhookId, at, count: 20_100 };
    const [first, second, third, last] = await makeManyDelivered(api.database, many, [0, 9_999, 10_000, 20_099]);
    expect(await walk(client, query)).toEqual([[first, second], [third], [last]]);
    const before = { ...query, created_before: iso(at + 10_100 - 1) };
    expect(await walk(client, before)).toEqual([[], [last]]);
  });

  it('are selected by `type` and `transfer_id` too', async () => {
    const { client, at, query } = await setUp();
    const first = await makeEvent(api.database, client.id, at);
    await makeEvent(api.database, client.id, at + 1);
    const { data } = (await client.call('GET', `/events/${first}`)).body;
    const both = { ...query, type: 'transfer.status_changed', transfer_id: data.id };
    expect(await walk(client, both)).toEqual([[first]]);
  });
});

it('the list of missed events is rejected without `created_after`, and for one more than 31 days ago', async () => {
  const { client, query } = await setUp();
  const refusal = async (changed: Record<string, string>) => {
    const { status, body } = await list(client, changed);
    return [status, body.errors?.map((error: Record<string, string>) => [error.parameter, error.code])];
  };
  const { missing_from } = query;
  expect(await refusal({ missing_from })).toEqual([422, [['created_after', 'required']]]);
  const since = (days: number) => refusal({ missing_from, created_after: iso(Date.now() - days * DAY) });
  expect(await since(31.001)).toEqual([422, [['created_after', 'window_too_long']]]);
  expect((await since(31))[0]).toBe(200);
});

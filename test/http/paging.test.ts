import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MAX_RESPONSE_BYTES } from '../../src/http/response.js';
import { openApi, type TestClient } from '../support/api.js';
import { moveMany } from '../support/history.js';
import { endpointRequest, transferRequest } from '../support/transfers.js';

const api = await openApi({ env: { MAX_ENDPOINTS: '10000' } });

interface Page {
  data: Record<string, string>[];
  has_more: boolean;
  next_cursor: string | null;
}

const create = (client: TestClient) => client.call('POST', '/transfers', { json: transferRequest() });
const register = (client: TestClient, enabled: boolean) =>
  client.call('POST', '/webhook-endpoints', { json: endpointRequest({ enabled }) });
const move = (client: TestClient) => moveMany(client, 1);
const ofEndpoint = async (client: TestClient) =>
  `/webhook-endpoints/${(await register(client, true)).body.webhookId}/deliveries`;

it.each<[string, string, (client: TestClient) => unknown, (client: TestClient) => string | Promise<string>]>([
  ['transfers', 'id', create, () => '/transfers'],
  ['endpoints', 'webhookId', (client) => register(client, false), () => '/webhook-endpoints'],
  ['events', 'id', move, () => '/events'],
  ['deliveries', 'id', move, ofEndpoint],
])('lists each of %s once, newest first, while new ones are created', async (_, id, make, pathOf) => {
  const before = fc.integer({ min: 0, max: 12 });
  const limit = fc.integer({ min: 1, max: 5 });
  const meanwhile = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(before, limit, meanwhile, async (count, size, inserts) => {
      const client = await api.client();
      const path = await pathOf(client);
      for (let i = 0; i < count; i++) await make(client);
      const get = async (query: string): Promise<Page> => (await client.call('GET', `${path}?${query}`)).body;
      const there = (await get('limit=100')).data.map((item) => item[id]);
      expect(there).toHaveLength(count);
      const seen: (string | undefined)[] = [];
      let page = await get(`limit=${size}`);
      for (let step = 0; ; step++) {
        expect(page.data.length).toBeLessThanOrEqual(size);
        expect(page.has_more).toBe(page.next_cursor !== null);
        seen.push(...page.data.map((item) => item[id]));
        if (page.next_cursor === null) break;
        for (let i = 0; i < (inserts[step] ?? 0); i++) await make(client);
        page = await get(`limit=${size}&cursor=${page.next_cursor}`);
      }
      expect(seen).toEqual(there);
    }),
    { numRuns: 8 },
  );
});

it('a page that would be larger than 1 MB has fewer items and links to the rest', async () => {
  const client = await api.client();
  for (let i = 0; i < 40; i++) await client.call('POST', '/transfers', { json: transferRequest() });
  // The largest item that a body can create: 48 KiB of control characters, each six bytes of JSON.
  await api.database.query(
    `update transfers set metadata = jsonb_build_object('k', repeat(chr(1), 8192)) where client_id = $1`,
    [client.id],
  );
  const seen: string[] = [];
  const sizes: number[] = [];
  for (let path = '/transfers?limit=100'; path !== ''; ) {
    const { status, body, text, headers } = await client.call('GET', path);
    expect(status).toBe(200);
    expect(Buffer.byteLength(text)).toBeLessThan(MAX_RESPONSE_BYTES);
    sizes.push(body.data.length);
    seen.push(...body.data.map(({ id }: { id: string }) => id));
    const link = headers.get('link');
    expect(link !== null).toBe(body.has_more);
    path = body.has_more ? `/transfers?limit=100&cursor=${body.next_cursor}` : '';
  }
  expect(sizes).toEqual([20, 20]);
  expect(new Set(seen).size).toBe(40);
  expect(seen).toEqual([...seen].sort().reverse());
});

import { beforeEach, expect, test } from '@jest/globals';
import { TransferServiceClient } from '../../../clients/typescript/src/client.js';
import { openAuthApi } from '../../support/auth-api.js';
import { SECRET } from '../../support/transfers.js';

let client: TransferServiceClient;
const auth = await openAuthApi();
beforeEach(async () => {
  const { client_id: clientId, client_secret: clientSecret } = await auth.client();
  client = new TransferServiceClient({ baseUrl: auth.baseUrl, clientId, clientSecret });
});

const wanted = { url: 'https://example.com/hooks', secret: SECRET, description: 'shop' };
const listed = async () => {
  const { data } = await client.webhookEndpoints.list().page();
  return data.map(({ webhookId, description, max_concurrency }) => ({ webhookId, description, max_concurrency }));
};

test('several instances that start at once register one endpoint', async () => {
  const ensured = await Promise.all(Array.from({ length: 6 }, () => client.webhookEndpoints.ensure(wanted)));
  const [{ webhookId } = { webhookId: '' }] = await listed();
  expect(await listed()).toHaveLength(1);
  expect(new Set(ensured.map(({ endpoint }) => endpoint.webhookId))).toEqual(new Set([webhookId]));
});

test('what differs is changed, what is omitted stays', async () => {
  const { endpoint } = await client.webhookEndpoints.ensure(wanted);
  const { webhookId } = endpoint;
  const again = async (more: object) => (await client.webhookEndpoints.ensure({ ...wanted, ...more })).outcome;
  expect([await again({}), await again({ max_concurrency: 7 }), await again({})]).toEqual([
    ...['unchanged', 'changed', 'unchanged'],
  ]);
  const headers = [{ name: 'X-Api-Key', value: 'a key of the gateway' }];
  expect([await again({ headers }), await again({ headers })]).toEqual(['changed', 'unchanged']);
  expect(await again({ description: 'the shop' })).toBe('changed');
  expect(await listed()).toEqual([{ webhookId, description: 'the shop', max_concurrency: 7 }]);
});

test('an endpoint that was deleted is registered again, within the life of its idempotency key too', async () => {
  const ids = new Set<string>();
  for (const description of ['shop', 'shop', 'other']) {
    const { endpoint, outcome } = await client.webhookEndpoints.ensure({ ...wanted, description });
    expect(outcome).toBe('created');
    ids.add(endpoint.webhookId);
    await client.webhookEndpoints.delete(endpoint.webhookId);
  }
  expect(ids.size).toBe(3);
});

test('another secretRef registers the URL again, once, and names the previous endpoint', async () => {
  const first = await client.webhookEndpoints.ensure({ ...wanted, secretRef: 'v1' });
  expect(first.endpoint.description).toBe('shop [secret v1]');
  const second = { ...wanted, secretRef: 'v2', secret: `${SECRET}-2` };
  const { webhookId } = first.endpoint;
  for (const outcome of ['created', 'unchanged']) {
    expect(await client.webhookEndpoints.ensure(second)).toMatchObject({ outcome, previous: [{ webhookId }] });
  }
  await client.webhookEndpoints.delete(webhookId);
  expect(await client.webhookEndpoints.ensure(second)).toMatchObject({ outcome: 'unchanged', previous: [] });
});

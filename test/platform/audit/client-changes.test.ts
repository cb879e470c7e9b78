import { beforeEach, describe, expect, it } from '@jest/globals';
import type { ConsoleSession } from '../../../src/auth/console-sessions.js';
import { operationsOf } from '../../../src/console/operations.js';
import { apiRoutes } from '../../../src/http/app.js';
import { newId } from '../../../src/platform/ids.js';
import { openApi, type TestClient } from '../../support/api.js';
import { lease } from '../../support/attempt.js';
import { makeTransfer } from '../../support/factories.js';
import { emptyOutbox } from '../../support/outbox.js';
import { endpointRequest } from '../../support/transfers.js';

let client: TestClient;
const reachable = true;
const readiness = async () => ({
  ready: true,
  checks: { postgres: 'ok', migrations: 'ok', temporal: reachable ? 'ok' : 'unreachable' },
});
const api = await openApi({ dependencies: { readiness } });
beforeEach(async () => {
  client = await api.client();
});

/** The entries of a target, oldest first. */
async function entriesOf(target: string) {
  const entries = await api.database.prisma.auditEntry.findMany({ where: { target }, orderBy: { id: 'asc' } });
  return entries.map(({ actor, action, details }) => ({ actor, action, details }));
}
const byClient = (action: string, details: object) => ({ actor: `client:${client.id}`, action, details });

/** An endpoint with a delivery that has failed. */
async function failedDelivery() {
  const { body: endpoint } = await client.call('POST', '/webhook-endpoints', { json: endpointRequest() });
  const { id } = await makeTransfer(api.database, client.id);
  await client.call('POST', `/sandbox/transfers/${id}/status`, { json: { status: 'PROCESSING' } });
  const delivery = await api.database.prisma.delivery.findFirstOrThrow({ where: { endpointId: endpoint.webhookId } });
  await api.database.prisma.delivery.updateMany({
    where: { clientId: client.id },
    data: { status: 'failed', attemptCount: 7, nextAttemptAt: null },
  });
  await api.database.prisma.queuedAttempt.deleteMany({ where: { clientId: client.id } });
  await emptyOutbox(api.database);
  return { webhookId: endpoint.webhookId as string, deliveryId: delivery.id, eventId: delivery.eventId };
}

const since = new Date(Date.now() - 3_600_000).toISOString();
const until = new Date(Date.now() + 3_600_000).toISOString();

/** Operations with their own limit, as requests of the API and of the console. */
const ASKING = [
  ['retry', 'deliveries.retry'],
  ['recover', 'endpoints.recover'],
  ['check', 'endpoints.check'],
] as const;
const TABLES = { retry: 'queue', recover: 'workflow_starts', check: 'receiver_checks' } as const;
type Asking = (typeof ASKING)[number][0];

function requestOf(kind: Asking, { webhookId, deliveryId }: Awaited<ReturnType<typeof failedDelivery>>) {
  if (kind === 'retry') {
    const params = { id: deliveryId };
    return { target: deliveryId, path: `/deliveries/${deliveryId}/retry`, operation: 'retryDelivery', params };
  }
  const common = { target: webhookId, params: { webhookId } };
  return kind === 'recover'
    ? {
        ...{ ...common, path: `/webhook-endpoints/${webhookId}/recover`, operation: 'recoverWebhookEndpoint' },
        json: { since, until },
      }
    : { ...common, path: `/webhook-endpoints/${webhookId}/checks`, operation: 'checkReceiver' };
}

describe("a client's change through the API writes an entry", () => {
  it('for an endpoint, from registration to deletion, with neither its secret nor its url', async () => {
    const url = 'https://user.example.com/hooks/token-in-path?key=value';
    const asked = endpointRequest({ url });
    const { body } = await client.call('POST', '/webhook-endpoints', { json: asked });
    const path = `/webhook-endpoints/${body.webhookId}`;
    const put = (json: object) => client.call('PUT', path, { json });
    await put({ url, description: 'new' });
    await put({ url, description: 'new' });
    await put({ url: 'https://other.example.com/in', description: 'new', max_concurrency: 2, enabled: false });
    const patch = (json: object) => client.call('PATCH', path, { json });
    await patch({ enabled: false });
    await patch({ enabled: true });
    await patch({ max_concurrency: null });
    expect((await put({ url: 'ftp://other.example.com' })).status).toBe(422);
    expect((await client.call('DELETE', path)).status).toBe(204);
    expect((await client.call('DELETE', path)).status).toBe(404);
    const client_id = client.id;
    const entries = await entriesOf(body.webhookId);
    expect(entries).toEqual([
      byClient('endpoints.create', { client_id, host: 'user.example.com', enabled: true }),
      byClient('endpoints.update', { client_id, changed: ['description'], host: 'user.example.com' }),
      byClient('endpoints.update', { client_id, changed: ['url', 'max_concurrency'], host: 'other.example.com' }),
      byClient('endpoints.disable', { client_id, was: 'enabled' }),
      byClient('endpoints.enable', { client_id, was: 'owner' }),
      byClient('endpoints.update', { client_id, changed: ['max_concurrency'], host: 'other.example.com' }),
      byClient('endpoints.delete', { client_id }),
    ]);
    for (const hidden of [asked.secret, 'token-in-path', 'value'])
      expect(JSON.stringify(entries)).not.toContain(hidden);
  });

  it('for a cancelled transfer, and none for one that cannot be cancelled', async () => {
    const { id } = await makeTransfer(api.database, client.id);
    const cancel = (key: string) =>
      client.call('POST', `/transfers/${id}/cancel`, { headers: { 'Idempotency-Key': key } });
    const statuses = [(await cancel('a')).status, (await cancel('a')).status, (await cancel('b')).status];
    expect(statuses).toEqual([200, 200, 409]);
    const details = { client_id: client.id, from: 'CREATED', to: 'CANCELLED', reason_code: 'customer_request' };
    expect(await entriesOf(id)).toEqual([byClient('transfers.set-status', details)]);
  });

  it.each(ASKING)('once for a key: %s', async (kind, action) => {
    const { target, path, json } = { json: {}, ...requestOf(kind, await failedDelivery()) };
    const ask = () => client.call('POST', path, { json, headers: { 'Idempotency-Key': `once-${kind}` } });
    expect([(await ask()).status, (await ask()).status]).toEqual([202, 202]);
    const entries = (await entriesOf(target)).filter((entry) => entry.action !== 'endpoints.create');
    expect(entries).toEqual([byClient(action, expect.objectContaining({ client_id: client.id }) as object)]);
  });

  it('none for an empty recovery, and none for a retry during an attempt', async () => {
    const { webhookId, deliveryId } = await failedDelivery();
    const nothing = { since, until: new Date(Date.parse(since) + 1_000).toISOString() };
    const recovered = await client.call('POST', `/webhook-endpoints/${webhookId}/recover`, { json: nothing });
    expect(recovered.body).toMatchObject({ id: null, count: 0, missing: 0 });
    const retry = () => client.call('POST', `/deliveries/${deliveryId}/retry`);
    expect((await retry()).status).toBe(202);
    await lease(api.database, deliveryId);
    expect((await retry()).status).toBe(202);
    expect(await entriesOf(deliveryId)).toHaveLength(1);
    expect(await entriesOf(webhookId)).toHaveLength(1);
  });
});

describe("a change in the console has its session's entry in the transaction of the change", () => {
  const session = (): ConsoleSession => ({
    ...{ id: newId(), clientId: client.id, role: 'editor', address: '203.0.113.7', signedInBy: 'link' },
    ...{
      clientName: 'Acme',
      secretId: null,
      scopes: new Set(['webhooks:write', 'transfers:write']),
      rateLimit: null,
      maxEndpoints: null,
      now: 0,
      notice: null,
    },
  });
  const change = (of: ConsoleSession, kind: Asking, target: Awaited<ReturnType<typeof failedDelivery>>) => {
    const { operation, params, json: body } = { json: undefined, ...requestOf(kind, target) };
    return operationsOf(apiRoutes(api.dependencies), api.database, of).change(operation, { params, body });
  };

  it.each(ASKING)('without an entry, nothing changes: %s', async (kind, action) => {
    const made = await failedDelivery();
    const count = async () =>
      (await api.database.query<{ n: number }>(`select count(*)::int as n from ${TABLES[kind]}`, []))[0]?.n;
    const before = await count();
    const sql = api.database.query;
    await sql(`alter table audit_entries add constraint full_disk check (action <> '${action}') not valid`, []);
    await expect(change(session(), kind, made)).rejects.toThrow('full_disk');
    await sql('alter table audit_entries drop constraint full_disk', []);
    expect(await count()).toBe(before);
  });
});

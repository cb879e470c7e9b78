import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createRecoverActivities } from '../../../activities/recover.js';
import { newId } from '../../../src/ids.js';
import { createMetrics } from '../../../src/telemetry/metrics.js';
import { createDeliveryActions } from '../../../src/workflow-starts/retry-and-recover.js';
import { startApi, type TestApi, type TestClient } from '../../support/api.js';
import { makeEvent } from '../../support/events.js';
import { deliverTo } from '../../support/history.js';
import { createTestNamespace, type TestTemporal } from '../../support/temporal.js';
import { endpointRequest } from '../../support/transfers.js';

// Two processes of the API share a database and a Temporal namespace without a worker: started workflows do not run.

let temporal: TestTemporal;
let api: TestApi;
let second: TestApi;
let reachable = true;

beforeAll(async () => {
  temporal = await createTestNamespace();
  const deliveryActions = () => createDeliveryActions(() => (reachable ? temporal.client : undefined), [0, 300_000]);
  api = await startApi({ dependencies: { deliveryActions: deliveryActions() } });
  second = await startApi({ database: api.database, dependencies: { deliveryActions: deliveryActions() } });
}, 120_000);
afterAll(async () => {
  await second.close();
  await api.close();
  await temporal.close();
});

const withTemporalAway = async <T>(work: () => Promise<T>): Promise<T> => {
  reachable = false;
  try {
    return await work();
  } finally {
    reachable = true;
  }
};
const query = <Row>(text: string, values: unknown[] = []) => api.database.query<Row>(text, values);
/** Calls again while Temporal takes longer than a request waits for it, as on a busy machine. Such a retry is not counted. */
async function persistently(call: () => ReturnType<TestClient['call']>) {
  for (;;) {
    const reply = await call();
    if (reply.status !== 503) return reply;
  }
}
/** The same client at the second process. */
const atSecond = (client: TestClient, path: string) =>
  second.call('POST', path, { headers: { Authorization: `Bearer ${client.token}` } });

describe('manual retries of one delivery', () => {
  const set = (id: string, data: object) => api.database.prisma.delivery.update({ where: { id }, data });

  it('are limited to ten an hour across two processes; the next is refused until the first is an hour old', async () => {
    const client = await api.client();
    const { deliveryId } = await deliverTo(api, client);
    const path = `/deliveries/${deliveryId}/retry`;
    const replies = await Promise.all(
      Array.from({ length: 24 }, (_, i) =>
        persistently(() => (i % 2 ? client.call('POST', path) : atSecond(client, path))),
      ),
    );
    const refused = replies.filter(({ status }) => status !== 202);
    expect([replies.length - refused.length, refused.length]).toEqual([10, 14]);
    for (const { status, body, headers } of refused) {
      expect([status, body.code]).toEqual([429, 'retry_limit_reached']);
      const wait = Number(headers.get('retry-after'));
      expect(wait > 3_500 && wait <= 3_600).toBe(true);
    }
    await query(
      `update manual_retries set at = now() - interval '59 minutes 50 seconds'
        where id = (select id from manual_retries where delivery_id = $1::uuid limit 1)`,
      [deliveryId],
    );
    const soon = Number((await client.call('POST', path)).headers.get('retry-after'));
    expect(soon > 0 && soon <= 10).toBe(true);
    await query(
      `update manual_retries set at = at - interval '10 seconds'
        where id = (select id from manual_retries where delivery_id = $1::uuid order by at limit 1)`,
      [deliveryId],
    );
    expect((await client.call('POST', path)).status).toBe(202);
    expect((await client.call('POST', path)).status).toBe(429);
  });

  it('do not count for a replayed key, while an attempt is in flight, or if Temporal is unreachable', async () => {
    const client = await api.client();
    const { deliveryId } = await deliverTo(api, client);
    const path = `/deliveries/${deliveryId}/retry`;
    const counted = async () =>
      (await query('select id::text from manual_retries where delivery_id = $1::uuid', [deliveryId])).length;
    const headers = { 'Idempotency-Key': newId() };
    for (let i = 0; i < 3; i++) expect((await client.call('POST', path, { headers })).status).toBe(202);
    expect(await counted()).toBe(1);
    await set(deliveryId, { attemptingUntil: new Date(Date.now() + 30_000) });
    expect((await client.call('POST', path)).status).toBe(202);
    await set(deliveryId, { attemptingUntil: null });
    await withTemporalAway(async () => {
      const away = await client.call('POST', path);
      expect([away.status, away.body.code]).toEqual([503, 'unavailable']);
    });
    expect(await counted()).toBe(1);
  });

  it('are refused for the endpoint and the delivery first, and a refused key is free again', async () => {
    const client = await api.client();
    const { deliveryId, webhookId } = await deliverTo(api, client);
    const path = `/deliveries/${deliveryId}/retry`;
    for (let i = 0; i < 10; i++) await client.call('POST', path);
    const headers = { 'Idempotency-Key': newId() };
    expect((await client.call('POST', path, { headers })).body.code).toBe('retry_limit_reached');
    await query('delete from manual_retries where delivery_id = $1::uuid', [deliveryId]);
    expect((await client.call('POST', path, { headers })).status).toBe(202);
    for (let i = 0; i < 9; i++) await client.call('POST', path);
    await api.database.prisma.endpoint.update({ where: { id: webhookId }, data: { enabled: false } });
    expect((await client.call('POST', path)).body.code).toBe('endpoint_not_active');
    const stranger = await api.client();
    expect((await stranger.call('POST', path)).status).toBe(404);
  });
});

describe('recovers', () => {
  const since = '2026-01-01T00:00:00Z';
  const recover = (client: TestClient, webhookId: string, headers = {}) =>
    client.call('POST', `/webhook-endpoints/${webhookId}/recover`, { json: { since }, headers });
  const said = ({ status, body }: Awaited<ReturnType<typeof recover>>) => [status, body.code ?? body.count];
  const handleOf = (webhookId: string) => temporal.client.workflow.getHandle(`recover-${webhookId}`);
  const fail = (deliveryId: string) =>
    api.database.prisma.delivery.update({
      where: { id: deliveryId },
      data: { status: 'failed', owner: null, attemptCount: 7, nextAttemptAt: null },
    });
  /** An endpoint with one failed delivery. */
  async function failing(client: TestClient) {
    const history = await deliverTo(api, client);
    await api.database.prisma.delivery.updateMany({
      where: { endpointId: history.webhookId, status: 'pending' },
      data: { status: 'succeeded' },
    });
    await fail(history.deliveryId);
    return history;
  }
  /** Does the work of the worker until the recover has ended. */
  async function carryOut(webhookId: string) {
    const handle = handleOf(webhookId);
    const { events } = await handle.fetchHistory();
    const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    const { host: _, count: __, ...input } = JSON.parse(Buffer.from(payload?.data ?? []).toString());
    const dependencies = {
      database: api.database,
      temporal: () => ({ client: temporal.client }),
      retryDelays: [0],
      metrics: createMetrics(),
    };
    await createRecoverActivities(dependencies).recoverBatch({ ...input, after: null });
    await handle.terminate('as if it ended');
  }

  it('with include_missing return the number of events that get their delivery, and make it', async () => {
    const client = await api.client();
    const { webhookId } = await failing(client);
    const at = Date.now() - 3_600_000;
    const eventId = await makeEvent(api.database, client.id, at);
    const request = { since: new Date(at).toISOString() };
    const path = `/webhook-endpoints/${webhookId}/recover`;
    const including = await client.call('POST', path, { json: { ...request, include_missing: true } });
    expect([including.status, including.body]).toEqual([202, { count: 1, missing: 1 }]);
    const { events } = await handleOf(webhookId).fetchHistory();
    const [payload] = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
    const { recoverId, clientId, since, until, includeMissing } = JSON.parse(
      Buffer.from(payload?.data ?? []).toString(),
    );
    expect(includeMissing).toBe(true);
    const dependencies = { database: api.database, temporal: () => ({ client: temporal.client }), retryDelays: [0] };
    const { deliverMissingBatch } = createRecoverActivities({ ...dependencies, metrics: createMetrics() });
    const scope = { recoverId, clientId, webhookId, since, until };
    expect(await deliverMissingBatch({ ...scope, after: null })).toEqual({ recovered: 1, after: null });
    const { body } = await client.call('GET', `/events/${eventId}/deliveries`);
    expect(body.data).toMatchObject([{ event_id: eventId, webhookId, status: 'pending', attempt_count: 0 }]);
    expect((await client.call('GET', `/events/${eventId}`)).body.deliveries).toMatchObject({ pending: 1 });
    const workflow = await temporal.client.workflow.getHandle(`recover-${body.data[0].id}-0`).describe();
    expect(workflow).toMatchObject({ type: 'deliverEvent', status: { name: 'RUNNING' } });
    await handleOf(webhookId).terminate('as if it ended');
    const without = await client.call('POST', path, { json: { since: new Date(at - 1).toISOString() } });
    expect(without.body).toEqual({ count: 1, missing: 0 });
  });

  it('with include_missing start nothing if no event is missing, and take a window of 31 days at most', async () => {
    const client = await api.client();
    const { body } = await client.call('POST', '/webhook-endpoints', { json: endpointRequest() });
    const path = `/webhook-endpoints/${body.webhookId}/recover`;
    const from = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
    const nothing = await client.call('POST', path, { json: { since: from(31), include_missing: true } });
    expect([nothing.status, nothing.body]).toEqual([202, { count: 0, missing: 0 }]);
    await expect(handleOf(body.webhookId).describe()).rejects.toThrow(/not found/i);
    const tooLong = await client.call('POST', path, { json: { since: from(32), include_missing: true } });
    expect([tooLong.status, tooLong.body.errors]).toMatchObject([
      422,
      [{ pointer: '/since', code: 'window_too_long' }],
    ]);
    expect((await client.call('POST', path, { json: { since: from(32) } })).status).toBe(202);
    const noBoolean = await client.call('POST', path, { json: { since: from(1), include_missing: 'yes' } });
    expect([noBoolean.status, noBoolean.body.errors]).toMatchObject([422, [{ pointer: '/include_missing' }]]);
  });

  it('start nothing for a range that begins in the future, and respond that there is nothing to recover', async () => {
    const client = await api.client();
    const { webhookId } = await failing(client);
    for (const include_missing of [false, true]) {
      const json = { since: new Date(Date.now() + 3_600_000).toISOString(), include_missing };
      const { status, body } = await client.call('POST', `/webhook-endpoints/${webhookId}/recover`, { json });
      expect([status, body]).toEqual([202, { count: 0, missing: 0 }]);
    }
    await expect(handleOf(webhookId).describe()).rejects.toThrow(/not found/i);
  });

  it('start nothing if there is nothing to recover, and the next call is not refused', async () => {
    const client = await api.client();
    const { body } = await client.call('POST', '/webhook-endpoints', { json: endpointRequest() });
    for (let i = 0; i < 12; i++) expect(said(await recover(client, body.webhookId))).toEqual([202, 0]);
    await expect(handleOf(body.webhookId).describe()).rejects.toThrow(/not found/i);
    const { deliveryId, webhookId } = await failing(client);
    expect(said(await recover(client, webhookId))).toEqual([202, 1]);
    await carryOut(webhookId);
    expect(await api.database.prisma.delivery.findUnique({ where: { id: deliveryId } })).toMatchObject({
      status: 'pending',
    });
    expect(said(await recover(client, webhookId))).toEqual([202, 0]);
  });

  it('are limited to one for an endpoint and two for a client, across processes', async () => {
    const client = await api.client();
    const endpoints = [await failing(client), await failing(client), await failing(client)];
    const [one, two, three] = endpoints.map(({ webhookId }) => webhookId) as [string, string, string];
    const at = (webhookId: string) =>
      second.call('POST', `/webhook-endpoints/${webhookId}/recover`, {
        json: { since },
        headers: { Authorization: `Bearer ${client.token}` },
      });
    const race = await Promise.all([recover(client, one), at(one), recover(client, one), at(one)]);
    const [admitted, ...others] = race.map(said).sort();
    expect(admitted).toEqual([202, 1]);
    // While the first is counted, 429; once it is admitted, 409.
    for (const [, code] of others) expect(['recover_in_progress', 'statement_limit_reached']).toContain(code);
    expect(said(await recover(client, one))).toEqual([409, 'recover_in_progress']);
    expect(said(await at(two))).toEqual([202, 1]);
    expect(said(await recover(client, three))).toEqual([409, 'recover_in_progress']);
    // A recover that an operator ended blocks no other.
    await handleOf(one).terminate('by hand');
    expect(said(await recover(client, three))).toEqual([202, 1]);
  });

  it('are limited to ten an hour for an endpoint', async () => {
    const client = await api.client();
    const { webhookId, deliveryId } = await failing(client);
    for (let i = 0; i < 10; i++) {
      expect(said(await recover(client, webhookId))).toEqual([202, 1]);
      await carryOut(webhookId);
      await fail(deliveryId);
    }
    const refused = await recover(client, webhookId);
    expect(said(refused)).toEqual([429, 'recover_limit_reached']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_500);
    await api.database.prisma.endpoint.update({ where: { id: webhookId }, data: { enabled: false } });
    expect(said(await recover(client, webhookId))).toEqual([409, 'endpoint_not_active']);
  });

  it('that got 503 do not count after Temporal is back, and their key continues with the same recover', async () => {
    const client = await api.client();
    const { webhookId } = await failing(client);
    const headers = { 'Idempotency-Key': newId() };
    await withTemporalAway(async () => expect((await recover(client, webhookId, headers)).status).toBe(503));
    expect(said(await recover(client, webhookId))).toEqual([202, 1]);
    expect(said(await recover(client, webhookId, headers))).toEqual([409, 'recover_in_progress']);
    await carryOut(webhookId);
    expect(said(await recover(client, webhookId, headers))).toEqual([202, 0]);
  });
});

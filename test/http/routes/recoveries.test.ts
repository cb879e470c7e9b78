import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createRecoveryActivities } from '../../../activities/recover-endpoint.js';
import { startWorkflows } from '../../../src/delivery/start-workflows.js';
import { shareWaiting } from '../../../src/delivery/waiting.js';
import { createMetrics } from '../../../src/platform/telemetry/metrics.js';
import type { RecoverEndpointInput, RecoveredBatch, RecoveryPosition } from '../../../workflows/recover-endpoint.js';
import { openApi, type TestClient } from '../../support/api.js';
import { makeDelivered, makeEvent } from '../../support/events.js';
import { deliverTo } from '../../support/history.js';
import { outboxOf } from '../../support/outbox.js';
import { createTestNamespace, type TestTemporal } from '../../support/temporal.js';
import { endpointRequest } from '../../support/transfers.js';
import { waitFor } from '../../support/wait-for.js';

// Two processes of the API share a database. Temporal has a namespace without a worker: started workflows do not run.

const api = await openApi();
const second = await openApi({ database: api.database });
let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await createTestNamespace();
}, 120_000);
afterAll(() => temporal.close());

const since = '2026-01-01T00:00:00Z';
const recover = (client: TestClient, webhookId: string, headers = {}) =>
  client.call('POST', `/webhook-endpoints/${webhookId}/recover`, { json: { since }, headers });
const said = ({ status, body }: Awaited<ReturnType<typeof recover>>) => [status, body.code ?? body.count];
const startOf = (webhookId: string) =>
  api.database.prisma.workflowStart.findFirst({ where: { endpointId: webhookId } });
const fail = (deliveryId: string) =>
  api.database.prisma.delivery.update({
    where: { id: deliveryId },
    data: { status: 'failed', attemptCount: 7, nextAttemptAt: null },
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

const START: RecoveryPosition = { phase: 'ended', after: null };
const activities = () => createRecoveryActivities(api.database, [0], createMetrics(), () => {});
/** Does the work of the worker until the recovery has ended. @returns the batches, and the request of the last one */
async function carryOut(webhookId: string, start = START) {
  const { workflowId, input } = (await startOf(webhookId))!;
  const scope = { ...(input as unknown as RecoverEndpointInput), workflowId };
  const batches: RecoveredBatch[] = [];
  for (let from = start; ; ) {
    const last = { ...scope, from };
    const batch = await activities().recoverBatch(last);
    batches.push(batch);
    if (batch.next === null) return { batches, last };
    from = batch.next;
  }
}

it('with include_missing return the number of events that get their delivery, and make it', async () => {
  const client = await api.client();
  const { webhookId, deliveryId } = await failing(client);
  const at = Date.now() - 3_600_000;
  const eventId = await makeEvent(api.database, client.id, at);
  const request = { since: new Date(at).toISOString() };
  const path = `/webhook-endpoints/${webhookId}/recover`;
  const including = await client.call('POST', path, { json: { ...request, include_missing: true } });
  expect(including).toMatchObject({ status: 202, body: { id: expect.any(String), count: 1, missing: 1, pending: 0 } });
  expect(await startOf(webhookId)).toMatchObject({ input: { includeMissing: true, count: 1, missing: 1 } });
  const { batches } = await carryOut(webhookId);
  expect(batches).toEqual([
    { recovered: 1, next: { phase: 'ended', after: expect.any(String) } },
    { recovered: 0, next: { phase: 'missing', after: null } },
    { recovered: 1, next: null },
  ]);
  const { body } = await client.call('GET', `/events/${eventId}/deliveries`);
  expect(body.data).toMatchObject([{ event_id: eventId, webhookId, status: 'pending', attempt_count: 0 }]);
  expect((await client.call('GET', `/events/${eventId}`)).body.deliveries).toMatchObject({ pending: 1 });
  expect(await outboxOf(api.database, eventId)).toBe('again');
  await fail(deliveryId);
  const without = await client.call('POST', path, { json: { since: new Date(at - 1).toISOString() } });
  expect(without.body).toMatchObject({ count: 1, missing: 0, pending: 0 });
});

it('with include_pending restart what sleeps, and leave alone what is due or in flight', async () => {
  const client = await api.client();
  const { webhookId, deliveryId } = await failing(client);
  const sleeping = { asleep: true, rung: 6, nextAttemptAt: new Date(Date.now() + 86_400_000) };
  const of = { clientId: client.id, endpointId: webhookId, status: 'pending' } as const;
  const made = [];
  for (let i = 0; i < 3; i++) {
    made.push((await makeDelivered(api.database, { ...of, at: Date.now() - 3_600_000 + i })).deliveryId);
  }
  const [asleep = '', due = '', manual = ''] = made;
  await api.database.prisma.delivery.updateMany({ where: { id: { in: made } }, data: sleeping });
  await api.database.prisma.delivery.update({ where: { id: due }, data: { nextAttemptAt: new Date() } });
  expect((await client.call('POST', `/deliveries/${manual}/retry`)).status).toBe(202);
  const path = `/webhook-endpoints/${webhookId}/recover`;
  const { status, body, headers } = await client.call('POST', path, { json: { since, include_pending: true } });
  expect([status, body]).toEqual([202, { id: expect.any(String), count: 1, missing: 0, pending: 1 }]);
  expect((await carryOut(webhookId, { phase: 'pending', after: null })).batches).toEqual([
    { recovered: 1, next: { phase: 'pending', after: asleep } },
    { recovered: 0, next: { phase: 'ended', after: null } },
    { recovered: 1, next: { phase: 'ended', after: deliveryId } },
    { recovered: 0, next: null },
  ]);
  const rungs = await api.database.prisma.delivery.findMany({ where: { id: { in: made } }, orderBy: { id: 'asc' } });
  expect(rungs.map(({ asleep, rung }) => [asleep, rung])).toEqual([
    [false, 0],
    [true, 6],
    [false, 6],
  ]);
  expect((await client.call('GET', new URL(headers.get('location') ?? '').pathname)).body).toMatchObject({
    ...{ include_pending: true, count: 1, missing: 0, pending: 1, started: 2, status: 'completed' },
  });
});

it('with include_missing start nothing if no event is missing, and take a window of 31 days at most', async () => {
  const client = await api.client();
  const { body } = await client.call('POST', '/webhook-endpoints', { json: endpointRequest() });
  const path = `/webhook-endpoints/${body.webhookId}/recover`;
  const from = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  const nothing = await client.call('POST', path, { json: { since: from(31), include_missing: true } });
  expect([nothing.status, nothing.body]).toEqual([202, { id: null, count: 0, missing: 0, pending: 0 }]);
  expect(await startOf(body.webhookId)).toBeNull();
  const tooLong = await client.call('POST', path, { json: { since: from(32), include_missing: true } });
  expect([tooLong.status, tooLong.body.errors]).toMatchObject([422, [{ pointer: '/since', code: 'window_too_long' }]]);
  expect((await client.call('POST', path, { json: { since: from(32) } })).status).toBe(202);
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
  await carryOut(one);
  expect(said(await recover(client, three))).toEqual([202, 1]);
});

it('run until they have ended: a terminated workflow starts again, and blocks another recovery until then', async () => {
  const client = await api.client();
  const { webhookId } = await failing(client);
  expect(said(await recover(client, webhookId))).toEqual([202, 1]);
  const handle = temporal.client.workflow.getHandle((await startOf(webhookId))!.workflowId);
  const outbox = startWorkflows({
    ...{ db: api.database, temporal: () => temporal.client, busy: () => false },
    ...{ waiting: shareWaiting(api.database, { isFirst: true }), interval: 100, log: api.dependencies.log },
  });
  outbox.start();
  try {
    await waitFor('the start', async () => (await startOf(webhookId))?.startedAt);
    expect(await (await handle.describe()).staticSummary()).toBe(
      `recover 1 deliveries → Orders (example.com) …${webhookId.slice(-8)}`,
    );
    await handle.terminate('by an operator');
    expect(said(await recover(client, webhookId))).toEqual([409, 'recover_in_progress']);
    await api.database.prisma.workflowStart.updateMany({
      where: { endpointId: webhookId },
      data: { startAfter: new Date() },
    });
    await waitFor('the restart', async () => (await handle.describe()).status.name === 'RUNNING');
  } finally {
    await outbox.stop();
  }
});

it('leave the next recovery of the endpoint alone when their last batch runs again', async () => {
  const client = await api.client();
  const { webhookId, deliveryId } = await failing(client);
  await recover(client, webhookId);
  const { last } = await carryOut(webhookId);
  await fail(deliveryId);
  expect(said(await recover(client, webhookId))).toEqual([202, 1]);
  const before = await startOf(webhookId);
  await activities().recoverBatch(last);
  expect(await startOf(webhookId)).toEqual(before);
});

describe('recoveries as a resource', () => {
  const pathOf = (webhookId: string) => `/webhook-endpoints/${webhookId}/recoveries`;

  it('are at the URL of Location, counts what it has queued, and has ended with its last batch', async () => {
    const client = await api.client();
    const { webhookId } = await failing(client);
    const { body, headers } = await recover(client, webhookId);
    const path = `${pathOf(webhookId)}/${body.id}`;
    expect(headers.get('location')).toBe(`${api.dependencies.config.baseUrl}${path}`);
    const any = expect.any(String);
    const recovery = {
      ...{ id: body.id, since: '2026-01-01T00:00:00.000Z', until: any, include_missing: false, include_pending: false },
      ...{ count: 1, missing: 0, pending: 0, started: 0, status: 'running', created_at: any, finished_at: null },
    };
    expect((await client.call('GET', path)).body).toEqual(recovery);
    await carryOut(webhookId);
    const { body: ended } = await client.call('GET', path);
    expect(ended).toEqual({ ...recovery, started: 1, status: 'completed', finished_at: expect.any(String) });
    expect((await client.call('GET', pathOf(webhookId))).body).toMatchObject({ data: [ended], has_more: false });
    const nothing = await recover(client, webhookId);
    expect([nothing.headers.get('location'), nothing.body.id]).toEqual([null, null]);
    const cancel = await client.call('POST', `${path}/cancel`);
    expect([cancel.status, cancel.body.code]).toEqual([409, 'recovery_ended']);
  });

  it('queue nothing more once cancelled, keep what they have queued, and let the next one start at once', async () => {
    const client = await api.client();
    const { webhookId, deliveryId } = await failing(client);
    const { deliveryId: later } = await deliverTo(api, client);
    await api.database.prisma.delivery.update({ where: { id: later }, data: { endpointId: webhookId } });
    await fail(later);
    const { body } = await recover(client, webhookId);
    const { workflowId, input } = (await startOf(webhookId))!;
    const scope = { ...(input as unknown as RecoverEndpointInput), workflowId, from: START };
    const until = (await api.database.prisma.delivery.findUniqueOrThrow({ where: { id: later } })).createdAt.getTime();
    const first = await activities().recoverBatch({ ...scope, until });
    expect(first.recovered).toBe(1);
    const path = `${pathOf(webhookId)}/${body.id}/cancel`;
    const { status, body: cancelled } = await client.call('POST', path);
    expect([status, cancelled]).toMatchObject([200, { status: 'cancelled', started: 1, count: 2 }]);
    expect(await activities().recoverBatch({ ...scope, from: first.next! })).toEqual({ recovered: 0, next: null });
    const statusOf = async (id: string) => (await api.database.prisma.delivery.findUnique({ where: { id } }))?.status;
    expect([await statusOf(deliveryId), await statusOf(later)]).toEqual(['pending', 'failed']);
    expect((await client.call('POST', path)).body.code).toBe('recovery_ended');
    const audited = { action: 'endpoints.cancel-recovery', target: webhookId };
    expect(await api.database.prisma.auditEntry.count({ where: audited })).toBe(1);
    expect(said(await recover(client, webhookId))).toEqual([202, 1]);
  });

  it('are cancelled when their endpoint is disabled', async () => {
    const client = await api.client();
    const { webhookId } = await failing(client);
    const { body } = await recover(client, webhookId);
    await client.call('PATCH', `/webhook-endpoints/${webhookId}`, { json: { enabled: false } });
    await carryOut(webhookId);
    expect((await client.call('GET', `${pathOf(webhookId)}/${body.id}`)).body).toMatchObject({
      ...{ status: 'cancelled', started: 0 },
    });
  });
});

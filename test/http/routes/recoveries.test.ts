import { describe, expect, it } from '@jest/globals';
import { openApi, type TestClient } from '../../support/api.js';
import { carryOut } from '../../support/carry-out.js';
import { makeDelivered, makeEvent, makeManyDelivered } from '../../support/events.js';
import { deliverTo } from '../../support/history.js';
import { outboxOf } from '../../support/outbox.js';
import { endpointRequest } from '../../support/transfers.js';

// Two processes of the API share a database.

const api = await openApi();
const second = await openApi({ database: api.database });

const since = '2026-01-01T00:00:00Z';
const recover = (client: TestClient, webhookId: string, headers = {}) =>
  client.call('POST', `/webhook-endpoints/${webhookId}/recover`, { json: { since }, headers });
const said = ({ status, body }: Awaited<ReturnType<typeof recover>>) => [status, body.code ?? body.count];
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

it('with include_missing return the number of events that get their delivery, and make it', async () => {
  const client = await api.client();
  const { webhookId, deliveryId } = await failing(client);
  const at = Date.now() - 3_600_000;
  const eventId = await makeEvent(api.database, client.id, at);
  const request = { since: new Date(at).toISOString() };
  const path = `/webhook-endpoints/${webhookId}/recover`;
  const including = await client.call('POST', path, { json: { ...request, include_missing: true } });
  expect(including).toMatchObject({ status: 202, body: { id: expect.any(String), count: 1, missing: 1, pending: 0 } });
  await carryOut(api.database);
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
  const { webhookId } = await failing(client);
  const sleeping = { asleep: true, rung: 6, nextAttemptAt: new Date(Date.now() + 86_400_000) };
  const of = { clientId: client.id, endpointId: webhookId, status: 'pending' } as const;
  const made = [];
  for (let i = 0; i < 3; i++) {
    made.push((await makeDelivered(api.database, { ...of, at: Date.now() - 3_600_000 + i })).deliveryId);
  }
  const [, due = '', manual = ''] = made;
  await api.database.prisma.delivery.updateMany({ where: { id: { in: made } }, data: sleeping });
  await api.database.prisma.delivery.update({ where: { id: due }, data: { nextAttemptAt: new Date() } });
  expect((await client.call('POST', `/deliveries/${manual}/retry`)).status).toBe(202);
  const path = `/webhook-endpoints/${webhookId}/recover`;
  const { status, body, headers } = await client.call('POST', path, { json: { since, include_pending: true } });
  expect([status, body]).toEqual([202, { id: expect.any(String), count: 1, missing: 0, pending: 1 }]);
  await carryOut(api.database);
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
  await api.database.prisma.recovery.updateMany({ where: { endpointId: one }, data: { finishedAt: new Date() } });
  expect(said(await recover(client, three))).toEqual([202, 1]);
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
    await carryOut(api.database);
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
    const { webhookId } = await failing(client);
    const where = { endpointId: webhookId };
    await makeManyDelivered(api.database, { clientId: client.id, ...where, at: Date.now() - 3_600_000, count: 30 }, []);
    await api.database.prisma.delivery.updateMany({ where, data: { status: 'failed', nextAttemptAt: null } });
    const { body } = await recover(client, webhookId);
    // The endpoint's late line takes 20.
    await carryOut(api.database, () => api.database.prisma.recovery.findFirst({ where: { ...where, started: 20 } }));
    const path = `${pathOf(webhookId)}/${body.id}/cancel`;
    const { status, body: cancelled } = await client.call('POST', path);
    expect([status, cancelled]).toMatchObject([200, { status: 'cancelled', started: 20 }]);
    await api.database.query('delete from queue where endpoint_id = $1::uuid', [webhookId]);
    await carryOut(api.database);
    expect(await api.database.prisma.delivery.count({ where: { ...where, status: 'pending' } })).toBe(20);
    expect((await client.call('POST', path)).body.code).toBe('recovery_ended');
    const audited = { action: 'endpoints.cancel-recovery', target: webhookId };
    expect(await api.database.prisma.auditEntry.count({ where: audited })).toBe(1);
    expect(said(await recover(client, webhookId))).toEqual([202, body.count - 20]);
  });

  it('are cancelled when their endpoint is disabled', async () => {
    const client = await api.client();
    const { webhookId } = await failing(client);
    const { body } = await recover(client, webhookId);
    await client.call('PATCH', `/webhook-endpoints/${webhookId}`, { json: { enabled: false } });
    await carryOut(api.database);
    expect((await client.call('GET', `${pathOf(webhookId)}/${body.id}`)).body).toMatchObject({
      ...{ status: 'cancelled', started: 0 },
    });
  });
});

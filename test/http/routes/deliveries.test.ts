import { beforeEach, describe, expect, it } from '@jest/globals';
import { idCursor } from '../../../src/http/paging.js';
import { newId } from '../../../src/platform/ids.js';
import { changeStatus } from '../../../src/transfers/change-status.js';
import { openApi, type TestClient } from '../../support/api.js';
import { deliverTo, moveMany } from '../../support/history.js';
import { countUses } from '../../support/limits.js';
import { transferRequest } from '../../support/transfers.js';

const api = await openApi();
const client = await api.client();
const history = await deliverTo(api, client);

const DAY = 86_400_000;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('events', () => {
  it('are shown as they were delivered, with the number of deliveries in each status', async () => {
    const { body } = await client.call('GET', `/events/${history.eventId}`);
    expect(body).toEqual({
      id: history.eventId,
      version: '2026-11-21',
      type: 'transfer.status_changed',
      data: { id: history.transferId, status: 'PROCESSING' },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/),
      deliveries: { pending: 0, succeeded: 1, failed: 0, cancelled: 0 },
    });
    const stored = await api.database.prisma.event.findUniqueOrThrow({ where: { id: history.eventId } });
    const { deliveries: _, ...delivered } = body;
    expect(JSON.stringify(delivered)).toBe(stored.body);
  });

  it('are filtered by type, transfer and time', async () => {
    const [other] = await moveMany(client, 1);
    const list = async (query: string) =>
      (await client.call('GET', `/events?${query}`)).body.data.map((event: { data: { id: string } }) => event.data.id);
    expect(await list('')).toEqual([other, history.transferId, history.transferId]);
    expect(await list('type=transfer.status_changed')).toHaveLength(3);
    expect(await list(`transfer_id=${other}`)).toEqual([other]);
    expect(await list(`transfer_id=${newId()}`)).toEqual([]);
    const { created_at } = (await client.call('GET', `/events/${history.eventId}`)).body;
    expect(await list(`created_before=${created_at}Z`)).toEqual([]);
    expect(await list(`created_after=${created_at}Z&transfer_id=${other}`)).toEqual([other]);
  });
});

describe('the feed of events', () => {
  type Shown = { id: string; data: { id: string } };
  const read = async (whose: TestClient, query = '') =>
    (await whose.call('GET', `/events?order=oldest${query}`)).body as {
      data: Shown[];
      has_more: boolean;
      next_cursor: string;
    };
  const transfersOf = ({ data }: { data: Shown[] }) => data.map((event) => event.data.id);

  it('is read oldest first, page by page, and on from the cursor of its last page', async () => {
    const own = await api.client();
    const empty = await read(own);
    expect(empty).toEqual({ data: [], has_more: false, next_cursor: expect.any(String) });
    const made = await moveMany(own, 3);
    const first = await read(own, `&limit=2&cursor=${empty.next_cursor}`);
    expect([transfersOf(first), first.has_more]).toEqual([made.slice(0, 2), true]);
    const second = await read(own, `&limit=2&cursor=${first.next_cursor}`);
    expect([transfersOf(second), second.has_more]).toEqual([made.slice(2), false]);
    const last = await own.call('GET', `/events?order=oldest&cursor=${second.next_cursor}`);
    expect([last.body.data, last.headers.get('Link')]).toEqual([[], null]);
    const more = await moveMany(own, 1);
    for (const cursor of [second.next_cursor, last.body.next_cursor]) {
      expect(transfersOf(await read(own, `&cursor=${cursor}`))).toEqual(more);
    }
    const { body } = await own.call('GET', `/events/${second.data[0]?.id}`);
    const after = `&created_after=${body.created_at}Z`;
    expect(transfersOf(await read(own, after))).toEqual(more);
    expect(transfersOf(await read(own, `${after}&transfer_id=${made[0]}`))).toEqual([]);
    expect(transfersOf(await read(own, `&created_before=${body.created_at}Z`))).toEqual(made.slice(0, 2));
  });

  it('ends before an event of an open transaction, and so never skips it', async () => {
    const own = await api.client();
    const [earlier] = await moveMany(own, 1);
    const { id: held } = (await own.call('POST', '/transfers', { json: transferRequest() })).body;
    const [inserted, mayCommit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const change = api.database.transaction(async (tx) => {
      await changeStatus(tx, api.dependencies.handover, { transferId: held, to: 'PROCESSING', reason: null });
      inserted.resolve();
      await mayCommit.promise;
    });
    await inserted.promise;
    const [later] = await moveMany(own, 1);
    const before = await read(own);
    expect([transfersOf(before), before.has_more]).toEqual([[earlier], false]);
    mayCommit.resolve();
    await change;
    expect(transfersOf(await read(own, `&cursor=${before.next_cursor}`))).toEqual([held, later]);
  });

  const old = newId(Date.now() - 91 * DAY);
  it.each([
    ['outcome=failed', 'outcome', 'not_allowed'],
    [`missing_from=${newId()}&created_after=${new Date().toISOString()}`, 'missing_from', 'not_allowed'],
    [`cursor=${idCursor('events').write(newId())}`, 'cursor', 'invalid_cursor'],
    [`cursor=${idCursor('the feed of events').write(old)}`, 'cursor', 'outside_retention'],
  ])('rejects %s', async (query, parameter, code) => {
    const { status, body } = await client.call('GET', `/events?order=oldest&${query}`);
    expect([status, body.errors]).toMatchObject([422, [{ parameter, code }]]);
    const cursor = (await read(client)).next_cursor;
    expect((await client.call('GET', `/events?cursor=${cursor}`)).body.errors).toMatchObject([
      { code: 'invalid_cursor' },
    ]);
  });
});

describe('deliveries', () => {
  it('are shown with their attempts', async () => {
    const { body } = await client.call('GET', `/deliveries/${history.deliveryId}`);
    const attempt = {
      trigger: 'schedule',
      url: 'https://example.com/hooks',
      t: '2026-11-21T10:00:00.123Z',
      started_at: expect.stringMatching(TIME),
      duration_ms: 12,
      response_headers: null,
      detail: null,
    };
    expect(body).toEqual({
      id: history.deliveryId,
      event_id: history.eventId,
      webhookId: history.webhookId,
      url: 'https://example.com/hooks',
      status: 'succeeded',
      reason: null,
      attempt_count: 2,
      next_attempt_at: null,
      created_at: expect.stringMatching(TIME),
      finished_at: expect.stringMatching(TIME),
      event_type: 'transfer.status_changed',
      transfer_id: history.transferId,
      transfer_status: 'PROCESSING',
      attempts: [
        { ...attempt, number: 1, response_status: 500, response_body: 'no', error: 'status' },
        { ...attempt, number: 2, response_status: 204, response_body: null, error: null },
      ],
      planned_attempts: [],
    });
  });

  it('are listed by event and by endpoint, and filtered by status', async () => {
    const list = async (path: string) =>
      (await client.call('GET', path)).body.data.map((delivery: { id: string }) => delivery.id);
    expect(await list(`/events/${history.eventId}/deliveries`)).toEqual([history.deliveryId]);
    expect(await list(`/events/${history.eventId}/deliveries?status=pending`)).toEqual([]);
    const ofEndpoint = `/webhook-endpoints/${history.webhookId}/deliveries`;
    expect(await list(`${ofEndpoint}?status=succeeded`)).toEqual([history.deliveryId]);
    const pending = await list(`${ofEndpoint}?status=pending`);
    expect(pending.length).toBeGreaterThan(0);
    expect(await list(ofEndpoint)).toEqual([...pending, history.deliveryId]);
    const { body } = await client.call('GET', `/deliveries/${pending[0]}`);
    expect(body).toMatchObject({
      status: 'pending',
      next_attempt_at: expect.stringMatching(TIME),
      finished_at: null,
      attempts: [],
    });
    const { next_attempt_at, planned_attempts } = body;
    const times = [0, 0, 5, 35, 155, 515, 1_955].map((minutes) => Date.parse(next_attempt_at) + minutes * 60_000);
    expect(planned_attempts).toEqual(times.map((at, i) => ({ number: i + 1, at: new Date(at).toISOString() })));
    const refused = await client.call('GET', `${ofEndpoint}?status=done`);
    expect([refused.status, refused.body.errors]).toMatchObject([
      422,
      [{ parameter: 'status', code: 'invalid_value' }],
    ]);
  });

  it('remain after their endpoint is deleted', async () => {
    const own = await api.client();
    const { webhookId, eventId, deliveryId } = await deliverTo(api, own);
    await own.call('DELETE', `/webhook-endpoints/${webhookId}`);
    expect((await own.call('GET', `/deliveries?webhookId=${webhookId}`)).body.data).toMatchObject([
      { status: 'cancelled' },
      { status: 'succeeded' },
    ]);
    const cancelled = (await own.call('GET', '/events?outcome=cancelled&type=transfer.status_changed')).body.data;
    expect(cancelled).toMatchObject([{ data: { status: 'SENT' }, deliveries: { cancelled: 1 } }]);
    expect((await own.call('GET', '/events?outcome=succeeded')).body.data).toMatchObject([{ id: eventId }]);
    expect((await own.call('GET', '/events?outcome=failed')).body.data).toEqual([]);
    expect((await own.call('GET', `/deliveries/${deliveryId}`)).body).toMatchObject({ webhookId, status: 'succeeded' });
    const all = (await own.call('GET', '/events')).body.data;
    expect(all.map((event: { deliveries: unknown }) => event.deliveries)).toEqual([
      { pending: 0, succeeded: 0, failed: 0, cancelled: 1 },
      { pending: 0, succeeded: 1, failed: 0, cancelled: 0 },
    ]);
    expect((await own.call('GET', `/events/${eventId}/deliveries`)).body.data).toHaveLength(1);
  });
});

describe('POST /deliveries/{id}/retry', () => {
  const path = () => `/deliveries/${history.deliveryId}/retry`;

  const attempted = () => api.database.prisma.queuedAttempt.deleteMany({ where: { deliveryId: history.deliveryId } });
  beforeEach(attempted);

  it('counts neither for a replayed key, nor while an attempt is requested or in flight', async () => {
    const { deliveryId } = history;
    const retry = async (headers = {}) => {
      const reply = await client.call('POST', path(), { headers });
      return [reply.status, reply.headers.get('idempotency-replayed')];
    };
    const key = { 'Idempotency-Key': newId() };
    for (const replayed of [null, 'true', 'true']) {
      expect(await retry(key)).toEqual([202, replayed]);
      await attempted();
    }
    expect(await countUses(api.database, 'retries', deliveryId)).toBe(1);
    // Asked for, asked for again, and then in flight.
    for (let i = 0; i < 2; i++) expect(await retry()).toEqual([202, null]);
    await api.database.prisma.queuedAttempt.update({
      where: { deliveryId },
      data: { leaseToken: newId(), leaseUntil: new Date(Date.now() + 30_000) },
    });
    expect(await retry()).toEqual([202, null]);
    expect(await countUses(api.database, 'retries', deliveryId)).toBe(2);
  });

  it('responds with endpoint_not_active, and does not keep that response', async () => {
    const setEnabled = (enabled: boolean) =>
      api.database.prisma.endpoint.update({ where: { id: history.webhookId }, data: { enabled } });
    await setEnabled(false);
    const headers = { 'Idempotency-Key': newId() };
    const refused = await client.call('POST', path(), { headers });
    expect([refused.status, refused.body.code]).toEqual([409, 'endpoint_not_active']);
    await setEnabled(true);
    expect((await client.call('POST', path(), { headers })).status).toBe(202);
  });
});

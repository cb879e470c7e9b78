import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { nodesOf, openExplained } from '../../bench/lists/plans.js';
import { updateEndpoint } from '../../src/endpoints/endpoints.js';
import { readWindow } from '../../src/endpoints/window.js';
import type { Handle } from '../../src/platform/database/database.js';
import { newId, timeOf } from '../../src/platform/ids.js';
import { deliverMissing } from '../../src/recoveries/batches.js';
import { changeStatus } from '../../src/transfers/change-status.js';
import { carryOut } from '../support/carry-out.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeDelivered, makeEvent, makeManyDelivered } from '../support/events.js';
import { BY_OPERATOR as by, makeClient, makeEndpoint, makeTransfer, masterKeys } from '../support/factories.js';
import { recordingHandover } from '../support/recording-handover.js';

const HOUR = 3_600_000;
const rules = { httpsOnly: false, blocksLiteral: () => false, maxEndpoints: 20 };
const LADDER = [0, 300_000];
const handover = recordingHandover({ retryDelays: LADDER });

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase({ poolSize: 16 });
});
afterAll(() => db.drop());

async function setUp(enabled = true) {
  const clientId = await makeClient(db);
  const endpoint = await makeEndpoint(db, clientId, { enabled });
  const scope = { clientId, endpointId: endpoint.id, since: Date.now() - 2 * HOUR, until: Date.now() + HOUR };
  return { clientId, endpoint, scope };
}
type Scope = Awaited<ReturnType<typeof setUp>>['scope'];

const deliver = (scope: Scope, after: string | null = null, limit = 100) =>
  deliverMissing(db, { ...scope, after, limit, retryDelays: LADDER });
const deliveriesOf = (endpointId: string) =>
  db.prisma.delivery.findMany({ where: { endpointId }, orderBy: { id: 'asc' } });

describe('the deliveries of missing events', () => {
  it('are made for the events of the range that have none for the endpoint, and for no others', async () => {
    const { clientId, endpoint, scope } = await setUp();
    const at = Date.now() - HOUR;
    const missing = [await makeEvent(db, clientId, at), await makeEvent(db, clientId, at + 5)];
    await makeEvent(db, clientId, scope.since - 1);
    await makeEvent(db, await makeClient(db), at);
    for (const status of ['succeeded', 'failed', 'cancelled', 'pending'] as const) {
      await makeDelivered(db, { clientId, endpointId: endpoint.id, at, status });
    }
    expect(await deliver(scope)).toEqual({ recovered: 2, after: null });
    const where = { endpointId: endpoint.id, eventId: { in: missing } };
    const rows = await db.prisma.delivery.findMany({ where, orderBy: { id: 'asc' } });
    expect(rows.map(({ eventId }) => eventId)).toEqual(missing);
    for (const row of rows) {
      expect(row).toMatchObject({ status: 'pending', attemptCount: 0, rung: 0, ladder: '0s,5m', recovered: true });
      expect(row.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      expect(timeOf(row.id)).toBe(timeOf(row.eventId));
    }
    expect(await readWindow(db, scope)).toMatchObject({ events: 6, pending: 3, missing: 0 });
  });

  it('are found by the deliveries of each event, even before Postgres has statistics of a busy endpoint', async () => {
    const { clientId, endpoint, scope } = await setUp();
    const many = { clientId, endpointId: endpoint.id, at: Date.now() - HOUR, count: 5_000 };
    await makeManyDelivered(db, many, [2_500]);
    const explained = openExplained(db.url.reveal());
    expect(
      (await deliverMissing(explained, { ...scope, after: null, limit: 100, retryDelays: LADDER })).recovered,
    ).toBe(1);
    const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
    await explained.close();
    const indexes = nodes.flatMap((node) => node['Index Name'] ?? []).filter((name) => name.startsWith('deliveries'));
    expect(indexes).toEqual(['deliveries_event_id_idx']);
  });

  it('are one for each event and endpoint, if several recoveries, changes of status and changes of the endpoint race', async () => {
    const { clientId, endpoint, scope } = await setUp();
    for (let i = 0; i < 60; i++) await makeEvent(db, clientId, Date.now() - HOUR + (i % 20));
    const transfers = await Promise.all(Array.from({ length: 60 }, () => makeTransfer(db, clientId)));
    const update = (enabled: boolean) =>
      updateEndpoint(db, rules, masterKeys, {
        by,
        clientId,
        id: endpoint.id,
        url: endpoint.url,
        description: null,
        enabled,
      });
    let changing = true;
    const recovering = async (limit: number) => {
      let after: string | null = null;
      while (changing) ({ after } = await deliver(scope, after, limit));
    };
    const toggling = async () => {
      for (let i = 0; changing; i++) {
        await update(i % 2 === 0);
        await sleep(Math.random() * 5);
      }
    };
    const changes = async () => {
      for (const { id } of transfers) {
        await changeStatus(db, handover, { transferId: id, to: 'PROCESSING', reason: null });
        await sleep(Math.random() * 5);
      }
      changing = false;
    };
    await Promise.all([changes(), toggling(), recovering(1), recovering(7), recovering(100)]);
    await update(true);
    while ((await deliver(scope)).recovered > 0);
    const deliveries = await deliveriesOf(endpoint.id);
    expect(deliveries).toHaveLength(120);
    expect(new Set(deliveries.map(({ eventId }) => eventId)).size).toBe(120);
    expect((await readWindow(db, scope)).missing).toBe(0);
  });
});

describe('an event that is being committed while the endpoint is enabled', () => {
  it('is waited for, and gets its one delivery from the recovery', async () => {
    const { clientId, endpoint, scope } = await setUp(false);
    const { id: transferId } = await makeTransfer(db, clientId);
    let commit = () => {};
    const committing = new Promise<void>((resolve) => {
      commit = resolve;
    });
    let begun = () => {};
    const appended = new Promise<void>((resolve) => {
      begun = resolve;
    });
    // The statement has read the endpoint as disabled, and its transaction stays open.
    const change = db.transaction(async (tx: Handle) => {
      await changeStatus(tx, handover, { transferId, to: 'PROCESSING', reason: null });
      begun();
      await committing;
    });
    await appended;
    const update = { by, clientId, id: endpoint.id, url: endpoint.url, description: null, enabled: true };
    await updateEndpoint(db, rules, masterKeys, update);
    expect((await deliver(scope)).recovered).toBe(0);

    const range = { since: new Date(scope.since), until: new Date(), includeMissing: true, phase: 'missing' };
    const ids = { id: newId(), clientId, endpointId: endpoint.id };
    await db.prisma.recovery.create({ data: { ...ids, ...range, count: 0, missing: 1 } });
    // A later event does not prolong the wait: its statement sees the endpoint enabled.
    const later = await makeTransfer(db, clientId);
    await changeStatus(db, handover, { transferId: later.id, to: 'PROCESSING', reason: null });
    let looks = 0;
    await carryOut(db, async () => ++looks > 3);
    expect(await db.prisma.recovery.findUnique({ where: { id: ids.id } })).toMatchObject({ finishedAt: null });
    commit();
    await change;
    await carryOut(db);
    expect(await db.prisma.recovery.findUnique({ where: { id: ids.id } })).toMatchObject({ started: 1 });
    expect(await deliveriesOf(endpoint.id)).toHaveLength(2);
  });
});

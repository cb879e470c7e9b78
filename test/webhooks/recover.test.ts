import { createRecoverActivities } from '../../activities/recover.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { createMetrics } from '../../src/telemetry/metrics.js';
import { claimAttempt } from '../../src/webhooks/claim.js';
import { disableEndpoint } from '../../src/webhooks/disable-endpoint.js';
import { enabledNow } from '../../src/webhooks/endpoints.js';
import { countRecoverable, resetForRecovery } from '../../src/webhooks/recover.js';
import { readRecoveredStarts } from '../../src/workflow-starts/read-starts.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { expireLeases } from '../support/expire-leases.js';
import { makeClient } from '../support/factories.js';
import { LADDER } from '../support/run-workflow.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';

let db: TestDatabase;
let temporal: TestTemporal;
beforeAll(async () => {
  [db, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
}, 120_000);
afterAll(async () => {
  await temporal.close();
  await db.drop();
});

/** Makes an endpoint with a delivery in each of the statuses, in this order. */
async function endpointWith(...kinds: ('succeeded' | 'failed' | 'cancelled' | 'pending')[]) {
  const clientId = await makeClient(db);
  const events: CommittedEvent[] = [];
  for (const status of kinds) {
    const event = await commitEvent(db, { clientId, endpoints: events.length === 0 ? 1 : 0 });
    await db.prisma.delivery.updateMany({
      where: { eventId: event.eventId },
      data: { status, attemptCount: 7, attemptingUntil: null, ...(status !== 'pending' && { nextAttemptAt: null }) },
    });
    events.push(event);
  }
  const endpointId = events[0]!.deliveries[0]!.endpointId;
  const scope = { clientId, endpointId, since: 0, until: Date.now() + 1_000 };
  return { scope, ids: events.map((event) => event.deliveries[0]!.deliveryId) };
}
/** Disables the endpoint, which cancels its pending deliveries, and enables it again. */
async function cancelPending(id: string): Promise<void> {
  await db.transaction((tx) => disableEndpoint(tx, id, 'owner'));
  await db.prisma.endpoint.update({ where: { id }, data: enabledNow() });
}
const read = (id: string) => db.prisma.delivery.findUniqueOrThrow({ where: { id } });

describe('recovering deliveries', () => {
  it('counts and resets failed and cancelled deliveries only', async () => {
    const { scope, ids } = await endpointWith('succeeded', 'failed', 'cancelled', 'pending');
    expect(await countRecoverable(db, scope)).toBe(2);
    expect(await resetForRecovery(db, scope, LADDER, null, 10)).toEqual([ids[1], ids[2]]);
    expect(await read(ids[1]!)).toMatchObject({
      status: 'pending',
      reason: null,
      finishedAt: null,
      ladderStart: 7,
      ladder: '0s,5m,30m,2h,6h,1d',
      attemptCount: 7,
      owner: `recover-${ids[1]}-7`,
      nextAttemptAt: expect.any(Date),
    });
    expect((await read(ids[0]!)).status).toBe('succeeded');
    expect((await read(ids[3]!)).owner).toBeNull();
  });

  it('leaves a first attempt to the lane that may be making it', async () => {
    const event = await commitEvent(db);
    const [{ deliveryId, endpointId }] = event.deliveries as [CommittedEvent['deliveries'][0]];
    await cancelPending(endpointId);
    const scope = { clientId: event.clientId, endpointId, since: 0, until: Date.now() + 1_000 };
    await resetForRecovery(db, scope, LADDER, null, 10);
    const { leaseUntil } = await db.prisma.event.findUniqueOrThrow({ where: { id: event.eventId } });
    const owner = `recover-${deliveryId}-0`;
    expect(await read(deliveryId)).toMatchObject({ owner, attemptingUntil: leaseUntil });
    expect(await claimAttempt(db, { deliveryId, number: 1, owner, single: false })).toBeUndefined();
    await expireLeases(db);
    expect(await claimAttempt(db, { deliveryId, number: 1, owner, single: false })).toBeDefined();
  });

  it('starts a delivery again with the present ladder, also when an earlier release kept none', async () => {
    const { scope, ids } = await endpointWith('failed');
    await db.query('update deliveries set ladder = null where id = $1::uuid', [ids[0]]);
    await resetForRecovery(db, scope, [0, 1_000], null, 10);
    const [start] = await readRecoveredStarts(db, [ids[0]!], LADDER);
    expect(start!.input.ladder).toEqual([0, 1_000]);
  });

  it('gives a delivery that was cancelled before its first attempt a new owner at each reset', async () => {
    const { scope, ids } = await endpointWith('failed');
    const [id] = ids;
    // The workflow of the earlier owner may not have ended yet, and would be taken for the new one.
    const owners: unknown[] = [];
    for (let time = 0; time < 3; time++) {
      await resetForRecovery(db, scope, LADDER, null, 10);
      owners.push((await read(id!)).owner);
      await cancelPending(scope.endpointId);
    }
    expect(owners[0]).toBe(`recover-${id}-7`);
    expect(owners.slice(1)).toEqual(Array(2).fill(expect.stringMatching(new RegExp(`^recover-${id}-7-\\d{13}$`))));
    expect(new Set(owners).size).toBe(3);
  });

  it('resets the events of the range: since is inclusive, until is exclusive', async () => {
    const { scope, ids } = await endpointWith('failed', 'failed', 'failed');
    const times = await Promise.all(ids.map(async (id) => (await read(id)).createdAt.getTime()));
    const some = { ...scope, since: times[1]!, until: times[2]! };
    const expected = ids.filter((_, i) => times[i]! >= some.since && times[i]! < some.until);
    expect(await resetForRecovery(db, some, LADDER, null, 10)).toEqual(expected);
  });

  it("resets neither another endpoint's nor another client's deliveries", async () => {
    const { scope } = await endpointWith('failed');
    const other = await endpointWith('failed');
    expect(await resetForRecovery(db, { ...scope, clientId: other.scope.clientId }, LADDER, null, 10)).toEqual([]);
    expect(await resetForRecovery(db, { ...scope, endpointId: other.scope.endpointId }, LADDER, null, 10)).toEqual([]);
  });

  it('resets nothing for a disabled endpoint', async () => {
    const { scope } = await endpointWith('failed');
    await db.prisma.endpoint.update({ where: { id: scope.endpointId }, data: { enabled: false } });
    expect(await resetForRecovery(db, scope, LADDER, null, 10)).toEqual([]);
  });

  it('starts one workflow for each delivery, even if the activity died between the reset and the start', async () => {
    const { scope, ids } = await endpointWith('failed', 'cancelled');
    await resetForRecovery(db, scope, LADDER, null, 10);
    const { recoverBatch } = createRecoverActivities({
      database: db,
      temporal: () => ({ client: temporal.client }),
      retryDelays: [0, 300_000],
      metrics: createMetrics(),
    });
    const request = { clientId: scope.clientId, webhookId: scope.endpointId, since: scope.since, until: scope.until };
    const first = await recoverBatch({ ...request, after: null });
    const second = await recoverBatch({ ...request, after: null });
    expect([first, second]).toEqual([
      { recovered: 2, after: null },
      { recovered: 2, after: null },
    ]);
    for (const id of ids) {
      const workflow = await temporal.client.workflow.getHandle(`recover-${id}-7`).describe();
      expect(workflow).toMatchObject({ type: 'deliverEvent', status: { name: 'RUNNING' } });
    }
  });

  it('resets each delivery once over several batches', async () => {
    const { scope, ids } = await endpointWith('failed', 'failed', 'failed', 'cancelled', 'failed');
    const seen: string[] = [];
    for (let after: string | null = null; ; ) {
      const batch: readonly string[] = await resetForRecovery(db, scope, LADDER, after, 2);
      seen.push(...batch);
      after = batch.at(-1) ?? null;
      if (batch.length < 2) break;
    }
    expect(seen).toEqual(ids);
  });
});

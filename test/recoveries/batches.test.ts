import { describe, expect, it } from '@jest/globals';
import { enabledAt } from '../../src/endpoints/endpoints.js';
import { newId } from '../../src/platform/ids.js';
import { LATE_WAITING, resetForRecovery, roomInLateLine } from '../../src/recoveries/batches.js';
import { changeStatus } from '../../src/transfers/change-status.js';
import { lease, makeOne } from '../support/attempt.js';
import { carryOut } from '../support/carry-out.js';
import { openTestDatabase } from '../support/database.js';
import { makeDelivered } from '../support/events.js';
import { makeClient, makeEndpoint, makeTransfer } from '../support/factories.js';
import { recordingHandover } from '../support/recording-handover.js';
import { waitFor } from '../support/wait-for.js';

const db = await openTestDatabase();

const LADDER = [0, 300_000];
const HOUR = 3_600_000;
type Status = 'succeeded' | 'failed' | 'cancelled' | 'pending';

/** Makes an endpoint with a delivery in each of the statuses, in this order. */
async function endpointWith(...statuses: Status[]) {
  const clientId = await makeClient(db);
  const { id: endpointId } = await makeEndpoint(db, clientId);
  const at = Date.now() - HOUR;
  const made: { eventId: string; deliveryId: string }[] = [];
  for (const [i, status] of statuses.entries()) {
    made.push(await makeDelivered(db, { clientId, endpointId, at: at + i, status }));
  }
  await db.prisma.delivery.updateMany({ where: { endpointId }, data: { attemptCount: 7, rung: 7 } });
  const scope = { clientId, endpointId, since: at - HOUR, until: Date.now() + HOUR };
  return { scope, at, ids: made.map(({ deliveryId }) => deliveryId), events: made.map(({ eventId }) => eventId) };
}
type Scope = Awaited<ReturnType<typeof endpointWith>>['scope'];

const reset = async (scope: Scope, after: string | null = null, limit = 10) => {
  const room = await roomInLateLine(db, scope.endpointId, limit);
  const part = { ...scope, after, limit: room, retryDelays: LADDER };
  return room === 0 ? undefined : (await resetForRecovery(db, part)).ids;
};

describe('recovering deliveries', () => {
  it('resets the events of the range: since is inclusive, until is exclusive', async () => {
    const { scope, ids, at } = await endpointWith('failed', 'failed', 'failed');
    expect(await reset({ ...scope, since: at + 1, until: at + 2 })).toEqual([ids[1]]);
  });

  it("resets neither another endpoint's nor another client's deliveries", async () => {
    const { scope } = await endpointWith('failed');
    const other = await endpointWith('failed');
    expect(await reset({ ...scope, clientId: other.scope.clientId })).toEqual([]);
    expect(await reset({ ...scope, endpointId: other.scope.endpointId })).toEqual([]);
  });
});

// The phase ended there: no later delivery was recovered.
it('regression: a batch whose deliveries all change before it locks them is not the last', async () => {
  const { scope, ids } = await endpointWith('failed', 'failed', 'failed');
  const part = { ...scope, after: null, limit: 2, retryDelays: LADDER };
  const other = await db.pool.connect();
  await other.query('begin');
  await other.query(`update deliveries set status = 'succeeded', reason = null where id = any($1::uuid[])`, [
    ids.slice(0, 2),
  ]);
  const batch = resetForRecovery(db, part);
  await waitFor('the batch to wait', async () => {
    const [row] = await db.query(`select from pg_locks where not granted and locktype = 'transactionid'`, []);
    return row;
  });
  await other.query('commit');
  other.release();
  expect(await batch).toEqual({ ids: [], after: ids[1] });
  expect(await resetForRecovery(db, { ...part, after: ids[1]! })).toEqual({ ids: [ids[2]], after: ids[2] });
});

describe('the late line of an endpoint', () => {
  const COUNT = LATE_WAITING + 10;
  const full = async () => {
    const made = await endpointWith(...Array<Status>(COUNT).fill('failed'));
    expect(await reset(made.scope, null, COUNT)).toHaveLength(LATE_WAITING);
    return made;
  };

  it('accepts no recovered delivery while twenty wait there, then as many as were leased', async () => {
    const { scope, ids } = await full();
    expect(await reset(scope, null, COUNT)).toBeUndefined();
    for (const id of ids.slice(0, 3)) await lease(db, id);
    expect(await reset(scope, null, COUNT)).toEqual(ids.slice(LATE_WAITING, LATE_WAITING + 3));
    // Another endpoint of the client has its own line.
    const { id: endpointId } = await makeEndpoint(db, scope.clientId);
    const other = await makeDelivered(db, { ...scope, endpointId, at: Date.now() - HOUR, status: 'failed' });
    expect(await reset({ ...scope, endpointId }, null, COUNT)).toEqual([other.deliveryId]);
  });
});

describe('a batch of a recovery', () => {
  const begin = async ({ clientId, endpointId, since, until }: Scope, phase = 'ended') => {
    const id = newId();
    const range = { since: new Date(since), until: new Date(until), includeMissing: phase === 'missing', phase };
    await db.prisma.recovery.create({ data: { id, clientId, endpointId, ...range, count: 1, missing: 0 } });
    return async () => (await db.prisma.recovery.findUniqueOrThrow({ where: { id } })).started;
  };
  const waiting = (endpointId: string) => db.prisma.queuedAttempt.count({ where: { endpointId } });

  it('waits until the late line has room, and continues from the same delivery', async () => {
    const { scope, ids } = await endpointWith(...Array<Status>(LATE_WAITING + 2).fill('failed'));
    const started = await begin(scope);
    let looks = 0;
    await carryOut(db, async () => (await started()) === LATE_WAITING && ++looks > 2);
    expect(await waiting(scope.endpointId)).toBe(LATE_WAITING);
    for (const id of ids.slice(0, LATE_WAITING)) await makeOne(db, id);
    await carryOut(db);
    expect(await started()).toBe(LATE_WAITING + 2);
  });

  it('makes missing deliveries only while the late line has room', async () => {
    const { scope } = await endpointWith(...Array<Status>(LATE_WAITING - 2).fill('failed'));
    await reset(scope, null, LATE_WAITING);
    const handover = recordingHandover();
    await db.prisma.endpoint.update({ where: { id: scope.endpointId }, data: { enabled: false } });
    for (let i = 0; i < 5; i++) {
      const { id: transferId } = await makeTransfer(db, scope.clientId);
      await changeStatus(db, handover, { transferId, to: 'PROCESSING', reason: null });
    }
    await db.prisma.endpoint.update({ where: { id: scope.endpointId }, data: enabledAt(new Date()) });
    const started = await begin(scope, 'missing');
    await carryOut(db, async () => (await waiting(scope.endpointId)) === LATE_WAITING);
    expect(await started()).toBe(2);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { leaseById } from '../../src/delivery/lease.js';
import { type MadeAttempt, type RecordOptions, recordAttempts } from '../../src/delivery/record.js';
import { deliverMissing, resetForRecovery } from '../../src/delivery/recoveries.js';
import { retryDelivery } from '../../src/delivery/retry.js';
import type { SendOutcome } from '../../src/delivery/sender/send.js';
import { cancelPending, disableEndpoint } from '../../src/endpoints/disable.js';
import type { Database } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids.js';
import { type CommittedEvent, commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { BY_OPERATOR as by, makeEndpoint, outcome, refusedBy } from '../support/factories.js';
import { madeAttempt as made } from '../support/made-attempt.js';
import { outboxOf as readOutbox, setOutbox } from '../support/outbox.js';

const MINUTE = 60_000;
const spared = (response: Partial<SendOutcome>) => outcome({ error: 'status', ...response });
/** The lease tokens of this process and of another one. */
const [OWN, OTHER] = [newId(), newId()];

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const record = (attempts: readonly MadeAttempt[], options: Partial<RecordOptions> = {}, on: Database = db) =>
  recordAttempts(on, { token: OWN, workflows: 'every-event', ...options }, attempts);
/** An event whose attempts this process has leased. */
const leased = (options: Parameters<typeof commitEvent>[1] = {}) => commitEvent(db, { token: OWN, ...options });

const idOf = ({ deliveries }: CommittedEvent, of = 0) => deliveries[of]!.deliveryId;
const read = (event: CommittedEvent, of = 0) =>
  db.prisma.delivery.findUniqueOrThrow({
    where: { id: idOf(event, of) },
    include: { attempts: { orderBy: { number: 'asc' } } },
  });
const queueOf = (event: CommittedEvent, of = 0) =>
  db.prisma.queuedAttempt.findUnique({ where: { deliveryId: idOf(event, of) } });
const outboxOf = ({ eventId }: CommittedEvent) => readOutbox(db, eventId);
const setRow = (event: CommittedEvent, data: Parameters<typeof db.prisma.delivery.update>[0]['data']) =>
  db.prisma.delivery.update({ where: { id: idOf(event) }, data });

const down = refusedBy(503);
const retry = (event: CommittedEvent) =>
  retryDelivery(db, { queued: () => undefined }, { by, clientId: null, deliveryId: idOf(event) });
const lease = (event: CommittedEvent, token = OWN) => leaseById(db, token, [idOf(event)]);
const disable = (event: CommittedEvent, reason: 'owner' | 'gone' = 'owner') =>
  db.transaction((tx) => disableEndpoint(tx, event.deliveries[0]!.endpointId, reason));

/** A delivery with two failed attempts, which sleeps for five minutes. */
async function asleep(): Promise<CommittedEvent> {
  const event = await leased();
  await record([made(event, { outcome: down })]);
  await record([made(event, { number: 2, outcome: down })]);
  return event;
}
/** A delivery whose ladder of one attempt is exhausted. */
async function exhausted(): Promise<CommittedEvent> {
  const event = await leased({ retryDelays: [] });
  await record([made(event, { outcome: down })]);
  return event;
}
/** The lease of this process has ended, and another process has leased the attempt. */
async function overtake(event: CommittedEvent): Promise<void> {
  await db.query('update queue set lease_token = null, lease_until = null where delivery_id = $1::uuid', [idOf(event)]);
  await lease(event, OTHER);
}
/** A sleeping or ended delivery whose manual retry is leased. @returns the attempt */
async function retried(event: CommittedEvent, fields: Parameters<typeof made>[1] = {}): Promise<MadeAttempt> {
  await retry(event);
  const [row] = await lease(event);
  const { number, leasedUntil } = row!;
  return made(event, { number, leasedUntil, trigger: 'manual', ...fields });
}

describe('the record of an attempt', () => {
  it('ends a delivery as succeeded after a success, and takes its attempt out of the queue', async () => {
    const event = await leased();
    expect(await record([made(event)])).toEqual([
      { deliveryId: idOf(event), number: 1, status: 'succeeded', isDue: false, isLocked: false },
    ]);
    const { url } = event.deliveries[0]!;
    expect(await read(event)).toMatchObject({
      ...{ status: 'succeeded', attemptCount: 1, nextAttemptAt: null, asleep: false, finishedAt: expect.any(Date) },
      attempts: [{ number: 1, trigger: 'schedule', url, responseStatus: 204, error: null }],
    });
    expect(await queueOf(event)).toBeNull();
  });

  it('keeps the headers of the response and what was odd about it, and null where no head arrived', async () => {
    const [answered, silent] = [await leased(), await leased()];
    const responseHeaders = { server: 'it\'s "quoted" \\ {a,b}', date: 'x' };
    await record([
      made(answered, { outcome: outcome({ responseHeaders, detail: 'odd' }) }),
      made(silent, { outcome: outcome({ responseStatus: null, error: 'timeout' }) }),
    ]);
    expect((await read(answered)).attempts).toMatchObject([{ responseHeaders, detail: 'odd' }]);
    expect((await read(silent)).attempts).toMatchObject([{ responseHeaders: null, error: 'timeout', detail: null }]);
  });

  // Postgres was unavailable for ten minutes, and the attempt after 5 m came after a quarter of an hour.
  it.each([
    [4, { asleep: true }],
    [10, { asleep: false }],
  ])('regression: counts the next attempt from the end of this one, %d minutes ago', async (minutes, expected) => {
    const event = await leased();
    await record([made(event, { outcome: down })]);
    const [recorded] = await record([
      { ...made(event, { number: 2, outcome: down }), endedAt: performance.now() - minutes * 60_000 },
    ]);
    expect(recorded).toMatchObject({ isDue: !expected.asleep });
    const delivery = await read(event);
    expect(delivery).toMatchObject(expected);
    expect(Math.round((delivery.nextAttemptAt!.getTime() - Date.now()) / 60_000)).toBe(5 - minutes);
  });

  it('leaves the next attempt in the queue, free, when the rung is 0 s', async () => {
    const event = await leased();
    const [recorded] = await record([made(event, { outcome: down })]);
    expect(recorded).toMatchObject({ number: 1, status: 'pending', isDue: true });
    expect(await read(event)).toMatchObject({ rung: 1, asleep: false, attemptCount: 1, finishedAt: null });
    expect(await queueOf(event)).toMatchObject({
      line: 'fresh',
      trigger: 'schedule',
      leaseToken: null,
      leaseUntil: null,
    });
  });

  it('leaves the next attempt at an endpoint that was disabled meanwhile to its cancellation', async () => {
    const event = await leased();
    const { endpointId } = event.deliveries[0]!;
    const data = { enabled: false, cancellingAfter: '00000000-0000-0000-0000-000000000000' };
    await db.prisma.endpoint.update({ where: { id: endpointId }, data });
    const [recorded] = await record([made(event, { outcome: down })]);
    expect(recorded).toMatchObject({ number: 1, status: 'pending' });
    expect(await queueOf(event)).not.toBeNull();
    await db.transaction((tx) => cancelPending(tx, endpointId));
    expect(await read(event)).toMatchObject({ status: 'cancelled', attemptCount: 1 });
  });

  it("lets a delivery sleep for its row's next rung, counted from the end of the failed attempt", async () => {
    const event = await leased({ retryDelays: [0, 7 * MINUTE] });
    await record([made(event, { outcome: down })]);
    const before = Date.now();
    const [recorded] = await record([made(event, { number: 2, outcome: down })]);
    const { nextAttemptAt, ...row } = await read(event);
    expect(row).toMatchObject({ status: 'pending', attemptCount: 2, rung: 2, asleep: true, finishedAt: null });
    const planned = nextAttemptAt!.getTime();
    expect(planned).toBeGreaterThanOrEqual(before + 7 * MINUTE - 5);
    expect(planned).toBeLessThanOrEqual(Date.now() + 7 * MINUTE + 5);
    expect(recorded).toMatchObject({ isDue: false });
    expect(await queueOf(event)).toBeNull();
  });

  it.each(['500ms', '90s', '36h', '2d'])('reads a rung of %s as the configuration does', async (rung) => {
    const { parseDuration } = await import('../../src/platform/duration.js');
    const event = await leased({ retryDelays: [parseDuration(rung)!] });
    const before = Date.now();
    await record([made(event, { outcome: down })]);
    const wait = (await read(event)).nextAttemptAt!.getTime() - before;
    expect(Math.abs(wait - parseDuration(rung)!)).toBeLessThan(5_000);
  });

  it('ends a delivery as failed when the ladder has no further rung', async () => {
    const event = await exhausted();
    expect(await read(event)).toMatchObject({
      ...{ status: 'failed', reason: 'exhausted', nextAttemptAt: null, asleep: false, finishedAt: expect.any(Date) },
    });
    expect(await queueOf(event)).toBeNull();
  });

  it('ends a delivery as failed after a 410, even with rungs left', async () => {
    const event = await leased();
    await record([made(event, { outcome: refusedBy(410) })]);
    expect(await read(event)).toMatchObject({ status: 'failed', reason: 'endpoint_gone', nextAttemptAt: null });
    expect(await queueOf(event)).toBeNull();
  });

  it.each([
    ['a success', outcome()],
    ['a failure', down],
    ['a 410', refusedBy(410)],
  ])('keeps a delivery cancelled that was cancelled during the attempt, after %s', async (_, result) => {
    const event = await leased();
    await disable(event);
    expect(await record([made(event, { outcome: result })])).toMatchObject([{ status: 'cancelled', isDue: false }]);
    expect(await read(event)).toMatchObject({
      ...{ status: 'cancelled', reason: 'endpoint_disabled', attemptCount: 1, rung: 0, nextAttemptAt: null },
      attempts: [{ responseStatus: result.responseStatus }],
    });
    expect(await queueOf(event)).toBeNull();
  });

  it('makes an attempt the first of the new ladder when a recovery found it in flight', async () => {
    const event = await leased({ retryDelays: [0, MINUTE] });
    await disable(event);
    const { endpointId } = event.deliveries[0]!;
    await db.prisma.endpoint.update({ where: { id: endpointId }, data: { enabled: true, disabledReason: null } });
    const scope = { clientId: event.clientId, endpointId, since: 0, until: Date.now() + MINUTE };
    expect(await resetForRecovery(db, { ...scope, after: null, limit: 10, retryDelays: [0, 2 * MINUTE] })).toEqual([
      idOf(event),
    ]);
    expect(await record([made(event, { outcome: down })])).toMatchObject([{ status: 'pending', isDue: true }]);
    expect(await read(event)).toMatchObject({ rung: 1, ladder: '0s,2m', attempts: [{ trigger: 'schedule' }] });
  });

  it('works inside a Prisma transaction', async () => {
    const event = await leased({ retryDelays: [] });
    const options = { token: OWN, workflows: 'every-event' } as const;
    const recorded = await db.transaction((tx) => recordAttempts(tx, options, [made(event, { outcome: down })]));
    expect(recorded).toMatchObject([{ status: 'failed' }]);
  });
});

describe('the record of a manual retry', () => {
  it('leaves the planned time, the rung and the ladder of a sleeping delivery as they were when it fails', async () => {
    const event = await asleep();
    const { nextAttemptAt, rung, ladder } = await read(event);
    expect(await record([await retried(event, { outcome: down })])).toMatchObject([{ isDue: false, number: 3 }]);
    expect(await read(event)).toMatchObject({
      ...{ status: 'pending', attemptCount: 3, asleep: true, nextAttemptAt, rung, ladder },
      attempts: [{}, {}, { number: 3, trigger: 'manual' }],
    });
    expect(await queueOf(event)).toBeNull();
  });

  it('regression: whose number an older attempt takes meanwhile is made once, by its success', async () => {
    const event = await leased();
    await disable(event);
    await db.prisma.endpoint.update({ where: { id: event.deliveries[0]!.endpointId }, data: { enabled: true } });
    const manual = await retried(event);
    await record([made(event, { outcome: down })]);
    expect(await record([manual])).toMatchObject([{ number: 2, status: 'succeeded' }]);
    expect(await queueOf(event)).toBeNull();
  });

  it("is followed at once by the ladder's own attempt if its planned time has passed meanwhile", async () => {
    const event = await asleep();
    const attempt = await retried(event, { outcome: down });
    await setRow(event, { nextAttemptAt: new Date(Date.now() - 1_000) });
    expect(await record([attempt])).toMatchObject([{ status: 'pending', isDue: true }]);
    expect(await read(event)).toMatchObject({ asleep: false, rung: 2, attemptCount: 3 });
    expect(await queueOf(event)).toMatchObject({ trigger: 'schedule', leaseToken: null });
  });

  it('ends a sleeping delivery: as succeeded after a success, as failed after a 410', async () => {
    const [good, gone] = [await asleep(), await asleep()];
    await record([await retried(good), await retried(gone, { outcome: refusedBy(410) })]);
    expect(await read(good)).toMatchObject({ status: 'succeeded', reason: null, nextAttemptAt: null, asleep: false });
    expect(await read(gone)).toMatchObject({ status: 'failed', reason: 'endpoint_gone', nextAttemptAt: null });
  });

  it('leaves an ended delivery unchanged when it fails, and makes it succeeded when it succeeds', async () => {
    const event = await exhausted();
    const { finishedAt } = await read(event);
    for (const [number, status] of [
      [2, 502],
      [3, 410],
    ] as const) {
      await record([await retried(event, { outcome: refusedBy(status) })]);
      const unchanged = { status: 'failed', reason: 'exhausted', finishedAt, rung: 1, nextAttemptAt: null };
      expect(await read(event)).toMatchObject({ ...unchanged, attemptCount: number });
      expect(await queueOf(event)).toBeNull();
    }
    await record([await retried(event)]);
    expect(await read(event)).toMatchObject({ status: 'succeeded', reason: null, attemptCount: 4 });
  });

  it('leaves a succeeded delivery succeeded when it fails, and makes a cancelled one succeeded when it succeeds', async () => {
    const [good, cancelled] = [await leased(), await asleep()];
    await record([made(good)]);
    await setRow(cancelled, { status: 'cancelled', reason: 'endpoint_gone', nextAttemptAt: null, asleep: false });
    const gone = await retried(cancelled, { outcome: refusedBy(410) });
    await record([await retried(good, { outcome: down }), gone]);
    expect(await read(good)).toMatchObject({ status: 'succeeded', reason: null, attemptCount: 2 });
    expect(await read(cancelled)).toMatchObject({ status: 'cancelled', reason: 'endpoint_gone', attemptCount: 3 });
    await record([await retried(cancelled)]);
    expect(await read(cancelled)).toMatchObject({ status: 'succeeded', reason: null });
  });
});

describe('a record counts by delivery and number, whichever process holds the lease', () => {
  it('when the lease has ended and another process has leased the attempt', async () => {
    const event = await leased();
    await overtake(event);
    expect(await record([made(event)])).toMatchObject([{ status: 'succeeded', number: 1 }]);
    expect(await queueOf(event)).toBeNull();
  });

  it("leaves a rung of 0 s to the other process's lease", async () => {
    const event = await leased();
    await overtake(event);
    const before = await queueOf(event);
    expect(await record([made(event, { outcome: down })])).toMatchObject([{ status: 'pending', isDue: false }]);
    expect(await queueOf(event)).toEqual(before);
  });

  it('and a late failure of a recorded number changes nothing', async () => {
    const event = await asleep();
    const [row, waits] = [await read(event), await outboxOf(event)];
    expect(await record([made(event, { number: 2, outcome: down })])).toEqual([]);
    expect(await record([made(event, { number: 1, outcome: refusedBy(410) })])).toEqual([]);
    expect(await read(event)).toEqual(row);
    expect([await queueOf(event), await outboxOf(event)]).toEqual([null, waits]);
  });

  it.each([
    ['a sleeping delivery', asleep, 3],
    ['a failed delivery', exhausted, 2],
  ])('and a late success gets the next number and makes %s succeed', async (_, make, number) => {
    const event = await make();
    const late = made(event, { outcome: outcome({ t: 'late' }) });
    expect(await record([late])).toMatchObject([{ number, status: 'succeeded' }]);
    expect(await read(event)).toMatchObject({ status: 'succeeded', reason: null, attemptCount: number, asleep: false });
    expect((await read(event)).attempts.at(-1)).toMatchObject({ number, t: 'late', responseStatus: 204 });
    // The workflow sleeps, or has ended as failed.
    expect(await outboxOf(event)).toBe('again');
  });

  it('and a late success of a queued delivery takes its next attempt out of the queue', async () => {
    const event = await leased();
    await record([made(event, { outcome: down })], { token: OTHER });
    expect(await queueOf(event)).not.toBeNull();
    await record([made(event, { outcome: outcome({ t: 'late' }) })]);
    expect([await queueOf(event), (await read(event)).status]).toEqual([null, 'succeeded']);
  });

  it('and a late success leaves a cancelled delivery cancelled', async () => {
    const event = await asleep();
    await disable(event);
    expect(await record([made(event, { outcome: outcome({ t: 'late' }) })])).toMatchObject([{ number: 3 }]);
    expect(await read(event)).toMatchObject({ status: 'cancelled', reason: 'endpoint_disabled', attemptCount: 3 });
  });

  it('and the same attempt counts once, if the connection broke after the commit', async () => {
    const [good, bad] = [made(await leased()), made(await leased(), { outcome: down })];
    expect(await record([good, bad])).toHaveLength(2);
    expect(await record([good, bad])).toEqual([]);
    const rows = await db.prisma.delivery.findMany({
      where: { id: { in: [good.attempt.deliveryId, bad.attempt.deliveryId] } },
      include: { attempts: true },
      orderBy: { id: 'asc' },
    });
    expect(rows.map(({ attemptCount, attempts }) => [attemptCount, attempts.length])).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it('and after Postgres was set back, a success ahead of its row counts once, if the connection broke after the commit', async () => {
    const ahead = made(await leased(), { number: 2 });
    expect(await record([ahead])).toMatchObject([{ number: 1, status: 'succeeded' }]);
    expect(await record([ahead])).toEqual([]);
  });

  it('and after Postgres was set back, a delivery without a row in the queue sleeps, even if its next attempt is due', async () => {
    const event = await leased({ retryDelays: [0, 0] });
    await db.prisma.queuedAttempt.delete({ where: { deliveryId: idOf(event) } });
    expect(await record([made(event, { outcome: down })])).toMatchObject([{ status: 'pending', isDue: false }]);
    expect([await read(event), await queueOf(event), await outboxOf(event)]).toMatchObject([
      { asleep: true },
      null,
      'start',
    ]);
  });

  it('and after Postgres was set back, a number ahead of its row: a failure is made again, a success counts', async () => {
    const [bad, good] = [await asleep(), await asleep()];
    const row = await read(bad);
    expect(await record([made(bad, { number: 5, outcome: down }), made(good, { number: 5 })])).toMatchObject([
      { deliveryId: idOf(good), number: 3, status: 'succeeded' },
    ]);
    expect(await read(bad)).toEqual(row);
    expect((await read(good)).attempts.map(({ number }) => number)).toEqual([1, 2, 3]);
  });

  it('and an attempt at a delivery that is gone is not recorded', async () => {
    const event = await leased();
    const attempt = { ...made(event).attempt, deliveryId: newId() };
    expect(await record([{ attempt, outcome: outcome() }])).toEqual([]);
  });
});

describe("a record writes its event's outbox", () => {
  it.each([
    ['delivered', 'all delivered', outcome(), [0]],
    [null, 'the next attempt is queued', down, [0]],
    ['start', 'a delivery sleeps', down, [MINUTE]],
    ['start', 'a delivery has failed', down, []],
  ] as const)('%s: %s', async (outbox, _, result, retryDelays) => {
    const event = await leased({ retryDelays });
    await record([made(event, { outcome: result })]);
    expect(await outboxOf(event)).toBe(outbox);
  });

  it('again after a late success that its workflow does not know', async () => {
    const event = await asleep();
    await setOutbox(db, event.eventId, null);
    await record([made(event, { outcome: outcome({ t: 'late' }) })]);
    expect(await outboxOf(event)).toBe('again');
  });

  it('delivered also after a cancelled delivery, and again after any manual retry', async () => {
    const [cancelled, event, ended] = [await leased(), await asleep(), await exhausted()];
    await disable(cancelled);
    const manual = [await retried(event, { outcome: down }), await retried(ended, { outcome: down })];
    await setOutbox(db, event.eventId, null);
    await setOutbox(db, ended.eventId, 'start');
    await record([made(cancelled, { outcome: down }), ...manual]);
    expect([await outboxOf(cancelled), await outboxOf(event), await outboxOf(ended)]).toEqual([
      'delivered',
      'again',
      'again',
    ]);
  });

  it('the highest of the deliveries in the batch, and of the batches before', async () => {
    const [one, other] = [
      await leased({ endpoints: 3, retryDelays: [MINUTE] }),
      await leased({ endpoints: 2, retryDelays: [MINUTE] }),
    ];
    await record([
      made(one),
      made(one, { of: 1, outcome: down }),
      made(one, { of: 2 }),
      made(other, { outcome: down }),
    ]);
    await record([made(other, { of: 1 })]);
    expect([await outboxOf(one), await outboxOf(other)]).toEqual(['start', 'start']);
  });

  it.each([
    ['succeeds', outcome(), [MINUTE]],
    ['fails before the next rung', down, [MINUTE]],
    ['fails after the last rung', down, []],
  ])('of an attempt of the late line that %s, unless an activity awaits it', async (_, result, retryDelays) => {
    const [awaited, left] = [await leased({ retryDelays }), await leased({ retryDelays })];
    await record([made(awaited, { line: 'late', outcome: result, isAwaited: true })]);
    await record([made(left, { line: 'late', outcome: result })]);
    expect([await outboxOf(awaited), await outboxOf(left)]).toEqual([null, 'again']);
  });

  it("and ends a workflow starter's lease of the event when the state changes, so that the change is not lost", async () => {
    const event = await leased({ endpoints: 2, retryDelays: [MINUTE] });
    await record([made(event)]);
    const leaseUntil = new Date(Date.now() + 30_000);
    const { eventId } = event;
    await db.prisma.outboxEvent.update({ where: { eventId }, data: { leaseUntil } });
    await record([made(event, { of: 1, outcome: down })]);
    expect(await db.prisma.outboxEvent.findUnique({ where: { eventId } })).toMatchObject({
      state: 'start',
      leaseUntil: null,
    });
  });

  it('not at all with WORKFLOWS=retries-only, unless a delivery sleeps or has failed', async () => {
    const [only, several, failed] = [
      await leased(),
      await leased({ endpoints: 2 }),
      await leased({ retryDelays: [MINUTE] }),
    ];
    await record([made(only), made(several), made(several, { of: 1 }), made(failed, { outcome: down })], {
      workflows: 'retries-only',
    });
    expect([await outboxOf(only), await outboxOf(several), await outboxOf(failed)]).toEqual([null, null, 'start']);
  });
});

describe('the record of a delivered event, with WORKFLOWS=retries-only', () => {
  const options = { workflows: 'retries-only' } as const;
  /** An event whose first delivery was leased before a recovery made another one, which is leased now. */
  async function withMissing(): Promise<{ event: CommittedEvent; missing: MadeAttempt }> {
    const event = await leased({ retryDelays: [MINUTE] });
    const { id: endpointId } = await makeEndpoint(db, event.clientId);
    const scope = { clientId: event.clientId, endpointId, since: 0, until: Date.now() + MINUTE };
    expect(await deliverMissing(db, { ...scope, after: null, limit: 10, retryDelays: [MINUTE] })).toMatchObject({
      recovered: 1,
    });
    const [{ id: deliveryId } = { id: '' }] = await db.prisma.delivery.findMany({ where: { endpointId } });
    const [row] = await leaseById(db, OWN, [deliveryId]);
    return { event, missing: { attempt: row!, outcome: down } };
  }

  it('keeps a wake-up that its workflow has not received', async () => {
    const { event } = await withMissing();
    await record([made(event)], options);
    expect(await outboxOf(event)).toBe('again');
  });
});

describe('the record of many attempts', () => {
  it('gives each its own outcome in one statement', async () => {
    const events = [];
    for (let i = 0; i < 60; i++) events.push(await leased({ retryDelays: i % 3 === 1 ? [MINUTE] : [] }));
    const recorded = await record(events.map((event, i) => made(event, { outcome: i % 3 === 0 ? outcome() : down })));
    expect(new Set(recorded.map(({ deliveryId }) => deliveryId)).size).toBe(60);
    const statuses = await Promise.all(events.map(async (event) => (await read(event)).status));
    expect(statuses).toEqual(events.map((_, i) => (['succeeded', 'pending', 'failed'] as const)[i % 3]));
    expect(
      await db.prisma.queuedAttempt.count({ where: { deliveryId: { in: events.map((event) => idOf(event)) } } }),
    ).toBe(0);
  });

  it('never deadlocks with the batches of other workers over the same events and deliveries', async () => {
    const events: CommittedEvent[] = [];
    for (let i = 0; i < 15; i++) events.push(await leased({ endpoints: 4, retryDelays: Array(40).fill(0) }));
    const all = events.flatMap((event) => event.deliveries.map((_, of) => [event, of] as const));
    // Each worker has all deliveries, in its own order, and the number of each round.
    const worker = async (token: string, order: (a: number, b: number) => number) => {
      for (let number = 1; number <= 30; number++) {
        const attempts = all.map(([event, of]) => made(event, { of, number, outcome: down }));
        let left = attempts.map((_, i) => i).sort(order);
        while (left.length > 0) {
          const recorded = await record(
            left.map((i) => attempts[i]!),
            { token },
          );
          const locked = new Set(recorded.filter(({ isLocked }) => isLocked).map(({ deliveryId }) => deliveryId));
          left = left.filter((i) => locked.has(attempts[i]!.attempt.deliveryId));
        }
      }
    };
    await Promise.all([
      worker(OWN, (a, b) => a - b),
      worker(OTHER, (a, b) => b - a),
      worker(newId(), (a, b) => ((a * 7) % 60) - ((b * 7) % 60)),
    ]);
    for (const [event, of] of all) expect(await read(event, of)).toMatchObject({ attemptCount: 30, rung: 30 });
  });
});

describe('the plan of a record', () => {
  it('finds every row by its key, even if it was made for empty tables', async () => {
    let text = '';
    const hot = async (statement: string) => {
      text = statement;
      return [];
    };
    await record([], {}, { ...db, hot } as unknown as TestDatabase);
    const empty = await createTestDatabase();
    const client = new pg.Client({ connectionString: empty.url.reveal() });
    await client.connect();
    try {
      // An empty table is scanned from end to end unless that is excluded.
      await client.query('set enable_seqscan = off');
      const { rows } = await client.query(`explain (generic_plan) ${text}`);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      for (const index of ['deliveries_pkey', 'queue_pkey', 'attempts_pkey']) expect(plan).toContain(index);
      expect(plan).not.toMatch(/outbox_client_id|queue_free_idx|queue_leased_idx|Seq Scan on/);
    } finally {
      await client.end();
      await empty.drop();
    }
  });
});

describe('a response that asks for a pause', () => {
  const slowedUntil = async ({ deliveries }: CommittedEvent) => {
    const [row] = await db.query<{ left: number | null }>(
      `select round(extract(epoch from slowed_until - now()))::int as left from webhook_endpoints where id = $1::uuid`,
      [deliveries[0]!.endpointId],
    );
    return row!.left;
  };
  const asks = (seconds: string, responseStatus = 429) =>
    spared({ responseStatus, responseHeaders: { 'retry-after': seconds } });

  it('slows its endpoint until then, from its end, ten minutes at most, and leaves the ladder as it is', async () => {
    const event = await leased({ retryDelays: [0, 0, 0, 0] });
    await record([{ ...made(event, { outcome: asks('60') }), endedAt: performance.now() - 20_000 }]);
    expect(await slowedUntil(event)).toBe(40);
    expect(await read(event)).toMatchObject({ rung: 1, asleep: false });
    const [next] = await lease(event);
    expect(next).toMatchObject({ maxConcurrency: 1 });
    await record([made(event, { number: 2, outcome: asks('7200', 503) })]);
    expect(await slowedUntil(event)).toBe(600);
    // A time of another clock, before Postgres was restored.
    await db.query(`update webhook_endpoints set slowed_until = now() + interval '1 hour'`, []);
    expect(await lease(event)).toMatchObject([{ maxConcurrency: null }]);
    await record([made(event, { number: 3, outcome: asks('30') })]);
    expect(await slowedUntil(event)).toBe(30);
  });

  it('neither shortens a pause nor waits for an endpoint that is locked, and a success does not end it', async () => {
    const event = await leased({ retryDelays: [0, 0, 0, 0] });
    await record([made(event, { outcome: asks('60') })]);
    await record([made(event, { number: 2, outcome: asks('5') })]);
    expect(await slowedUntil(event)).toBe(60);
    const session = await db.openSession();
    await session.query('begin');
    await session.query('select from webhook_endpoints for no key update');
    await record([made(event, { number: 3, outcome: asks('300') })]);
    await session.query('rollback');
    await record([made(event, { number: 4 })]);
    expect([(await read(event)).status, await slowedUntil(event)]).toEqual(['succeeded', 60]);
  });
});

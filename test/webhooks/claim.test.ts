import type pg from 'pg';
import { leaseEvents } from '../../src/outbox/lease-events.js';
import { readFirstAttempts } from '../../src/outbox/read-first-attempts.js';
import { type AttemptRequest, claimAttempt, claimUnderWay, readDeliveryState } from '../../src/webhooks/claim.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let db: TestDatabase;
let other: pg.Client;
beforeAll(async () => {
  db = await createTestDatabase();
  other = await db.openSession();
});
beforeEach(() => db.query('truncate events cascade', []));
afterAll(() => db.drop());

/** Commits a free event with one delivery. @returns its id, and the request for its first attempt */
async function freeEvent() {
  const { eventId, deliveries } = await commitEvent(db, { leases: false });
  const request: AttemptRequest = { deliveryId: deliveries[0]!.deliveryId, number: 1, owner: null, single: false };
  return { eventId, request };
}

const lease = () => leaseEvents(db, 'attempt', 10, []);

describe("the claim of a first attempt, and the lease of the delivery's event", () => {
  it('is not made while the event is leased: the lane makes the attempt', async () => {
    const { request } = await freeEvent();
    expect(await readDeliveryState(db, request)).toMatchObject({ claimedFor: 0 });
    await lease();
    expect(await claimAttempt(db, request)).toBeUndefined();
    const { claimedFor } = (await readDeliveryState(db, request))!;
    expect(claimedFor).toBeGreaterThan(20_000);
    expect(claimedFor).toBeLessThanOrEqual(30_000);
  });

  it('is made when the lane has handed the event over, although it is still leased', async () => {
    const { eventId, request } = await freeEvent();
    await lease();
    await db.prisma.event.update({ where: { id: eventId }, data: { outbox: 'start' } });
    expect(await claimAttempt(db, request)).toMatchObject({ deliveryId: request.deliveryId, eventId, rung: 1 });
  });

  it('is not made for an attempt that was under way then, until it is recorded', async () => {
    const { eventId, request } = await freeEvent();
    await lease();
    await claimUnderWay(db, [request.deliveryId]);
    await db.prisma.event.update({ where: { id: eventId }, data: { outbox: 'start' } });
    expect(await claimAttempt(db, request)).toBeUndefined();
    const recorded = { attemptCount: 1, attemptingUntil: null };
    await db.prisma.delivery.update({ where: { id: request.deliveryId }, data: recorded });
    await claimUnderWay(db, [request.deliveryId]);
    expect(await claimAttempt(db, { ...request, number: 2 })).toBeDefined();
  });

  it.each([
    ['has run out', 'now()'],
    ['was made by a clock that was ahead', `now() + interval '61 seconds'`],
  ])('is made when the lease %s', async (_, leaseUntil) => {
    const { eventId, request } = await freeEvent();
    await lease();
    await db.query(`update events set lease_until = ${leaseUntil} where id = $1::uuid`, [eventId]);
    expect(await claimAttempt(db, request)).toBeDefined();
  });

  it('is made for a recovered delivery, which has an owner and which no lane reads', async () => {
    const { request } = await freeEvent();
    const owner = `recover-${request.deliveryId}-0`;
    await db.prisma.delivery.update({ where: { id: request.deliveryId }, data: { owner } });
    const leased = await lease();
    expect(await readFirstAttempts(db, leased)).toMatchObject([{ deliveries: [] }]);
    expect(await claimAttempt(db, { ...request, owner })).toBeDefined();
  });

  it('does not hinder the second attempt', async () => {
    const { request } = await freeEvent();
    await lease();
    await db.prisma.delivery.update({ where: { id: request.deliveryId }, data: { attemptCount: 1 } });
    expect(await claimAttempt(db, { ...request, number: 2 })).toBeDefined();
  });

  it('sees a lease that is not committed yet', async () => {
    const { eventId, request } = await freeEvent();
    await other.query('begin');
    await other.query(`update events set lease_until = now() + interval '30 seconds' where id = $1`, [eventId]);
    const claim = claimAttempt(db, request);
    await db.untilBlocked();
    await other.query('commit');
    expect(await claim).toBeUndefined();
  });

  it('is seen by the lane: it leases no event of an uncommitted claim, and reads no delivery of a committed one', async () => {
    const { request } = await freeEvent();
    let claimed: unknown;
    await db.transaction(async (tx) => {
      claimed = await claimAttempt(tx, request);
      expect(await lease()).toEqual([]);
    });
    expect(claimed).toBeDefined();
    const leased = await lease();
    expect(leased).toHaveLength(1);
    expect(await readFirstAttempts(db, leased)).toMatchObject([{ deliveries: [] }]);
  });

  it('locks the delivery before its event, as the record of an attempt does, so that the two cause no deadlock', async () => {
    const { eventId, request } = await freeEvent();
    await other.query('begin');
    await other.query('select id from deliveries where id = $1::uuid for no key update', [request.deliveryId]);
    const claim = claimAttempt(db, request);
    await db.untilBlocked();
    await other.query('select id from events where id = $1::uuid for no key update nowait', [eventId]);
    await other.query('commit');
    expect(await claim).toBeDefined();
  });
});

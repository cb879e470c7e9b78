import pg from 'pg';
import { claimFirstAttempts, releaseClaims } from '../../src/outbox/claim-first-attempts.js';
import type { CommittedEvent } from '../../src/outbox/handover.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
let other: pg.Client;
beforeAll(async () => {
  db = await createTestDatabase();
  other = new pg.Client({ connectionString: db.url.reveal() });
  await other.connect();
});
afterAll(async () => {
  await other.end();
  await db.drop();
});

const idsOf = ({ deliveries }: CommittedEvent) => deliveries.map(({ deliveryId }) => deliveryId).sort();
const LOCK = 'select id from deliveries where id = $1::uuid for no key update';
const waiting = () =>
  waitFor('a statement that waits for a lock', async () => {
    const blocked = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    return (await other.query(blocked)).rows.length > 0;
  });

/**
 * Locks the first delivery elsewhere, as a cancellation does, and checks that `work` then holds no lock on a later one.
 */
async function locksInOrder(event: CommittedEvent, work: () => Promise<unknown>): Promise<void> {
  const [first, ...later] = idsOf(event);
  await other.query('begin');
  await other.query(LOCK, [first]);
  const done = work();
  await waiting();
  for (const id of later) await other.query(`${LOCK} nowait`, [id]);
  await other.query('commit');
  await done;
}

/** Writes the rows in reverse order, so that a statement without a sort locks them in that order. */
async function reverseRows(event: CommittedEvent): Promise<void> {
  for (const id of idsOf(event).reverse()) {
    await db.query('update deliveries set endpoint_id = endpoint_id, next_attempt_at = now() where id = $1::uuid', [
      id,
    ]);
  }
}

describe('deliveries are locked in the order of their ids, so that a deletion under load causes no deadlock', () => {
  it('when the lane releases claims', async () => {
    const event = await commitEvent(db, { endpoints: 5 });
    await reverseRows(event);
    await locksInOrder(event, () => releaseClaims(db, idsOf(event).reverse()));
    const claimed = await db.prisma.delivery.count({
      where: { eventId: event.eventId, attemptingUntil: { not: null } },
    });
    expect(claimed).toBe(0);
  });

  it('when the sweep claims first attempts', async () => {
    const event = await commitEvent(db, { endpoints: 5, claims: false });
    await reverseRows(event);
    const leased = { ...event, traceparent: null };
    await locksInOrder(event, () => claimFirstAttempts(db, [leased]));
    const claimed = await db.prisma.delivery.count({
      where: { eventId: event.eventId, attemptingUntil: { not: null } },
    });
    expect(claimed).toBe(5);
  });
});

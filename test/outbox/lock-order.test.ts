import pg from 'pg';
import { claimFirstAttempts, releaseClaims } from '../../src/outbox/events.js';
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

/** While the first delivery is locked elsewhere, as by a cancellation that has just begun, `work` must hold none of the later ones. */
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

/** Rows lie in the table the other way round: whoever takes them as they come locks them so. */
async function turnRound(event: CommittedEvent): Promise<void> {
  for (const id of idsOf(event).reverse()) {
    await db.query('update deliveries set endpoint_id = endpoint_id, next_attempt_at = now() where id = $1::uuid', [
      id,
    ]);
  }
}

describe('deliveries are locked in the order of their ids, so that a deletion under load ends in no deadlock', () => {
  it('when the lane gives claims back', async () => {
    const event = await commitEvent(db, { endpoints: 5 });
    await turnRound(event);
    await locksInOrder(event, () => releaseClaims(db, idsOf(event).reverse()));
    const claimed = await db.prisma.delivery.count({
      where: { eventId: event.eventId, attemptingUntil: { not: null } },
    });
    expect(claimed).toBe(0);
  });

  it('when the sweep claims first attempts', async () => {
    const event = await commitEvent(db, { endpoints: 5, claims: false });
    await turnRound(event);
    const leased = { ...event, traceparent: null };
    await locksInOrder(event, () => claimFirstAttempts(db, [leased]));
    const claimed = await db.prisma.delivery.count({
      where: { eventId: event.eventId, attemptingUntil: { not: null } },
    });
    expect(claimed).toBe(5);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { leaseEvents } from '../../src/outbox/lease-events.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

let db: TestDatabase;
let other: pg.Client;
beforeAll(async () => {
  db = await createTestDatabase();
  other = await db.openSession();
});
afterAll(() => db.drop());

async function commitEvents(count: number, clientId?: string): Promise<{ clientId: string; ids: string[] }> {
  const first = await commitEvent(db, { leases: false, ...(clientId !== undefined && { clientId }) });
  const ids = [first.eventId];
  while (ids.length < count) {
    const { eventId } = await commitEvent(db, { leases: false, clientId: first.clientId, endpoints: 0 });
    ids.push(eventId);
  }
  return { clientId: first.clientId, ids };
}
const idsOf = (events: readonly { eventId: string }[]) => events.map(({ eventId }) => eventId);

describe('leaseEvents of several workers at once', () => {
  it('leases other events while another worker leases the oldest ones in the same moment', async () => {
    const { ids } = await commitEvents(4);
    await other.query('begin');
    await other.query('select id from events where id = any($1::uuid[]) for update', [ids.slice(0, 2)]);
    expect(idsOf(await leaseEvents(db, 'attempt', 2, []))).toEqual(ids.slice(2));
    await other.query('commit');
    expect(idsOf(await leaseEvents(db, 'attempt', 10, []))).toEqual(ids.slice(0, 2));
    expect(await leaseEvents(db, 'attempt', 10, [])).toEqual([]);
  });

  it('gives workers that lease at the same time different events, and each event to one', async () => {
    const { ids } = await commitEvents(40);
    const batches = await Promise.all(Array.from({ length: 4 }, () => leaseEvents(db, 'attempt', 10, [])));
    expect(batches.map(({ length }) => length)).toEqual([10, 10, 10, 10]);
    expect(idsOf(batches.flat()).sort()).toEqual(ids);
  });

  it('divides a batch equally among clients, the oldest events of each first, and leaves out saturated ones', async () => {
    const [one, other, saturated] = [await commitEvents(8), await commitEvents(8), await commitEvents(2)];
    const leased = idsOf(await leaseEvents(db, 'attempt', 8, [saturated.clientId]));
    expect(leased.sort()).toEqual([...one.ids.slice(0, 4), ...other.ids.slice(0, 4)].sort());
    // More clients than the batch has events: each of some clients gets one.
    expect(await leaseEvents(db, 'attempt', 2, [])).toHaveLength(2);
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { leaseEvents, skipWorkflows } from '../../src/delivery/outbox.js';
import { newId } from '../../src/platform/ids.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient } from '../support/factories.js';
import { attemptedEvent } from '../support/workflow-starter.js';

const MINUTE = 60_000;

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());
afterEach(() =>
  db.query(`delete from events where not exists (select from deliveries d where d.event_id = events.id)`, []),
);

type State = 'delivered' | 'start' | 'attempt';
/** An event without deliveries that was made so long ago, ms. */
async function eventOf(clientId: string, ago: number, outbox: State = 'delivered'): Promise<string> {
  const at = new Date(Date.now() - ago);
  const id = newId(at.getTime());
  const data = { id, clientId, transferId: newId(), type: 't', body: '{}', createdAt: at, outbox };
  await db.prisma.event.create({ data: { ...data, leaseUntil: new Date(0) } });
  return id;
}
const outboxOf = async (id: string) => (await db.prisma.event.findUniqueOrThrow({ where: { id } })).outbox;

describe('skipWorkflows', () => {
  it('marks delivered events that are older, of each client, and no event in another state', async () => {
    const [one, other] = [await makeClient(db), await makeClient(db)];
    const old = [await eventOf(one, 3 * MINUTE), await eventOf(one, 2 * MINUTE), await eventOf(other, 2 * MINUTE)];
    const kept = [
      await eventOf(one, MINUTE / 2),
      await eventOf(one, 2 * MINUTE, 'start'),
      await eventOf(other, 2 * MINUTE, 'attempt'),
    ];
    expect(await skipWorkflows(db, MINUTE, 100)).toEqual({ skipped: 3, due: 0 });
    expect(await Promise.all(old.map(outboxOf))).toEqual(['done', 'done', 'done']);
    expect(await Promise.all(kept.map(outboxOf))).toEqual(['delivered', 'start', 'attempt']);
    expect(await skipWorkflows(db, MINUTE, 100)).toEqual({ skipped: 0, due: 0 });
  });

  it('marks no more than `limit`, the oldest first', async () => {
    const clientId = await makeClient(db);
    const ids = [];
    for (let minute = 9; minute > 4; minute--) ids.push(await eventOf(clientId, minute * MINUTE));
    expect(await skipWorkflows(db, MINUTE, 2)).toEqual({ skipped: 2, due: 0 });
    expect(await Promise.all(ids.map(outboxOf))).toEqual(['done', 'done', 'delivered', 'delivered', 'delivered']);
  });

  it('leaves an event that a starter has leased', async () => {
    const id = await eventOf(await makeClient(db), 2 * MINUTE);
    expect((await leaseEvents(db, 'delivered', 10)).map(({ eventId }) => eventId)).toEqual([id]);
    expect(await skipWorkflows(db, MINUTE, 10)).toEqual({ skipped: 0, due: 0 });
  });

  it('returns an event with a pending delivery to the starter', async () => {
    const { eventId } = await attemptedEvent(db, 'pending');
    await db.prisma.event.update({ where: { id: eventId }, data: { outbox: 'delivered' } });
    expect(await skipWorkflows(db, 0, 10)).toEqual({ skipped: 0, due: 1 });
    expect(await outboxOf(eventId)).toBe('start');
    await db.prisma.event.update({ where: { id: eventId }, data: { outbox: 'done' } });
  });
});

describe('a backlog of 200,000 delivered events in front of one failed event', () => {
  it('costs the lease of the failed event nothing, and a batch no more rows than its size', async () => {
    const [crowd, quiet] = [await makeClient(db), await makeClient(db)];
    for (let from = 0; from < 200_000; from += 20_000) await db.query(BACKLOG, [from, from + 19_999, crowd]);
    const failed = await eventOf(crowd, 0, 'start');
    const other = await eventOf(quiet, 0, 'delivered');
    await db.pool.query('vacuum analyze events');
    const explained = openExplained(db.url.reveal());
    const rowsTouched = () => {
      const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
      expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
      const scans = nodes.filter((node) => node['Relation Name'] === 'events' || node['Index Name']);
      return scans.reduce((sum, node) => sum + rowsOf(node), 0);
    };
    try {
      // Postgres may choose a plan for any values from the sixth call on.
      for (let call = 0; call < 8; call++) {
        expect(await leaseEvents(explained, 'start', 50)).toMatchObject([{ eventId: failed }]);
        expect(rowsTouched()).toBeLessThan(15);
        await db.query(`update events set lease_until = now() - interval '1 second' where id = $1::uuid`, [failed]);
      }
      for (let call = 0; call < 8; call++) {
        const delivered = await leaseEvents(explained, 'delivered', 50);
        // A batch is shared equally among the clients with free events: the quiet client has one, in the first batch.
        expect(delivered).toHaveLength(call === 0 ? 26 : 50);
        if (call === 0) expect(delivered.map(({ eventId }) => eventId)).toContain(other);
        expect(rowsTouched()).toBeLessThan(1_000);
      }
      for (let call = 0; call < 8; call++) {
        expect(await skipWorkflows(explained, MINUTE, 500)).toEqual({ skipped: 500, due: 0 });
        expect(rowsTouched()).toBeLessThan(7_000);
      }
    } finally {
      await explained.close();
    }
  });
});

/** Events of the last hours, one each 100 ms. */
const BACKLOG = `
insert into events (id, client_id, transfer_id, type, body, created_at, outbox, lease_until)
select (substr(hex, 1, 8) || '-' || substr(hex, 9, 4) || '-7' || substr(gen_random_uuid()::text, 16))::uuid, $3::uuid,
       gen_random_uuid(), 't', '{}', at, 'delivered', at
  from (select at, lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') as hex
          from (select now() - (600 + n * 0.1) * interval '1 second' as at from generate_series($1::int, $2::int) n) times) ids`;

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { type ExplainedDatabase, nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { type DueState, leaseEvents, skipWorkflows } from '../../src/delivery/outbox.js';
import { newId } from '../../src/platform/ids.js';
import { readBacklog } from '../../src/reports/backlog.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient } from '../support/factories.js';
import { rowsOfPlans } from '../support/filled-database.js';
import { emptyOutbox, outboxOf, setOutbox } from '../support/outbox.js';

const MINUTE = 60_000;

let db: TestDatabase;
let other: pg.Client;
let clientIds: string[];
beforeAll(async () => {
  db = await createTestDatabase();
  other = await db.openSession();
  clientIds = [await makeClient(db), await makeClient(db), await makeClient(db)].sort();
});
afterAll(() => db?.drop());
afterEach(() => emptyOutbox(db));

/** An event without deliveries that was made so long ago, ms, and that waits in a state. */
async function eventOf(clientId: string, state: DueState, ago = 0): Promise<string> {
  const createdAt = new Date(Date.now() - ago);
  const id = newId(createdAt.getTime());
  await db.prisma.event.create({
    data: { id, clientId, transferId: newId(), type: 't', body: '{}', createdAt },
  });
  await setOutbox(db, id, state);
  return id;
}
/** @returns the ids of `count` waiting events of each client, the oldest first */
async function eventsOfEach(state: DueState, count: number): Promise<string[][]> {
  const all: string[][] = [];
  for (const clientId of clientIds) {
    const ids = [];
    for (let ago = count; ago > 0; ago--) ids.push(await eventOf(clientId, state, ago * MINUTE));
    all.push(ids);
  }
  return all;
}
const lease = async (limit: number, after: string | null = null) => (await leaseEvents(db, limit, after)).events;
const idsOf = (events: readonly { eventId: string }[]) => events.map(({ eventId }) => eventId);
const statesOf = (ids: readonly string[]) => Promise.all(ids.map((id) => outboxOf(db, id)));

describe('events that wait in the outbox', () => {
  it('are leased in turn across clients, the oldest of each first, and once', async () => {
    const waiting = await eventsOfEach('delivered', 4);
    expect(idsOf(await lease(6))).toEqual(waiting.flatMap((ids) => ids.slice(0, 2)).sort());
    expect(await lease(100)).toHaveLength(6);
    expect(await lease(100)).toEqual([]);
  });

  it('are leased from as many clients as the batch has events, and from the clients after them next', async () => {
    await eventsOfEach('start', 2);
    const [one, two, three] = clientIds as [string, string, string];
    const first = await leaseEvents(db, 2, null);
    expect([first.events.map(({ clientId }) => clientId).sort(), first.last]).toEqual([[one, two], two]);
    const second = await leaseEvents(db, 2, first.last);
    expect([second.events.map(({ clientId }) => clientId), second.last]).toEqual([[three, three], null]);
  });

  it('regression: are leased from every client, if there are nearly as many clients as the batch has events', async () => {
    await eventsOfEach('start', 2);
    expect(new Set((await lease(4)).map(({ clientId }) => clientId)).size).toBe(3);
  });

  it('are leased while another worker leases the oldest ones at the same moment', async () => {
    const ids = [];
    for (let ago = 4; ago > 0; ago--) ids.push(await eventOf(clientIds[0]!, 'start', ago * MINUTE));
    await other.query('begin');
    await other.query('select from outbox where event_id = any($1::uuid[]) for update', [ids.slice(0, 2)]);
    expect(idsOf(await lease(2))).toEqual(ids.slice(2));
    await other.query('commit');
    expect(idsOf(await lease(10))).toEqual(ids.slice(0, 2));
    expect(await lease(10)).toEqual([]);
  });
});

describe('skipWorkflows', () => {
  it('deletes rows of delivered events that are older, of each client, and no row in another state', async () => {
    const [one, two] = clientIds as [string, string];
    const old = [
      await eventOf(one, 'delivered', 3 * MINUTE),
      await eventOf(one, 'delivered', 2 * MINUTE),
      await eventOf(two, 'delivered', 2 * MINUTE),
    ];
    const kept = [await eventOf(one, 'delivered', MINUTE / 2), await eventOf(one, 'start', 2 * MINUTE)];
    expect(await skipWorkflows(db, MINUTE, 100)).toBe(3);
    expect(await statesOf(old)).toEqual([null, null, null]);
    expect(await statesOf(kept)).toEqual(['delivered', 'start']);
    expect(await skipWorkflows(db, MINUTE, 100)).toBe(0);
  });

  it('leaves an event that a starter has leased', async () => {
    const id = await eventOf(clientIds[0]!, 'delivered', 2 * MINUTE);
    expect(idsOf(await lease(10))).toEqual([id]);
    expect(await skipWorkflows(db, MINUTE, 10)).toBe(0);
  });
});

describe('a backlog of 200,000 delivered events beside one failed event', () => {
  let explained: ExplainedDatabase;
  afterAll(() => explained?.close());

  it('costs the lease of the failed event nothing, and a batch no more rows than its size', async () => {
    const [crowd, quiet] = clientIds as [string, string];
    for (let from = 0; from < rowsOfPlans(200_000); from += 20_000)
      await db.query(BACKLOG, [from, from + 19_999, crowd]);
    await db.pool.query('vacuum analyze events, outbox');
    const failed = await eventOf(crowd, 'start');
    const alone = await eventOf(quiet, 'delivered');
    explained = openExplained(db.url.reveal());
    const rowsTouched = () => {
      const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
      expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
      return nodes.filter((node) => node['Index Name']).reduce((sum, node) => sum + rowsOf(node), 0);
    };
    // Postgres may choose a plan for any values from the sixth call on.
    for (let call = 0; call < 8; call++) {
      expect((await leaseEvents(explained, 1, null)).events).toMatchObject([{ eventId: failed }]);
      expect(rowsTouched()).toBeLessThan(15);
      await db.query(`update outbox set lease_until = null where event_id = $1::uuid`, [failed]);
    }
    for (let call = 0; call < 8; call++) {
      const { events } = await leaseEvents(explained, 50, null);
      // A batch is shared equally among the clients: the quiet client has one event, in the first batch.
      expect(events).toHaveLength(call === 0 ? 26 : 25);
      if (call === 0) expect(idsOf(events)).toEqual(expect.arrayContaining([failed, alone]));
      expect(rowsTouched()).toBeLessThan(1_000);
    }
    for (let call = 0; call < 8; call++) {
      expect(await skipWorkflows(explained, MINUTE, 500)).toBe(500);
      expect(rowsTouched()).toBeLessThan(7_000);
    }
    await readBacklog(explained);
    const ofEvents = explained
      .plans()
      .flatMap(({ Plan }) => nodesOf(Plan))
      .filter((node) => node['Relation Name'] === 'events');
    expect(Math.max(...ofEvents.map(rowsOf))).toBeLessThan(10);
  });
});

/** Events of the last hours, one each 100 ms. */
const BACKLOG = `
with event as (
  insert into events (id, client_id, transfer_id, type, body, created_at)
  select (substr(hex, 1, 8) || '-' || substr(hex, 9, 4) || '-7' || substr(gen_random_uuid()::text, 16))::uuid, $3::uuid,
         gen_random_uuid(), 't', '{}', at
    from (select at, lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') as hex
            from (select now() - (600 + n * 0.1) * interval '1 second' as at from generate_series($1::int, $2::int) n) times) ids
  returning id, client_id
)
insert into outbox (event_id, client_id, state) select id, client_id, 'delivered' from event`;

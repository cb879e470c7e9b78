import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { type ExplainedDatabase, nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { fillPast } from '../../bench/past.js';
import { makeTenants } from '../../bench/tenants.js';
import { readBacklog } from '../../src/delivery/backlog.js';
import { leaseEvents, markDone, releaseEvents } from '../../src/delivery/outbox.js';
import type { Handle } from '../../src/platform/database/database.js';
import { MasterKeys } from '../../src/platform/database/encryption.js';
import { Secret } from '../../src/platform/secret.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const PAST = 5_000;
const CLIENTS = 3;

let db: TestDatabase;
let client: pg.Client;
let other: pg.Client;
let explained: ExplainedDatabase;
let clientIds: string[];

beforeAll(async () => {
  db = await createTestDatabase();
  client = await db.openSession();
  other = await db.openSession();
  // The statistics of a table that a burst fills are out of date.
  await client.query('alter table events set (autovacuum_enabled = off)');
  const masterKeys = new MasterKeys(new Secret<Uint8Array>(new Uint8Array(32).fill(7)));
  const tenants = await makeTenants({ database: client, masterKeys }, 'http://127.0.0.1:1', {
    clients: CLIENTS,
    endpointsEach: 1,
  });
  clientIds = tenants.clients.map(({ id }) => id);
  for (const one of tenants.clients) {
    await fillPast({ database: client }, { clients: [one], endpointsEach: 1 }, PAST, () => undefined);
  }
  // A burst: every event has waited, its old entries are still in the index, and the statistics say that many wait.
  for (const state of ['start', 'delivered', 'start']) {
    await client.query('update events set outbox = $1::outbox_state', [state]);
  }
  await client.query('analyze events');
  await client.query(`update events set outbox = 'done'`);
  explained = openExplained(db.url.reveal());
});
afterEach(() => client.query(`update events set outbox = 'done' where outbox <> 'done'`));
afterAll(async () => {
  await explained?.close();
  await db?.drop();
});

/** The newest `count` events of each client wait in `state`. @returns their ids by client, oldest first */
async function newestWait(state: 'again' | 'start' | 'delivered', count: number): Promise<string[][]> {
  const { rows } = await client.query(
    `update events set outbox = $1::outbox_state, lease_until = now() - interval '1 ms'
      where id in (select id from (select id, row_number() over (partition by client_id order by id desc) as n from events) e
                    where n <= $2)
     returning id, client_id`,
    [state, count],
  );
  return clientIds.map((clientId) =>
    rows
      .filter((row) => row.client_id === clientId)
      .map(({ id }) => id)
      .sort(),
  );
}

const rowsOfEvents = async (work: (db: Handle) => Promise<unknown>) => {
  explained.plans();
  await work(explained);
  const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
  const ofEvents = nodes.filter((node) => node['Relation Name'] === 'events' && node['Index Name'] !== undefined);
  expect(ofEvents.length).toBeGreaterThan(0);
  return Math.max(...ofEvents.map(rowsOf));
};
const idsOf = (events: readonly { eventId: string }[]) => events.map(({ eventId }) => eventId);
const outboxOf = async (id: string) => (await db.prisma.event.findUniqueOrThrow({ where: { id } })).outbox;

describe('events that wait in the outbox', () => {
  it('are found without reading events that are done, even without statistics', async () => {
    await newestWait('start', 20);
    expect(await rowsOfEvents(readBacklog)).toBeLessThanOrEqual(CLIENTS * 20);
    expect(await rowsOfEvents((h) => leaseEvents(h, 'again', 200))).toBeLessThanOrEqual(CLIENTS * 20);
    expect(await rowsOfEvents((h) => leaseEvents(h, 'start', 2))).toBeLessThanOrEqual(CLIENTS * 20);
  });

  it('are leased in turn across clients, the oldest of each first, and once', async () => {
    const waiting = await newestWait('delivered', 4);
    const leased = await leaseEvents(db, 'delivered', 2 * CLIENTS);
    expect(idsOf(leased)).toEqual(waiting.flatMap((ids) => ids.slice(0, 2)).sort());
    expect(await leaseEvents(db, 'delivered', 100)).toHaveLength(2 * CLIENTS);
    expect(await leaseEvents(db, 'delivered', 100)).toEqual([]);
    expect(await leaseEvents(db, 'start', 100)).toEqual([]);
  });

  it('are leased from some clients if there are more clients than the batch has events', async () => {
    await newestWait('start', 2);
    const leased = await leaseEvents(db, 'start', 2);
    expect(new Set(leased.map(({ clientId }) => clientId)).size).toBe(2);
  });

  it('are leased while another worker leases the oldest ones at the same moment', async () => {
    const [ids] = (await newestWait('start', 4)) as [string[]];
    await client.query(`update events set outbox = 'done' where outbox = 'start' and not id = any($1::uuid[])`, [ids]);
    await other.query('begin');
    await other.query('select from events where id = any($1::uuid[]) for update', [ids.slice(0, 2)]);
    expect(idsOf(await leaseEvents(db, 'start', 2))).toEqual(ids.slice(2));
    await other.query('commit');
    expect(idsOf(await leaseEvents(db, 'start', 10))).toEqual(ids.slice(0, 2));
    expect(await leaseEvents(db, 'start', 10)).toEqual([]);
  });

  it('go to workers that lease at the same time in different batches, and each event to one', async () => {
    const waiting = await newestWait('start', 20);
    const batches = await Promise.all(Array.from({ length: 4 }, () => leaseEvents(db, 'start', 15)));
    expect(batches.map(({ length }) => length)).toEqual([15, 15, 15, 15]);
    expect(idsOf(batches.flat()).sort()).toEqual(waiting.flat().sort());
  });

  it.each([
    ['has ended', `now() - interval '1 ms'`, 1],
    ['is of a clock that was ahead', `now() + interval '61 seconds'`, 1],
    ['runs', `now() + interval '30 seconds'`, 0],
  ])('are free when their lease %s', async (_, until, count) => {
    const [[id]] = (await newestWait('again', 1)) as [[string]];
    await client.query(`update events set outbox = 'done' where id <> $1::uuid and outbox = 'again'`, [id]);
    await client.query(`update events set lease_until = ${until} where id = $1::uuid`, [id]);
    expect(await leaseEvents(db, 'again', 10)).toHaveLength(count);
  });
});

describe('a leased event', () => {
  async function leaseOne(state: 'start' | 'delivered') {
    const [[id]] = (await newestWait(state, 1)) as [[string]];
    const leased = (await leaseEvents(db, state, 10)).filter(({ eventId }) => eventId === id);
    expect(leased).toHaveLength(1);
    return { id, leased };
  }

  it('is done once its workflow knows its state', async () => {
    const { id, leased } = await leaseOne('start');
    await markDone(db, 'start', leased);
    expect(await outboxOf(id)).toBe('done');
  });

  it.each([
    ['has changed its state', `outbox = 'again', lease_until = now()`, 'again'],
    ['has ended its lease in the same state', 'lease_until = now()', 'start'],
  ])('waits on if a record %s since the lease', async (_, change, outbox) => {
    const { id, leased } = await leaseOne('start');
    await client.query(`update events set ${change} where id = $1::uuid`, [id]);
    await markDone(db, 'start', leased);
    expect(await outboxOf(id)).toBe(outbox);
  });

  it('is leased again after its release time, unless another process has it', async () => {
    const { id, leased } = await leaseOne('start');
    await releaseEvents(db, leased, 20);
    expect(idsOf(await leaseEvents(db, 'start', 10))).not.toContain(id);
    // The lease has another end now: this process has it no more.
    await releaseEvents(db, leased, -1);
    expect(idsOf(await leaseEvents(db, 'start', 10))).not.toContain(id);
    const again = await leaseOne('delivered');
    await releaseEvents(db, again.leased, -1);
    expect(idsOf(await leaseEvents(db, 'delivered', 10))).toContain(again.id);
  });
});

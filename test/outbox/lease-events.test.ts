import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type pg from 'pg';
import { type ExplainedDatabase, nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { fillPast } from '../../bench/past.js';
import { makeTenants } from '../../bench/tenants.js';
import type { Handle } from '../../src/database/database.js';
import { MasterKeys } from '../../src/database/encryption.js';
import { readBacklog } from '../../src/outbox/backlog.js';
import { leaseEvents } from '../../src/outbox/lease-events.js';
import { Secret } from '../../src/secret.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';

const PAST = 5_000;
const CLIENTS = 3;

let db: TestDatabase;
let client: pg.Client;
let explained: ExplainedDatabase;
let clientIds: string[];

beforeAll(async () => {
  db = await createTestDatabase();
  client = await db.openSession();
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
  for (const state of ['attempt', 'start', 'attempt', 'start']) {
    await client.query('update events set outbox = $1::outbox_state', [state]);
  }
  await client.query('analyze events');
  await client.query(`update events set outbox = 'done'`);
  explained = openExplained(db.url.reveal());
});
afterAll(async () => {
  await explained?.close();
  await db?.drop();
});

/** The newest `count` events of each client wait in `state`. */
const newestWait = (state: 'attempt' | 'start', count: number) =>
  client.query(
    `update events set outbox = $1::outbox_state, lease_until = now()
      where id in (select id from (select id, row_number() over (partition by client_id order by id desc) as n from events) e
                    where n <= $2)`,
    [state, count],
  );

const rowsOfEvents = async (work: (db: Handle) => Promise<unknown>) => {
  explained.plans();
  await work(explained);
  const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
  const ofEvents = nodes.filter((node) => node['Relation Name'] === 'events' && node['Index Name'] !== undefined);
  expect(ofEvents.length).toBeGreaterThan(0);
  return Math.max(...ofEvents.map(rowsOf));
};

describe('events that wait in the outbox', () => {
  test('are found without a look at the events that are done, also without statistics', async () => {
    await newestWait('start', 20);
    expect(await rowsOfEvents(readBacklog)).toBeLessThanOrEqual(CLIENTS * 20);
    expect(await rowsOfEvents((h) => leaseEvents(h, 'attempt', 200, []))).toBeLessThanOrEqual(CLIENTS * 20);
    expect(await rowsOfEvents((h) => leaseEvents(h, 'start', 2, []))).toBeLessThanOrEqual(CLIENTS * 20);
  });

  test('are leased in turn across clients, the oldest of each first, and once', async () => {
    await newestWait('attempt', 4);
    const { rows } = await client.query(`select id, client_id from events where outbox = 'attempt' order by id`);
    const oldest = clientIds.flatMap((id) => rows.filter((row) => row.client_id === id).slice(0, 2));
    const leased = await leaseEvents(db, 'attempt', 2 * CLIENTS, []);
    expect(leased.map(({ eventId }) => eventId)).toEqual(oldest.map(({ id }) => id).sort());
    const others = await leaseEvents(db, 'attempt', 100, [clientIds[0] ?? '']);
    expect(others.map(({ clientId }) => clientId).sort()).toEqual(
      clientIds
        .slice(1)
        .flatMap((id) => [id, id])
        .sort(),
    );
    expect(await leaseEvents(db, 'attempt', 100, [])).toHaveLength(2);
  });
});

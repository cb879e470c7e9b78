import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ExplainedDatabase, nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { leaseById, leaseOfEndpoints, readHeads } from '../../src/delivery/lease.js';
import { readWaiting } from '../../src/delivery/waiting.js';
import type { Handle } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids.js';
import { commitEvent, commitEvents } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { rowsOfPlans } from '../support/filled-database.js';

const BACKLOG = rowsOfPlans(100_000);
const LEASED = BACKLOG / 2;
/** Postgres keeps a plan from the sixth run on. */
const RUNS = 8;

let db: TestDatabase;
let explained: ExplainedDatabase;
let busy: string;
let deliveryId: string;

beforeAll(async () => {
  db = await createTestDatabase();
  explained = openExplained(db.url.reveal());
  // No statistics appear on their own, as in the first minute of an outage.
  await db.query('alter table queue set (autovacuum_enabled = false)', []);
  const { clientId, deliveries } = await commitEvent(db);
  busy = deliveries[0]!.endpointId;
  for (let i = 0; i < 20; i++) await commitEvents(db, 5);
  deliveryId = (await commitEvent(db)).deliveries[0]!.deliveryId;
  await db.query(
    `insert into queue (delivery_id, client_id, endpoint_id, line, due_at, trigger, lease_token, lease_until)
     select gen_random_uuid(), $1::uuid, $2::uuid, case when n % 2 = 0 then 'fresh' else 'late' end::queue_line,
            now() - n * interval '10 ms', 'schedule',
            case when n > $3::int then gen_random_uuid() end, case when n > $3::int then now() + interval '30 s' end
       from generate_series(1, $3::int + $4::int) n`,
    [clientId, busy, BACKLOG, LEASED],
  );
});
afterAll(async () => {
  await explained?.close();
  await db?.drop();
});

/** The most rows of the queue that a part of the statement has handled. */
async function rowsOfQueue(work: (db: Handle) => Promise<unknown>): Promise<number> {
  explained.plans();
  await work(explained);
  const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
  const ofQueue = nodes.filter((node) => node['Relation Name'] === 'queue');
  expect(ofQueue.length).toBeGreaterThan(0);
  return Math.max(...ofQueue.map(rowsOf));
}

describe.each(['without statistics', 'with statistics'])('%s', (statistics) => {
  beforeAll(async () => {
    if (statistics === 'with statistics') await db.query('analyze', []);
  });

  it.each([
    ['a scan of the heads', (h: Handle) => readHeads(h, null)],
    [
      'a lease of an endpoint',
      (h: Handle) =>
        leaseOfEndpoints(h, { token: newId(), allowances: [{ endpointId: busy, attempts: 10 }], limit: 200 }),
    ],
    ['a lease by name', (h: Handle) => leaseById(h, newId(), [deliveryId])],
    ['the look whether attempts wait', (h: Handle) => readWaiting(h, true)],
  ])('%s costs no more with 100,000 attempts at one endpoint and 50,000 that are leased', async (_, work) => {
    // 22 endpoints have queued attempts, one of them in two lines.
    for (let run = 0; run < RUNS; run++) expect(await rowsOfQueue(work)).toBeLessThanOrEqual(50);
  });
});

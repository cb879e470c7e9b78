import { beforeAll, expect, it } from '@jest/globals';
import type pg from 'pg';
import { type ExplainedDatabase, nodesOf, openExplained, rowsOf } from '../../../bench/lists/plans.js';
import { makeTenants, makeTransfers, type Tenants } from '../../../bench/tenants.js';
import { type LeasedAttempt, NOTHING_LEASED } from '../../../src/delivery/handover.js';
import { leaseById } from '../../../src/delivery/lease.js';
import { recordAttempts } from '../../../src/delivery/record.js';
import { newId } from '../../../src/platform/ids.js';
import { changeAll } from '../../../src/transfers/change-status.js';
import { openTestDatabase } from '../../support/database.js';
import { masterKeys, outcome } from '../../support/factories.js';
import { ENDED } from '../../support/made-attempt.js';

// The plans that Postgres keeps for the statements of every event, with no setting of the session to force them.

const FILLED = ['transfers', 'transfer_status_history', 'events', 'outbox', 'deliveries', 'queue', 'attempts'];
const BATCH = 30;
/** Names change after 128 runs: with 3,840 rows. */
const BATCHES = 140;

/** The process that makes the attempts. */
const TOKEN = newId();
const handover = { retryDelays: [0], leaseTerms: () => NOTHING_LEASED };

const db = await openTestDatabase();
let client: pg.Client;
let tenants: Tenants;

beforeAll(async () => {
  client = await db.openSession();
  tenants = await makeTenants({ database: client, masterKeys }, 'http://x', { clients: 1, endpointsEach: 1 });
  // No statistics come by themselves, as in the first minute of a burst.
  await client.query(FILLED.map((table) => `alter table ${table} set (autovacuum_enabled = false)`).join(';'));
});

/** Changes so many transfers in one statement, leases the first attempts in another and records them in a third. */
async function runBatch(explained: ExplainedDatabase, size: number): Promise<void> {
  const changes = (await makeTransfers({ database: client }, tenants, size)).map((transferId) => ({
    request: { transferId, to: 'PROCESSING' as const, reason: null },
    ...{ allowed: ['CREATED' as const], content: '"type":"x"', traceparent: null },
  }));
  const changed = await changeAll(explained, handover, changes);
  const ids = changed.map((row) => row!.event!.deliveries[0]!.deliveryId);
  expect(await leaseById(explained, TOKEN, ids)).toHaveLength(size);
  const made = changed.map((row) => {
    const { eventId, deliveries } = row!.event!;
    const { deliveryId } = deliveries[0]!;
    const attempt = { deliveryId, eventId, line: 'fresh', number: 1, trigger: 'schedule' } as const;
    return {
      attempt: { ...attempt, url: 'http://x', leasedUntil: ENDED } satisfies Partial<LeasedAttempt>,
      outcome: outcome(),
    };
  });
  await recordAttempts(explained, { token: TOKEN, workflows: 'every-event' }, made);
}

/** Plans that Postgres kept, and plans that it made for the values, since each statement's last change of name. */
async function countPlans(explained: ExplainedDatabase): Promise<{ kept: number; made: number }[]> {
  return explained.query(
    `select distinct on (statement) generic_plans::int as kept, custom_plans::int as made
       from pg_prepared_statements where statement ~ '^\\s*with (input|free)' order by statement, prepare_time desc`,
    [],
  );
}

it.each([
  ['empty tables', 0],
  ['small tables with statistics', 2],
])('a burst into %s is served by the indexes of its rows, although Postgres keeps the plans', async (_, before) => {
  await client.query(`truncate ${FILLED.join()} cascade`);
  const explained = openExplained(db.url.reveal());
  try {
    for (let batch = 0; batch < BATCHES; batch++) {
      if (batch === before && before > 0) await client.query('analyze');
      explained.plans();
      await runBatch(explained, BATCH);
    }
    const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
    const reads = nodes.filter((node) => FILLED.includes(node['Relation Name'] ?? '') && rowsOf(node) > 0);
    expect(reads.length).toBeGreaterThan(4);
    expect(
      reads.filter((node) => rowsOf(node) > BATCH || node['Index Name'] === 'outbox_client_id_state_event_id_idx'),
    ).toEqual([]);
    const plans = await countPlans(explained);
    expect(plans).toHaveLength(3);
    for (const { kept } of plans) expect(kept).toBeGreaterThan(0);
  } finally {
    await explained.close();
  }
});

it('a backlog that fills the queue at once does not make the record of an attempt scan the queue', async () => {
  await client.query(`truncate ${FILLED.join()} cascade`);
  const explained = openExplained(db.url.reveal());
  try {
    await runBatch(explained, 1);
    await client.query('vacuum analyze');
    // The name that these runs have lasts until the 32nd run.
    for (let event = 0; event < 24; event++) await runBatch(explained, 1);
    await client.query(
      `insert into queue (delivery_id, client_id, endpoint_id, line, due_at, trigger)
       select gen_random_uuid(), client_id, endpoint_id, 'late', now(), 'schedule'
         from deliveries, generate_series(1, 2000) limit 20000`,
    );
    explained.plans();
    await runBatch(explained, 1);
    const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
    expect(nodes.filter((node) => node['Relation Name'] === 'queue').map((node) => rowsOf(node) <= 1)).toContain(true);
    expect(nodes.filter((node) => rowsOf(node) > BATCH)).toEqual([]);
  } finally {
    await explained.close();
  }
});

it('Postgres keeps the plans of single changes and attempts, also with statistics of big tables', async () => {
  await client.query('vacuum analyze');
  const explained = openExplained(db.url.reveal());
  try {
    for (let event = 0; event < 24; event++) await runBatch(explained, 1);
    // The first five runs of each name have a plan of their own.
    expect(await countPlans(explained)).toEqual(Array(3).fill({ kept: 4, made: 5 }));
  } finally {
    await explained.close();
  }
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { type ExplainedDatabase, nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { makeTenants, makeTransfers } from '../../bench/tenants.js';
import { newId } from '../../src/ids.js';
import { changeAll } from '../../src/transfers/change-statement.js';
import { recordAttempts } from '../../src/webhooks/record.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { masterKeys, outcome } from '../support/factories.js';

const FILLED = ['transfers', 'transfer_status_history', 'events', 'deliveries', 'attempts'];
const BATCH = 30;
const BATCHES = 160;

let db: TestDatabase;
let explained: ExplainedDatabase;
let client: pg.Client;

beforeAll(async () => {
  db = await createTestDatabase();
  client = new pg.Client({ connectionString: db.url.reveal() });
  await client.connect();
  // No statistics come during the test, as in the first minute of a burst.
  await client.query(FILLED.map((table) => `alter table ${table} set (autovacuum_enabled = false)`).join(';'));
  explained = openExplained(db.url.reveal());
});
afterAll(async () => {
  await explained?.close();
  await client?.end();
  await db?.drop();
});

it('a burst into empty tables is served by indexes, although Postgres keeps the plans of its statements', async () => {
  const stack = { database: client, masterKeys };
  const tenants = await makeTenants(stack, 'http://127.0.0.1:9', { clients: 1, endpointsEach: 1 });
  for (let batch = 0; batch < BATCHES; batch++) {
    const at = new Date().toISOString();
    const changes = (await makeTransfers(stack, tenants, BATCH)).map((transferId) => ({
      request: { transferId, to: 'PROCESSING' as const, reason: null },
      ...{ allowed: ['CREATED' as const], eventId: newId(), at, body: '{}', traceparent: null },
    }));
    explained.plans();
    const changed = await changeAll(explained, { claims: true, retryDelays: [0] }, changes);
    const attempts = changed.map((row) => ({
      ...{ deliveryId: row!.deliveries[0]!.deliveryId, number: 1, trigger: 'schedule' as const, url: 'http://x' },
      ...{ outcome: outcome(), nextDelay: null, single: false },
    }));
    const settled = changes.map(({ eventId }) => ({ eventId, outbox: 'done' as const, held: false }));
    await recordAttempts(explained, attempts, settled);
  }
  const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
  expect(nodes.some((node) => node['Relation Name'] === 'deliveries')).toBe(true);
  const reads = nodes.filter((node) => FILLED.includes(node['Relation Name'] ?? '') && rowsOf(node) > BATCH * 2);
  expect(reads.map((node) => [node['Node Type'], node['Relation Name'], rowsOf(node)])).toEqual([]);
  const [plans] = await explained.query<{ generic: number }>(
    'select sum(generic_plans)::int as generic from pg_prepared_statements',
    [],
  );
  expect(plans?.generic).toBeGreaterThan(BATCHES);
}, 60_000);

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type ExplainedDatabase, nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { fillPast } from '../../bench/past.js';
import { resetForRecovery } from '../../src/delivery/recoveries.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint } from '../support/factories.js';

const ROWS = 30_000;
const LIMIT = 20;

let db: TestDatabase;
let explained: ExplainedDatabase;
let clientId: string;
let endpointId: string;

beforeAll(async () => {
  db = await createTestDatabase();
  explained = openExplained(db.url.reveal());
  clientId = await makeClient(db);
  endpointId = (await makeEndpoint(db, clientId)).id;
  const filling = new pg.Client({ connectionString: db.url.reveal() });
  await filling.connect();
  await fillPast(
    { database: filling },
    { clients: [{ id: clientId, endpoints: [endpointId] }], endpointsEach: 1 },
    ROWS,
    () => {},
  );
  // The statistics are of an outage: most deliveries have failed. Since then, all but the oldest have succeeded.
  await filling.query('alter table deliveries set (autovacuum_enabled = off)');
  await filling.query(`update deliveries set status = 'failed', asleep = false, next_attempt_at = null`);
  await filling.query('analyze');
  await filling.query(
    `update deliveries set status = 'succeeded' where id <> all(array(select id from deliveries order by id limit 5))`,
  );
  await filling.end();
}, 120_000);
afterAll(async () => {
  await explained?.close();
  await db?.drop();
});

describe('the next deliveries of a recovery', () => {
  // After the last failed delivery it read all later successes, was ended after 15 s, and tried again for ever.
  it.each(['ended', 'pending'] as const)(
    'regression: %s ones are found without the successes after them',
    async (phase) => {
      const [last] = await db.query<{ id: string }>(
        `select id from deliveries where status = 'failed' order by id desc limit 1`,
        [],
      );
      explained.plans();
      const part = { clientId, endpointId, since: 0, until: Date.now() + 60_000, limit: LIMIT, retryDelays: [0] };
      expect(await resetForRecovery(explained, { ...part, after: last!.id }, phase)).toEqual([]);
      const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
      const ofDeliveries = nodes.filter((node) => node['Relation Name'] === 'deliveries');
      expect(ofDeliveries.length).toBeGreaterThan(0);
      expect(Math.max(...ofDeliveries.map(rowsOf))).toBeLessThanOrEqual(2 * LIMIT);
    },
  );
});

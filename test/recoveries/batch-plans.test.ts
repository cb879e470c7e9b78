import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { nodesOf, rowsOf } from '../../bench/lists/plans.js';
import { resetForRecovery } from '../../src/recoveries/batches.js';
import { type FilledDatabase, openFilled, rowsOfPlans } from '../support/filled-database.js';

const ROWS = rowsOfPlans(30_000);
const LIMIT = 20;

let filled: FilledDatabase;

beforeAll(async () => {
  // The statistics are of an outage: most deliveries have failed. Since then, all but the oldest have succeeded.
  filled = await openFilled(ROWS, [
    'alter table deliveries set (autovacuum_enabled = off)',
    `update deliveries set status = 'failed', asleep = false, next_attempt_at = null`,
    'analyze',
    `update deliveries set status = 'succeeded' where id <> all(array(select id from deliveries order by id limit 5))`,
  ]);
});
afterAll(() => filled?.close());

describe('the next deliveries of a recovery', () => {
  // After the last failed delivery it read all later successes, was ended after 15 s, and tried again for ever.
  it.each(['ended', 'pending'] as const)(
    'regression: %s ones are found without the successes after them',
    async (phase) => {
      const { db, explained, clientId, endpointId } = filled;
      const [last] = await db.query<{ id: string }>(
        `select id from deliveries where status = 'failed' order by id desc limit 1`,
        [],
      );
      explained.plans();
      const part = { clientId, endpointId, since: 0, until: Date.now() + 60_000, limit: LIMIT, retryDelays: [0] };
      expect((await resetForRecovery(explained, { ...part, after: last!.id }, phase)).ids).toEqual([]);
      const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
      const ofDeliveries = nodes.filter((node) => node['Relation Name'] === 'deliveries');
      expect(ofDeliveries.length).toBeGreaterThan(0);
      expect(Math.max(...ofDeliveries.map(rowsOf))).toBeLessThanOrEqual(2 * LIMIT);
    },
  );
});

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { nodesOf, rowsOf } from '../../bench/lists/plans.js';
import { leaseStarts } from '../../src/delivery/start-workflows.js';
import { readEndpointHealth } from '../../src/endpoints/health.js';
import { EndpointHours } from '../../src/endpoints/hours.js';
import { watchEndpoints } from '../../src/endpoints/watch.js';
import { routeNotifications } from '../../src/notifications/notify.js';
import { expireAudit } from '../../src/platform/audit.js';
import type { Database } from '../../src/platform/database/database.js';
import { NIL_ID, newId } from '../../src/platform/ids.js';
import { lowestIdBefore, removeExpiredEvents } from '../../src/platform/retention.js';
import { createLog } from '../../src/platform/telemetry/log.js';
import { readClientOverviews } from '../../src/reports/operator-overview.js';
import { readPendingAlone } from '../../src/reports/pending-alone.js';
import { expireTransfers } from '../../src/transfers/expire-transfers.js';
import { BY_OPERATOR, makeEndpoint } from '../support/factories.js';
import { type FilledDatabase, openFilled, rowsOfPlans } from '../support/filled-database.js';

// What works through a table in batches, beside a full table whose statistics fit none of them.

const ROWS = rowsOfPlans(20_000);
const LIMIT = 100;
const DAY = 86_400_000;
/** Postgres keeps a plan from the sixth run on. */
const RUNS = 8;

const FILL = `
alter table transfers set (autovacuum_enabled = off);
alter table deliveries set (autovacuum_enabled = off);
alter table notifications set (autovacuum_enabled = off);
insert into audit_entries (id, at, actor, action) select id, created_at, 'client:busy', 'endpoints.update' from events;
insert into notifications (id, type, client_id, body, open, routed)
select id, 'endpoint.failing', client_id, '{}', false, true from events;
insert into workflow_starts (workflow_id, type, task_queue, client_id, input, summary, renewed_within, start_after)
select id, 'notify', 'q', client_id, '{}', '', 60, created_at from events;
insert into endpoint_hours (endpoint_id, hour, succeeded, failed, answer_times)
select id, hour, 1, 0, '{}' from generate_series(now() - interval '30 days', now(), '1 hour') hour,
       lateral (select gen_random_uuid() as id from generate_series(1, 50)) ids`;

const UNKNOWN = `
update deliveries set status = 'pending';
update transfers set status = 'COMPLETED';
update notifications set routed = false where id in (select id from notifications order by id desc limit 5000)`;

let filled: FilledDatabase;
let successorId: string;

beforeAll(async () => {
  // After the statistics: nothing of what is old may be removed, and all notifications and starts wait.
  filled = await openFilled(ROWS, [FILL, 'analyze', UNKNOWN]);
  successorId = (await makeEndpoint(filled.db, filled.clientId)).id;
});
afterAll(() => filled?.close());

const removeEvents = async (db: Database) => {
  const before = await lowestIdBefore(db, 20 * DAY);
  let after: string | null = null;
  for (let run = 0; run < RUNS; run++) after = (await removeExpiredEvents(db, { before, after, limit: LIMIT })).after;
};

const countAttempt = (db: Database) => {
  const hours = new EndpointHours(db, createLog('silent', 'test'));
  hours.count(newId(), { startedAt: new Date(), durationMs: 1, responseStatus: 500, error: 'status' });
  return hours.write();
};

it.each<[string, (db: Database) => Promise<unknown>, number]>([
  ['removing events', removeEvents, 2 * LIMIT],
  ['removing transfers', (db) => expireTransfers(db, BY_OPERATOR, 29.75 * DAY, LIMIT), 2 * LIMIT],
  ['removing audit entries', (db) => expireAudit(db, BY_OPERATOR, 29 * DAY, LIMIT), LIMIT],
  ['routing notifications', (db) => routeNotifications(db, { operator: false, retryDelays: [0] }), LIMIT],
  ['counting attempts of an endpoint without an earlier hour', countAttempt, 1],
  // At most 10,000 are counted, and one more is seen.
  ['reading what a deleted endpoint loses', (db) => readPendingAlone(db, filled.endpointId, successorId), 10_001],
  ['watching endpoints without an hour', (db) => db.transaction((tx) => watchEndpoints(tx, NIL_ID, 1_000)), 100],
  ['the health of such endpoints', (db) => readEndpointHealth(db, filled.clientId), 10_001],
  ['the overview of clients', readClientOverviews, 10_001],
  ['leasing workflow starts', (db) => leaseStarts(db, LIMIT, 30), RUNS * LIMIT],
])('%s reads no more rows than a batch', async (_, work, most) => {
  for (let run = 0; run < RUNS; run++) await work(filled.explained);
  const nodes = filled.explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
  const reads = nodes.filter((node) => node['Relation Name'] !== undefined && rowsOf(node) > most);
  expect(
    reads.map((node) => `${node['Node Type']} ${node['Index Name']} ${node['Relation Name']} ${rowsOf(node)}`),
  ).toEqual([]);
  expect(nodes.length).toBeGreaterThan(0);
});

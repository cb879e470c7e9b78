import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { queueOverdue } from '../../src/delivery/queue.js';
import { watchdog } from '../../src/delivery/watchdog.js';
import type { Handle } from '../../src/platform/database/database.js';
import type { Periodic } from '../../src/platform/periodic.js';
import { makeBacklog } from '../support/backlog.js';
import { commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { createTestDispatchers } from '../support/dispatcher.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';

const MINUTE = 60_000;

const db = await openTestDatabase();
let dispatchers: ReturnType<typeof createTestDispatchers>;
const watchdogs: Periodic[] = [];
beforeAll(async () => {
  dispatchers = createTestDispatchers(db);
});
beforeEach(async () => {
  await db.query('update deliveries set asleep = false', []);
  await db.query('delete from queue', []);
});
afterEach(async () => {
  for (const watchdog of watchdogs.splice(0)) await watchdog.stop();
  await dispatchers.stop();
});

/** Starts a watchdog. Its first pass is immediate. */
function open(onQueued = () => {}, handle: Handle = db, log = silentLog): Periodic {
  const loop = watchdog(handle, onQueued, log);
  watchdogs.push(loop);
  loop.start();
  return loop;
}
describe('the watchdog', () => {
  it('continues in batches until nothing is overdue', async () => {
    const { clientId, deliveries } = await commitEvent(db);
    await makeBacklog(db, deliveries[0]!.endpointId, 1_250);
    await db.query(`update deliveries set next_attempt_at = now() - interval '1 hour' where client_id = $1::uuid`, [
      clientId,
    ]);
    let batches = 0;
    open(() => void batches++);
    const endpointId = deliveries[0]!.endpointId;
    await waitFor(
      'all attempts',
      async () => (await db.prisma.queuedAttempt.count({ where: { endpointId } })) === 1_251,
    );
    await waitFor('the last batch', () => batches === 3);
  });

  it('divides the work among workers without waiting for each other, and never deadlocks with them', async () => {
    const { clientId, deliveries } = await commitEvent(db, { endpoints: 4 });
    for (const { endpointId } of deliveries) await makeBacklog(db, endpointId, 250);
    // Each event has deliveries to all four endpoints, which the workers meet in different orders.
    await db.query(SHARED_EVENTS, [clientId]);
    const workers = [0, 1, 2, 3].map(async () => {
      let sum = 0;
      for (let queued = 1; queued > 0; sum += queued) queued = (await queueOverdue(db, 2 * MINUTE, 100)).length;
      return sum;
    });
    const sums = await Promise.all(workers);
    expect(sums.reduce((all, sum) => all + sum)).toBe(1_000);
    expect(sums.filter((sum) => sum > 0).length).toBeGreaterThan(1);
  });

  const SHARED_EVENTS = `
with numbered as (
  select id, row_number() over (partition by endpoint_id order by md5(id::text)) as position
    from deliveries where client_id = $1::uuid and asleep
), event as (
  select v.id, row_number() over (order by v.id) as position from events v where v.client_id = $1::uuid
)
update deliveries d set event_id = e.id, next_attempt_at = now() - interval '1 hour' - random() * interval '1 hour'
  from numbered n join event e on e.position = n.position where d.id = n.id`;
});

describe('what the watchdog reads', () => {
  it('is only overdue deliveries, by the index on the planned time', async () => {
    const { deliveries } = await commitEvent(db);
    await makeBacklog(db, deliveries[0]!.endpointId, 3_000);
    const { endpointId } = deliveries[0]!;
    await db.query(
      `update deliveries set next_attempt_at = now() - interval '1 hour' where endpoint_id = $1::uuid and asleep and random() < 0.05`,
      [endpointId],
    );
    await db.pool.query('vacuum analyze deliveries, events, queue');
    const explained = openExplained(db.url.reveal());
    try {
      // More than five calls: from then on Postgres may choose a plan that serves any batch.
      for (let call = 0; call < 8; call++) {
        explained.plans();
        const queued = await queueOverdue(explained, 2 * MINUTE, 10);
        const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
        const scans = nodes.filter((node) => node['Relation Name']);
        expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan');
        expect(queued).toHaveLength(10);
        for (const node of scans) expect(rowsOf(node)).toBeLessThanOrEqual(20);
      }
    } finally {
      await explained.close();
    }
  });
});

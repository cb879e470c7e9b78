import { nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { tryAdvisoryLock } from '../../src/database/advisory-lock.js';
import { type PendingKey, readPending } from '../../src/workflow-starts/read-pending.js';
import { Reconcile } from '../../src/workflow-starts/reconcile.js';
import { startPending } from '../../src/workflow-starts/start-pending.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { silentLog } from '../support/silent-log.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';

let db: TestDatabase;
let temporal: TestTemporal;
beforeAll(async () => {
  [db, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
}, 120_000);
afterAll(async () => {
  await temporal.close();
  await db.drop();
});

const reconcile = () =>
  new Reconcile({
    db,
    databaseUrl: db.url,
    temporal: () => ({ client: temporal.client, eager: false }),
    retryDelays: [0, 300_000],
    busy: () => false,
    log: silentLog,
  });

async function doneEvent(overdueMinutes: number): Promise<string> {
  const { eventId } = await commitEvent(db);
  await db.prisma.event.update({ where: { id: eventId }, data: { outbox: 'done' } });
  const nextAttemptAt = new Date(Date.now() - overdueMinutes * 60_000);
  await db.prisma.delivery.updateMany({
    where: { eventId },
    data: { attemptCount: 2, nextAttemptAt, attemptingUntil: null },
  });
  return eventId;
}
/** Events of one client whose workflows have started, overdue by 11 minutes and more. @returns their ids */
async function doneEvents(count: number): Promise<string[]> {
  const first = await doneEvent(11);
  await db.query(COPIES, [first, count - 1]);
  const rows = await db.prisma.event.findMany({ where: { outbox: 'done' }, select: { id: true } });
  return rows.map(({ id }) => id);
}
const COPIES = `
with made as (
  insert into events (id, client_id, transfer_id, type, body, created_at, outbox)
  select gen_random_uuid(), client_id, transfer_id, type, body, created_at, 'done'
    from events, generate_series(1, $2::int) where id = $1::uuid returning id
)
insert into deliveries (id, event_id, endpoint_id, client_id, attempt_count, next_attempt_at)
select gen_random_uuid(), made.id, d.endpoint_id, d.client_id, 2, d.next_attempt_at - (random() * interval '1 hour')
  from made, deliveries d where d.event_id = $1::uuid`;

async function removeAll(): Promise<void> {
  await db.prisma.delivery.deleteMany();
  await db.prisma.event.deleteMany();
}
const status = async (id: string) => (await temporal.client.workflow.getHandle(id).describe()).status.name;

describe('reconcile', () => {
  it('starts the workflow of an overdue delivery that Temporal has lost, and not that of a delivery on time', async () => {
    const [lost, onTime] = [await doneEvent(11), await doneEvent(5)];
    expect(await reconcile().now()).toBe(1);
    expect(await status(lost)).toBe('RUNNING');
    await expect(status(onTime)).rejects.toThrow(/not found/i);
  });

  it('does not touch a running workflow, and starts a terminated workflow again', async () => {
    const eventId = await doneEvent(11);
    await reconcile().now();
    expect(await reconcile().now()).toBe(0);
    await temporal.client.workflow.getHandle(eventId).terminate('by hand');
    expect(await reconcile().now()).toBe(1);
    expect(await status(eventId)).toBe('RUNNING');
  });

  it('starts the workflow of a recovered delivery under the id of its owner', async () => {
    const eventId = await doneEvent(11);
    const { id } = await db.prisma.delivery.findFirstOrThrow({ where: { eventId } });
    await db.prisma.delivery.update({ where: { id }, data: { owner: `recover-${id}-2`, ladderStart: 2 } });
    await reconcile().now();
    expect(await status(`recover-${id}-2`)).toBe('RUNNING');
    await expect(status(eventId)).rejects.toThrow(/not found/i);
  });

  it('starts no workflow for an event that is still in the outbox', async () => {
    const eventId = await doneEvent(11);
    await db.prisma.event.update({ where: { id: eventId }, data: { outbox: 'start' } });
    await reconcile().now();
    await expect(status(eventId)).rejects.toThrow(/not found/i);
  });

  it('continues page by page until nothing is overdue', async () => {
    await removeAll();
    const ids = await doneEvents(250);
    expect(await reconcile().now()).toBe(250);
    expect(await Promise.all(ids.map(status))).toEqual(ids.map(() => 'RUNNING'));
    expect(await reconcile().now()).toBe(0);
  });

  it('runs in one worker at a time', async () => {
    await removeAll();
    await doneEvents(30);
    const lock = await tryAdvisoryLock(db.url, 'reconcile');
    expect(await reconcile().now()).toBe(0);
    await lock?.release();
    const workers = await Promise.all([reconcile().now(), reconcile().now(), reconcile().now()]);
    expect(workers.reduce((sum, started) => sum + started)).toBe(30);
  });

  it('ends a pass after 1000 running workflows, and continues from there with the next pass', async () => {
    await removeAll();
    const ids = await doneEvents(1_250);
    const { starts } = await readPending(db, [], { overdueMinutes: 10, after: null, limit: 1_250 });
    await startPending(temporal.client, starts, 'restart');
    const one = reconcile();
    // The last of all by its planned time: the first pass ends before it.
    const last = await db.prisma.delivery.findFirstOrThrow({ orderBy: { nextAttemptAt: 'desc' } });
    await temporal.client.workflow.getHandle(last.eventId).terminate('by hand');
    expect(await one.now()).toBe(0);
    expect(await one.now()).toBe(1);
    expect(await status(last.eventId)).toBe('RUNNING');
    expect(ids).toContain(last.eventId);
  });

  it('reads its pages from the index on the planned time, and no row that is not overdue', async () => {
    await removeAll();
    await doneEvents(3_000);
    await db.query(`update deliveries set next_attempt_at = now() + interval '1 hour' where random() < 0.9`, []);
    await db.pool.query('vacuum analyze deliveries, events');
    const explained = openExplained(db.url.reveal());
    try {
      let after: PendingKey | null = null;
      let pages = 0;
      // More than five: from then on Postgres may choose a plan that serves any page.
      do {
        explained.plans();
        const { next } = await readPending(explained, [], { overdueMinutes: 10, after, limit: 20 });
        const nodes = explained.plans().filter((plan) => plan['Query Text'].includes('coalesce(now()'));
        for (const node of nodes.flatMap(({ Plan }) => nodesOf(Plan))) {
          expect([node['Node Type'], node['Relation Name'] ?? '', rowsOf(node)]).toEqual([
            expect.not.stringMatching(/Seq Scan/),
            expect.anything(),
            expect.any(Number),
          ]);
          expect(rowsOf(node)).toBeLessThan(120);
        }
        expect(nodes).toHaveLength(1);
        after = next;
        pages++;
      } while (after !== null);
      expect(pages).toBeGreaterThan(8);
    } finally {
      await explained.close();
    }
  });
});

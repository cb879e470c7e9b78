import { type Handle, openDatabase } from '../../../src/platform/database/database.js';
import { withServerSettings } from '../../../src/platform/database/server-settings.js';
import { lowestIdBefore, removeExpiredEvents } from '../../../src/platform/retention.js';
import { commitEvent } from '../../support/committed-event.js';
import { openEmptyDatabase } from '../../support/database.js';
import { emptyOutbox, setOutbox } from '../../support/outbox.js';

const db = await openEmptyDatabase();

/** An event whose deliveries all ended after one attempt each, and whose workflow was started. */
async function ended(endpoints = 1): Promise<string> {
  const { eventId, deliveries } = await commitEvent(db, { endpoints });
  const startedAt = new Date();
  for (const { deliveryId } of deliveries) {
    const attempt = {
      number: 1,
      trigger: 'schedule',
      url: 'https://hooks.example.com/in',
      t: '',
      startedAt,
      durationMs: 1,
    };
    await db.prisma.attempt.create({ data: { deliveryId, ...attempt } });
  }
  await db.prisma.delivery.updateMany({
    where: { eventId },
    data: { status: 'succeeded', nextAttemptAt: null, attemptCount: 1 },
  });
  await db.query('delete from queue', []);
  await emptyOutbox(db);
  return eventId;
}

const remove = async (limit = 100, after: string | null = null) =>
  removeExpiredEvents(db, { before: await lowestIdBefore(db, -60_000), after, limit });
const left = async () => ({
  events: (await db.prisma.event.findMany({ orderBy: { id: 'asc' } })).map(({ id }) => id),
  deliveries: await db.prisma.delivery.count(),
  attempts: await db.prisma.attempt.count(),
});

describe('retention', () => {
  it('removes an event with its deliveries and attempts, and keeps its transfer', async () => {
    await ended(3);
    expect(await remove()).toEqual({ removed: 1, after: null });
    expect(await left()).toEqual({ events: [], deliveries: 0, attempts: 0 });
    expect(await db.prisma.transfer.count()).toBe(1);
  });

  it('does not wait for the disk at its commit, as the transactions after it do', async () => {
    await ended();
    const before = await lowestIdBefore(db, -60_000);
    const flush = (handle: Handle) => handle.query(`select current_setting('synchronous_commit') as value`, []);
    const waiting = withServerSettings(db.url, { synchronous_commit: 'on' });
    const one = openDatabase({ url: waiting, poolSize: 1 });
    await one.transaction(async (tx) => {
      expect(await flush(tx)).toEqual([{ value: 'on' }]);
      expect((await removeExpiredEvents(tx, { before, after: null, limit: 100 })).removed).toBe(1);
      expect(await flush(tx)).toEqual([{ value: 'off' }]);
    });
    expect(await flush(one)).toEqual([{ value: 'on' }]);
    await one.close();
  });

  it.each([
    ['queued', 'null'],
    ['in flight', `now() + interval '20 seconds'`],
    ['leased by a process that died', `now() - interval '1 hour'`],
  ])('keeps the whole event while a manual retry is %s', async (_, leaseUntil) => {
    const id = await ended(2);
    await db.query(
      `insert into queue (delivery_id, client_id, endpoint_id, line, due_at, trigger, lease_token, lease_until)
       select id, client_id, endpoint_id, 'fresh', now(), 'manual', gen_random_uuid(), ${leaseUntil}
         from deliveries where event_id = $1::uuid limit 1`,
      [id],
    );
    expect(await remove()).toEqual({ removed: 0, after: null });
    expect(await left()).toEqual({ events: [id], deliveries: 2, attempts: 2 });
    await db.query('delete from queue', []);
    expect(await remove()).toMatchObject({ removed: 1 });
  });

  it.each(['start', 'again', 'delivered'] as const)(
    'keeps an event that is due for its workflow: %s',
    async (outbox) => {
      const id = await ended();
      await setOutbox(db, id, outbox);
      expect(await remove()).toMatchObject({ removed: 0 });
    },
  );

  it('waits for no lock: skips events that a recovery has locked, and keeps those that it made pending', async () => {
    const [held, free] = [await ended(), await ended()];
    await db.transaction(async (tx) => {
      await tx.query(`update deliveries set status = 'pending' where event_id = $1::uuid`, [held]);
      expect(await remove()).toEqual({ removed: 1, after: null });
    });
    expect((await left()).events).toEqual([held]);
    expect(await remove()).toEqual({ removed: 0, after: null });
    expect((await left()).events).not.toContain(free);
  });

  it('continues after the previous batch, past events that stay', async () => {
    const ids = [await ended(), await ended(), await ended()];
    await db.prisma.delivery.updateMany({ where: { eventId: ids[0]! }, data: { status: 'pending' } });
    expect(await remove(2)).toEqual({ removed: 1, after: ids[1] });
    expect(await remove(2, ids[1])).toEqual({ removed: 1, after: null });
    expect((await left()).events).toEqual([ids[0]]);
  });
});

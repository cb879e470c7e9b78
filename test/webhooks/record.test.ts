import pg from 'pg';
import { type MadeAttempt, recordAttempts } from '../../src/webhooks/record.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { outcome, refusedBy } from '../support/factories.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const URL = 'https://hooks.example.com/in';

async function fresh(): Promise<{ eventId: string; deliveryId: string; endpointId: string }> {
  const event = await commitEvent(db);
  return { eventId: event.eventId, ...event.deliveries[0]! };
}

function attempt(deliveryId: string, fields: Partial<MadeAttempt> = {}): MadeAttempt {
  return {
    deliveryId,
    number: 1,
    trigger: 'schedule',
    url: URL,
    outcome: outcome(),
    nextDelay: 0,
    single: false,
    ...fields,
  };
}

const read = (id: string) => db.prisma.delivery.findUniqueOrThrow({ where: { id }, include: { attempts: true } });

describe('recordAttempts', () => {
  it('ends a delivery as succeeded after a success', async () => {
    const { deliveryId } = await fresh();
    const recorded = await recordAttempts(db, [attempt(deliveryId)], []);
    expect(recorded).toEqual([{ deliveryId, status: 'succeeded', reason: null }]);
    expect(await read(deliveryId)).toMatchObject({
      status: 'succeeded',
      attemptCount: 1,
      nextAttemptAt: null,
      attemptingUntil: null,
      finishedAt: expect.any(Date),
      attempts: [{ number: 1, trigger: 'schedule', url: URL, responseStatus: 204, error: null }],
    });
  });

  it('keeps the headers of the response, and null where no head arrived', async () => {
    const [answered, silent] = [await fresh(), await fresh()];
    const responseHeaders = { server: 'it\'s "quoted" \\ {a,b}', date: 'x' };
    await recordAttempts(
      db,
      [
        attempt(answered.deliveryId, { outcome: outcome({ responseHeaders }) }),
        attempt(silent.deliveryId, { outcome: outcome({ responseStatus: null, error: 'timeout' }) }),
      ],
      [],
    );
    expect((await read(answered.deliveryId)).attempts).toMatchObject([{ responseHeaders }]);
    expect((await read(silent.deliveryId)).attempts).toMatchObject([{ responseHeaders: null }]);
  });

  it('plans the next attempt after a failure, counted from the end of the failed attempt', async () => {
    const { deliveryId } = await fresh();
    const before = Date.now();
    await recordAttempts(db, [attempt(deliveryId, { outcome: refusedBy(503), nextDelay: 300_000 })], []);
    const delivery = await read(deliveryId);
    expect(delivery).toMatchObject({ status: 'pending', attemptCount: 1, attemptingUntil: null, finishedAt: null });
    expect(delivery.nextAttemptAt!.getTime() - before).toBeGreaterThan(299_000);
    expect(delivery.nextAttemptAt!.getTime() - Date.now()).toBeLessThanOrEqual(300_000);
  });

  it('ends a delivery as failed when the ladder has no further rung', async () => {
    const { deliveryId } = await fresh();
    await recordAttempts(db, [attempt(deliveryId, { outcome: refusedBy(503), nextDelay: null })], []);
    expect(await read(deliveryId)).toMatchObject({ status: 'failed', reason: 'exhausted', nextAttemptAt: null });
  });

  it('records an attempt number once: a second record changes nothing and returns no row', async () => {
    const { deliveryId } = await fresh();
    await recordAttempts(db, [attempt(deliveryId)], []);
    expect(await recordAttempts(db, [attempt(deliveryId, { outcome: refusedBy(500) })], [])).toEqual([]);
    expect(await read(deliveryId)).toMatchObject({ status: 'succeeded', attempts: [{ responseStatus: 204 }] });
  });

  it('keeps the attempt of a delivery that is no longer pending, but not its status change', async () => {
    const { deliveryId } = await fresh();
    await db.prisma.delivery.update({
      where: { id: deliveryId },
      data: { status: 'cancelled', reason: 'endpoint_deleted' },
    });
    await recordAttempts(db, [attempt(deliveryId)], []);
    expect(await read(deliveryId)).toMatchObject({
      status: 'cancelled',
      reason: 'endpoint_deleted',
      attempts: [{ responseStatus: 204 }],
    });
  });

  it('makes a failed delivery succeeded after a successful retry by hand, and leaves it unchanged after a failed one', async () => {
    const { deliveryId } = await fresh();
    await recordAttempts(db, [attempt(deliveryId, { outcome: refusedBy(500), nextDelay: null })], []);
    const { finishedAt } = await read(deliveryId);
    const manual = { number: 2, trigger: 'manual', single: true, nextDelay: null } as const;
    await recordAttempts(db, [attempt(deliveryId, { ...manual, outcome: refusedBy(502) })], []);
    expect(await read(deliveryId)).toMatchObject({
      status: 'failed',
      reason: 'exhausted',
      finishedAt,
      attemptCount: 2,
    });
    await recordAttempts(db, [attempt(deliveryId, { ...manual, number: 3 })], []);
    expect(await read(deliveryId)).toMatchObject({ status: 'succeeded', reason: null, attemptCount: 3 });
  });

  it('writes several attempts in one statement, each with its own outcome, and settles events', async () => {
    const [a, b, c] = [await fresh(), await fresh(), await fresh()];
    await recordAttempts(
      db,
      [attempt(a.deliveryId), attempt(b.deliveryId, { outcome: refusedBy(500), nextDelay: 1_000 })],
      [
        { eventId: a.eventId, outbox: 'done', held: false },
        { eventId: b.eventId, outbox: 'start', held: true },
        { eventId: c.eventId, outbox: 'attempt', held: false },
      ],
    );
    expect([(await read(a.deliveryId)).status, (await read(b.deliveryId)).status]).toEqual(['succeeded', 'pending']);
    const events = await db.prisma.event.findMany({
      where: { id: { in: [a.eventId, b.eventId, c.eventId] } },
      orderBy: { id: 'asc' },
    });
    expect(events.map((event) => event.outbox)).toEqual(['done', 'start', 'attempt']);
    expect(events[1]!.leaseUntil.getTime()).toBeGreaterThan(Date.now() + 10_000);
    expect(events[2]!.leaseUntil.getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  it('never changes the outbox state of an event that is done', async () => {
    const { eventId } = await fresh();
    await recordAttempts(db, [], [{ eventId, outbox: 'done', held: false }]);
    await recordAttempts(db, [], [{ eventId, outbox: 'start', held: false }]);
    expect(await db.prisma.event.findUnique({ where: { id: eventId } })).toMatchObject({ outbox: 'done' });
  });

  it('works inside a Prisma transaction', async () => {
    const { deliveryId, eventId } = await fresh();
    const recorded = await db.transaction((tx) =>
      recordAttempts(
        tx,
        [attempt(deliveryId, { outcome: refusedBy(500), nextDelay: null })],
        [{ eventId, outbox: 'start', held: true }],
      ),
    );
    expect(recorded).toEqual([{ deliveryId, status: 'failed', reason: 'exhausted' }]);
  });
});

describe('the plan of a record', () => {
  it('finds the settled events by their ids also where the tables are empty when it is made', async () => {
    let text = '';
    const hot = async (statement: string) => {
      text = statement;
      return [];
    };
    const heard = { ...db, hot } as unknown as TestDatabase;
    await recordAttempts(heard, [], []);
    const empty = await createTestDatabase();
    const client = new pg.Client({ connectionString: empty.url.reveal() });
    await client.connect();
    try {
      // An empty table is scanned from end to end unless that is excluded.
      await client.query('set enable_seqscan = off');
      const { rows } = await client.query(`explain (generic_plan) ${text}`);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain('events_pkey');
      expect(plan).not.toContain('events_outbox_idx');
    } finally {
      await client.end();
      await empty.drop();
    }
  });
});

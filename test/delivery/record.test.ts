import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { leaseById } from '../../src/delivery/lease.js';
import { type MadeAttempt, type RecordOptions, recordAttempts } from '../../src/delivery/record.js';
import { retryDelivery } from '../../src/delivery/retry.js';
import type { SendOutcome } from '../../src/delivery/sender/send.js';
import { disableEndpoint } from '../../src/endpoints/disable.js';
import type { Database } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids.js';
import { type CommittedEvent, commitEvent } from '../support/committed-event.js';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../support/database.js';
import { BY_OPERATOR as by, outcome, refusedBy } from '../support/factories.js';
import { madeAttempt as made } from '../support/made-attempt.js';

const spared = (response: Partial<SendOutcome>) => outcome({ error: 'status', ...response });
/** The lease tokens of this process and of another one. */
const [OWN, OTHER] = [newId(), newId()];

const db = await openTestDatabase();

const record = (attempts: readonly MadeAttempt[], options: Partial<RecordOptions> = {}, on: Database = db) =>
  recordAttempts(on, { token: OWN, workflows: 'every-event', ...options }, attempts);
/** An event whose attempts this process has leased. */
const leased = (options: Parameters<typeof commitEvent>[1] = {}) => commitEvent(db, { token: OWN, ...options });

const idOf = ({ deliveries }: CommittedEvent, of = 0) => deliveries[of]!.deliveryId;
const read = (event: CommittedEvent, of = 0) =>
  db.prisma.delivery.findUniqueOrThrow({
    where: { id: idOf(event, of) },
    include: { attempts: { orderBy: { number: 'asc' } } },
  });
const queueOf = (event: CommittedEvent, of = 0) =>
  db.prisma.queuedAttempt.findUnique({ where: { deliveryId: idOf(event, of) } });

const down = refusedBy(503);
const retry = (event: CommittedEvent) =>
  retryDelivery(db, { queued: () => undefined }, { by, clientId: null, deliveryId: idOf(event) });
const lease = (event: CommittedEvent, token = OWN) => leaseById(db, token, [idOf(event)]);
const disable = (event: CommittedEvent, reason: 'owner' | 'gone' = 'owner') =>
  db.transaction((tx) => disableEndpoint(tx, event.deliveries[0]!.endpointId, reason));

/** A sleeping or ended delivery whose manual retry is leased. @returns the attempt */
async function retried(event: CommittedEvent, fields: Parameters<typeof made>[1] = {}): Promise<MadeAttempt> {
  await retry(event);
  const [row] = await lease(event);
  const { number, leasedUntil } = row!;
  return made(event, { number, leasedUntil, trigger: 'manual', ...fields });
}

describe('the record of an attempt', () => {
  it('keeps the headers of the response and what was odd about it, and null where no head arrived', async () => {
    const [answered, silent] = [await leased(), await leased()];
    const responseHeaders = { server: 'it\'s "quoted" \\ {a,b}', date: 'x' };
    await record([
      made(answered, { outcome: outcome({ responseHeaders, detail: 'odd' }) }),
      made(silent, { outcome: outcome({ responseStatus: null, error: 'timeout' }) }),
    ]);
    expect((await read(answered)).attempts).toMatchObject([{ responseHeaders, detail: 'odd' }]);
    expect((await read(silent)).attempts).toMatchObject([{ responseHeaders: null, error: 'timeout', detail: null }]);
  });

  // Postgres was unavailable for ten minutes, and the attempt after 5 m came after a quarter of an hour.
  it.each([
    [4, { asleep: true }],
    [10, { asleep: false }],
  ])('regression: counts the next attempt from the end of this one, %d minutes ago', async (minutes, expected) => {
    const event = await leased();
    await record([made(event, { outcome: down })]);
    const [recorded] = await record([
      { ...made(event, { number: 2, outcome: down }), endedAt: performance.now() - minutes * 60_000 },
    ]);
    expect(recorded).toMatchObject({ isQueued: !expected.asleep });
    const delivery = await read(event);
    expect(delivery).toMatchObject(expected);
    expect(Math.round((delivery.nextAttemptAt!.getTime() - Date.now()) / 60_000)).toBe(5 - minutes);
  });
});

describe('the record of a manual retry', () => {
  it('regression: whose number an older attempt takes meanwhile is made once, by its success', async () => {
    const event = await leased();
    await disable(event);
    await db.prisma.endpoint.update({ where: { id: event.deliveries[0]!.endpointId }, data: { enabled: true } });
    const manual = await retried(event);
    await record([made(event, { outcome: down })]);
    expect(await record([manual])).toMatchObject([{ number: 2, status: 'succeeded' }]);
    expect(await queueOf(event)).toBeNull();
  });
});

describe('the record of many attempts', () => {
  it('never deadlocks with the batches of other workers over the same events and deliveries', async () => {
    const events: CommittedEvent[] = [];
    for (let i = 0; i < 15; i++) events.push(await leased({ endpoints: 4, retryDelays: Array(40).fill(0) }));
    const all = events.flatMap((event) => event.deliveries.map((_, of) => [event, of] as const));
    // Each worker has all deliveries, in its own order, and the number of each round.
    const worker = async (token: string, order: (a: number, b: number) => number) => {
      for (let number = 1; number <= 30; number++) {
        const attempts = all.map(([event, of]) => made(event, { of, number, outcome: down }));
        let left = attempts.map((_, i) => i).sort(order);
        while (left.length > 0) {
          const recorded = await record(
            left.map((i) => attempts[i]!),
            { token },
          );
          const locked = new Set(recorded.filter(({ isLocked }) => isLocked).map(({ deliveryId }) => deliveryId));
          left = left.filter((i) => locked.has(attempts[i]!.attempt.deliveryId));
        }
      }
    };
    await Promise.all([
      worker(OWN, (a, b) => a - b),
      worker(OTHER, (a, b) => b - a),
      worker(newId(), (a, b) => ((a * 7) % 60) - ((b * 7) % 60)),
    ]);
    for (const [event, of] of all) expect(await read(event, of)).toMatchObject({ attemptCount: 30, rung: 30 });
  });
});

describe('the plan of a record', () => {
  it('finds every row by its key, even if it was made for empty tables', async () => {
    let text = '';
    const hot = async (statement: string) => {
      text = statement;
      return [];
    };
    await record([], {}, { ...db, hot } as unknown as TestDatabase);
    const empty = await createTestDatabase();
    const client = new pg.Client({ connectionString: empty.url.reveal() });
    await client.connect();
    try {
      // An empty table is scanned from end to end unless that is excluded.
      await client.query('set enable_seqscan = off');
      const { rows } = await client.query(`explain (generic_plan) ${text}`);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      for (const index of ['deliveries_pkey', 'queue_pkey', 'attempts_pkey']) expect(plan).toContain(index);
      expect(plan).not.toMatch(/outbox_client_id|queue_free_idx|queue_leased_idx|Seq Scan on/);
    } finally {
      await client.end();
      await empty.drop();
    }
  });
});

describe('a response that asks for a pause', () => {
  const slowedUntil = async ({ deliveries }: CommittedEvent) => {
    const [row] = await db.query<{ left: number | null }>(
      `select round(extract(epoch from slowed_until - now()))::int as left from webhook_endpoints where id = $1::uuid`,
      [deliveries[0]!.endpointId],
    );
    return row!.left;
  };
  const asks = (seconds: string, responseStatus = 429) =>
    spared({ responseStatus, responseHeaders: { 'retry-after': seconds } });

  it('slows its endpoint until then, from its end, ten minutes at most, and leaves the ladder as it is', async () => {
    const event = await leased({ retryDelays: [0, 0, 0, 0] });
    await record([{ ...made(event, { outcome: asks('60') }), endedAt: performance.now() - 20_000 }]);
    expect(await slowedUntil(event)).toBe(40);
    expect(await read(event)).toMatchObject({ rung: 1, asleep: false });
    const [next] = await lease(event);
    expect(next).toMatchObject({ maxConcurrency: 1 });
    await record([made(event, { number: 2, outcome: asks('7200', 503) })]);
    expect(await slowedUntil(event)).toBe(600);
    // A time of another clock, before Postgres was restored.
    await db.query(`update webhook_endpoints set slowed_until = now() + interval '1 hour'`, []);
    expect(await lease(event)).toMatchObject([{ maxConcurrency: null }]);
    await record([made(event, { number: 3, outcome: asks('30') })]);
    expect(await slowedUntil(event)).toBe(30);
  });

  it('neither shortens a pause nor waits for an endpoint that is locked, and a success does not end it', async () => {
    const event = await leased({ retryDelays: [0, 0, 0, 0] });
    await record([made(event, { outcome: asks('60') })]);
    await record([made(event, { number: 2, outcome: asks('5') })]);
    expect(await slowedUntil(event)).toBe(60);
    const session = await db.openSession();
    await session.query('begin');
    await session.query('select from webhook_endpoints for no key update');
    await record([made(event, { number: 3, outcome: asks('300') })]);
    await session.query('rollback');
    await record([made(event, { number: 4 })]);
    expect([(await read(event)).status, await slowedUntil(event)]).toEqual(['succeeded', 60]);
  });
});

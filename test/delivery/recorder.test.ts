import { describe, expect, it, jest } from '@jest/globals';
import { type MadeAttempt, Recorder } from '../../src/delivery/record.js';
import type { Database } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids.js';
import { commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { outcome, refusedBy } from '../support/factories.js';
import { madeAttempt } from '../support/made-attempt.js';
import { silentLog } from '../support/silent-log.js';

const token = newId();

const db = await openTestDatabase();

const open = (on: Database = db) => new Recorder(on, { token, workflows: 'every-event' }, silentLog);

async function attempts(count: number): Promise<MadeAttempt[]> {
  const event = await commitEvent(db, { endpoints: count, token });
  return event.deliveries.map((_, of) => madeAttempt(event, { of }));
}
const attemptsOf = ({ attempt: { deliveryId } }: MadeAttempt) => db.prisma.attempt.findMany({ where: { deliveryId } });

const REFUSED = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

/** The database, except that `before` runs before each try of a record. */
function through(before: (call: number) => void | Promise<void>): Database & { calls: () => number } {
  let calls = 0;
  return Object.create(db, {
    calls: { value: () => calls },
    hot: {
      async value(text: string, values: unknown[]) {
        await before(++calls);
        return db.hot(text, values);
      },
    },
    transaction: {
      async value(work: Parameters<Database['transaction']>[0]) {
        await before(++calls);
        return db.transaction(work);
      },
    },
  });
}

describe('Recorder', () => {
  // A transaction that froze with a delivery locked held up the records, and then all attempts, of its worker.
  it('regression: records the others while a delivery is locked, and that one after', async () => {
    const recorder = open();
    const [held, other] = (await attempts(2)) as [MadeAttempt, MadeAttempt];
    const session = await db.openSession();
    await session.query('begin');
    await session.query('select from deliveries where id = $1 for update', [held.attempt.deliveryId]);
    const late = recorder.record(held);
    expect(await recorder.record(other)).toMatchObject({ status: 'succeeded' });
    expect(await attemptsOf(held)).toEqual([]);
    await session.query('rollback');
    expect(await late).toMatchObject({ status: 'succeeded' });
  });

  it('rejects only the row that cannot be written at all', async () => {
    const recorder = open();
    const [good, bad] = (await attempts(2)) as [MadeAttempt, MadeAttempt];
    bad.attempt.url = 'a\u0000b';
    const [first, second] = await Promise.allSettled([recorder.record(good), recorder.record(bad)]);
    expect(first).toMatchObject({ status: 'fulfilled', value: { status: 'succeeded' } });
    expect(second.status).toBe('rejected');
  });

  it('tries again while Postgres is unreachable, however long, and discards no attempt', async () => {
    const handle = through((call) => {
      if (call <= 3) throw REFUSED;
    });
    const recorder = open(handle);
    const [attempt] = (await attempts(1)) as [MadeAttempt];
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => handle.calls() * 3_600_000);
    try {
      expect(await recorder.record(attempt)).toMatchObject({ status: 'succeeded' });
      expect(handle.calls()).toBe(4);
    } finally {
      clock.mockRestore();
    }
  });

  it.each([
    ['a success', outcome()],
    ['a failure', refusedBy(503)],
  ])('records %s once whose connection broke while the statement ran on', async (_, result) => {
    const [attempt] = (await attempts(1)) as [MadeAttempt];
    attempt.outcome = result;
    const session = await db.openSession();
    await session.query('begin');
    // The statement locks the delivery, and then waits for the end of another insert of the attempt.
    await session.query(
      `insert into attempts (delivery_id, number, trigger, url, t, started_at, duration_ms)
       values ($1, 1, 'schedule', 'https://a', 't', now(), 1)`,
      [attempt.attempt.deliveryId],
    );
    let running: Promise<unknown> = Promise.resolve();
    const handle: Database = Object.create(db, {
      hot: {
        async value(text: string, values: unknown[]) {
          running = db.hot(text, values);
          await db.untilBlocked();
          throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
        },
      },
      transaction: {
        async value(work: Parameters<Database['transaction']>[0]) {
          const done = db.transaction(work);
          await db.untilBlocked(2);
          await session.query('rollback');
          return done;
        },
      },
    });
    expect(await open(handle).record(attempt)).toBeUndefined();
    expect(await running).toHaveLength(1);
    expect(await attemptsOf(attempt)).toMatchObject([{ number: 1 }]);
  });

  it('gives up 10 s after the process began to stop, even on attempts that end later', async () => {
    const handle = through(() => {
      throw REFUSED;
    });
    const recorder = open(handle);
    const [early, late] = (await attempts(2)) as [MadeAttempt, MadeAttempt];
    const clock = jest.spyOn(performance, 'now');
    try {
      clock.mockReturnValue(1_000);
      const first = expect(recorder.record(early)).rejects.toBe(REFUSED);
      recorder.stop();
      clock.mockReturnValue(11_001);
      await first;
      clock.mockReturnValue(11_100);
      await expect(recorder.record(late)).rejects.toBe(REFUSED);
    } finally {
      clock.mockRestore();
    }
  });
});

import { jest } from '@jest/globals';
import type { Handle } from '../../src/database/database.js';
import type { MadeAttempt } from '../../src/webhooks/record.js';
import { Recorder } from '../../src/webhooks/recorder.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { outcome } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

async function attempts(count: number): Promise<MadeAttempt[]> {
  const { deliveries } = await commitEvent(db, { endpoints: count });
  return deliveries.map(({ deliveryId, url }) => ({
    deliveryId,
    number: 1,
    trigger: 'schedule',
    url,
    outcome: outcome(),
    nextDelay: 0,
    single: false,
  }));
}

/** The database handle, except that `before` runs before each hot statement. */
function through(before: (call: number) => void | Promise<void>): Handle & { calls: () => number } {
  let calls = 0;
  return {
    ...db,
    calls: () => calls,
    async hot(text, values) {
      await before(++calls);
      return db.hot(text, values);
    },
  };
}

describe('Recorder', () => {
  it('writes concurrent records in one statement, and returns the state of each delivery', async () => {
    const handle = through(() => undefined);
    const recorder = new Recorder(handle, silentLog);
    const made = await attempts(20);
    const recorded = await Promise.all(made.map((attempt) => recorder.record(attempt)));
    expect(recorded.map((row) => [row?.deliveryId, row?.status])).toEqual(made.map((a) => [a.deliveryId, 'succeeded']));
    expect(handle.calls()).toBe(1);
  });

  it('returns undefined for an attempt that is already recorded', async () => {
    const recorder = new Recorder(db, silentLog);
    const [attempt] = await attempts(1);
    await recorder.record(attempt);
    expect(await recorder.record(attempt)).toBeUndefined();
  });

  it('records the rows one by one when Postgres refuses one of them', async () => {
    const recorder = new Recorder(db, silentLog);
    const [good, bad, alsoGood] = await attempts(3);
    bad!.outcome = outcome({ responseBody: 'a\u0000b' });
    const recorded = await Promise.all([good, bad, alsoGood].map((attempt) => recorder.record(attempt)));
    expect(recorded.map((row) => row?.status)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    const row = await db.prisma.attempt.findFirstOrThrow({ where: { deliveryId: bad!.deliveryId } });
    expect(row.responseBody).toBeNull();
  });

  it('rejects only the row that cannot be written at all', async () => {
    const recorder = new Recorder(db, silentLog);
    const [good, bad] = await attempts(2);
    bad!.url = 'a\u0000b';
    const [first, second] = await Promise.allSettled([recorder.record(good), recorder.record(bad)]);
    expect(first).toMatchObject({ status: 'fulfilled', value: { status: 'succeeded' } });
    expect(second.status).toBe('rejected');
  });

  it('tries again while Postgres is unreachable, and loses nothing', async () => {
    const handle = through((call) => {
      if (call <= 3) throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    });
    const recorder = new Recorder(handle, silentLog);
    const [attempt] = await attempts(1);
    expect(await recorder.record(attempt)).toMatchObject({ status: 'succeeded' });
    expect(handle.calls()).toBe(4);
  });

  it('rejects an attempt when its claim is about to expire', async () => {
    const handle = through(() => {
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    });
    const clock = jest.spyOn(performance, 'now');
    try {
      clock.mockReturnValue(0);
      const recorder = new Recorder(handle, silentLog);
      const [attempt] = await attempts(1);
      const given = expect(recorder.record(attempt)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
      clock.mockReturnValue(26_000);
      await given;
    } finally {
      clock.mockRestore();
    }
  });
});

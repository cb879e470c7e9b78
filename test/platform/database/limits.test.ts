import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SharedLimit } from '../../../src/platform/database/limits.js';
import { newId } from '../../../src/platform/ids.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/** Two processes with the same limit. */
const twoProcesses = (points: number) => {
  const name = newId();
  return [0, 1].map(() => new SharedLimit({ name, points, duration: 60, detail: 'too many' })) as [
    SharedLimit,
    SharedLimit,
  ];
};
const endWindows = () => db.query(`update limit_counts set ends_at = now() - interval '1 second'`, []);

describe('SharedLimit', () => {
  it('counts the points of all processes together', async () => {
    const [one, other] = twoProcesses(3);
    await one.consume(db, 'a');
    await other.consume(db, 'a');
    await one.check(db, 'a');
    await one.consume(db, 'a');
    await expect(other.check(db, 'a')).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfter: expect.closeTo(60, -1),
    });
    await expect(other.consume(db, 'a')).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfter: expect.closeTo(60, -1),
    });
    await expect(one.consume(db, 'b')).resolves.toBeUndefined();
  });

  it('admits exactly the limit of requests that run at once', async () => {
    const [one, other] = twoProcesses(10);
    const uses = Array.from({ length: 40 }, (_, i) => (i % 2 ? one : other).consume(db, 'a'));
    const results = await Promise.allSettled(uses);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
  });

  it('begins a new window when the last one has ended, and removes ended windows of other keys', async () => {
    await db.query('delete from limit_counts', []);
    const [one, other] = twoProcesses(1);
    for (const key of ['a', 'b', 'c']) await one.consume(db, key);
    await endWindows();
    await expect(other.check(db, 'a')).resolves.toBeUndefined();
    await other.consume(db, 'a');
    const rows = await db.query<{ key: string }>('select key from limit_counts where ends_at < now()', []);
    expect(rows).toEqual([]);
    await expect(other.consume(db, 'a')).rejects.toThrow();
  });

  it('begins a new window where the last one was begun by a clock that was ahead', async () => {
    const [one, other] = twoProcesses(1);
    await one.consume(db, 'a');
    await db.query(`update limit_counts set ends_at = now() + interval '1 day'`, []);
    await expect(other.consume(db, 'a')).resolves.toBeUndefined();
  });

  it('keeps a window that a later transaction has begun', async () => {
    const [one, other] = twoProcesses(1);
    const late = db.transaction(async (earlier) => {
      await earlier.query('select now()::text', []);
      await one.consume(db, 'a');
      await expect(other.check(earlier, 'a')).rejects.toMatchObject({ retryAfter: 60 });
      await other.consume(earlier, 'a');
    });
    await expect(late).rejects.toMatchObject({ retryAfter: 60 });
  });

  it('asks Postgres no more about a key that is refused, and takes a point that was given back for another use', async () => {
    const [one] = twoProcesses(1);
    await one.consume(db, 'a');
    await expect(one.consume(db, 'a')).rejects.toThrow();
    const away = { ...db, query: () => Promise.reject(new Error('asked')) };
    await expect(one.consume(away, 'a')).rejects.toThrow('too many');
    await one.giveBack(db, 'a');
    await one.giveBack(db, 'a');
    await expect(one.consume(db, 'a')).resolves.toBeUndefined();
  });

  it('counts no point of a transaction that rolls back', async () => {
    const [one] = twoProcesses(1);
    const failed = db.transaction(async (tx) => {
      await one.consume(tx, 'a');
      throw new Error('rolled back');
    });
    await expect(failed).rejects.toThrow('rolled back');
    await expect(one.consume(db, 'a')).resolves.toBeUndefined();
  });
});

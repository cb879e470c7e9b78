import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { newId } from '../../src/platform/ids.js';
import type { Rate } from '../../src/platform/limits.js';
import { MemoryLimit, PostgresLimit, SavingLimit } from '../../src/platform/rate-limit.js';
import { openTestDatabase } from '../support/database.js';
import { ageUses, countUses, setUses } from '../support/limits.js';
import { randomFrom } from '../support/random.js';
import { waitFor } from '../support/wait-for.js';

const db = await openTestDatabase();

const limitOf = (amount: number): Rate => ({
  what: 'uses',
  of: 'a key',
  amount,
  seconds: 60,
  code: 'rate_limited',
  in: 'Postgres',
});

describe('MemoryLimit', () => {
  it('rejects a use above the limit with the seconds until the next try', () => {
    const limit = new MemoryLimit(limitOf(2));
    const consume = (key: string) => limit.refuseExceeded(limit.use(key));
    consume('a');
    consume('a');
    expect(() => consume('a')).toThrow(
      expect.objectContaining({
        code: 'rate_limited',
        message: 'Limit: 2 uses per minute per key. Try again in 60 s.',
        retryAfter: 60,
      }),
    );
    consume('b');
  });

  it('begins a new window when the last one has ended, however often it is used', async () => {
    const limit = new MemoryLimit({ ...limitOf(1), seconds: 0.05 });
    limit.use('a');
    await waitFor('a new window', () => limit.use('a').points === 1);
  });
});

describe('SavingLimit', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  const { amount: _, ...limited } = limitOf(0);
  /** Whether a use is accepted. */
  const uses = (limit: SavingLimit, rate: number) => {
    try {
      limit.take('a', rate);
      return true;
    } catch {
      return false;
    }
  };
  const burst = (limit: SavingLimit, rate: number) => {
    let accepted = 0;
    while (uses(limit, rate)) accepted++;
    return accepted;
  };

  it('begins with the points of a second, and saves those of two', () => {
    const limit = new SavingLimit(limited);
    expect(burst(limit, 10)).toBe(10);
    expect(() => limit.take('a', 10, 5)).toThrow(expect.objectContaining({ retryAfter: 1 }));
    jest.advanceTimersByTime(500);
    expect(burst(limit, 10)).toBe(5);
    jest.advanceTimersByTime(10_000);
    expect(burst(limit, 10)).toBe(20);
    limit.charge('a', 10, 4);
    jest.advanceTimersByTime(1_000);
    expect(burst(limit, 10)).toBe(6);
  });

  it('accepts all of 80 % of the rate, spread at random over six processes', () => {
    const random = randomFrom(57);
    const processes = Array.from({ length: 6 }, () => new SavingLimit(limited));
    let rejected = 0;
    for (let sent = 0; sent < 80 * 60; sent++) {
      jest.advanceTimersByTime(-Math.log(1 - random()) * (1_000 / 80));
      const process = processes[Math.floor(random() * 6)] as SavingLimit;
      if (!uses(process, 100 / 6)) rejected++;
    }
    expect(rejected).toBe(0);
  });

  it('accepts at most 20 % above the rate of requests that are spread evenly, after a rest too', () => {
    const processes = Array.from({ length: 6 }, () => new SavingLimit(limited));
    for (const process of processes) uses(process, 100 / 6);
    jest.advanceTimersByTime(10_000);
    let accepted = 0;
    for (let sent = 0; sent < 200 * 10; sent++) {
      jest.advanceTimersByTime(5);
      if (uses(processes[sent % 6] as SavingLimit, 100 / 6)) accepted++;
    }
    expect(accepted).toBeGreaterThanOrEqual(1_000);
    expect(accepted).toBeLessThanOrEqual(1_200);
  });
});

describe('PostgresLimit', () => {
  /** Two processes with the same limit. */
  const twoProcesses = (amount: number) => {
    const name = newId();
    return { name, one: new PostgresLimit(name, limitOf(amount)), other: new PostgresLimit(name, limitOf(amount)) };
  };
  const admitted = (use: () => Promise<void>) =>
    waitFor('the limit', () =>
      use().then(
        () => true,
        () => false,
      ),
    );

  it('counts the uses of all processes together, and each key for itself', async () => {
    const { one, other } = twoProcesses(3);
    await one.consume(db, 'a');
    await other.consume(db, 'a');
    await one.check(db, 'a');
    await one.consume(db, 'a');
    const exceeded = { code: 'rate_limited', retryAfter: expect.closeTo(60, -1) };
    await expect(other.check(db, 'a')).rejects.toMatchObject(exceeded);
    await expect(other.consume(db, 'a')).rejects.toMatchObject(exceeded);
    await expect(one.consume(db, 'b')).resolves.toBeUndefined();
  });

  it('admits exactly the limit of requests that run at once', async () => {
    const { one, other } = twoProcesses(10);
    const uses = Array.from({ length: 40 }, (_, i) => (i % 2 ? one : other).consume(db, 'a'));
    const results = await Promise.allSettled(uses);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(10);
  });

  it('rolls: a use is free again when the oldest is a window old, and a rejected use does not count', async () => {
    const { name, one } = twoProcesses(2);
    await one.consume(db, 'a');
    await ageUses(db, name, 'a', '50 s');
    await one.consume(db, 'a');
    await expect(one.consume(db, 'a')).rejects.toMatchObject({ retryAfter: expect.closeTo(10, -1) });
    await ageUses(db, name, 'a', '11 s');
    await admitted(() => one.consume(db, 'a'));
    await expect(one.consume(db, 'a')).rejects.toMatchObject({ retryAfter: expect.closeTo(49, -1) });
    expect(await countUses(db, name, 'a')).toBe(2);
  });

  it('locks no key but its own in a transaction', async () => {
    const { one, other } = twoProcesses(2);
    await db.query('delete from limit_uses', []);
    for (const key of ['a', 'b', 'c']) await one.consume(db, key);
    await db.query(`update limit_uses set ends_at = now() - interval '1 second'`, []);
    await db.transaction(async (tx) => {
      await one.consume(tx, 'recovers');
      // They would wait for the end of this transaction.
      await Promise.all(['a', 'b', 'c'].map((key) => other.consume(db, key)));
    });
  });

  it('ignores uses that were counted by a clock that was ahead', async () => {
    const { name, one } = twoProcesses(1);
    await setUses(db, name, 'a', 1, '1 day');
    await expect(one.consume(db, 'a')).resolves.toBeUndefined();
  });

  it('asks Postgres once a second about a key that is over its limit', async () => {
    const { one } = twoProcesses(1);
    await one.consume(db, 'a');
    await expect(one.consume(db, 'a')).rejects.toThrow();
    const away = { ...db, query: () => Promise.reject(new Error('asked')) };
    await expect(one.consume(away, 'a')).rejects.toThrow('Limit: 1 use per minute per key');
    await waitFor('the next question', () => one.consume(away, 'a').catch(({ message }) => message === 'asked'));
  });
});

import { describe, expect, it } from '@jest/globals';
import { type Limits, Slots } from '../../src/delivery/slots.js';

const limits: Limits = { perEndpoint: 2, perClient: 3, total: 8, waiting: 1_000 };
/** One process has the whole of each limit. */
const UNSHARED = { of: (_: string, max: number) => max };
const takeAll = <Job>(slots: Slots<Job>) => {
  const jobs: Job[] = [];
  for (let job = slots.next(); job !== undefined; job = slots.next()) jobs.push(job);
  return jobs;
};

describe('Slots', () => {
  it('expires jobs that have waited since before a given time, in both lines', () => {
    const slots = new Slots<string>({ ...limits, perEndpoint: 1, perClient: 9, total: 9 }, UNSHARED);
    for (const line of ['fresh', 'late'] as const) {
      slots.enqueue('c', 'e', line, `${line} is old`, 10);
      slots.enqueue('c', 'e', line, `${line} is new`, 99);
    }
    expect(slots.expire(10)).toEqual([]);
    expect(slots.expire(11)).toEqual(['fresh is old', 'late is old']);
    expect(slots.waiting).toBe(2);
    expect(slots.expire(Number.POSITIVE_INFINITY)).toEqual(['fresh is new', 'late is new']);
    expect([slots.waiting, slots.next()]).toEqual([0, undefined]);
  });

  it('names the endpoints of which no more may wait here', () => {
    const slots = new Slots<string>(limits, UNSHARED);
    for (let i = 0; i < 2 * limits.perEndpoint; i++) slots.enqueue('c', 'e', 'fresh', `${i}`, 0);
    slots.enqueue('c', 'f', 'fresh', 'one', 0);
    expect(slots.full()).toEqual(['e']);
  });

  describe('with a rate of an endpoint', () => {
    const wide = { ...limits, perEndpoint: 10, perClient: 50, total: 100, waiting: 1_000 };
    /** Slots with a clock that the test sets, and jobs of an endpoint. */
    function rated(rate: number, count: number, share = UNSHARED) {
      const clock = { now: 1_000 };
      const slots = new Slots<string>(wide, share, () => clock.now);
      for (let i = 0; i < count; i++) slots.enqueue('c', 'e', 'fresh', `${i}`, 0, 10, rate);
      return { clock, slots };
    }
    const start = (slots: Slots<string>) => {
      const started = takeAll(slots);
      for (const _ of started) slots.release('c', 'e');
      return started.length;
    };

    it('starts an attempt for each part of a second, says when the next one may start, and delays no other endpoint', () => {
      const { clock, slots } = rated(4, 9);
      expect([start(slots), slots.restsFor()]).toEqual([1, 150]);
      slots.enqueue('c', 'plain', 'fresh', 'plain', 0);
      expect(takeAll(slots)).toEqual(['plain']);
      const starts = Array.from({ length: 8 }, () => {
        clock.now += slots.restsFor() ?? 0;
        return [clock.now - 1_000, start(slots)];
      });
      expect(starts.slice(0, 3)).toEqual([
        [150, 1],
        [400, 1],
        [650, 1],
      ]);
      expect([starts.length, slots.restsFor()]).toEqual([8, undefined]);
    });

    it('catches up only a little after a time without a start', () => {
      const { clock, slots } = rated(50, 50);
      start(slots);
      clock.now += 5_000;
      expect(start(slots)).toBe(6);
    });

    it('has the part of the rate that its slots are of all', () => {
      const { clock, slots } = rated(10, 50, { of: (_: string, max: number) => (max * 3) / 10 });
      let started = 0;
      for (; clock.now < 11_000; clock.now += 10) started += start(slots);
      expect(started).toBe(31);
    });

    it('outlasts a moment without a job, and leases no more than a second of it', () => {
      const { clock, slots } = rated(2, 1);
      expect(start(slots)).toBe(1);
      slots.enqueue('c', 'e', 'fresh', 'next', 0, 10, 2);
      expect([start(slots), slots.allowance('c', 'e')]).toEqual([0, 1]);
      clock.now += 500;
      expect(start(slots)).toBe(1);
      slots.tick();
      clock.now += 500;
      slots.tick();
      slots.tick();
      expect(slots.allowance('c', 'e')).toBeUndefined();
    });
  });

  it('gives an endpoint whose receiver is spared one attempt at once until the pause ends', () => {
    const clock = { now: 1_000 };
    const slots = new Slots<number>({ ...limits, perEndpoint: 3, perClient: 9, total: 20 }, UNSHARED, () => clock.now);
    for (let i = 0; i < 9; i++) slots.enqueue('c', 'e', 'fresh', i, 0);
    expect(takeAll(slots)).toHaveLength(3);
    slots.spare('c', 'e', 5_000);
    slots.spare('c', 'e', 1_000);
    expect([slots.isWithin('c', 'e', null), slots.allowance('c', 'e')]).toEqual([false, 0]);
    for (let i = 0; i < 3; i++) slots.release('c', 'e');
    expect(takeAll(slots)).toHaveLength(1);
    expect(slots.isWithin('c', 'e', null)).toBe(true);
    clock.now += 5_000;
    slots.tick();
    expect(takeAll(slots)).toHaveLength(2);
  });

  describe('allows of an endpoint', () => {
    const wide = { ...limits, perEndpoint: 5, perClient: 100, total: 200, waiting: 100 };

    it('twice its slots at first, without those that wait', () => {
      const slots = new Slots<string>(wide, UNSHARED);
      expect(slots.allowance('c', 'e')).toBeUndefined();
      for (let i = 0; i < 3; i++) slots.enqueue('c', 'e', 'fresh', `${i}`, 0);
      expect(slots.allowance('c', 'e')).toBe(7);
    });

    it('as many as it made in the last second', () => {
      const slots = new Slots<string>(wide, UNSHARED);
      for (let i = 0; i < 30; i++) slots.enqueue('c', 'e', 'fresh', `${i}`, 0);
      for (let made = 0; made < 25; made++) {
        expect(slots.next()).toBeDefined();
        slots.release('c', 'e');
      }
      // 5 wait.
      expect(slots.allowance('c', 'e')).toBe(20);
      slots.tick();
      expect(slots.allowance('c', 'e')).toBe(20);
      slots.tick();
      expect(slots.allowance('c', 'e')).toBe(5);
    });

    it("none while its client's waiting attempts equal the remaining slots, so that other clients get some", () => {
      const slots = new Slots<string>({ ...wide, perEndpoint: 100 }, UNSHARED);
      for (let i = 0; i < 50; i++) slots.enqueue('loud', 'e', 'fresh', `${i}`, 0);
      expect([slots.admits('loud'), slots.admits('quiet'), slots.room]).toEqual([false, true, 50]);
      expect(slots.allowance('loud', 'e')).toBe(0);
      expect(slots.isHalfEmpty('loud', 'e')).toBe(false);
      slots.next();
      expect(slots.admits('loud')).toBe(true);
    });

    it('more when at most half of its allowance waits', () => {
      const slots = new Slots<string>(wide, UNSHARED);
      expect(slots.isHalfEmpty('c', 'e')).toBe(true);
      for (let i = 0; i < 5; i++) slots.enqueue('c', 'e', 'fresh', `${i}`, 0);
      expect(slots.isHalfEmpty('c', 'e')).toBe(true);
      slots.enqueue('c', 'e', 'late', '5', 0);
      expect(slots.isHalfEmpty('c', 'e')).toBe(false);
    });
  });
});

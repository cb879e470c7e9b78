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

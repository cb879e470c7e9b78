import fc from 'fast-check';
import { FairQueue } from '../../src/express-lane/attempt-slots.js';

const limits = { perEndpoint: 2, perClient: 3, total: 8 };
const takeAll = <Job>(queue: FairQueue<Job>) => {
  const jobs: Job[] = [];
  for (let job = queue.take(); job !== undefined; job = queue.take()) jobs.push(job);
  return jobs;
};

describe('FairQueue', () => {
  it('serves clients in turn, so that a flood of one delays no other', () => {
    const queue = new FairQueue<string>({ perEndpoint: 10, perClient: 10, total: 10 });
    for (let i = 0; i < 5; i++) queue.push('loud', 'l1', `loud${i}`, 0);
    queue.push('quiet', 'q1', 'quiet0', 0);
    expect(takeAll(queue).slice(0, 3)).toEqual(['loud0', 'quiet0', 'loud1']);
  });

  it("serves a client's endpoints in turn, so that its dead one does not hold up its good one", () => {
    const queue = new FairQueue<string>(limits);
    for (let i = 0; i < 9; i++) queue.push('c', 'dead', `dead${i}`, 0);
    queue.push('c', 'good', 'good0', 0);
    expect(takeAll(queue)).toEqual(['dead0', 'good0', 'dead1']);
  });

  it('keeps the bounds per endpoint and per client, and goes on when a place is given back', () => {
    const queue = new FairQueue<string>(limits);
    for (let i = 0; i < 3; i++) queue.push('a', 'a1', `a1-${i}`, 0);
    for (let i = 0; i < 3; i++) queue.push('a', 'a2', `a2-${i}`, 0);
    for (let i = 0; i < 3; i++) queue.push('b', 'b1', `b1-${i}`, 0);
    expect(takeAll(queue)).toEqual(['a1-0', 'b1-0', 'a2-0', 'b1-1', 'a1-1']);
    expect(queue.active).toBe(5);
    queue.done('b', 'b1');
    expect(takeAll(queue)).toHaveLength(1);
  });

  it('several clients with dead receivers do not fill the house: one that comes later finds a place', () => {
    const queue = new FairQueue<string>({ perEndpoint: 10, perClient: 10, total: 20 });
    for (const client of ['bad1', 'bad2', 'bad3', 'bad4']) {
      for (let i = 0; i < 10; i++) queue.push(client, `${client}-dead`, client, 0);
    }
    expect(takeAll(queue)).toHaveLength(16);
    expect(queue.tryPlace('bad1', 'bad1-other')).toBe(false);
    queue.push('good', 'g', 'good', 0);
    expect(takeAll(queue)).toEqual(['good']);
    // Held up by the others and not by its own receivers: it is not for the slow path.
    for (let i = 0; i < 4; i++) queue.push(`late${i}`, 'l', 'late', 0);
    expect(takeAll(queue)).toEqual(['late', 'late', 'late']);
    expect(queue.expire({ stuck: 1, others: -1 }, 1).every(({ job, stuck }) => stuck && job !== 'late')).toBe(true);
  });

  it('expires what has waited too long, sooner where its receiver gets on slowly', () => {
    const queue = new FairQueue<string>({ perEndpoint: 1, perClient: 9, total: 9 });
    for (const endpoint of ['slow', 'fast']) {
      queue.push('c', endpoint, `${endpoint} runs`, 0);
      queue.push('c', endpoint, `${endpoint} waits`, 10);
      queue.push('c', endpoint, `${endpoint} is new`, 99);
    }
    expect(takeAll(queue)).toEqual(['slow runs', 'fast runs']);
    queue.done('c', 'fast');
    queue.push('c', 'fast', 'fast came last', 99);
    expect(queue.take()).toBe('fast waits');
    expect(queue.expire({ stuck: 50, others: 5 }, 1)).toEqual([{ job: 'slow waits', stuck: true }]);
    expect(queue.expire({ stuck: 50, others: 100 }, 0)).toEqual([
      { job: 'slow is new', stuck: false },
      { job: 'fast is new', stuck: false },
      { job: 'fast came last', stuck: false },
    ]);
    expect(queue.waiting).toBe(0);
  });

  it('gives a place to a job that never waited only within the bounds', () => {
    const queue = new FairQueue<string>(limits);
    expect([1, 2, 3].map(() => queue.tryPlace('c', 'e'))).toEqual([true, true, false]);
    queue.done('c', 'e');
    expect(queue.tryPlace('c', 'e')).toBe(true);
  });

  it('says whether a client would find a place, known or not', () => {
    const queue = new FairQueue<string>(limits);
    for (const endpoint of ['e', 'f']) expect([1, 2].some(() => queue.tryPlace('c', endpoint))).toBe(true);
    queue.tryPlace('c', 'f');
    expect([queue.hasPlaceFor('c'), queue.hasPlaceFor('stranger')]).toEqual([false, true]);
    queue.done('c', 'f');
    expect(queue.hasPlaceFor('c')).toBe(true);
  });

  it('loses and doubles no job, whatever the order of pushes, takes, ends and expiries', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('push' as const), client: fc.nat(3), endpoint: fc.nat(2) }),
      fc.record({ kind: fc.constant('take' as const) }),
      fc.record({ kind: fc.constant('done' as const) }),
      fc.record({ kind: fc.constant('expire' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new FairQueue<{ id: number; client: string; endpoint: string }>(limits);
        const seen: number[] = [];
        const running: { client: string; endpoint: string }[] = [];
        let pushed = 0;
        steps.forEach((action, now) => {
          if (action.kind === 'push') {
            const job = { id: pushed++, client: `c${action.client}`, endpoint: `c${action.client}e${action.endpoint}` };
            queue.push(job.client, job.endpoint, job, now);
          } else if (action.kind === 'take') {
            const job = queue.take();
            if (job) {
              seen.push(job.id);
              running.push(job);
            }
          } else if (action.kind === 'done') {
            const job = running.shift();
            if (job) queue.done(job.client, job.endpoint);
          } else {
            seen.push(...queue.expire({ stuck: now - 20, others: now - 40 }, 1).map(({ job }) => job.id));
          }
          expect(queue.active).toBe(running.length);
          expect(queue.active).toBeLessThanOrEqual(limits.total);
        });
        for (let guard = 0; guard < 1000 && (queue.waiting > 0 || running.length > 0); guard++) {
          for (let job = queue.take(); job; job = queue.take()) {
            seen.push(job.id);
            running.push(job);
          }
          for (const job of running.splice(0)) queue.done(job.client, job.endpoint);
        }
        expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: pushed }, (_, i) => i));
      }),
    );
  });
});

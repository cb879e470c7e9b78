import fc from 'fast-check';
import { AttemptSlots } from '../../src/express-lane/attempt-slots.js';

const limits = { perEndpoint: 2, perClient: 3, total: 8 };
const takeAll = <Job>(queue: AttemptSlots<Job>) => {
  const jobs: Job[] = [];
  for (let job = queue.next(); job !== undefined; job = queue.next()) jobs.push(job);
  return jobs;
};

describe('FairQueue', () => {
  it('serves clients in turn, so that a flood of one delays no other', () => {
    const queue = new AttemptSlots<string>({ perEndpoint: 10, perClient: 10, total: 10 });
    for (let i = 0; i < 5; i++) queue.enqueue('loud', 'l1', `loud${i}`, 0);
    queue.enqueue('quiet', 'q1', 'quiet0', 0);
    expect(takeAll(queue).slice(0, 3)).toEqual(['loud0', 'quiet0', 'loud1']);
  });

  it("serves a client's endpoints in turn, so that its dead one does not hold up its good one", () => {
    const queue = new AttemptSlots<string>(limits);
    for (let i = 0; i < 9; i++) queue.enqueue('c', 'dead', `dead${i}`, 0);
    queue.enqueue('c', 'good', 'good0', 0);
    expect(takeAll(queue)).toEqual(['dead0', 'good0', 'dead1']);
  });

  it('keeps the bounds per endpoint and per client, and goes on when a place is given back', () => {
    const queue = new AttemptSlots<string>(limits);
    for (let i = 0; i < 3; i++) queue.enqueue('a', 'a1', `a1-${i}`, 0);
    for (let i = 0; i < 3; i++) queue.enqueue('a', 'a2', `a2-${i}`, 0);
    for (let i = 0; i < 3; i++) queue.enqueue('b', 'b1', `b1-${i}`, 0);
    expect(takeAll(queue)).toEqual(['a1-0', 'b1-0', 'a2-0', 'b1-1', 'a1-1']);
    expect(queue.active).toBe(5);
    queue.release('b', 'b1');
    expect(takeAll(queue)).toHaveLength(1);
  });

  it('several clients with dead receivers do not fill the house: one that comes later finds a place', () => {
    const queue = new AttemptSlots<string>({ perEndpoint: 10, perClient: 10, total: 20 });
    for (const client of ['bad1', 'bad2', 'bad3', 'bad4']) {
      for (let i = 0; i < 10; i++) queue.enqueue(client, `${client}-dead`, client, 0);
    }
    expect(takeAll(queue)).toHaveLength(16);
    expect(queue.tryAcquire('bad1', 'bad1-other')).toBe(false);
    queue.enqueue('good', 'g', 'good', 0);
    expect(takeAll(queue)).toEqual(['good']);
    // Held up by the others and not by its own receivers: it is not for the slow path.
    for (let i = 0; i < 4; i++) queue.enqueue(`late${i}`, 'l', 'late', 0);
    expect(takeAll(queue)).toEqual(['late', 'late', 'late']);
    expect(queue.expire({ stuck: 1, others: -1 }, 1).every(({ job, stuck }) => stuck && job !== 'late')).toBe(true);
  });

  it('expires what has waited too long, sooner where its receiver gets on slowly', () => {
    const queue = new AttemptSlots<string>({ perEndpoint: 1, perClient: 9, total: 9 });
    for (const endpoint of ['slow', 'fast']) {
      queue.enqueue('c', endpoint, `${endpoint} runs`, 0);
      queue.enqueue('c', endpoint, `${endpoint} waits`, 10);
      queue.enqueue('c', endpoint, `${endpoint} is new`, 99);
    }
    expect(takeAll(queue)).toEqual(['slow runs', 'fast runs']);
    queue.release('c', 'fast');
    queue.enqueue('c', 'fast', 'fast came last', 99);
    expect(queue.next()).toBe('fast waits');
    expect(queue.expire({ stuck: 50, others: 5 }, 1)).toEqual([{ job: 'slow waits', stuck: true }]);
    expect(queue.expire({ stuck: 50, others: 100 }, 0)).toEqual([
      { job: 'slow is new', stuck: false },
      { job: 'fast is new', stuck: false },
      { job: 'fast came last', stuck: false },
    ]);
    expect(queue.waiting).toBe(0);
  });

  it('gives a place to a job that never waited only within the bounds', () => {
    const queue = new AttemptSlots<string>(limits);
    expect([1, 2, 3].map(() => queue.tryAcquire('c', 'e'))).toEqual([true, true, false]);
    queue.release('c', 'e');
    expect(queue.tryAcquire('c', 'e')).toBe(true);
  });

  it('says whether a client would find a place, known or not', () => {
    const queue = new AttemptSlots<string>(limits);
    for (const endpoint of ['e', 'f']) expect([1, 2].some(() => queue.tryAcquire('c', endpoint))).toBe(true);
    queue.tryAcquire('c', 'f');
    expect([queue.hasSlotFor('c'), queue.hasSlotFor('stranger')]).toEqual([false, true]);
    queue.release('c', 'f');
    expect(queue.hasSlotFor('c')).toBe(true);
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
        const queue = new AttemptSlots<{ id: number; client: string; endpoint: string }>(limits);
        const seen: number[] = [];
        const running: { client: string; endpoint: string }[] = [];
        let pushed = 0;
        steps.forEach((action, now) => {
          if (action.kind === 'push') {
            const job = { id: pushed++, client: `c${action.client}`, endpoint: `c${action.client}e${action.endpoint}` };
            queue.enqueue(job.client, job.endpoint, job, now);
          } else if (action.kind === 'take') {
            const job = queue.next();
            if (job) {
              seen.push(job.id);
              running.push(job);
            }
          } else if (action.kind === 'done') {
            const job = running.shift();
            if (job) queue.release(job.client, job.endpoint);
          } else {
            seen.push(...queue.expire({ stuck: now - 20, others: now - 40 }, 1).map(({ job }) => job.id));
          }
          expect(queue.active).toBe(running.length);
          expect(queue.active).toBeLessThanOrEqual(limits.total);
        });
        for (let guard = 0; guard < 1000 && (queue.waiting > 0 || running.length > 0); guard++) {
          for (let job = queue.next(); job; job = queue.next()) {
            seen.push(job.id);
            running.push(job);
          }
          for (const job of running.splice(0)) queue.release(job.client, job.endpoint);
        }
        expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: pushed }, (_, i) => i));
      }),
    );
  });
});

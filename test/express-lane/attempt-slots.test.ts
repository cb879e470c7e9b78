import fc from 'fast-check';
import { AttemptSlots } from '../../src/express-lane/attempt-slots.js';

const limits = { perEndpoint: 2, perClient: 3, total: 8 };
const takeAll = <Job>(slots: AttemptSlots<Job>) => {
  const jobs: Job[] = [];
  for (let job = slots.next(); job !== undefined; job = slots.next()) jobs.push(job);
  return jobs;
};

describe('AttemptSlots', () => {
  it('serves clients in turn, so that a flood of one client delays no other client', () => {
    const slots = new AttemptSlots<string>({ perEndpoint: 10, perClient: 10, total: 10 });
    for (let i = 0; i < 5; i++) slots.enqueue('loud', 'l1', `loud${i}`, 0);
    slots.enqueue('quiet', 'q1', 'quiet0', 0);
    expect(takeAll(slots).slice(0, 3)).toEqual(['loud0', 'quiet0', 'loud1']);
  });

  it("serves a client's endpoints in turn, so that a dead endpoint does not delay a healthy one", () => {
    const slots = new AttemptSlots<string>(limits);
    for (let i = 0; i < 9; i++) slots.enqueue('c', 'dead', `dead${i}`, 0);
    slots.enqueue('c', 'good', 'good0', 0);
    expect(takeAll(slots)).toEqual(['dead0', 'good0', 'dead1']);
  });

  it('keeps the bounds per endpoint and per client, and serves the next job when a slot is released', () => {
    const slots = new AttemptSlots<string>(limits);
    for (let i = 0; i < 3; i++) slots.enqueue('a', 'a1', `a1-${i}`, 0);
    for (let i = 0; i < 3; i++) slots.enqueue('a', 'a2', `a2-${i}`, 0);
    for (let i = 0; i < 3; i++) slots.enqueue('b', 'b1', `b1-${i}`, 0);
    expect(takeAll(slots)).toEqual(['a1-0', 'b1-0', 'a2-0', 'b1-1', 'a1-1']);
    expect(slots.active).toBe(5);
    slots.release('b', 'b1');
    expect(takeAll(slots)).toHaveLength(1);
  });

  it('has a slot for a client that arrives later while several clients have dead receivers', () => {
    const slots = new AttemptSlots<string>({ perEndpoint: 10, perClient: 10, total: 20 });
    for (const client of ['bad1', 'bad2', 'bad3', 'bad4']) {
      for (let i = 0; i < 10; i++) slots.enqueue(client, `${client}-dead`, client, 0);
    }
    expect(takeAll(slots)).toHaveLength(16);
    expect(slots.tryAcquire('bad1', 'bad1-other')).toBe(false);
    slots.enqueue('good', 'g', 'good', 0);
    expect(takeAll(slots)).toEqual(['good']);
    // The other clients delay it, not its own receivers, so it is not handed over to the workflow.
    for (let i = 0; i < 4; i++) slots.enqueue(`late${i}`, 'l', 'late', 0);
    expect(takeAll(slots)).toEqual(['late', 'late', 'late']);
    expect(slots.expire({ stuck: 1, others: -1 }, 1).every(({ job, stuck }) => stuck && job !== 'late')).toBe(true);
  });

  it('expires jobs that have waited too long, and those of a slow receiver sooner', () => {
    const slots = new AttemptSlots<string>({ perEndpoint: 1, perClient: 9, total: 9 });
    for (const endpoint of ['slow', 'fast']) {
      slots.enqueue('c', endpoint, `${endpoint} runs`, 0);
      slots.enqueue('c', endpoint, `${endpoint} waits`, 10);
      slots.enqueue('c', endpoint, `${endpoint} is new`, 99);
    }
    expect(takeAll(slots)).toEqual(['slow runs', 'fast runs']);
    slots.release('c', 'fast');
    slots.enqueue('c', 'fast', 'fast is last', 99);
    expect(slots.next()).toBe('fast waits');
    expect(slots.expire({ stuck: 50, others: 5 }, 1)).toEqual([{ job: 'slow waits', stuck: true }]);
    expect(slots.expire({ stuck: 50, others: 100 }, 0)).toEqual([
      { job: 'slow is new', stuck: false },
      { job: 'fast is new', stuck: false },
      { job: 'fast is last', stuck: false },
    ]);
    expect(slots.waiting).toBe(0);
  });

  it('gives a slot to a job that does not wait only within the bounds', () => {
    const slots = new AttemptSlots<string>(limits);
    expect([1, 2, 3].map(() => slots.tryAcquire('c', 'e'))).toEqual([true, true, false]);
    slots.release('c', 'e');
    expect(slots.tryAcquire('c', 'e')).toBe(true);
  });

  it('reports whether a slot is free for a client, also for an unknown client', () => {
    const slots = new AttemptSlots<string>(limits);
    for (const endpoint of ['e', 'f']) expect([1, 2].some(() => slots.tryAcquire('c', endpoint))).toBe(true);
    slots.tryAcquire('c', 'f');
    expect([slots.hasSlotFor('c'), slots.hasSlotFor('stranger')]).toEqual([false, true]);
    slots.release('c', 'f');
    expect(slots.hasSlotFor('c')).toBe(true);
  });

  it('neither loses nor repeats a job, in any order of enqueue, next, release and expire', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('push' as const), client: fc.nat(3), endpoint: fc.nat(2) }),
      fc.record({ kind: fc.constant('take' as const) }),
      fc.record({ kind: fc.constant('done' as const) }),
      fc.record({ kind: fc.constant('expire' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const slots = new AttemptSlots<{ id: number; client: string; endpoint: string }>(limits);
        const seen: number[] = [];
        const running: { client: string; endpoint: string }[] = [];
        let pushed = 0;
        steps.forEach((action, now) => {
          if (action.kind === 'push') {
            const job = { id: pushed++, client: `c${action.client}`, endpoint: `c${action.client}e${action.endpoint}` };
            slots.enqueue(job.client, job.endpoint, job, now);
          } else if (action.kind === 'take') {
            const job = slots.next();
            if (job) {
              seen.push(job.id);
              running.push(job);
            }
          } else if (action.kind === 'done') {
            const job = running.shift();
            if (job) slots.release(job.client, job.endpoint);
          } else {
            seen.push(...slots.expire({ stuck: now - 20, others: now - 40 }, 1).map(({ job }) => job.id));
          }
          expect(slots.active).toBe(running.length);
          expect(slots.active).toBeLessThanOrEqual(limits.total);
        });
        for (let guard = 0; guard < 1000 && (slots.waiting > 0 || running.length > 0); guard++) {
          for (let job = slots.next(); job; job = slots.next()) {
            seen.push(job.id);
            running.push(job);
          }
          for (const job of running.splice(0)) slots.release(job.client, job.endpoint);
        }
        expect([...seen].sort((a, b) => a - b)).toEqual(Array.from({ length: pushed }, (_, i) => i));
      }),
    );
  });
});

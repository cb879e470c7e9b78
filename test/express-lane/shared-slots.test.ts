import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { AttemptSlots } from '../../src/express-lane/attempt-slots.js';
import { SharedSlots } from '../../src/express-lane/shared-slots.js';
import { newId } from '../../src/ids.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
const CLIENT = newId();
const open: TestWorker[] = [];

beforeAll(async () => {
  db = await createTestDatabase();
});
afterEach(async () => {
  for (const worker of open.splice(0)) await worker.shares.stop();
  await db.query('delete from workers', []);
  await db.query('delete from endpoint_slots', []);
});
afterAll(() => db.drop());

interface TestWorker {
  id: string;
  shares: SharedSlots;
  slots: AttemptSlots<string>;
  /** Takes every slot that is free for a waiting job. */
  pump(): number;
}

function startWorker(): TestWorker {
  const id = newId();
  const onGrown = () => slots.refresh();
  const useOf = (clientId: string, endpointId: string) => slots.useOf(clientId, endpointId);
  const shares = new SharedSlots({ db, workerId: id, useOf, onGrown, log: silentLog });
  const slots: AttemptSlots<string> = new AttemptSlots({ perEndpoint: 10, perClient: 100, total: 1_000 }, shares);
  const pump = () => {
    while (slots.next() !== undefined);
    return slots.active;
  };
  const worker = { id, shares, slots, pump };
  slots.onRelease(pump);
  shares.start();
  open.push(worker);
  return worker;
}

async function startWorkers(count: number): Promise<TestWorker[]> {
  const workers = Array.from({ length: count }, startWorker);
  await waitFor('all workers to count all', () => workers.every(({ shares }) => shares.workers === count));
  return workers;
}

function fill(worker: TestWorker, endpointId: string, jobs: number, max: number | null = null): void {
  for (let i = 0; i < jobs; i++) worker.slots.enqueue(CLIENT, endpointId, `job ${i}`, 0, max);
  worker.pump();
}

const activeIn = (workers: readonly TestWorker[]) => workers.reduce((sum, { slots }) => sum + slots.active, 0);

describe('SharedSlots', () => {
  it('gives a single worker the whole limit', async () => {
    const [worker] = await startWorkers(1);
    await waitFor('the first heartbeat', () => worker!.shares.of(newId(), 10) === 10);
    fill(worker!, newId(), 20, 7);
    expect(worker!.slots.active).toBe(7);
  });

  it.each([
    [10, 2],
    [10, 4],
    [3, 4],
    [1, 2],
  ])('divides a limit of %i among %i workers: all slots are used, and no more', async (limit, count) => {
    const workers = await startWorkers(count);
    const endpoint = newId();
    for (const worker of workers) fill(worker, endpoint, 20, limit);
    await waitFor('all slots to be used', () => {
      expect(activeIn(workers)).toBeLessThanOrEqual(limit);
      return activeIn(workers) === limit;
    });
  });

  it('passes a slot on to a worker that waits for it, so that no worker is stalled by another', async () => {
    const [first, second] = (await startWorkers(2)) as [TestWorker, TestWorker];
    const endpoint = newId();
    fill(first, endpoint, 1_000, 1);
    await waitFor('the first worker to have the slot', () => first.slots.active === 1);
    fill(second, endpoint, 5, 1);
    await waitFor('the second worker to have the slot', () => {
      expect(activeIn([first, second])).toBeLessThanOrEqual(1);
      if (first.slots.active > 0) first.slots.release(CLIENT, endpoint);
      return second.slots.active === 1;
    });
  });

  it('takes a slot for an attempt that does not wait, and gives it back when it is unused', async () => {
    const [first, second] = (await startWorkers(2)) as [TestWorker, TestWorker];
    const endpoint = newId();
    expect(first.slots.tryAcquire(CLIENT, endpoint, 1)).toBe(false);
    expect(await first.shares.take(CLIENT, endpoint, 1)).toBe(true);
    expect(first.slots.tryAcquire(CLIENT, endpoint, 1)).toBe(true);
    expect(await second.shares.take(CLIENT, endpoint, 1)).toBe(false);
    first.slots.release(CLIENT, endpoint);
    await waitFor('the slot to be free', () => second.shares.take(CLIENT, endpoint, 1));
  });

  it('has the share of a worker that ended, and of a worker whose heartbeat is old', async () => {
    const [first, second] = (await startWorkers(2)) as [TestWorker, TestWorker];
    const endpoint = newId();
    fill(first, endpoint, 20);
    expect(first.slots.active).toBe(5);
    await second.shares.stop();
    await waitFor('the share of the ended worker', () => first.slots.active === 10);
    const dead = newId();
    await db.query(`insert into workers values ($1::uuid, now() + interval '8 seconds')`, [dead]);
    await waitFor('the other worker to be counted', () => first.shares.workers === 2);
    await waitFor('the other worker to count no more', () => first.shares.workers === 1);
  });

  it('ignores the heartbeat of a clock that was ahead, as after a failover', async () => {
    const [worker] = await startWorkers(1);
    await db.query(`insert into workers values ($1::uuid, now() + interval '1 hour')`, [newId()]);
    const { alive } = (await waitFor('the next heartbeat', async () => {
      const [row] = await db.query<{ alive: string }>(
        'select alive_until::text as alive from workers where id = $1::uuid',
        [worker!.id],
      );
      return row;
    })) as { alive: string };
    await waitFor('a heartbeat after it', async () => {
      const [row] = await db.query<{ alive: string }>(
        'select alive_until::text as alive from workers where id = $1::uuid',
        [worker!.id],
      );
      return row?.alive !== alive;
    });
    expect(worker!.shares.workers).toBe(1);
  });

  it('starts no attempt before its first heartbeat', () => {
    const shares = new SharedSlots({
      db,
      workerId: newId(),
      useOf: () => ({ active: 0, waiting: 0 }),
      onGrown: () => undefined,
      log: silentLog,
    });
    expect(shares.of(newId(), 10)).toBe(0);
  });
});

import { afterEach, describe, expect, it } from '@jest/globals';
import { LiveWorkers } from '../../src/delivery/live-workers.js';
import { Heartbeat } from '../../src/platform/heartbeat.js';
import { newId } from '../../src/platform/ids.js';
import { openTestDatabase, type TestDatabase } from '../support/database.js';
import { silentLog } from '../support/silent-log.js';
import { waitFor } from '../support/wait-for.js';

const db = await openTestDatabase();
const open: TestWorker[] = [];

afterEach(async () => {
  for (const { workers } of open.splice(0)) await workers.stop();
  await db.query('delete from workers', []);
});

interface TestWorker {
  id: string;
  workers: LiveWorkers;
  grown: () => number;
}

function startWorker(handle: TestDatabase = db): TestWorker {
  let grown = 0;
  const id = newId();
  const workers = new LiveWorkers(handle, id, () => void grown++, silentLog);
  const worker = { id, workers, grown: () => grown };
  workers.start();
  open.push(worker);
  return worker;
}

async function startWorkers(count: number): Promise<TestWorker[]> {
  const started = Array.from({ length: count }, () => startWorker());
  await waitFor('all workers to count all', () =>
    started.every(({ workers, grown }) => workers.count === count && grown() > 0),
  );
  return started;
}

const heartbeatOf = async (id: string) => {
  const [row] = await db.query<{ alive: string }>(
    'select alive_until::text as alive from workers where id = $1::uuid',
    [id],
  );
  return row?.alive;
};
/** Waits until a later heartbeat has returned. */
async function nextHeartbeat({ id }: TestWorker): Promise<void> {
  for (let beats = 0; beats < 2; beats++) {
    const before = await heartbeatOf(id);
    await waitFor('a heartbeat', async () => (await heartbeatOf(id)) !== before);
  }
}

it('a heartbeat counts the processes of its own kind', async () => {
  await startWorkers(1);
  const apis = Array.from({ length: 2 }, () => new Heartbeat({ db, table: 'apis', id: newId(), log: silentLog }));
  for (const api of apis) api.start();
  await waitFor('both to count both', () => apis.every(({ count }) => count === 2));
  await apis[0]?.stop();
  await waitFor('one to be alone', () => apis[1]?.count === 1);
  await apis[1]?.stop();
});

describe('LiveWorkers', () => {
  it('agrees on the first, and on another one when that has ended', async () => {
    const workers = await startWorkers(3);
    const [first, ...others] = workers.filter((worker) => worker.workers.isFirst);
    expect(others).toEqual([]);
    await first?.workers.stop();
    const rest = workers.filter((worker) => worker !== first);
    await waitFor('the next', () => rest.filter((worker) => worker.workers.isFirst).length === 1);
  });

  // A notification woke a worker without a share of the endpoint's limit, and the attempt waited for the next one.
  it('wakes first one of the workers that have slots of the endpoint, and each of them in turn', async () => {
    const workers = await startWorkers(4);
    for (const max of [1, 2, 3, 10]) {
      const endpoint = newId();
      const holders = workers.filter((worker) => worker.workers.of(endpoint, max) > 0);
      const woken = Array.from({ length: holders.length }, (_, wakeUp) =>
        workers.filter(({ workers: one }) => one.of(endpoint, max) > 0 && one.placeAt(endpoint, max, wakeUp) === 0),
      );
      expect(woken.map(({ length }) => length)).toEqual(holders.map(() => 1));
      expect(new Set(woken.flat())).toEqual(new Set(holders));
    }
  });

  it('ignores the heartbeat of a clock that was ahead, as after a failover', async () => {
    const [worker] = await startWorkers(1);
    await db.query(`insert into workers values ($1::uuid, now() + interval '1 hour')`, [newId()]);
    await nextHeartbeat(worker!);
    expect(worker!.workers.count).toBe(1);
  });
});

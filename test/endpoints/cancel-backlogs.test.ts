import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { cancelBacklogs, disableEndpoint } from '../../src/endpoints/disable.js';
import { createLog } from '../../src/platform/telemetry/log.js';
import { countDeliveries, makeBacklog } from '../support/backlog.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint } from '../support/factories.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

/** A disabled endpoint with so many deliveries left to cancel. */
async function cancelling(left: number): Promise<string> {
  const { id } = await makeEndpoint(db, await makeClient(db));
  await makeBacklog(db, id, left + 1_000);
  await db.transaction((tx) => disableEndpoint(tx, id, 'owner'));
  return id;
}

/** Workers that run until `work` has ended. @returns the endpoints in order of completion */
async function withWorkers(count: number, work: () => Promise<unknown>): Promise<string[]> {
  const done: string[] = [];
  const log = Object.assign(createLog('silent', 'test'), {
    info: ({ webhook_id }: { webhook_id: string }) => done.push(webhook_id),
  });
  const workers = Array.from({ length: count }, () => cancelBacklogs({ db, log }));
  for (const worker of workers) worker.start();
  try {
    await work();
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
  }
  return done;
}

const untilNoneIsLeft = () =>
  waitFor('all backlogs to be cancelled', async () => {
    const left = await db.prisma.endpoint.count({ where: { cancellingAfter: { not: null } } });
    return left === 0;
  });

test('a small backlog does not wait for an older large one', async () => {
  const [large, small] = [await cancelling(5_000), await cancelling(500)];
  expect(await withWorkers(1, untilNoneIsLeft)).toEqual([small, large]);
  expect(await countDeliveries(db, large)).toEqual({ endpoint_disabled: 6_000 });
  expect(await countDeliveries(db, small)).toEqual({ endpoint_disabled: 1_500 });
});

test('several workers cancel each backlog once, and one continues where another stopped', async () => {
  const endpoints = [await cancelling(3_500), await cancelling(3_500)];
  const pending = async () => db.prisma.delivery.count({ where: { endpointId: { in: endpoints }, status: 'pending' } });
  await withWorkers(1, () => waitFor('a batch', async () => (await pending()) < 7_000));
  expect(await pending()).toBeGreaterThan(0);
  const done = await withWorkers(3, untilNoneIsLeft);
  expect(done.sort()).toEqual(endpoints.sort());
  for (const id of endpoints) expect(await countDeliveries(db, id)).toEqual({ endpoint_disabled: 4_500 });
});

test('an endpoint enabled meanwhile by SQL keeps its deliveries', async () => {
  const id = await cancelling(500);
  await db.prisma.endpoint.update({ where: { id }, data: { enabled: true, disabledReason: null } });
  await withWorkers(1, untilNoneIsLeft);
  expect(await countDeliveries(db, id)).toEqual({ endpoint_disabled: 1_000, pending: 500 });
});

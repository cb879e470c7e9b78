import '../support/quiet-temporal.js';
import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createRemoveExpiredActivities } from '../../activities/remove-expired.js';
import { migrateTemporal } from '../../src/temporal/namespace.js';
import { RETENTION_SCHEDULE } from '../../src/temporal/retention-schedule.js';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { silentLog } from '../support/silent-log.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { waitFor } from '../support/wait-for.js';

let db: TestDatabase;
let temporal: TestTemporal;
beforeAll(async () => {
  [db, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
  // Otherwise its own run of each hour may begin during a test.
  await schedule().pause('only the tests trigger it');
});
afterAll(async () => {
  await temporal.close();
  await db.drop();
});

const schedule = () => temporal.client.schedule.getHandle(RETENTION_SCHEDULE);

/** Runs a worker with this retention until `work` is over. */
async function withWorker<T>(retention: number, work: () => Promise<T>): Promise<T> {
  const connection = await NativeConnection.connect({ address: temporal.address });
  const codePath = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));
  const worker = await Worker.create({
    connection,
    namespace: temporal.namespace,
    taskQueue: TASK_QUEUE,
    workflowBundle: { codePath },
    activities: createRemoveExpiredActivities({ database: db, retention, log: silentLog }),
  });
  try {
    return await worker.runUntil(work());
  } finally {
    await connection.close();
  }
}

/** Runs the Schedule's workflow now. @returns the number of events that it removed */
async function trigger(): Promise<number> {
  const before = (await schedule().describe()).info.numActionsTaken;
  await schedule().trigger();
  const workflowId = await waitFor('the run', async () => {
    const { info } = await schedule().describe();
    return info.numActionsTaken > before && info.recentActions.at(-1)?.action.workflow.workflowId;
  });
  return temporal.client.workflow.getHandle(workflowId).result();
}

describe('the retention Schedule', () => {
  it('removes ended events older than RETENTION, and no pending event', async () => {
    const pending = await commitEvent(db);
    for (let i = 0; i < 3; i++) {
      const { eventId } = await commitEvent(db);
      await db.prisma.delivery.updateMany({ where: { eventId }, data: { status: 'failed', attemptingUntil: null } });
    }
    await db.prisma.event.updateMany({ data: { outbox: 'done' } });
    expect(await withWorker(3_600_000, trigger)).toBe(0);
    expect(await withWorker(0, trigger)).toBe(3);
    expect((await db.prisma.event.findMany()).map(({ id }) => id)).toEqual([pending.eventId]);
  });

  it('is updated by another migrate, and stays paused when an operator has paused it', async () => {
    await schedule().pause('an audit is under way');
    await migrateTemporal({
      address: temporal.address,
      namespace: temporal.namespace,
      retention: 30 * 86_400_000,
      tls: false,
      apiKey: undefined,
    });
    const { state, policies } = await schedule().describe();
    expect(state).toMatchObject({ paused: true, note: 'an audit is under way' });
    expect(policies.overlap).toBe('SKIP');
  });
});

import { migrateTemporal, missingAttributes, RETENTION_SCHEDULE, serverFinding } from '../../src/temporal/namespace.js';
import '../support/quiet-temporal.js';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createRemoveExpiredActivities } from '../../activities/remove-expired.js';
import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { commitEvent } from '../support/committed-event.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { emptyOutbox } from '../support/outbox.js';
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
    activities: createRemoveExpiredActivities(db, retention, silentLog),
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
      const { eventId, clientId } = await commitEvent(db);
      await db.prisma.queuedAttempt.deleteMany({ where: { clientId } });
      await db.prisma.delivery.updateMany({ where: { eventId }, data: { status: 'failed' } });
    }
    await emptyOutbox(db);
    expect(await withWorker(3_600_000, trigger)).toBe(0);
    expect(await withWorker(0, trigger)).toBe(3);
    expect((await db.prisma.event.findMany()).map(({ id }) => id)).toEqual([pending.eventId]);
  });

  it('is updated by another migrate, and stays paused when an operator has paused it', async () => {
    await schedule().pause('an audit is in progress');
    await migrateTemporal({
      address: temporal.address,
      namespace: temporal.namespace,
      retention: 30 * 86_400_000,
      tls: false,
      apiKey: undefined,
    });
    const { state, policies } = await schedule().describe();
    expect(state).toMatchObject({ paused: true, note: 'an audit is in progress' });
    expect(policies.overlap).toBe('SKIP');
  });
});

describe('missing search attributes', () => {
  const ALL = ['ClientId', 'TransferId', 'EventType', 'WebhookIds', 'DeliveryState'];
  /** gRPC's PERMISSION_DENIED. */
  const denied = Object.assign(new Error('7 PERMISSION_DENIED'), { code: 7, details: '', metadata: {} });
  /** As Temporal Cloud has it. */
  const refusing = { operatorService: { listSearchAttributes: () => Promise.reject(denied) } } as unknown as Connection;

  let connection: Connection;
  /** A namespace without the attributes. */
  let bare: Client;
  beforeAll(async () => {
    connection = await Connection.connect({ address: temporal.address });
    const namespace = `bare-${randomBytes(6).toString('hex')}`;
    const day = { seconds: { low: 86_400, high: 0, unsigned: false } as never };
    await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: day });
    bare = new Client({ connection, namespace });
    const isKnown = () =>
      bare.workflow.count().then(
        () => true,
        () => false,
      );
    await waitFor('the namespace to be known', isKnown);
  }, 120_000);
  afterAll(() => connection.close());

  it('are those that the namespace does not list, or that queries miss where only an operator may list them', async () => {
    for (const asked of [connection, refusing]) {
      expect(await missingAttributes(temporal.client, asked)).toEqual([]);
      expect(await missingAttributes(bare, asked)).toEqual(ALL);
    }
  });
});

const stateOf = (version: string, environment: 'sandbox' | 'production') => {
  const { ok, warning = false } = serverFinding('temporal:7233', version, environment);
  return ok ? (warning ? 'warning' : 'ok') : 'fault';
};

it.each([
  ['1.9.2', 'fault', 'fault'],
  ['v1.28.4', 'fault', 'fault'],
  ['1.29.1', 'ok', 'warning'],
  ['1.31.5', 'ok', 'ok'],
  ['2.0.0', 'ok', 'ok'],
  ['', 'ok', 'ok'],
  ['cloud', 'ok', 'ok'],
])('Temporal %s is %s for doctor in a sandbox, and %s in production', (version, sandbox, production) => {
  expect([stateOf(version, 'sandbox'), stateOf(version, 'production')]).toEqual([sandbox, production]);
});

import { migrateTemporal, missingAttributes, serverFinding } from '../../src/temporal/namespace.js';
import '../support/quiet-temporal.js';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { waitFor } from '../support/wait-for.js';

let temporal: TestTemporal;
beforeAll(async () => {
  temporal = await createTestNamespace();
});
afterAll(() => temporal.close());

it('migrate removes the Schedule of release 1.0, and ends workflows of its recoveries', async () => {
  const { schedule, workflow } = temporal.client;
  const action = { type: 'startWorkflow', workflowType: 'removeExpired', taskQueue: 'nobody' } as const;
  await schedule.create({ scheduleId: 'retention', spec: { intervals: [{ every: '1h' }] }, action });
  const recovery = await workflow.start('recoverEndpoint', { taskQueue: 'nobody', workflowId: 'recover-1' });
  await waitFor('the recovery to be listed', async () => (await workflow.count()).count > 0);
  const { address, namespace } = temporal;
  const migrate = () =>
    migrateTemporal({ address, namespace, retention: 30 * 86_400_000, tls: false, apiKey: undefined });
  expect(await migrate()).toContain('schedule retention removed');
  expect((await recovery.describe()).status.name).toBe('TERMINATED');
  expect(await migrate()).not.toContain('schedule retention removed');
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

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { missingAttributes } from '../../src/temporal/missing-attributes.js';
import { createTestNamespace, type TestTemporal } from '../support/temporal.js';
import { waitFor } from '../support/wait-for.js';

const ALL = ['ClientId', 'TransferId', 'EventType', 'WebhookIds', 'DeliveryState'];
/** gRPC's PERMISSION_DENIED. */
const denied = Object.assign(new Error('7 PERMISSION_DENIED'), { code: 7, details: '', metadata: {} });
/** As Temporal Cloud has it. */
const refusing = { operatorService: { listSearchAttributes: () => Promise.reject(denied) } } as unknown as Connection;

let temporal: TestTemporal;
let connection: Connection;
/** A namespace without the attributes. */
let bare: Client;
beforeAll(async () => {
  temporal = await createTestNamespace();
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
afterAll(async () => {
  await connection.close();
  await temporal.close();
});

describe('the missing search attributes', () => {
  it('are those that the namespace does not list', async () => {
    expect(await missingAttributes(temporal.client, connection)).toEqual([]);
    expect(await missingAttributes(bare, connection)).toEqual(ALL);
  });

  it('are found by queries where only an operator may list them', async () => {
    expect(await missingAttributes(temporal.client, refusing)).toEqual([]);
    expect(await missingAttributes(bare, refusing)).toEqual(ALL);
  });
});

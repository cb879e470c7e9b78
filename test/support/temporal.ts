import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { migrateTemporal } from '../../src/temporal/namespace.js';

export interface TestTemporal {
  client: Client;
  namespace: string;
  address: string;
  close(): Promise<void>;
}

/** Makes a namespace for one test on the server of `TEST_TEMPORAL_ADDRESS`, with the search attributes. */
export async function createTestNamespace(): Promise<TestTemporal> {
  const address = process.env.TEST_TEMPORAL_ADDRESS;
  if (!address) throw new Error('TEST_TEMPORAL_ADDRESS is not set: test/support/global-setup.js sets it');
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  await migrateTemporal({ address, namespace, retention: 30 * 86_400_000, tls: false, apiKey: undefined });
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace });
  await untilKnown(client);
  return { client, namespace, address, close: () => connection.close() };
}

/** The frontend's cache gets a new namespace within seconds. Until then it rejects a workflow start. */
async function untilKnown(client: Client): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    try {
      await client.workflow.start('nothing', { workflowId: 'probe', taskQueue: 'nobody' });
      await client.workflow.getHandle('probe').terminate();
      return;
    } catch {
      await sleep(100);
    }
  }
  throw new Error(`the frontend does not know the namespace ${client.options.namespace} after 20 s`);
}

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

/** A namespace of this test's own on the server that `TEST_TEMPORAL_ADDRESS` names, with the search attributes. */
export async function createTestNamespace(): Promise<TestTemporal> {
  const address = process.env.TEST_TEMPORAL_ADDRESS;
  if (!address) throw new Error('TEST_TEMPORAL_ADDRESS is not set: test/support/global-setup.js sets it');
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  await migrateTemporal({ address, namespace, tls: false, apiKey: undefined });
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace });
  await known(client);
  return { client, namespace, address, close: () => connection.close() };
}

/** The frontend's cache learns of a namespace within seconds: until then a start is refused. */
async function known(client: Client): Promise<void> {
  for (let patience = 0; patience < 200; patience++) {
    try {
      await client.workflow.start('nothing', { workflowId: 'probe', taskQueue: 'nobody' });
      await client.workflow.getHandle('probe').terminate();
      return;
    } catch {
      await sleep(100);
    }
  }
  throw new Error('the namespace has not become known');
}

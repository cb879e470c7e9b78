import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Config } from '../config.js';

type TemporalConfig = Config['temporal'];

/** What every connection is made with. */
export function connectionOptions({ address, tls, apiKey }: TemporalConfig) {
  return { address, ...(tls && { tls: true }), ...(apiKey && { apiKey: apiKey.reveal() }) };
}

/** The worker's connection: a Client on it can start workflows eagerly in the same process. */
export function connectWorker(temporal: TemporalConfig): Promise<NativeConnection> {
  return NativeConnection.connect(connectionOptions(temporal));
}

/** A client for processes without a worker; connects on first use. */
export function lazyClient(temporal: TemporalConfig): Client {
  return new Client({ connection: Connection.lazy(connectionOptions(temporal)), namespace: temporal.namespace });
}

/** Whether Temporal answers within `timeout` ms and knows the namespace. */
export async function isReachable(client: Client, namespace: string, timeout = 2_000): Promise<boolean> {
  try {
    await client.connection.withDeadline(Date.now() + timeout, () =>
      client.connection.workflowService.describeNamespace({ namespace }),
    );
    return true;
  } catch {
    return false;
  }
}

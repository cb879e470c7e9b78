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

const NOT_FOUND = 5;

/** Whether what Temporal has answered is that it does not know the namespace. */
export const isNamespaceMissing = (error: unknown): boolean => (error as { code?: unknown }).code === NOT_FOUND;

/** `ok`, or in a word why Temporal cannot be used: looks for the namespace for at most `timeout` ms. */
export async function temporalState(client: Client, namespace: string, timeout = 2_000): Promise<string> {
  try {
    await client.connection.withDeadline(Date.now() + timeout, () =>
      client.connection.workflowService.describeNamespace({ namespace }),
    );
    return 'ok';
  } catch (error) {
    return isNamespaceMissing(error) ? `no namespace ${namespace}` : 'unreachable';
  }
}

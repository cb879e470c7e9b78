import { Client } from '@temporalio/client';
import { type Environment, temporalAt } from '../config.js';
import { ConfigError } from '../config-error.js';
import { connectOnce } from '../temporal/connection.js';

/** The connection closes after the call. Within this time, ms, the SDK ends the call by itself. */
export const SDK_ENDS = 60_000;

/**
 * Opens a Temporal client for a process that is neither API nor worker: an operator's command.
 * @throws ConfigError, Error of one line: Temporal cannot be reached
 */
export async function withTemporal<T>(environment: Environment, work: (client: Client) => Promise<T>): Promise<T> {
  const { TEMPORAL_ADDRESS: address } = environment;
  if (!address) throw new ConfigError(['TEMPORAL_ADDRESS: is not set; give host:port, such as temporal.internal:7233']);
  const temporal = temporalAt(address, environment);
  const connection = await connectOnce(temporal);
  try {
    return await work(new Client({ connection, namespace: temporal.namespace }));
  } finally {
    await connection.close();
  }
}

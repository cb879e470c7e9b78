import type { Client } from '@temporalio/client';
import { ConfigError, type Environment, temporalAt } from '../config.js';
import { lazyClient } from '../temporal/connection.js';

/** The connection closes after the call. Within this time, ms, the SDK ends the call by itself. */
export const SDK_ENDS = 60_000;

/** Opens a Temporal client for a process that is neither API nor worker: an operator's command. @throws ConfigError */
export async function withTemporal<T>(environment: Environment, work: (client: Client) => Promise<T>): Promise<T> {
  const { TEMPORAL_ADDRESS: address } = environment;
  if (!address) throw new ConfigError(['TEMPORAL_ADDRESS: is not set; give host:port, such as temporal.internal:7233']);
  const client = lazyClient(temporalAt(address, environment));
  try {
    return await work(client);
  } finally {
    await client.connection.close();
  }
}

import { randomBytes } from 'node:crypto';
import { createClient } from '../../src/auth/clients.js';
import { freePort } from '../../src/platform/free-port.js';
import { type Caller, caller } from './caller.js';
import { createTestDatabase } from './database.js';
import { OPERATOR } from './factories.js';
import { createTestNamespace } from './temporal.js';

export type Deployment = Awaited<ReturnType<typeof createDeployment>>;

/**
 * A database, a namespace and a port on the servers of the set-up. A test starts its roles with `env`.
 * @param more settings beside those that every such test needs
 */
export async function createDeployment(more: Record<string, string> = {}) {
  const [database, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
  // Last, since any connection of another process may take it until the service listens.
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const at = { auth_url: url, base_url: url };
  const env: Record<string, string> = {
    ...{ ENVIRONMENT: 'sandbox', HOST: '127.0.0.1', PORT: String(port), BASE_URL: url, LOG_LEVEL: 'warn' },
    ...{ DATABASE_URL: database.url.reveal(), MASTER_KEY: randomBytes(32).toString('base64') },
    ...{ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: temporal.namespace },
    ...{ ALLOW_PRIVATE_RECEIVERS: 'true', SHUTDOWN_DELAY: '0s', RATE_LIMIT: '1000000', METRICS_PORT: '0' },
    ...more,
  };
  return {
    database,
    temporal,
    at,
    env,
    async createCredentials(): Promise<{ client_id: string; client_secret: string }> {
      const { client, clientSecret } = await createClient(database, OPERATOR, { name: 'test' });
      return { client_id: client.id, client_secret: clientSecret.reveal() };
    },
    /** A client that calls the API, which serves already. */
    async createClient(): Promise<Caller> {
      return caller(at, await this.createCredentials());
    },
    async close(): Promise<void> {
      await temporal.close();
      await database.drop();
    },
  };
}

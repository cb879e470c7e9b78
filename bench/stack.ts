import { randomBytes } from 'node:crypto';
import type { Client } from '@temporalio/client';
import pg from 'pg';
import { createClient, type NewClient } from '../src/auth/clients.js';
import { openDatabase } from '../src/platform/database/database.js';
import { MasterKeys } from '../src/platform/database/encryption.js';
import { migrate } from '../src/platform/database/migrate.js';
import { Secret } from '../src/platform/secret.js';
import { probeClient } from '../src/temporal/connection.js';
import { migrateTemporal } from '../src/temporal/namespace.js';
import { type Servers, startServers } from './servers.js';

/** Servers ready for the service, and the bench's own connections to both. */
export interface Stack {
  servers: Servers;
  database: pg.Client;
  masterKeys: MasterKeys;
  temporal: Client;
  /** The environment of the service's processes. */
  env: Readonly<Record<string, string>>;
  operator: { client_id: string; client_secret: string };
  stop(): Promise<void>;
}

export async function startStack(say: (line: string) => void, postgresSettings?: readonly string[]): Promise<Stack> {
  const servers = await startServers(say, postgresSettings);
  try {
    return await prepare(servers);
  } catch (error) {
    await servers.stop();
    throw error;
  }
}

async function prepare(servers: Servers): Promise<Stack> {
  const url = servers.databaseUrl;
  await Promise.all([migrate(url), migrateTemporal(servers.temporal)]);
  const masterKey = randomBytes(32);
  const database = await connect(url);
  const temporal = probeClient(servers.temporal);
  return {
    servers,
    database,
    masterKeys: new MasterKeys(new Secret<Uint8Array>(masterKey)),
    temporal,
    env: {
      ENVIRONMENT: 'sandbox',
      DATABASE_URL: url.reveal(),
      TEMPORAL_ADDRESS: servers.temporal.address,
      MASTER_KEY: masterKey.toString('base64'),
      ALLOW_PRIVATE_RECEIVERS: 'true',
    },
    operator: await makeOperator(url),
    async stop() {
      await temporal.connection.close();
      await database.end();
      await servers.stop();
    },
  };
}

async function connect(url: Secret): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url.reveal() });
  await client.connect();
  return client;
}

const makeOperator = (url: Secret) => makeClient(url, { name: 'Operator', scopes: ['operator'] });

/** A client of the service, with its credentials. */
export async function makeClient(url: Secret, wanted: NewClient): Promise<Stack['operator']> {
  const database = openDatabase({ url, poolSize: 2 });
  try {
    const { client, clientSecret } = await createClient(database, 'cli:bench', wanted);
    return { client_id: client.id, client_secret: clientSecret.reveal() };
  } finally {
    await database.close();
  }
}

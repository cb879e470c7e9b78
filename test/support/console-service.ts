import { randomBytes } from 'node:crypto';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { createClient, type NewClient } from '../../src/auth/clients.js';
import { freePort } from '../../src/platform/free-port.js';
import type { Credentials } from './auth-api.js';
import { openVisitor, startBrowser, type Visitor } from './browser.js';
import { type Caller, caller } from './caller.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { OPERATOR } from './factories.js';
import { type RoleProcess, startRole } from './role-process.js';
import { createTestNamespace } from './temporal.js';

/** A real process of the whole service on its own database and namespace, and a browser. */
export interface ConsoleService {
  service: RoleProcess;
  /** The environment of the process, for the CLI. */
  env: Record<string, string>;
  baseUrl: string;
  database: TestDatabase;
  browser: Browser;
  /** Makes a client. `call` uses the API as this client. */
  client(wanted?: Partial<NewClient>): Promise<{ credentials: Credentials; call: Caller }>;
  visitor(options?: BrowserContextOptions): Promise<Visitor>;
  close(): Promise<void>;
}

/** @param extra further settings of the service, such as `DELIVERY_RETRY_DELAYS` */
export async function startConsoleService(extra: Record<string, string> = {}): Promise<ConsoleService> {
  const [database, temporal] = await Promise.all([createTestDatabase(), createTestNamespace()]);
  // Last, since any connection of another process may take it until the service listens.
  const port = await freePort();
  const baseUrl = `http://127.0.0.1:${port}`;
  const env = {
    ENVIRONMENT: 'sandbox',
    DATABASE_URL: database.url.reveal(),
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    MASTER_KEY: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    PORT: String(port),
    BASE_URL: baseUrl,
    ALLOW_PRIVATE_RECEIVERS: 'true',
    SHUTDOWN_DELAY: '0s',
    LOG_LEVEL: 'warn',
    ...extra,
  };
  const service = startRole('start', env);
  const [browser] = await Promise.all([startBrowser(), service.ready]);
  return {
    service,
    env,
    baseUrl,
    database,
    browser,
    async client(wanted = {}) {
      const { client, clientSecret } = await createClient(database, OPERATOR, { name: 'Acme', ...wanted });
      const credentials = { client_id: client.id, client_secret: clientSecret.reveal() };
      return { credentials, call: await caller({ auth_url: baseUrl, base_url: baseUrl }, credentials) };
    },
    visitor: (options) => openVisitor(browser, baseUrl, options),
    async close() {
      await browser.close();
      await service.stop();
      await temporal.close();
      await database.drop();
    },
  };
}

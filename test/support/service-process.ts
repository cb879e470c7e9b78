import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxClient } from '../../src/local/demo-service.js';
import type { Readiness } from '../../src/process/readiness.js';
import { type Caller, caller } from './caller.js';
import { type RoleProcess, startRole } from './role-process.js';
import { waitFor } from './wait-for.js';

/** The complete service as `npm start` runs it: a process with its embedded stack under a LOCAL_DIR. */
export interface ServiceProcess extends Pick<RoleProcess, 'said' | 'stop'> {
  sandbox: Sandbox;
  /** The sandbox's client. */
  client: Caller;
}

/** The complete `LOCAL_DIR/sandbox-client.json`. */
interface Sandbox extends SandboxClient {
  operator: { client_id: string; client_secret: string };
  temporal_address: string;
  database_url: string;
}

const ENV = {
  ...{ PORT: '0', POSTGRES_PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0' },
  ...{ LOG_LEVEL: 'warn', RATE_LIMIT: '1000000' },
};

/**
 * Starts the service as `npm start` does. Resolves when it is ready and connected to Temporal.
 * @param root where it is built; default: here
 */
export async function startService(
  localDir: string,
  env: Record<string, string> = {},
  root = '.',
): Promise<ServiceProcess> {
  const { ready, said, stop } = startRole('start', { ...ENV, LOCAL_DIR: localDir, ...env }, [], root);
  await ready;
  const sandbox = JSON.parse(readFileSync(join(localDir, 'sandbox-client.json'), 'utf8')) as Sandbox;
  // The service is ready before Temporal is.
  await waitFor('Temporal', async () => {
    const { checks } = (await (await fetch(`${sandbox.base_url}/readyz`)).json()) as Readiness;
    return checks.temporal === 'ok';
  });
  return { sandbox, client: await caller(sandbox, sandbox), said, stop };
}

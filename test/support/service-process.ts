import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { SandboxClient } from '../../src/local/demo-service.js';
import type { Readiness } from '../../src/process/readiness.js';
import { type Caller, caller } from './caller.js';
import { waitFor } from './wait-for.js';

/** The complete service as `npm start` runs it: a process with its embedded stack under a LOCAL_DIR. */
export interface ServiceProcess {
  process: ChildProcess;
  sandbox: Sandbox;
  /** The sandbox's client. */
  client: Caller;
  operator: Caller;
  /** The progress lines and the log lines so far. */
  said: string[];
  /** Sends SIGTERM and waits for the end. @returns the exit code */
  stop(): Promise<number | null>;
  /** Sends SIGKILL. The embedded Postgres and Temporal keep running, as after any crash of the service. */
  kill(): Promise<void>;
}

/** The complete `LOCAL_DIR/sandbox-client.json`. */
export interface Sandbox extends SandboxClient {
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
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, ['dist/src/cli.js', 'start'], {
    cwd: root,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...ENV, LOCAL_DIR: localDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
  const exited = once(child, 'exit');
  const ready = once(createInterface({ input: child.stdout }), 'line');
  await Promise.race([ready, exited.then(() => Promise.reject(new Error(said.join('\n'))))]);
  const sandbox = JSON.parse(readFileSync(join(localDir, 'sandbox-client.json'), 'utf8')) as Sandbox;
  // The service is ready before Temporal is.
  await waitFor('Temporal', async () => {
    const { checks } = (await (await fetch(`${sandbox.base_url}/readyz`)).json()) as Readiness;
    return checks.temporal === 'ok';
  });
  return {
    process: child,
    sandbox,
    client: await caller(sandbox, sandbox),
    operator: await caller(sandbox, sandbox.operator),
    said,
    async stop() {
      child.kill('SIGTERM');
      await exited;
      return child.exitCode;
    },
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

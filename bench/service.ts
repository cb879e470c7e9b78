import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { WorkflowMode } from '../src/platform/config/config.js';
import { freePort } from '../src/platform/free-port.js';
import { NODE_OPTIONS } from '../src/process/bootstrap.js';
import type { Parts } from './processes.js';
import type { Stack } from './stack.js';

export interface ServiceOptions {
  workflows: WorkflowMode;
  /** How many processes each role has; undefined: all in one process. */
  roles: Readonly<Record<'api' | 'worker', number>> | undefined;
  /** A folder for V8's CPU profiles. */
  profile: string | undefined;
  env?: Readonly<Record<string, string>>;
}

/** The service's own processes. */
export interface Service {
  /** The first API's address, and the audience of all. */
  baseUrl: string;
  /** The addresses of all APIs. */
  apis: readonly string[];
  workflows: ServiceOptions['workflows'];
  parts: Parts;
  /** A fresh token of the operator, good for an hour. */
  token(): Promise<string>;
  stop(): Promise<void>;
}

/** The built command. */
const CLI = fileURLToPath(new URL('../src/cli.js', import.meta.url));

export async function startService(stack: Stack, options: ServiceOptions): Promise<Service> {
  const { api, worker } = options.roles ?? { api: 1, worker: 0 };
  const ports = await Promise.all(Array.from({ length: api }, freePort));
  const [baseUrl = '', ...others] = ports.map((port) => `http://127.0.0.1:${port}`);
  const env = {
    ...process.env,
    // As the image sets it.
    MALLOC_ARENA_MAX: '2',
    ...{ LOG_LEVEL: 'warn', WORKFLOWS: options.workflows, HOST: '127.0.0.1', BASE_URL: baseUrl },
    ...stack.env,
    ...options.env,
  };
  const profiled = options.profile ? ['--cpu-prof', `--cpu-prof-dir=${options.profile}`] : [];
  const launch = (role: 'start' | 'api' | 'worker', own: Readonly<Record<string, string>>) =>
    spawn(process.execPath, [...NODE_OPTIONS, ...profiled, CLI, role], {
      env: { ...env, ...own },
      // Shielded from Ctrl-C: the bench ends it.
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  const serving = ports.map((port) => launch(options.roles ? 'api' : 'start', { PORT: String(port) }));
  const workers = Array.from({ length: worker }, () => launch('worker', {}));
  const processes = [...serving, ...workers];
  await Promise.all(processes.map(untilReady));
  const pidsOf = (children: readonly ChildProcess[]) => children.map(({ pid }) => pid ?? 0);
  return {
    baseUrl,
    apis: [baseUrl, ...others],
    workflows: options.workflows,
    parts: options.roles ? { api: pidsOf(serving), worker: pidsOf(workers) } : { service: pidsOf(serving) },
    token: () => getToken(baseUrl, stack.operator),
    async stop() {
      for (const child of processes) await end(child);
    },
  };
}

async function untilReady(child: ChildProcess): Promise<void> {
  if (!child.stdout) throw new Error('the service has no standard output');
  const endEarly = () => child.kill('SIGTERM');
  process.once('exit', endEarly);
  child.once('exit', () => process.off('exit', endEarly));
  const line = once(createInterface({ input: child.stdout }), 'line');
  const ended = once(child, 'exit').then(() => Promise.reject(new Error('the service ended before it was ready')));
  await Promise.race([line, ended]);
  ended.catch(() => undefined);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

export async function getToken(baseUrl: string, client: Stack['operator']): Promise<string> {
  const response = await fetch(`${baseUrl}/oauth/token`, {
    method: 'POST',
    // The API may close an idle connection (65 s) just as it is reused.
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: JSON.stringify({ ...client, audience: baseUrl, grant_type: 'client_credentials' }),
  });
  if (!response.ok) throw new Error(`no token: ${response.status} ${await response.text()}`);
  return ((await response.json()) as { access_token: string }).access_token;
}

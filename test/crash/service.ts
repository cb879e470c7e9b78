import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { freePort } from '../../src/platform/free-port.js';
import { type Caller, caller, must } from '../support/caller.js';
import { runCommand } from '../support/command.js';
import { makeLocalDir } from '../support/local-dir.js';
import { startStackProcess } from '../support/stack-process.js';
import { SECRET } from '../support/transfers.js';
import { embeddedPart, type Parts, SupervisedRole, temporalsPostgres } from './parts.js';
import type { ActionEndpoint } from './random-actions.js';
import { type Arrival, NOTIFICATIONS } from './receiver.js';

/** The service as in production: two processes of each role, and a receiver. Each process can be killed alone. */
export interface Service {
  parts: Parts;
  roles: readonly SupervisedRole[];
  /** One caller for each client. Each request goes to a random API process. */
  clients: Caller[];
  endpoints: ActionEndpoint[];
  databaseUrl: string;
  temporal: Client;
  /** Makes every endpoint return 204 from now on. */
  heal(): Promise<void>;
  /** Makes a toggled endpoint return 410 to its next request. */
  gone(): Promise<void>;
  arrivals(): Promise<Arrival[]>;
  stop(): Promise<void>;
}

/** Paths of each client's endpoints (see receiver-process.ts). The endpoints of the first client are never changed. */
const ENDPOINTS = [
  ['/faulty/a', '/faulty/b'],
  ['/faulty/toggled', '/dead/toggled'],
];
const PROCESSES = 2;

export interface ServiceOptions {
  ladder: string;
  seed: number;
  random: () => number;
  hangs: boolean;
}

export async function startService({ ladder, seed, random, hangs }: ServiceOptions): Promise<Service> {
  const place = makeLocalDir();
  const [stack, receiver, ports] = await Promise.all([
    startStackProcess(place.path),
    startReceiverProcess(seed, hangs),
    Promise.all(Array.from({ length: PROCESSES }, freePort)),
  ]);
  const baseUrl = `http://127.0.0.1:${ports[0]}`;
  const env: Record<string, string> = {
    ...stack.env,
    ...{ BASE_URL: baseUrl, AUTH_URL: baseUrl, LOG_LEVEL: 'warn', RATE_LIMIT: '1000000' },
    ...{ DELIVERY_RETRY_DELAYS: ladder, DISABLE_AFTER: '0s', SANDBOX_STEP: '500ms' },
    ...{ NOTIFY_URL: `${receiver.url}${NOTIFICATIONS}`, NOTIFY_SECRET: SECRET, NOTIFY_ALLOW_PRIVATE: 'true' },
  };
  const migrated = await runCommand(['migrate'], env);
  if (migrated.code !== 0) throw new Error(migrated.stderr);

  const apis = ports.map((port, i) => new SupervisedRole(`api ${i + 1}`, 'api', { ...env, PORT: String(port) }));
  const workers = ports.map((_, i) => new SupervisedRole(`worker ${i + 1}`, 'worker', env));
  const roles = [...apis, ...workers];
  await Promise.all(roles.map((role) => role.untilReady()));

  const clients: Caller[] = [];
  const endpoints: ActionEndpoint[] = [];
  for (const paths of ENDPOINTS) {
    const call = await makeClient(env, baseUrl, ports, random);
    clients.push(call);
    for (const path of paths) {
      const url = `${receiver.url}${path}`;
      const { webhookId } = await must(call('POST', '/webhook-endpoints', { url, secret: SECRET }));
      endpoints.push({ call, webhookId, url, toggled: path.endsWith('toggled') });
    }
  }
  const { TEMPORAL_ADDRESS: address = '', TEMPORAL_NAMESPACE: namespace = '', DATABASE_URL: databaseUrl = '' } = env;
  const connection = Connection.lazy({ address });
  return {
    parts: {
      apis,
      workers,
      temporal: embeddedPart(place.path, 'temporal'),
      postgres: embeddedPart(place.path, 'postgres'),
      temporalsPostgres: temporalsPostgres(),
    },
    ...{ roles, clients, endpoints, databaseUrl },
    temporal: new Client({ connection, namespace }),
    heal: async () => void (await receiver.ask('heal')),
    gone: async () => void (await receiver.ask('gone')),
    arrivals: () => receiver.ask('arrivals'),
    async stop() {
      await Promise.all(roles.map((role) => role.stop()));
      receiver.process.disconnect();
      await connection.close();
      await stack.stop();
      await place.remove();
    },
  };
}

async function makeClient(
  env: Record<string, string>,
  baseUrl: string,
  ports: readonly number[],
  random: () => number,
): Promise<Caller> {
  const { stdout } = await runCommand(['clients', 'create', '--json', '--name', 'crash'], env);
  const credentials = JSON.parse(stdout);
  const at = { auth_url: baseUrl, base_url: baseUrl };
  const callers = await Promise.all(
    ports.map((port) => caller({ ...at, address: `http://127.0.0.1:${port}` }, credentials)),
  );
  return (...request) => {
    const one = callers[Math.floor(random() * callers.length)];
    return one ? one(...request) : Promise.reject(new Error('no API'));
  };
}

export async function startReceiverProcess(seed: number, hangs: boolean) {
  // If this runs from the sources (Jest), the build is in dist/.
  const beside = fileURLToPath(new URL('./receiver-process.js', import.meta.url));
  const built = fileURLToPath(new URL('../../dist/test/crash/receiver-process.js', import.meta.url));
  const faults = hangs ? 'with-hangs' : 'no-hangs';
  const child: ChildProcess = fork(existsSync(beside) ? beside : built, [SECRET, String(seed), faults], {
    execArgv: [],
  });
  const [{ url }] = (await once(child, 'message')) as [{ url: string }];
  return {
    process: child,
    url,
    async ask(question: 'heal' | 'gone' | 'arrivals'): Promise<Arrival[]> {
      const answer = once(child, 'message');
      child.send(question);
      return (await answer)[0] as Arrival[];
    },
  };
}

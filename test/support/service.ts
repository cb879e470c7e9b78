import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { afterAll, expect } from '@jest/globals';
import { createClient, type NewClient } from '../../src/auth/clients.js';
import { freePort } from '../../src/platform/free-port.js';
import { accepted, caller } from './caller.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { OPERATOR } from './factories.js';
import { makeItLongAgo } from './long-ago.js';
import { startRawReceiver } from './raw-receiver.js';
import { type MortalRole, startMortalRole } from './role-process.js';
import { createTestNamespace } from './temporal.js';
import { SECRET, transferRequest } from './transfers.js';
import { waitFor } from './wait-for.js';

type Role = 'start' | 'api' | 'worker';

export interface ServiceOptions {
  /** Those that start at once; `start` is the whole service in one process. */
  roles?: readonly Role[];
  settings?: Record<string, string>;
  /** Settings that break one role, such as an address of Temporal at which nothing listens. */
  faults?: Partial<Record<Role, Record<string, string>>>;
  /** Another database than an empty one of its own; the service drops it too. */
  database?: TestDatabase;
  /** What the receiver does with a request: 204 by default. */
  receive?: (socket: Socket, number: number) => unknown;
}

export type Service = Awaited<ReturnType<typeof openService>>;

/** The service for the tests of this file, which ends after them. Call it where the file is loaded. */
export async function startService(options?: ServiceOptions) {
  const service = await openService(options);
  afterAll(() => service.close());
  return service;
}

/** The service on a database and a namespace of its own, with a client and a receiver. */
export async function openService({ roles = ['start'], settings = {}, faults = {}, ...given }: ServiceOptions = {}) {
  const [database, temporal] = await Promise.all([given.database ?? createTestDatabase(), createTestNamespace()]);
  const receiver = await startRawReceiver(given.receive ?? ((socket) => socket.write('HTTP/1.1 204 x\r\n\r\n')));
  // Last, since any connection of another process may take it until the service listens.
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const at = { auth_url: url, base_url: url };
  const env: Record<string, string> = {
    ...{ ENVIRONMENT: 'sandbox', HOST: '127.0.0.1', PORT: String(port), BASE_URL: url, LOG_LEVEL: 'warn' },
    ...{ DATABASE_URL: database.url.reveal(), MASTER_KEY: randomBytes(32).toString('base64') },
    ...{ TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: temporal.namespace },
    ...{ ALLOW_PRIVATE_RECEIVERS: 'true', SHUTDOWN_DELAY: '0s', RATE_LIMIT: '1000000', METRICS_PORT: '0' },
    ...settings,
  };
  const started: MortalRole[] = [];
  const running = {} as Record<Role, MortalRole>;
  const start = async (role: Role, more?: Record<string, string>): Promise<MortalRole> => {
    running[role] = startMortalRole(role, { ...env, ...faults[role], ...more });
    started.push(running[role]);
    await running[role].ready;
    return running[role];
  };

  /** Makes a client, whose `call` uses the API. */
  const makeClient = async (wanted: Partial<NewClient> = {}) => {
    const { client, clientSecret } = await createClient(database, OPERATOR, { name: 'test', ...wanted });
    const credentials = { client_id: client.id, client_secret: clientSecret.reveal() };
    return { credentials, call: await caller(at, credentials) };
  };
  await Promise.all(roles.map((role) => start(role)));
  const { credentials, call } = await makeClient();
  const register = async (fields: Record<string, unknown> = {}): Promise<string> => {
    const endpoint = { url: receiver.url, secret: SECRET, ...fields };
    return (await accepted(() => call('POST', '/webhook-endpoints', endpoint))).webhookId;
  };
  const makeTransfer = async (fields = {}): Promise<string> =>
    (await accepted(() => call('POST', '/transfers', transferRequest(fields)))).id;
  const change = (id: string, headers?: Record<string, string>) =>
    call('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }, headers);

  return {
    ...{ env, at, database, temporal, receiver, running, start },
    ...{ credentials, call, makeClient, register, makeTransfer, change },
    /** Waits until every delivery has succeeded and no event waits for its workflow. */
    untilDelivered: () =>
      waitFor('every delivery to succeed', async () => {
        const { prisma } = database;
        const [waiting] = await database.query<{ n: number }>('select count(*)::int as n from outbox', []);
        return waiting?.n === 0 && (await prisma.delivery.count({ where: { status: { not: 'succeeded' } } })) === 0;
      }),
    /**
     * Ends the service at the failpoint `at`, which `cause` makes it pass, and starts it again.
     *
     * @returns the result of `cause`, or undefined when it got no response
     */
    async dieAndStart<T>(failpoint: string, cause: () => Promise<T>): Promise<T | undefined> {
      await running.start.dieAt(failpoint);
      const caused = cause().catch(() => undefined);
      expect(await running.start.ended).toBe('SIGKILL');
      await makeItLongAgo(database, temporal.client);
      await start('start');
      return caused;
    },
    async close(): Promise<void> {
      await Promise.all(started.map((role) => role.stop()));
      await Promise.all([receiver.close(), temporal.close()]);
      await database.drop();
    },
  };
}

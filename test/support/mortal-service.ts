import { expect } from '@jest/globals';
import pg from 'pg';
import { judgeRecord } from '../crash/judge-record.js';
import { judgeWorkflows, runningWorkflows } from '../crash/judge-workflows.js';
import { startReceiver } from '../crash/receiver.js';
import { inProgress, readRecord } from '../crash/record.js';
import { accepted, caller } from './caller.js';
import { createDeployment } from './deployment.js';
import { makeItLongAgo } from './long-ago.js';
import { type MortalRole, startMortalRole } from './role-process.js';
import { SECRET, transferRequest } from './transfers.js';
import { waitFor } from './wait-for.js';

/** Attempt 2 follows at once, attempt 3 in an hour. */
const LADDER = '0s,1h';
const RUNGS = 3;

export type MortalService = Awaited<ReturnType<typeof startMortalService>>;

/**
 * The whole service in one process that a test ends at a failpoint, as `kill -9` does, with a client and a receiver.
 */
export async function startMortalService() {
  const deployment = await createDeployment({ DELIVERY_RETRY_DELAYS: LADDER });
  const { at, database, env, temporal } = deployment;
  /** The statuses of the receiver's responses to an event, in order; 204 after them. A test replaces the list. */
  const responses: { statuses: number[] } = { statuses: [] };
  const receiver = await startReceiver(SECRET, (path, _, n) =>
    path === '/gone' ? 410 : (responses.statuses[n - 1] ?? 204),
  );
  let service: MortalRole;
  const begin = async (more: Record<string, string> = {}) => {
    service = startMortalRole('start', { ...env, ...more });
    await service.ready;
  };
  const [credentials] = await Promise.all([deployment.createCredentials(), begin()]);
  const client = await caller(at, credentials);
  const inbox = { url: `${receiver.url}/in`, secret: SECRET };
  // On a busy machine a service that has just begun may not reach Postgres in time.
  const webhookId: string = (await accepted(() => client('POST', '/webhook-endpoints', inbox))).webhookId;

  const makeTransfer = async () => (await accepted(() => client('POST', '/transfers', transferRequest()))).id as string;
  const change = (id: string, headers?: Record<string, string>) =>
    client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }, headers);
  const arrivalsOf = (transfer: string) => receiver.arrivals.filter((arrival) => arrival.transfer === transfer);

  /** The delivery of a transfer's one event, with its attempts. */
  const readDelivery = async (transfer: string) => {
    const { data } = await accepted(() => client('GET', `/events?transfer_id=${transfer}`));
    expect(data).toHaveLength(1);
    const deliveries = (await accepted(() => client('GET', `/events/${data[0].id}/deliveries`))).data;
    return accepted(() => client('GET', `/deliveries/${deliveries[0].id}`));
  };

  return {
    env,
    database,
    temporal,
    receiver,
    client,
    /** The same client, as the options of clients/typescript. */
    login: { baseUrl: at.base_url, clientId: credentials.client_id, clientSecret: credentials.client_secret },
    webhookId,
    responses,
    begin,
    makeTransfer,
    change,
    arrivalsOf,
    readDelivery,
    /**
     * Ends the service at the failpoint `at`, which `cause` makes it pass, and starts it again.
     *
     * @returns the result of `cause`, or undefined when it got no response
     */
    async dieAndBegin<T>(
      [at, passes]: readonly [string, number],
      cause: () => Promise<T>,
      more?: Record<string, string>,
    ): Promise<T | undefined> {
      await service.dieAt(at, passes);
      const caused = cause().catch(() => undefined);
      expect(await service.ended).toBe('SIGKILL');
      expect(service.said.at(-1)).toBe(`died at failpoint ${at}`);
      await makeItLongAgo(database, temporal.client);
      await begin(more);
      return caused;
    },
    /** Kills the service where it is, and starts it again. */
    async killAndBegin(more?: Record<string, string>): Promise<void> {
      service.process.kill('SIGKILL');
      expect(await service.ended).toBe('SIGKILL');
      await makeItLongAgo(database, temporal.client);
      await begin(more);
    },
    /** Waits until the delivery has succeeded and the event is marked. */
    untilDelivered: (transfer: string) =>
      waitFor('the delivery and its mark', async () => {
        const delivery = await readDelivery(transfer);
        const [waiting] = await database.query<{ n: number }>('select count(*)::int as n from outbox', []);
        return delivery.status === 'succeeded' && waiting?.n === 0 && delivery;
      }),
    async count(table: string, where: string): Promise<number> {
      const [row] = await database.query<{ n: number }>(`select count(*)::int as n from ${table} where ${where}`, []);
      return row?.n ?? 0;
    },
    /** Waits until nothing is in progress, and expects that the record agrees with what arrived at the receiver. */
    async expectTrueRecord(): Promise<void> {
      const connection = new pg.Client({ connectionString: database.url.reveal() });
      await connection.connect();
      // A first workflow task that died with its worker is given to another after 10 s.
      await waitFor('quiet', async () => {
        const counts = [...Object.values(await inProgress(connection)), await runningWorkflows(temporal.client)];
        return counts.every((count) => count === 0);
      });
      const record = await readRecord(connection);
      await connection.end();
      expect(judgeRecord(record, receiver.arrivals, RUNGS).faults).toEqual([]);
      expect(await judgeWorkflows(temporal.client, record, RUNGS)).toEqual([]);
    },
    stopService: () => service.stop(),
    async stop(): Promise<void> {
      await service.stop();
      await receiver.close();
      await deployment.close();
    },
  };
}

import { pathToFileURL } from 'node:url';
import { expect } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { freePort } from '../../src/platform/free-port.js';
import { type ApiResponse, caller, must } from './caller.js';
import { runCli } from './cli.js';
import { readDelivered } from './delivered.js';
import { makeTransfers } from './load.js';
import { makeLocalDir } from './local-dir.js';
import { startNameServer } from './name-server.js';
import { startRawReceiver } from './raw-receiver.js';
import { startRole } from './role-process.js';
import { startStackProcess } from './stack-process.js';
import { SECRET } from './transfers.js';
import { waitFor } from './wait-for.js';

export const SHIFT_CLOCK = ['--import', pathToFileURL('test/support/shift-clock.js').href];
/** The limit of a statement, ms. In production it is 20 s. */
const QUERY_TIMEOUT = 2_000;
export const REFUSED = { status: 'CREATED', status_history: { length: 1 } };
export const MADE = { status: 'PROCESSING', status_history: { length: 2 } };

export async function readyz(url: string): Promise<{ status: number; checks: Record<string, string> }> {
  const response = await fetch(`${url}/readyz`);
  const { checks } = (await response.json()) as { checks: Record<string, string> };
  return { status: response.status, checks };
}

export type BadHours = Awaited<ReturnType<typeof startBadHours>>;

/** An API and a worker as separate processes on an embedded stack, with a name server, a client and two receivers. */
export async function startBadHours() {
  const localDir = makeLocalDir();
  const [stack, nameServer] = await Promise.all([startStackProcess(localDir.path), startNameServer()]);
  /** While it is pending, the receiver holds its responses. */
  let held: Promise<void> | undefined;
  const receiver = await startRawReceiver(async (socket) => {
    await held;
    socket.write('HTTP/1.1 204 x\r\n\r\n');
  });
  const failing = await startRawReceiver('HTTP/1.1 500 x\r\nContent-Length: 0\r\n\r\n');
  expect(await runCli(['migrate'], stack.env)).toMatchObject({ code: 0 });
  const admin = new pg.Client({ connectionString: stack.env.DATABASE_URL });
  await admin.connect();
  // As in production, the service is no superuser: Postgres makes exceptions for a superuser.
  await admin.query(`create role app login password 'app'; grant all on all tables in schema public to app`);
  const url = new URL(stack.env.DATABASE_URL as string);
  Object.assign(url, { username: 'app', password: 'app' });
  url.searchParams.set('query_timeout', String(QUERY_TIMEOUT));
  const env: Record<string, string> = {
    ...{ ...stack.env, DATABASE_URL: url.href, TEMPORAL_NAMESPACE: 'bad-hours' },
    ...{ LOG_LEVEL: 'warn', RATE_LIMIT: '1000000', DELIVERY_RETRY_DELAYS: '0s,1h' },
  };
  const at = { auth_url: env.AUTH_URL as string, base_url: env.BASE_URL as string };
  const temporal = await Connection.connect({ address: env.TEMPORAL_ADDRESS as string });
  const metricsPort = await freePort();
  const workerUrl = `http://127.0.0.1:${metricsPort}`;
  const api = startRole('api', env, SHIFT_CLOCK);
  const worker = startRole('worker', { ...env, ...nameServer.env, METRICS_PORT: String(metricsPort) }, SHIFT_CLOCK);
  const { stdout } = await runCli(['clients', 'create', '--json', '--name', 'bad hours'], env);
  const credentials: { client_id: string; client_secret: string } = JSON.parse(stdout);
  await Promise.all([api.ready, worker.ready]);
  let client = await caller(at, credentials);
  await must(client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));

  const change = (id: string, headers?: Record<string, string>): Promise<ApiResponse> =>
    client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }, headers);

  async function newTransfer(): Promise<string> {
    const [id] = await makeTransfers(client, 1);
    return id as string;
  }

  const arrivals = (transferId: string): number =>
    receiver.requests.filter((raw) => readDelivered(raw, SECRET).transferId === transferId).length;

  async function untilDelivered(transferId: string): Promise<void> {
    await waitFor(
      'the event to be delivered',
      async () => (await must(client('GET', `/events?transfer_id=${transferId}`))).data[0]?.deliveries.succeeded === 1,
      90_000,
    );
  }

  /**
   * A worker has taken the workflow's tasks. In a new namespace it does so once its older polls have expired (60 s).
   */
  async function untilWorkflowEnded(transferId: string): Promise<void> {
    const [event] = (await must(client('GET', `/events?transfer_id=${transferId}`))).data;
    const handle = new Client({ connection: temporal, namespace: 'bad-hours' }).workflow.getHandle(event.id);
    const ended = async () => (await handle.describe().catch(() => undefined))?.status.name === 'COMPLETED';
    await waitFor('its workflow to end', ended, 120_000);
  }

  /** Expects the response of a service whose dependency fails. */
  function expectUnavailable({ status, headers, body }: ApiResponse): void {
    expect([status, body.code, headers.get('content-type')]).toEqual([
      503,
      'unavailable',
      expect.stringContaining('application/problem+json'),
    ]);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  }

  /**
   * Expects that a failure leaves nothing half done: two requests are rejected during it, the delivery in flight is
   * recorded once after it, and both requests succeed once when they are sent again.
   * @param afterwards the states that the transfer of the rejected request may have
   */
  async function expectNothingHalfDone(
    begin: () => Promise<unknown>,
    end: () => Promise<unknown>,
    afterwards = [REFUSED],
  ): Promise<void> {
    const inFlight = await newTransfer();
    const [bare, keyed] = [await newTransfer(), await newTransfer()];
    let release = () => {};
    held = new Promise((resolve) => {
      release = resolve;
    });
    await must(change(inFlight));
    await waitFor('the attempt to be in flight', () => arrivals(inFlight) === 1);
    await begin();
    try {
      expectUnavailable(await waitFor('a refusal', () => refusal(bare)));
      expectUnavailable(await change(keyed, { 'Idempotency-Key': keyed }));
      release();
      expectUnavailable(await client('POST', '/webhook-endpoints', { url: receiver.url, secret: SECRET }));
    } finally {
      held = undefined;
      release();
      await end();
    }
    const read = () => client('GET', `/transfers/${bare}`);
    const after = await waitFor('a response', () => read().then((response) => response.status === 200 && response));
    const {
      status,
      status_history: { length },
    } = after.body;
    expect(afterwards).toContainEqual({ status, status_history: { length } });
    // 409: the change was made in spite of the error.
    await waitFor('the change to be made', async () => [200, 409].includes((await change(bare)).status));
    await waitFor(
      'the change with its key',
      async () => (await change(keyed, { 'Idempotency-Key': keyed })).status === 200,
    );
    for (const id of [inFlight, bare, keyed]) await untilDelivered(id);
    expect([inFlight, bare, keyed].map(arrivals)).toEqual([1, 1, 1]);
    expect((await must(client('GET', '/webhook-endpoints'))).data).toHaveLength(1);
  }

  async function refusal(id: string): Promise<ApiResponse | false> {
    const response = await client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' });
    return response.status !== 200 && response;
  }

  return {
    localDir,
    stack,
    nameServer,
    env,
    admin,
    temporal,
    at,
    api,
    worker,
    workerUrl,
    /** The receiver that accepts every delivery. */
    receiver,
    /** The receiver that rejects every delivery. */
    failing,
    client: (...request: Parameters<typeof client>) => client(...request),
    /** Gets a new token for the client. */
    async renewToken(): Promise<void> {
      client = await caller(at, credentials);
    },
    change,
    newTransfer,
    arrivals,
    untilDelivered,
    untilWorkflowEnded,
    expectUnavailable,
    expectNothingHalfDone,
    async stop(): Promise<void> {
      await Promise.all([api.stop(), worker.stop()]);
      await Promise.all([receiver.close(), failing.close(), admin.end(), temporal.close()]);
      nameServer.close();
      await stack.stop();
      await localDir.remove();
    },
  };
}

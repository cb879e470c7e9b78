import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { countDeliveries, makeBacklog } from '../support/backlog.js';
import { type Caller, must } from '../support/caller.js';
import type { TestDatabase } from '../support/database.js';
import { createDeployment, type Deployment } from '../support/deployment.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { type MortalRole, type RoleProcess, startMortalRole, startRole } from '../support/role-process.js';
import { SECRET, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

// An endpoint with a backlog is disabled over HTTP. The worker that cancels the backlog is killed, and another
// continues.

const BACKLOG = 6_000;
/** Events whose first attempts no worker has made: they come last, so that their deliveries stay pending longest. */
const FRESH = 10;

let deployment: Deployment;
let database: TestDatabase;
let receiver: RawReceiver;
let env: Record<string, string>;
let client: Caller;
let api: RoleProcess;
let worker: MortalRole;

beforeAll(async () => {
  deployment = await createDeployment();
  ({ database, env } = deployment);
  receiver = await startRawReceiver('HTTP/1.1 204 x\r\n\r\n');
  api = startRole('api', env);
  await api.ready;
  client = await deployment.createClient();
}, 120_000);

afterAll(async () => {
  await Promise.all([api?.stop(), worker?.stop()]);
  await receiver?.close();
  await deployment?.close();
}, 120_000);

async function change(): Promise<void> {
  const { id } = await must(client('POST', '/transfers', transferRequest()));
  await must(client('POST', `/sandbox/transfers/${id}/status`, { status: 'PROCESSING' }));
}

test('disabling an endpoint with a backlog answers at once, stops every attempt, and ends after a crash too', async () => {
  const url = receiver.url;
  const { webhookId } = await must(client('POST', '/webhook-endpoints', { url, secret: SECRET }));
  const path = `/webhook-endpoints/${webhookId}`;
  await makeBacklog(database, webhookId, BACKLOG);
  for (let i = 0; i < FRESH; i++) await change();

  expect(await must(client('PUT', path, { url, enabled: false }))).toMatchObject({ disabled_reason: 'owner' });
  expect(await countDeliveries(database, webhookId)).toEqual({
    endpoint_disabled: 1_000,
    pending: BACKLOG + FRESH - 1_000,
  });
  const [delivery] = (await must(client('GET', `${path}/deliveries?status=pending`))).data;
  const expectStillCancelling = async () => {
    const codes = [
      await client('PUT', path, { url, enabled: true }),
      await client('POST', `${path}/recover`, { since: '2026-01-01T00:00:00Z' }),
      await client('POST', `/deliveries/${delivery.id}/retry`),
    ].map(({ status, body }) => [status, body.code]);
    expect(codes).toEqual([
      [409, 'cancellation_in_progress'],
      [409, 'cancellation_in_progress'],
      [409, 'endpoint_not_active'],
    ]);
  };
  await expectStillCancelling();

  worker = startMortalRole('worker', env);
  await worker.dieAt('after-cancelled', 2);
  expect(await worker.ended).toBe('SIGKILL');
  await expectStillCancelling();

  worker = startMortalRole('worker', env);
  const counts = await waitFor('the backlog to be cancelled', async () => {
    const { pending, ...ended } = await countDeliveries(database, webhookId);
    return pending === undefined && ended;
  });
  expect(counts).toEqual({ endpoint_disabled: BACKLOG + FRESH });

  await waitFor('the endpoint to be enabled', async () => {
    const { status, body } = await client('PUT', path, { url, enabled: true });
    if (status !== 200) expect(body.code).toBe('cancellation_in_progress');
    return status === 200;
  });
  expect(receiver.requests).toEqual([]);
  await change();
  await waitFor('the next event to arrive', () => receiver.requests.length > 0);
  expect(receiver.requests).toHaveLength(1);
  expect(await countDeliveries(database, webhookId)).toMatchObject({ endpoint_disabled: BACKLOG + FRESH });
});

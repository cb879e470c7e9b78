import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startApi, type TestApi } from '../support/api.js';
import { endpointRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

let api: TestApi;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

it('responds with 503 and changes nothing if Postgres ends the connection during a transaction', async () => {
  const client = await api.client();
  const { database } = api;
  // Blocks the registration at its lock, so that its connection can be ended meanwhile.
  const lock = `select pg_advisory_xact_lock(hashtextextended('endpoints of ' || $1::text, 0))::text`;
  let reply: ReturnType<typeof client.call> | undefined;
  await database.transaction(async (tx) => {
    await tx.query(lock, [client.id]);
    reply = client.call('POST', '/webhook-endpoints', { json: endpointRequest(), headers: { 'Idempotency-Key': 'a' } });
    await waitFor('the registration to be ended', async () => {
      const ended = await database.query(
        `select pg_terminate_backend(pid)::text from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'`,
        [],
      );
      return ended.length > 0;
    });
  });
  const { status, body, headers } = (await reply) ?? {};
  expect([status, body.code, headers?.get('retry-after')]).toEqual([503, 'unavailable', '2']);
  const again = await client.call('POST', '/webhook-endpoints', {
    json: endpointRequest(),
    headers: { 'Idempotency-Key': 'a' },
  });
  expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, null]);
  expect((await client.call('GET', '/webhook-endpoints')).body.data).toHaveLength(1);
});

import { expect, it } from '@jest/globals';
import { newId } from '../../src/platform/ids.js';
import { openApi } from '../support/api.js';
import { endpointRequest, transferRequest } from '../support/transfers.js';
import { waitFor } from '../support/wait-for.js';

const api = await openApi();

it("one client's requests that wait for each other do not block another client's", async () => {
  const [client, victim] = [await api.client(), await api.client()];
  const session = await api.database.openSession();
  await session.query('begin');
  await session.query(`select pg_advisory_xact_lock(hashtextextended('endpoints of ' || $1::text, 0))`, [client.id]);
  const post = (by: typeof client, path: string, json: unknown) =>
    by.call('POST', path, { json, headers: { 'Idempotency-Key': newId() } });
  // More than the process has connections.
  const waiting = Array.from({ length: 20 }, (_, i) =>
    i % 2
      ? post(client, '/webhook-endpoints', endpointRequest())
      : client.call('POST', '/webhook-endpoints', { json: endpointRequest() }),
  );
  await api.database.untilBlocked();
  const statuses: number[] = [];
  for (let i = 0; i < 5; i++) statuses.push((await post(victim, '/transfers', transferRequest())).status);
  await session.query('rollback');
  await Promise.all(waiting);
  expect(statuses).toEqual(Array(5).fill(201));
});

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

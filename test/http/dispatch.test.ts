import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { newId } from '../../src/platform/ids.js';
import { startApi, type TestApi } from '../support/api.js';
import { endpointRequest, transferRequest } from '../support/transfers.js';

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

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

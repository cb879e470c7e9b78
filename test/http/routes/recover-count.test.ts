import { expect, it } from '@jest/globals';
import { newId } from '../../../src/platform/ids.js';
import { openApi, type TestClient } from '../../support/api.js';
import type { Reply } from '../../support/documented.js';
import { endpointRequest, transferRequest } from '../../support/transfers.js';

// Two processes of the API share a database.

const api = await openApi();
const second = await openApi({ database: api.database });

const DAY = 86_400_000;
const said = ({ status, body }: Reply) => [status, body.code];

async function register(client: TestClient): Promise<string> {
  return (await client.call('POST', '/webhook-endpoints', { json: endpointRequest() })).body.webhookId;
}

function recover(client: TestClient, webhookId: string, { at = api, keyed = false, includeMissing = true } = {}) {
  return at.call('POST', `/webhook-endpoints/${webhookId}/recover`, {
    json: { since: new Date(Date.now() - 30 * DAY).toISOString(), include_missing: includeMissing },
    headers: { Authorization: `Bearer ${client.token}`, ...(keyed && { 'Idempotency-Key': newId() }) },
  });
}

// Thirty recoveries over 1.5 M events held every transaction of the process: other clients' keyed POSTs got 503.
it.each([
  ['include_missing', true, 'endpoint_disabled_periods'],
  ['no option', false, 'deliveries'],
])('of thirty recoveries at once with %s one counts, and the others do not wait', async (_, includeMissing, table) => {
  const [client, victim] = [await api.client(), await api.client()];
  const webhookId = await register(client);
  const blocker = await api.database.openSession();
  await blocker.query(`begin; lock table ${table} in access exclusive mode`);
  const first = recover(client, webhookId, { includeMissing });
  await api.database.untilBlocked();
  const others = Array.from({ length: 30 }, (_, i) =>
    recover(client, webhookId, { at: i % 2 ? second : api, keyed: i % 3 === 0, includeMissing }),
  );
  for (const other of await Promise.all(others)) {
    expect([...said(other), other.headers.get('retry-after')]).toEqual([429, 'statement_limit_reached', '1']);
  }
  const headers = { 'Idempotency-Key': newId() };
  expect((await victim.call('POST', '/transfers', { json: transferRequest(), headers })).status).toBe(201);
  const [counting] = await api.database.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    [],
  );
  expect(counting?.count).toBe(1);
  expect(said(await first)).toEqual([503, 'unavailable']);
  await blocker.query('rollback');
  // Rejected requests did not count: the next recovery starts at once.
  expect((await recover(client, webhookId, { includeMissing })).body).toEqual({
    id: null,
    count: 0,
    missing: 0,
    pending: 0,
  });
});

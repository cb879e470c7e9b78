import { beforeAll, expect, it } from '@jest/globals';
import { nodesOf, openExplained, rowsOf } from '../../bench/lists/plans.js';
import { disableEndpoint } from '../../src/endpoints/disable.js';
import { setEndpointEnabledByOperator } from '../../src/endpoints/endpoints.js';
import { EndpointHours, HOUR } from '../../src/endpoints/hours.js';
import { readNotified } from '../../src/endpoints/notified.js';
import { watchEndpoints } from '../../src/endpoints/watch.js';
import { routeNotifications } from '../../src/notifications/notify.js';
import { NIL_ID } from '../../src/platform/ids.js';
import { makeOne } from '../support/attempt.js';
import { makeBacklog } from '../support/backlog.js';
import { commitEvent } from '../support/committed-event.js';
import { openTestDatabase } from '../support/database.js';
import { makeClient, makeEndpoint, OPERATOR, outcome, refusedBy } from '../support/factories.js';
import { silentLog } from '../support/silent-log.js';

const db = await openTestDatabase();
let clientId: string;
beforeAll(async () => {
  clientId = await makeClient(db);
});

const endpoint = async () => {
  const { id } = await makeEndpoint(db, clientId, { url: 'https://hooks.example.com/in?token=t0ken' });
  await db.query(`update webhook_endpoints set enabled_at = now() - interval '3 days' where id = $1::uuid`, [id]);
  return id;
};
const watch = () => db.transaction((tx) => watchEndpoints(tx, NIL_ID, 1_000));
const toldOf = async (endpointId: string) => {
  const rows = await db.prisma.notification.findMany({ where: { endpointId }, orderBy: { id: 'asc' } });
  return rows.map(({ body }) => JSON.parse(body));
};
const typesOf = async (id: string) => (await toldOf(id)).map(({ type }) => type);

/** Counts attempts of `hoursAgo`. */
async function attempts(id: string, count: number, result: 'ok' | 'fails', hoursAgo = 0): Promise<void> {
  const hours = new EndpointHours(db, silentLog);
  const startedAt = new Date(Date.now() - hoursAgo * HOUR);
  for (let i = 0; i < count; i++)
    hours.count(id, { ...(result === 'ok' ? outcome() : refusedBy(503)), startedAt, durationMs: 5 });
  await hours.write();
}
const passTime = (interval: string) =>
  db.query(`update notifications set created_at = created_at - $1::text::interval`, [interval]);

it('an endpoint is failing after ten failures without a success for an hour, and its client is told once', async () => {
  const [failing, lucky] = [await endpoint(), await endpoint()];
  await attempts(lucky, 1, 'ok');
  for (const id of [failing, lucky]) await attempts(id, 9, 'fails');
  await watch();
  expect(await typesOf(failing)).toEqual([]);
  for (const id of [failing, lucky]) await attempts(id, 1, 'fails');
  await watch();
  await watch();
  expect(await typesOf(lucky)).toEqual([]);
  expect(await toldOf(failing)).toEqual([
    {
      id: expect.any(String),
      version: '2026-11-21',
      type: 'endpoint.failing',
      data: {
        ...{ client_id: clientId, client_name: 'test', webhookId: failing, host: 'hooks.example.com' },
        ...{ description: null, failing_since: expect.any(String), last_success_at: null },
        ...{ last_error: 'status', last_response_status: 503, pending: 0 },
      },
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$/),
    },
  ]);
  await passTime('2 hours');
  await watch();
  expect(await typesOf(failing)).toEqual(['endpoint.failing']);
});

// Its last error was null.
it('regression: an exhausted delivery is enough, and its last attempt told, although the counts were lost in a crash', async () => {
  const event = await commitEvent(db, { retryDelays: [] });
  const { endpointId: id, deliveryId } = event.deliveries[0]!;
  await db.query(`update webhook_endpoints set enabled_at = now() - interval '3 days' where id = $1::uuid`, [id]);
  await makeOne(db, deliveryId, refusedBy(503));
  await watch();
  expect(await toldOf(id)).toMatchObject([
    { type: 'endpoint.failing', data: { last_error: 'status', last_response_status: 503 } },
  ]);
});

// A timeout was told with the status of another attempt.
it('regression: a message tells error and status of the same attempt', async () => {
  const event = await commitEvent(db, { retryDelays: [] });
  const { endpointId: id, deliveryId } = event.deliveries[0]!;
  await db.query(`update webhook_endpoints set enabled_at = now() - interval '3 days' where id = $1::uuid`, [id]);
  await makeOne(db, deliveryId, refusedBy(503));
  const hours = new EndpointHours(db, silentLog);
  hours.count(id, outcome({ error: 'timeout', responseStatus: null }));
  await hours.write();
  await watch();
  expect(await toldOf(id)).toMatchObject([{ data: { last_error: 'timeout', last_response_status: null } }]);
});

it('an endpoint that succeeds again has recovered', async () => {
  const id = await endpoint();
  await attempts(id, 10, 'fails', 2);
  await watch();
  await attempts(id, 1, 'ok');
  await watch();
  await watch();
  expect(await typesOf(id)).toEqual(['endpoint.failing', 'endpoint.recovered']);
});

it('disabling tells reason and number of the cancelled deliveries once an hour, and a success after it recovers', async () => {
  const id = await endpoint();
  await makeBacklog(db, id, 1_200);
  await db.transaction((tx) => disableEndpoint(tx, id, 'gone'));
  const [told] = await toldOf(id);
  expect(told).toMatchObject({ type: 'endpoint.disabled', data: { reason: 'gone', cancelled: 1_200 } });
  expect((await readNotified(db)).disabled).toBe(1);
  await db.query(`update webhook_endpoints set cancelling_after = null where id = $1::uuid`, [id]);
  await setEndpointEnabledByOperator(db, OPERATOR, id, true);
  await attempts(id, 1, 'ok');
  await db.transaction((tx) => disableEndpoint(tx, id, 'gone'));
  await watch();
  expect(await typesOf(id)).toEqual(['endpoint.disabled']);
  await setEndpointEnabledByOperator(db, OPERATOR, id, true);
  await watch();
  expect(await typesOf(id)).toEqual(['endpoint.disabled', 'endpoint.recovered']);
});

it('ladders that end within six hours are told with their number and the first end, once a day', async () => {
  const id = await endpoint();
  await makeBacklog(db, id, 3);
  const set = (rung: number, hours: number) =>
    db.query(
      `update deliveries set asleep = true, ladder = '0s,1h,2h', rung = $2::int, next_attempt_at = now() + $3::int * interval '1 hour'
        where endpoint_id = $1::uuid`,
      [id, rung, hours],
    );
  await set(1, 4);
  await watch();
  expect(await typesOf(id)).toEqual([]);
  await set(2, 3);
  await watch();
  const [told] = await toldOf(id);
  expect(told).toMatchObject({ type: 'deliveries.ending', data: { count: 3, first_ends_at: expect.any(String) } });
  expect((Date.parse(told.data.first_ends_at) - Date.now()) / HOUR).toBeCloseTo(5, 1);
  await passTime('23 hours');
  await watch();
  expect(await typesOf(id)).toHaveLength(1);
  await passTime('2 hours');
  await watch();
  expect(await typesOf(id)).toHaveLength(2);
});

it('two workers that start the workflows of a message at once start one for each recipient', async () => {
  await db.query('update notifications set routed = true', []);
  await db.query('delete from workflow_starts', []);
  const id = await endpoint();
  await db.query(
    `update clients set notify_url = 'https://example.com/', notify_secret_envelope = 'v1:' where id = $1::uuid`,
    [clientId],
  );
  await db.transaction((tx) => disableEndpoint(tx, id, 'owner'));
  const route = () => db.transaction((tx) => routeNotifications(tx, { operator: true, retryDelays: [0, 86_400_000] }));
  await Promise.all([route(), route()]);
  const starts = await db.prisma.workflowStart.findMany({ orderBy: { workflowId: 'asc' } });
  expect(
    starts.map(({ type, renewedWithin, input }) => ({ type, renewedWithin, to: (input as { to: string }).to })),
  ).toEqual([
    { type: 'notify', renewedWithin: 87_000, to: 'client' },
    { type: 'notify', renewedWithin: 87_000, to: 'operator' },
  ]);
});

it('reads a bounded number of rows of each endpoint, beside a full table', async () => {
  const [busy, failing] = [await endpoint(), await endpoint()];
  await makeBacklog(db, busy, 20_000);
  await db.query(`update deliveries set status = 'succeeded', finished_at = now() where endpoint_id = $1::uuid`, [
    busy,
  ]);
  await makeBacklog(db, failing, 3_000);
  await attempts(failing, 20, 'fails');
  await db.pool.query('vacuum analyze');
  const explained = openExplained(db.url.reveal());
  try {
    await explained.transaction((tx) => watchEndpoints(tx, NIL_ID, 1_000));
    const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
    const reads = nodes.filter((node) => node['Relation Name'] === 'deliveries');
    expect(reads.length).toBeGreaterThan(0);
    for (const node of reads) expect(rowsOf(node)).toBeLessThanOrEqual(1_001 * (node['Actual Loops'] ?? 1));
    expect(nodes.filter((node) => node['Node Type'] === 'Seq Scan' && node['Relation Name'] === 'deliveries')).toEqual(
      [],
    );
  } finally {
    await explained.close();
  }
  expect(await typesOf(failing)).toEqual(['endpoint.failing', 'deliveries.ending']);
});

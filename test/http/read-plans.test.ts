import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { z } from 'zod';
import { fillPath, type PathIds } from '../../bench/lists/paths.js';
import { nodesOf, openExplained, type PlanNode, rowsOf } from '../../bench/lists/plans.js';
import { listQueries } from '../../bench/lists/queries.js';
import { fillPast } from '../../bench/past.js';
import { CLIENT_SCOPES } from '../../src/auth/caller.js';
import { startSession } from '../../src/auth/console-sessions.js';
import { sessionCookie } from '../../src/console/guard.js';
import { isForm } from '../../src/console/page.js';
import { declared } from '../../src/console/pages/index.js';
import { apiRoutes } from '../../src/http/app.js';
import { idCursor } from '../../src/http/paging.js';
import { DeliveryStatus } from '../../src/platform/database/generated/enums.js';
import { lowestIdAt, newId } from '../../src/platform/ids.js';
import { TRANSFER_STATUSES } from '../../src/transfers/states.js';
import { startApi } from '../support/api.js';
import { createTestDatabase } from '../support/database.js';
import { makeEndpoint, masterKeys } from '../support/factories.js';
import { rowsOfPlans } from '../support/filled-database.js';

// Every read of the API and the console, on tables where one endpoint of one client has nearly all rows. Postgres
// reports the plan of each statement that ran.

const ROWS = rowsOfPlans(30_000);
const SMALL_ROWS = 60;
const DAY = 86_400_000;
const TABLES = ['events', 'transfers', 'transfer_status_history', 'deliveries', 'attempts', 'endpoint_hours'];
/** Rows that a page reads at most: of each of two endpoints a thousand counted ones, and a page. */
const MOST = 1_100;
/** They read every row of a window, within the limits of statements, or the newest 10,000 ids. */
const COUNTS = /statement|missing_from|search/;

const db = await createTestDatabase();
const explained = openExplained(db.url.reveal());
const api = await startApi({ database: db, dependencies: { database: explained, masterKeys } });
const operator = await api.client(['operator']);
const operatorCookie = await cookieOf(operator.id, ['operator']);
const filling = new pg.Client({ connectionString: db.url.reveal() });
await filling.connect();
for (const table of TABLES) await filling.query(`alter table ${table} set (autovacuum_enabled = off)`);
const small = await makeTenant(SMALL_ROWS);
const big = await makeTenant(ROWS);
await filling.end();
afterAll(async () => {
  await api.close();
  await explained.close();
  await db.drop();
});

/** The ids that the paths of a client name. */
interface Tenant extends PathIds {
  client: string;
  token: string;
  cookie: string;
  /** Registered second, then disabled: it has missed events. */
  disabled: string;
}

async function makeTenant(rows: number): Promise<Tenant> {
  const { id, token } = await api.client();
  const endpoint = (await makeEndpoint(db, id)).id;
  const disabled = (await makeEndpoint(db, id, { enabled: false })).id;
  await fillPast({ database: filling }, { clients: [{ id, endpoints: [endpoint] }], endpointsEach: 1 }, rows, () => {});
  const same = `update transfers set reference = 'the same', idempotency_key = id::text where client_id = $1`;
  await filling.query(same, [id]);
  await filling.query('analyze');
  // A few of the oldest have another status, unknown to the statistics.
  const status = `(array['pending', 'failed', 'cancelled'])[1 + n % 3]::delivery_status`;
  await filling.query(
    `update deliveries d set status = ${status}, next_attempt_at = case when n % 3 = 0 then now() end
       from (select id, row_number() over (order by id) as n from deliveries where client_id = $1 order by id limit 9) o
      where d.id = o.id`,
    [id],
  );
  const early = `update endpoint_disabled_periods set started_at = now() - interval '29 days' where endpoint_id = $1`;
  await filling.query(early, [disabled]);
  await filling.query(
    `insert into endpoint_hours (endpoint_id, hour, succeeded, failed, answer_times)
     select id, hour, 1, 0, '{}' from generate_series(now() - interval '2 days', now(), '1 hour') hour,
            unnest($1::uuid[]) as id`,
    [[endpoint, ...Array.from({ length: 200 }, () => newId())]],
  );
  const [check, recovery, at] = [newId(), newId(), new Date()];
  const of = { clientId: id, endpointId: endpoint, finishedAt: at };
  await db.prisma.receiverCheck.create({ data: { id: check, ...of, status: 'passed' } });
  const window = { since: at, until: at, includeMissing: false, count: 1, missing: 0 };
  await db.prisma.recovery.create({ data: { id: recovery, ...of, ...window } });
  const cookie = await cookieOf(id, CLIENT_SCOPES);
  const where = { clientId: id };
  const {
    eventId,
    id: delivery,
    event,
  } = await db.prisma.delivery.findFirstOrThrow({ where, include: { event: true } });
  const ids = { event: eventId, delivery, transfer: event.transferId, check, recovery };
  return { client: id, token, cookie, endpoint, disabled, ...ids };
}

async function cookieOf(clientId: string, scopes: readonly string[]): Promise<string> {
  const grant = { clientId, secretId: null, role: 'editor', scopes } as const;
  const session = await db.transaction((tx) =>
    startSession(tx, grant, { signedInBy: 'operator-link', address: '127.0.0.1' }),
  );
  const [cookie = ''] = sessionCookie(api.dependencies.config.baseUrl).set(session.token).split(';');
  return cookie;
}

const now = Date.now();
const at = (days: number) => new Date(now - days * DAY).toISOString();
const RANGE = `created_after=${at(20)}&created_before=${at(19)}`;
const FIELDS = `created_after=${at(20).slice(0, 16)}&created_before=${at(19).slice(0, 16)}`;
const cursor = (list: string) => `cursor=${idCursor(list).write(lowestIdAt(now - 20 * DAY))}`;
const statuses = (more = '') => Object.values(DeliveryStatus).map((status) => `?status=${status}&limit=100${more}`);

/** The queries of a GET operation or a page, by its path: each parameter at least once. Others have none. */
const QUERIES: Readonly<Record<string, (tenant: Tenant) => string[]>> = {
  '/webhook-endpoints': () => ['', `?limit=100&${cursor('webhook endpoints')}`],
  '/webhook-endpoints/{webhookId}/deliveries': () => ['', `?${cursor('deliveries')}`, ...statuses()],
  '/webhook-endpoints/{webhookId}/statement': () => [`?since=${at(29)}&until=${at(1)}`],
  '/webhook-endpoints/{webhookId}/recoveries': () => ['', `?${cursor("an endpoint's recoveries")}`],
  '/transfers': () => [
    '?limit=100',
    `?${RANGE}`,
    `?${cursor('transfers')}`,
    '?status=PROCESSING',
    '?status=RETURNED',
    `?status=SENT&${RANGE}`,
    '?reference=none',
    '?reference=none&status=SENT',
    '?idempotency_key=none',
    '?idempotency_key=none&reference=none&status=SENT',
  ],
  '/operator/transfers': ({ client }) =>
    ['newest', 'oldest'].flatMap((order) => [
      `?order=${order}&limit=100`,
      `?order=${order}&${RANGE}`,
      `?order=${order}&${cursor("the operator's transfers")}`,
      `?order=${order}&client_id=${client}`,
      `?order=${order}&client_id=${client}&status=SENT`,
      `?order=${order}&reference=none`,
      ...TRANSFER_STATUSES.map((status) => `?order=${order}&status=${status}`),
    ]),
  '/operator/clients': () => ['', '?name=a'],
  '/events': ({ transfer, endpoint }) => [
    '?limit=100',
    `?${RANGE}`,
    `?type=transfer.status_changed&${RANGE}`,
    `?${cursor('events')}`,
    `?transfer_id=${transfer}`,
    `?missing_from=${endpoint}&${RANGE}`,
    '?order=oldest&limit=100',
    `?order=oldest&${RANGE}`,
    `?order=oldest&${cursor('the feed of events')}`,
    `?order=oldest&transfer_id=${transfer}`,
    `?order=oldest&type=transfer.status_changed&${cursor('the feed of events')}`,
    ...Object.values(DeliveryStatus).flatMap((status) => [
      `?outcome=${status}&type=transfer.status_changed`,
      `?outcome=${status}&${RANGE}`,
      `?outcome=${status}&${cursor('events')}`,
      `?outcome=${status}&transfer_id=${transfer}`,
    ]),
  ],
  '/events/{id}/deliveries': () => ['', `?${cursor('deliveries')}`, ...statuses()],
  '/deliveries': ({ endpoint, disabled, event, transfer }) => [
    '?limit=100',
    `?${RANGE}`,
    `?${cursor('deliveries')}`,
    `?event_id=${event}`,
    `?transfer_id=${transfer}&event_id=${event}`,
    `?webhookId=${disabled}`,
    ...['', `&${RANGE}`, `&webhookId=${endpoint}`].flatMap(statuses),
  ],
  '/deliveries/{id}/attempts': () => ['?limit=20'],
  '/console': () => ['', '?period=30d'],
  '/console/operator': () => ['', '?period=30d'],
  '/console/operator/clients': () => ['', '?name=a'],
  '/console/search': ({ delivery, transfer }) => [`?q=${delivery}`, `?q=${transfer}`, '?q=…0123abcd', '?q=none'],
  '/console/events': ({ transfer, delivery, endpoint }) => [
    `?webhookId=${endpoint}`,
    `?webhookId=${endpoint}&outcome=failed&${FIELDS}`,
    `?response=4xx&${cursor('deliveries')}`,
    `?response=timeout&transfer_id=${transfer}`,
    '',
    `?${FIELDS}`,
    `?transfer_id=${transfer}`,
    `?transfer_id=${delivery}`,
    `?${cursor('events')}`,
    ...Object.values(DeliveryStatus).flatMap((status) => [
      `?outcome=${status}`,
      `?outcome=${status}&${FIELDS}`,
      `?outcome=${status}&${cursor('events')}`,
    ]),
  ],
  '/console/deliveries': ({ endpoint, disabled, transfer }) => [
    '',
    `?${FIELDS}`,
    `?${cursor('deliveries')}`,
    `?webhookId=${endpoint}`,
    `?webhookId=${disabled}`,
    `?transfer_id=${transfer}`,
    ...['', `&${FIELDS}`, `&webhookId=${endpoint}`].flatMap(statuses),
    '?response=4xx',
    `?response=timeout&webhookId=${endpoint}&${FIELDS}`,
    `?response=401&status=failed&${cursor('deliveries')}`,
  ],
  '/console/deliveries/retried': ({ delivery }) => [`?requested=${delivery}`],
  '/console/endpoints/{webhookId}': () => ['', '?period=7d', '?period=30d'],
  '/console/endpoints/{webhookId}/check': ({ check }) => ['', `?id=${check}`],
  '/console/endpoints/{webhookId}/new-secret': ({ disabled }) => ['', `?new=${disabled}`],
  '/console/endpoints/{webhookId}/recoveries': () => ['', `?${cursor("an endpoint's recoveries")}`],
  '/console/endpoints/{webhookId}/statement': () => [
    '',
    `?since=${at(29).slice(0, 16)}&until=${at(1).slice(0, 16)}`,
    `?since=${at(20).slice(0, 16)}&until=${at(19).slice(0, 16)}`,
  ],
  '/console/transfers': () => ['', `?${FIELDS}`, '?status=RETURNED', `?status=SENT&${FIELDS}`, '?reference=none'],
};

async function get(address: string, { token, cookie }: Tenant): Promise<void> {
  const bearer = { Authorization: `Bearer ${address.startsWith('/operator') ? operator.token : token}` };
  const session = address.startsWith('/console/operator') ? operatorCookie : cookie;
  const headers = address.startsWith('/console') ? { Cookie: session } : bearer;
  const { status, text } = await api.call('GET', address, { headers });
  const isPlain = status === 200 || (status === 303 && /\?(transfer_id|q)=/.test(address));
  if (!isPlain) throw new Error(`${address}: ${status} ${text.slice(0, 300)}`);
}

/** A node that reads one of the tables, with its cost. */
function costOf(node: PlanNode): { rows: number; pages: number; what: string } | undefined {
  const table = node['Relation Name'];
  if (!TABLES.includes(table ?? '') && !/^(events|transfer|deliveries|attempts)/.test(node['Index Name'] ?? '')) return;
  const below = (node.Plans ?? []).reduce((sum, each) => sum + pagesOf(each), 0);
  const [rows, pages] = [rowsOf(node), pagesOf(node) - below];
  const what = `${node['Node Type']} ${node['Index Name'] ?? ''} of ${table}: ${rows} rows, ${pages} pages`;
  return { rows, pages, what };
}

const pagesOf = (node: PlanNode) => (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0);

/**
 * The nodes of `read` that read more than `most` rows, a table from end to end, or so many pages that they walk through
 * entries of an index which they do not give: a plan does not count these.
 */
async function excesses(name: string, read: () => Promise<unknown>, most: number): Promise<string[]> {
  explained.plans();
  await read();
  const nodes = explained.plans().flatMap(({ Plan }) => nodesOf(Plan));
  return nodes.flatMap((node) => {
    const cost = costOf(node);
    if (!cost) return [];
    const { rows, pages, what } = cost;
    const walks = pages > 12 * node['Actual Loops'] + 6 * rows;
    return node['Node Type'] === 'Seq Scan' || rows > most || walks ? [`${name}: ${what}`] : [];
  });
}

const operations = () => apiRoutes(api.dependencies).filter(({ method }) => method === 'GET');
const paths = () => [...operations(), ...declared.filter((each) => !isForm(each))].map(({ path }) => path);
const queriesOf = (path: string, tenant: Tenant) => QUERIES[path]?.(tenant) ?? [''];
const everyAddress = (tenant: Tenant) =>
  paths().flatMap((path) => queriesOf(path, tenant).map((query) => `${fillPath(path, tenant)}${query}`));

test('every parameter of a GET operation is read here', () => {
  for (const { path, query } of operations()) {
    const parameters = query instanceof z.ZodObject ? Object.keys(query.shape) : [];
    const asked = queriesOf(path, small).join();
    const unasked = parameters.filter((name) => !asked.includes(`${name}=`));
    expect([path, unasked.filter((name) => name !== 'limit' && name !== 'cursor')]).toEqual([path, []]);
  }
  expect(Object.keys(QUERIES).filter((path) => !paths().includes(path))).toEqual([]);
});

describe.each(['force_custom_plan', 'force_generic_plan'])('with %s', (mode) => {
  beforeAll(() => explained.pool.query(`set plan_cache_mode = ${mode}`));

  test("no read of a small client reads another client's rows", async () => {
    const bad: string[] = [];
    for (const address of everyAddress(small).filter((each) => !/^(\/console)?\/operator/.test(each))) {
      bad.push(...(await excesses(address, () => get(address, small), SMALL_ROWS)));
    }
    expect(bad).toEqual([]);
  });

  test('no list of the client that has nearly all rows reads more than a page', async () => {
    const bad: string[] = [];
    for (const address of everyAddress(big).filter((each) => !COUNTS.test(each))) {
      bad.push(...(await excesses(address, () => get(address, big), MOST)));
    }
    expect(bad).toEqual([]);
  });

  test('no list of the operator reads more than a page', async () => {
    const bad: string[] = [];
    const { client: bigClient, endpoint } = big;
    const ofSmall = { smallClient: small.client, smallEndpoint: small.endpoint };
    const filled = { bigClient, failingEndpoint: endpoint, busyEndpoint: endpoint, ...ofSmall };
    for (const [name, run] of await listQueries(explained, filled)) {
      if (name.startsWith('operator')) bad.push(...(await excesses(name, () => run(explained), MOST)));
    }
    expect(bad).toEqual([]);
  });
});

import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { type Caller, must } from '../support/caller.js';
import { changeAll, makeTransfers } from '../support/load.js';
import { type Production, startProduction } from '../support/production.js';
import { type Delays, percentile, QuietClient, reportDelays } from '../support/quiet-client.js';
import { type RawReceiver, startRawReceiver } from '../support/raw-receiver.js';
import { SECRET } from '../support/transfers.js';

// Dead endpoints with a long past, and more lines without a slot than one scan of the queue looks at, do not delay
// another client. `npm run bench:isolation` is the long form.

const LONG = process.env.ISOLATION === 'long';
const PAST = LONG ? 1_000_000 : 100_000;
const DEAD = 50;
const HANGING = 300;
const TRICKLE = LONG ? 100 : 20;
const INTERVAL = 300;
/** The longest delay that another client may cause, ms. */
const BOUND = 2_000;

let production: Production;
let silent: RawReceiver;
let quiet: QuietClient;
let alone: Delays;

beforeAll(async () => {
  // Each failure at once exhausts a delivery.
  const env = { MAX_ENDPOINTS: '1000', DELIVERY_RETRY_DELAYS: '0s', DISABLE_AFTER: '5d' };
  production = await startProduction(env);
  silent = await startRawReceiver(() => undefined);
  production.startWorker({ METRICS_PORT: '0' });
  quiet = await QuietClient.start(await production.newClient('quiet'));
  await quiet.trickle(5, 0);
  alone = await quiet.trickle(TRICKLE, INTERVAL);
  reportDelays('alone', alone);
}, 240_000);
afterAll(async () => {
  await production?.stop();
  await quiet?.close();
  await silent?.close();
}, 60_000);

async function onPostgres<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: production.env.DATABASE_URL });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function makeEndpoints(call: Caller, count: number, url: string): Promise<void> {
  for (let i = 0; i < count; i++) await must(call('POST', '/webhook-endpoints', { url, secret: SECRET }));
}

async function judge(name: string, beside: Delays): Promise<void> {
  reportDelays(name, beside);
  expect(percentile(beside.first, 1)).toBeLessThan(percentile(alone.first, 1) + BOUND);
  expect(percentile(beside.retry, 1)).toBeLessThan(percentile(alone.retry, 1) + BOUND);
}

// Successes of ten days ago, and failures since six days ago.
const PAST_OF = `
with endpoint as (
  update webhook_endpoints e set enabled_at = now() - interval '90 days' where url = $1 returning id, client_id
), event as (
  select v.id, v.client_id from events v join endpoint e on e.client_id = v.client_id order by v.id limit 1
)
insert into deliveries (id, event_id, endpoint_id, client_id, status, attempt_count, ladder, created_at, finished_at)
select (lpad(to_hex(floor(extract(epoch from n.at) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3)
        || 'a' || substr(md5(random()::text), 1, 15))::uuid,
       (select id from event), e.id, e.client_id, n.status::delivery_status, 1, '0s', n.at, n.at
  from endpoint e cross join (
    select now() - interval '10 days' - i * interval '1 second' as at, 'succeeded' as status from generate_series(1, $2::int) i
    union all
    select now() - interval '6 days' + i * interval '1 second', 'failed' from generate_series(1, 1000) i) n`;

test('fifty dead endpoints with a past are disabled, and another client waits at most 2 s longer', async () => {
  const call = await production.newClient('dead');
  const url = 'http://127.0.0.1:1/dead';
  await makeEndpoints(call, 1, url);
  // One event, to which the past belongs.
  await changeAll(call, await makeTransfers(call, 1), 'PROCESSING').done;
  await makeEndpoints(call, DEAD - 1, url);
  await onPostgres(async (client) => {
    await client.query(PAST_OF, [url, PAST / DEAD]);
    await client.query('analyze deliveries');
  });
  const flood = changeAll(call, await makeTransfers(call, 100), 'PROCESSING');
  await judge(`beside ${DEAD} dead endpoints with ${PAST} successes`, await quiet.trickle(TRICKLE, INTERVAL));
  await flood.done;
  const { data } = await must(call('GET', '/webhook-endpoints?limit=100'));
  expect(data.map((endpoint: { disabled_reason: string }) => endpoint.disabled_reason)).toEqual(
    Array(DEAD).fill('failing'),
  );
}, 600_000);

test('600 lines without a free slot do not delay another client', async () => {
  const call = await production.newClient('hanging');
  await makeEndpoints(call, HANGING, silent.url);
  const flood = changeAll(call, await makeTransfers(call, 20), 'PROCESSING');
  await flood.done;
  await judge(`beside ${HANGING} hanging endpoints`, await quiet.trickle(TRICKLE, INTERVAL));
}, 600_000);

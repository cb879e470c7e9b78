import { ALL_CLIENTS, bucketOf, EndpointHours, HOUR } from '../../src/endpoints/hours.js';
import { newId } from '../../src/platform/ids.js';
import { type DeliveryData, makeTimeline } from './console-data.js';
import type { TestDatabase } from './database.js';
import { makeEndpoint, makeTransfer } from './factories.js';

/** Makes a client's past of a month: endpoints that work, fail and are disabled, attempts of each hour, deliveries. */
export async function makePast(db: TestDatabase, clientId: string, now = Date.now()) {
  const orders = await makeEndpoint(db, clientId, { url: 'https://hooks.example.com/orders' });
  const ledger = await makeEndpoint(db, clientId, { url: 'https://hooks.example.com/ledger' });
  const mailer = await makeEndpoint(db, clientId, { url: 'https://mail.example.net/in' });
  for (const [{ id }, description] of [
    [orders, 'Orders'],
    [ledger, 'Ledger'],
    [mailer, 'Mailer'],
  ] as const) {
    await db.prisma.endpoint.update({ where: { id }, data: { description } });
  }
  const gone = { enabled: false, disabledReason: 'gone' } as const;
  await db.prisma.endpoint.update({ where: { id: mailer.id }, data: gone });
  for (const [id, share] of [
    [orders.id, 0],
    [ledger.id, 0.12],
    [clientId, 0.06],
    [ALL_CLIENTS, 0.06],
  ] as const) {
    await db.query(PAST, [id, share, new Date(now).toISOString(), bucketOf(90), bucketOf(600)]);
  }
  const hours = new EndpointHours(db, { error: () => undefined } as never);
  const failure = {
    startedAt: new Date(now - 60_000),
    durationMs: 15_000,
    responseStatus: null,
    error: 'timeout',
  } as const;
  hours.count(ledger.id, failure);
  await hours.write();
  await db.query(MARKS, [ledger.id, clientId, newId(now - 4 * HOUR), new Date(now).toISOString()]);
  const deliveries: [string, DeliveryData][] = [
    [orders.id, { outcomes: [204], status: 'succeeded' }],
    [ledger.id, { outcomes: [503, 503, 'timeout'], status: 'pending', nextAttemptAt: new Date(now + 5_400_000) }],
    [ledger.id, { outcomes: [401, 401, 401, 401, 401, 401, 401], status: 'failed', reason: 'exhausted' }],
    [mailer.id, { outcomes: [410], status: 'failed', reason: 'endpoint_gone' }],
  ];
  const made = [];
  for (const [endpointId, data] of deliveries) {
    const one = await makeTimeline(db, clientId, { ...data, endpointId });
    const reference = `Invoice 2026-${1042 + made.length}`;
    const transfer = await makeTransfer(db, clientId);
    await db.query(REFERENCE, [transfer.id, one.transferId, reference]);
    made.push(one);
  }
  return { orders, ledger, mailer, made };
}

const PAST = `
insert into endpoint_hours (endpoint_id, hour, succeeded, failed, answer_times, causes, last_success_at)
select $1::uuid, hour, made - failed, failed,
       array_fill(0, array[$4::int]) || (made * 9 / 10) || array_fill(0, array[$5::int - $4::int]) || (made / 10),
       case when failed > 0 then jsonb_build_object('503', failed - failed / 3, 'timeout', failed / 3) else '{}' end,
       hour + interval '59 minutes'
  from (select hour, made, (made * $2::float8)::int as failed
          from (select hour, 20 + (60 * (1 + sin(extract(epoch from hour) / 13751)))::int as made
                  from generate_series(date_trunc('hour', $3::timestamptz, 'UTC') - interval '30 days',
                                       $3::timestamptz - interval '1 hour', '1 hour') hour) h) c
on conflict do nothing`;

const MARKS = `
with disabled as (
  insert into endpoint_disabled_periods (endpoint_id, started_at, ended_at, reason)
  values ($1::uuid, $4::timestamptz - interval '7 hours', $4::timestamptz - interval '4 hours', 'failing')
)
insert into recoveries (id, client_id, endpoint_id, since, until, include_missing, count, missing, started, status,
                        created_at, finished_at)
values ($3::uuid, $2::uuid, $1::uuid, $4::timestamptz - interval '7 hours', $4::timestamptz, true, 12, 3, 15,
        'completed', $4::timestamptz - interval '4 hours', $4::timestamptz)`;

const REFERENCE = `update transfers set id = $2::uuid, reference = $3::text where id = $1::uuid`;

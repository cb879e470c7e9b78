import { measure, type Site } from '../measure.js';
import type { Row } from '../report.js';
import { percentile } from '../statistics.js';
import { makeTransfers, type Tenants } from '../tenants.js';
import { untilNone } from '../waiting.js';

/** Longer than the rung, 1 m: nothing decreases before the first timers fire. */
const PATIENCE = 150_000;

/** Events whose first attempt failed a minute ago: how late each retry is. */
export async function observeLateness(site: Site, tenant: Tenants): Promise<Row> {
  const { bench, stack } = site;
  const transfers = await makeTransfers(stack, tenant, bench.options.due);
  await measure(site, { transfers, endpointsEach: 1, responses: 'fail' });
  // Read it now: an attempt overwrites it with the time of the next.
  const planned = await query<{ id: string; at: number }>(site, PLANNED, transfers);
  await bench.receiver.clear('accept');
  const left = await untilNone(
    async () => {
      const [row] = await query<{ n: number }>(site, STILL_ASLEEP, transfers);
      return row?.n ?? 0;
    },
    { every: 500, patience: PATIENCE },
  );
  const tried = new Map(
    (await query<{ id: string; at: number }>(site, TRIED_AGAIN, transfers)).map(({ id, at }) => [id, at]),
  );
  const late = planned.flatMap(({ id, at }) => (tried.get(id) ?? Number.NaN) - at).filter(Number.isFinite);
  late.sort((a, b) => a - b);
  const due = planned.map(({ at }) => at).sort((a, b) => a - b);
  return {
    'due within s': ((due.at(-1) ?? Number.NaN) - (due[0] ?? Number.NaN)) / 1_000,
    'late p50 s': percentile(late, 0.5) / 1_000,
    'late p99 s': percentile(late, 0.99) / 1_000,
    'late at most s': (late.at(-1) ?? Number.NaN) / 1_000,
    'never fired': left,
  };
}

async function query<Found extends object>({ stack }: Site, text: string, transfers: string[]): Promise<Found[]> {
  const { rows } = await stack.database.query<Found>(text, [transfers]);
  return rows;
}

const OF_THESE = 'event_id in (select id from events where transfer_id = any($1::uuid[]))';

const PLANNED = `
select id, extract(epoch from next_attempt_at)::float8 * 1000 as at from deliveries where ${OF_THESE} and attempt_count = 1`;

const STILL_ASLEEP = `select count(*)::int as n from deliveries where ${OF_THESE} and attempt_count = 1`;

const TRIED_AGAIN = `
select a.delivery_id as id, extract(epoch from a.started_at)::float8 * 1000 as at
  from attempts a join deliveries d on d.id = a.delivery_id where d.${OF_THESE} and a.number = 2`;

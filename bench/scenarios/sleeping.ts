import type { Bench } from '../bench.js';
import { during } from '../ending.js';
import { observeIdle } from '../idle.js';
import { type Figures, measure, type Site } from '../measure.js';
import { atMost, type Outcome, type Row } from '../report.js';
import { tablesOf } from '../rounds.js';
import { withService } from '../site.js';
import { type Stack, startStack } from '../stack.js';
import { makeTenants, makeTransfers, type Tenants } from '../tenants.js';
import { observeLateness } from './lateness.js';

/** More workflows than the worker's cache holds (300), so that it is full before anything is compared. */
const CACHE_FILLED = 400;
/** Below this number, the noise of the heap exceeds the effect. */
const ENOUGH_TO_JUDGE = 20_000;

interface Asleep {
  before: Row;
  after: Row;
  /** On disk, bytes for each. */
  bytes: Record<'postgres' | 'temporal', number>;
  figures: Figures;
}

/** Measures the cost of events that wait for a retry, and the lateness of their timers when many are due. */
export async function sleeping(bench: Bench): Promise<Outcome> {
  const { sleeping: count, due } = bench.options;
  return during(startStack(bench.say), async (stack) => {
    const tenant = await makeTenants(stack, bench.receiver.origin, { clients: 1, endpointsEach: 1 });
    const asleep = await withRetryAfter('6h', bench, stack, (site) => fallAsleep(site, tenant));
    const woken = await withRetryAfter('1m', bench, stack, async (site) => {
      bench.say(`${due} events whose retry is due in a minute`);
      const lateness = await observeLateness(site, tenant);
      return { lateness, idle: await observeIdle(site) };
    });
    const { before, after, bytes, figures } = asleep;
    const grownMib = (Number(after[heldBy(after)]) - Number(before[heldBy(before)])) / count;
    const grown = count < ENOUGH_TO_JUDGE ? Number.NaN : grownMib * 1_024;
    return {
      sections: [
        ...tablesOf('Falling asleep: failed first attempts', [[`${count} events`, [figures]]]),
        {
          title: `Asleep, idle: ${count} events`,
          rows: [
            { what: `${CACHE_FILLED} asleep (the cache of workflows is full)`, ...before },
            { what: `${count} more`, ...after },
            { what: `service restarted, then ${due} retries`, ...woken.idle },
          ],
        },
        {
          title: 'Asleep: each event',
          rows: [{ what: 'grown by', 'service KiB in memory': grown, ...onDisk(bytes) }],
        },
        { title: 'Timers due in the same minute', rows: [{ what: `${due} retries`, ...woken.lateness }] },
      ],
      verdicts: Number.isNaN(grown) ? [] : [atMost('KiB of the service’s memory, a sleeping event', grown, 1)],
    };
  });
}

function withRetryAfter<Result>(delay: string, bench: Bench, stack: Stack, work: (site: Site) => Promise<Result>) {
  const env = { DELIVERY_RETRY_DELAYS: delay, DISABLE_AFTER: '0' };
  return withService(bench, stack, { workflows: 'retries-only', env }, work);
}

async function fallAsleep(site: Site, tenant: Tenants): Promise<Asleep> {
  const { bench, stack } = site;
  const { sleeping: count } = bench.options;
  const layDown = async (events: number) =>
    measure(site, { transfers: await makeTransfers(stack, tenant, events), endpointsEach: 1, responses: 'fail' });
  await layDown(CACHE_FILLED);
  const before = await observeIdle(site);
  const bytesBefore = await bytesOnDisk(stack);
  bench.say(`making ${count} sleeping events`);
  const figures = await layDown(count);
  const after = await observeIdle(site);
  const bytes = await bytesOnDisk(stack);
  return {
    before,
    after,
    figures,
    bytes: {
      postgres: (bytes.postgres - bytesBefore.postgres) / count,
      temporal: (bytes.temporal - bytesBefore.temporal) / count,
    },
  };
}

async function bytesOnDisk({ database, servers }: Stack): Promise<Asleep['bytes']> {
  await database.query('checkpoint');
  const { rows } = await database.query<{ bytes: string }>('select pg_database_size(current_database()) as bytes');
  return { postgres: Number(rows[0]?.bytes), temporal: servers.temporalBytesOnDisk() };
}

/** The column of the process that runs the workflows. */
const heldBy = (row: Row) => ('worker MiB' in row ? 'worker MiB' : 'service MiB');

const onDisk = ({ postgres, temporal }: Asleep['bytes']) => ({
  'Postgres KiB on disk': postgres / 1_024,
  'Temporal KiB on disk': temporal / 1_024,
});

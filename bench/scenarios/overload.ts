import type { Bench } from '../bench.js';
import { now } from '../clock.js';
import { during } from '../ending.js';
import { measure, type Site } from '../measure.js';
import { atMost, type Outcome, type Row } from '../report.js';
import { tablesOf } from '../rounds.js';
import { makeWarmTenant, withService } from '../site.js';
import { startStack } from '../stack.js';
import { percentile } from '../statistics.js';
import { makeTransfers } from '../tenants.js';
import { countClosed, untilAllStarted, untilClosed } from '../workflows.js';

const EVERY = 5_000;
/** A retry that is due at once and made later than this is late, s. */
const ON_TIME = 5;
/** Factor by which the backlog may exceed the events of `WORKFLOWS_TRAIL`: the loop that skips workflows sleeps. */
const SLACK = 1.2;

/**
 * More changes than Temporal can take, for longer than `WORKFLOWS_TRAIL`: shows that the backlog stays bounded, that
 * retries are on time, and that nothing is lost. The receiver fails the first attempt of one event in sixteen.
 */
export async function overload(bench: Bench): Promise<Outcome> {
  const { overload: rate, lasting, trail } = bench.options;
  return during(startStack(bench.say), (stack) => {
    const env = { LOG_LEVEL: 'warn', WORKFLOWS_TRAIL: `${trail}s` };
    return withService(bench, stack, { workflows: 'every-event', env }, async (site) => {
      const tenant = await makeWarmTenant(site);
      const transfers = await makeTransfers(stack, tenant, rate * lasting);
      const closedBefore = await countClosed(stack.temporal, 'deliverEvent');
      bench.say(`${rate} changes a second for ${lasting} s`);
      const backlog = watchBacklog(site);
      const figures = await measure(site, {
        transfers,
        endpointsEach: 1,
        rate,
        responses: 'fail some',
        untilQuiet: false,
      });
      const atEnd = await readWaiting(site);
      const ended = now();
      await untilAllStarted(stack);
      const drained = (now() - ended) / 1_000;
      const backlogs = await backlog.end();
      const { started, retried, late } = await readRetries(site, transfers);
      await untilClosed(stack.temporal, 'deliverEvent', closedBefore + started);
      const row: Row = {
        what: `${rate}/s for ${lasting} s, WORKFLOWS_TRAIL=${trail}s`,
        'backlog at most': Math.max(...backlogs.map(({ count }) => count)),
        'oldest s': Math.max(...backlogs.map(({ oldest }) => oldest)),
        'backlog at the end': atEnd.count,
        'drained in s': drained,
        workflows: started,
        skipped: transfers.length - started,
        retries: retried,
        'retry late p50 s': percentile(late, 0.5),
        'retry late p99 s': percentile(late, 0.99),
        'retry late at most s': late.at(-1) ?? Number.NaN,
      };
      return {
        sections: [
          ...tablesOf('Overload', [['every-event', [figures]]]),
          { title: 'Overload: the backlog and the retries', rows: [row] },
        ],
        verdicts: [
          atMost('events lost in a lasting overload', figures.speed.lost ?? Number.NaN, 0),
          atMost('backlog in a lasting overload', Number(row['backlog at most']), SLACK * rate * trail),
          atMost('s that a retry is late at p99, in a lasting overload', percentile(late, 0.99), ON_TIME),
        ],
      };
    });
  });
}

interface Waiting {
  count: number;
  /** Age of the oldest, s. */
  oldest: number;
}

async function readWaiting({ stack }: Site): Promise<Waiting> {
  const { rows } = await stack.database.query<Waiting>(BACKLOG);
  return rows[0] ?? { count: 0, oldest: 0 };
}

function watchBacklog(site: Site): { end(): Promise<Waiting[]> } {
  const seen: Waiting[] = [];
  let reading = Promise.resolve();
  const timer = setInterval(() => {
    reading = readWaiting(site).then((waiting) => {
      seen.push(waiting);
      if (seen.length % 6 === 0)
        site.bench.say(`${waiting.count} wait for their workflow, the oldest for ${waiting.oldest.toFixed(0)} s`);
    });
  }, EVERY);
  return {
    async end() {
      clearInterval(timer);
      await reading;
      return seen;
    },
  };
}

/** The workflows that were started, and how long after its planned time each second attempt was made, s. */
async function readRetries({ stack }: Site, transfers: readonly string[]) {
  const { rows } = await stack.database.query<{ late: number }>(LATE, [transfers]);
  let started = 0;
  const query = `WorkflowType = "deliverEvent"`;
  const ids = new Set((await stack.database.query<{ id: string }>(EVENTS, [transfers])).rows.map(({ id }) => id));
  for await (const { workflowId } of stack.temporal.workflow.list({ query })) if (ids.has(workflowId)) started++;
  return { started, retried: rows.length, late: rows.map(({ late }) => late).sort((a, b) => a - b) };
}

const BACKLOG = `
select count(*)::int as count, coalesce(extract(epoch from now() - min(v.created_at)), 0)::float8 as oldest
  from outbox o join events v on v.id = o.event_id where o.state = 'delivered'`;

const EVENTS = 'select id from events where transfer_id = any($1::uuid[])';

/** The first retry is due at the end of the first attempt. */
const LATE = `
select extract(epoch from b.started_at - a.started_at)::float8 - a.duration_ms / 1000.0 as late
  from attempts a join attempts b on b.delivery_id = a.delivery_id and b.number = 2
 where a.number = 1 and a.delivery_id in (select id from deliveries where event_id in (${EVENTS}))`;

import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../src/platform/database/database.js';
import { lowestIdAt } from '../../src/platform/ids.js';
import { BATCH } from '../../src/platform/remove-expired.js';
import { removeExpiredEvents } from '../../src/platform/retention.js';
import type { Bench } from '../bench.js';
import { during } from '../ending.js';
import type { Load, LoadResult } from '../load.js';
import { speedOf } from '../measure.js';
import { cpuBetween, readMemory, readMeter, walBetween } from '../meter.js';
import { fillPast, settle } from '../past.js';
import type { Responses } from '../receiver.js';
import { atMost, type Outcome, type Row, type Verdict } from '../report.js';
import { type Service, startService } from '../service.js';
import { type Stack, startStack } from '../stack.js';
import { makeTenants, makeTransfers, type Tenants } from '../tenants.js';
import { untilNone } from '../waiting.js';
import { untilAllStarted } from '../workflows.js';

const ENDPOINTS_EACH = 10;
const DAYS = 90;
const DAY = 86_400_000;
const WARM_UP = 2_000;

interface Size {
  what: string;
  workers: number;
  apis: number;
  clients: number;
  past: number;
}

/** What happens in a phase costs so much; for each event or, at rest, for each second and process. */
type Costs = Record<string, number>;
interface Phase {
  name: string;
  costs: Costs;
}

/**
 * What an event costs with many workers, clients, endpoints and past events, beside what it costs with few of each: at
 * a steady rate, in an incident and when it is removed. Three endpoints in sixteen are dead. The ratios are the result:
 * two cores carry the shape of such a size, not its rate.
 */
export async function scale(bench: Bench): Promise<Outcome> {
  const { past, tenants, workers } = bench.options;
  const [few, many] = past;
  const small = await measureSize(bench, { what: 'small', workers: 1, apis: 1, clients: 10, past: few });
  const apis = Math.max(2, Math.round(workers / 5));
  const large = await measureSize(bench, { what: 'large', workers, apis, clients: tenants, past: many });
  const pairs = small.map((phase, index) => [phase, large[index] as Phase] as const);
  return {
    sections: [
      {
        title: `Scale: ${workers} workers, ${apis} APIs, ${tenants} clients, ${many} past events beside 1, 1, 10 and ${few}`,
        rows: pairs.flatMap(([one, other]): Row[] => [
          { what: `${one.name}, small`, ...one.costs },
          { what: `${one.name}, large`, ...other.costs },
          { what: `${one.name}, large ÷ small`, ...ratioOf(other.costs, one.costs) },
        ]),
      },
    ],
    verdicts: pairs.flatMap(([one, other]) => verdictsOf(one, other)),
  };
}

const ratioOf = (large: Costs, small: Costs): Costs =>
  Object.fromEntries(Object.entries(large).map(([name, value]) => [name, value / (small[name] ?? Number.NaN)]));

/** An event should cost at most this much more. */
const RATIO = 1.5;
const COMPARED = ['statements', 'pages', 'Postgres ms', 'WAL KiB'];

const verdictsOf = (small: Phase, large: Phase): Verdict[] =>
  COMPARED.map((name) =>
    atMost(`${name}, ${small.name}, large ÷ small`, (large.costs[name] ?? 0) / (small.costs[name] ?? 0), RATIO),
  );

function measureSize(bench: Bench, size: Size): Promise<Phase[]> {
  const settings = ['shared_preload_libraries=pg_stat_statements', 'max_connections=400'];
  return during(startStack(bench.say, settings), async (stack) => {
    const tenants = await makeTenants(stack, bench.receiver.origin, {
      clients: size.clients,
      endpointsEach: ENDPOINTS_EACH,
    });
    await fillPast(stack, tenants, size.past, bench.say, DAYS);
    await stack.database.query('create extension pg_stat_statements');
    await settle(stack);
    const starting = startService(stack, {
      workflows: bench.options.mode,
      roles: { api: size.apis, worker: size.workers },
      profile: undefined,
      env: { DATABASE_POOL_SIZE: '3' },
    });
    return during(starting, async (service) => {
      const rig = { bench, stack, service, tenants, size };
      const { rate, steady } = bench.options;
      bench.say(`${size.what}: warming up`);
      await change(rig, Math.min(WARM_UP, steady), rate * 2, 'some dead');
      await untilAllStarted(stack);
      return [
        await atRest(rig),
        await underLoad(rig, `at ${rate}/s`, 'some dead'),
        await underLoad(rig, 'incident', 'some hang'),
        await retention(rig),
      ];
    });
  });
}

interface Rig {
  bench: Bench;
  stack: Stack;
  service: Service;
  tenants: Tenants;
  size: Size;
}

/** Changes transfers of all clients in turn, and waits until nothing is queued. */
async function change({ bench, stack, service, tenants }: Rig, count: number, rate: number, responses: Responses) {
  await bench.receiver.clear(responses);
  const transfers = await makeTransfers(stack, tenants, count);
  const { connections } = bench.options;
  const load: Load = { baseUrls: service.apis, tokens: [await service.token()], transfers, connections, rate };
  const result = await bench.generator.ask<LoadResult>(load);
  // Who hung comes back: the attempts in flight still end by their time limit.
  await bench.receiver.respond('some dead');
  const queued = () => stack.database.query<{ n: number }>('select count(*)::int as n from queue');
  const left = await untilNone(async () => (await queued()).rows[0]?.n ?? 0, { every: 500, patience: 60_000 });
  if (left > 0) throw new Error(`${left} attempts have waited for a minute`);
  return result;
}

async function atRest(rig: Rig): Promise<Phase> {
  const { resting } = rig.bench.options;
  rig.bench.say(`${rig.size.what}: at rest for ${resting} s`);
  const processes = rig.size.workers + rig.size.apis;
  return phase(rig, 'at rest, a second and process', resting * processes, async () => {
    await sleep(resting * 1_000);
    return {};
  });
}

async function underLoad(rig: Rig, name: string, responses: Responses): Promise<Phase> {
  const { rate, steady } = rig.bench.options;
  rig.bench.say(`${rig.size.what}: ${name}`);
  return phase(rig, `${name}, an event`, steady, async () => {
    const result = await change(rig, steady, rate, responses);
    const arrived = await rig.bench.receiver.arrivals();
    const speed = speedOf(result, arrived, ENDPOINTS_EACH);
    const healthy = { ...arrived, arrivals: arrived.arrivals.filter(([, , isHealthy]) => isHealthy) };
    const others = speedOf(result, healthy, ENDPOINTS_EACH);
    return {
      ...{ 'healthy p50 ms': others['p50 ms'], 'healthy p99 ms': others['p99 ms'], 'p99 ms': speed['p99 ms'] },
      'response p99 ms': speed['response p99 ms'],
      ...{ errors: speed.errors, repeated: speed.repeated },
      lost: await countLost(rig, result),
    };
  });
}

/** Accepted changes without a delivery for each endpoint. */
async function countLost({ stack }: Rig, { accepted }: LoadResult): Promise<number> {
  const { rows } = await stack.database.query<{ n: number }>(
    `select count(*)::int as n from events e join deliveries d on d.event_id = e.id
      where e.transfer_id = any($1::uuid[]) and (d.status = 'succeeded' or d.asleep)`,
    [accepted.map(([id]) => id)],
  );
  return accepted.length * ENDPOINTS_EACH - (rows[0]?.n ?? 0);
}

/** Removes the events of the oldest day. */
async function retention(rig: Rig): Promise<Phase> {
  const { what, past } = rig.size;
  rig.bench.say(`${what}: retention of a day`);
  const before = lowestIdAt(Date.now() - (DAYS - 1) * DAY);
  const database = openDatabase({ url: rig.stack.servers.databaseUrl, poolSize: 2 });
  try {
    return await phase(rig, 'retention, an event', past / DAYS, async () => {
      let after: string | null = null;
      do {
        ({ after } = await removeExpiredEvents(database, { before, after, limit: BATCH }));
      } while (after !== null);
      return {};
    });
  } finally {
    await database.close();
  }
}

/** @param per number of events, or of seconds of all processes */
async function phase(rig: Rig, name: string, per: number, work: () => Promise<Costs>): Promise<Phase> {
  const { stack, service, size } = rig;
  const parts = { ...service.parts, ...stack.servers.parts };
  await stack.database.query('select pg_stat_statements_reset()');
  const before = await readMeter(parts, stack);
  const own = await work();
  const after = await readMeter(parts, stack);
  const statements = await countStatements(stack, per);
  const cpu = cpuBetween(before, after);
  const memory = readMemory(service.parts);
  return {
    name,
    costs: {
      ...statements,
      'Postgres ms': (cpu.postgres ?? 0) / per,
      'service ms': ((cpu.api ?? 0) + (cpu.worker ?? 0)) / per,
      ...walBetween(before, after, per),
      'worker MiB': (memory.worker ?? 0) / size.workers,
      ...(await readTables(stack)),
      ...own,
    },
  };
}

async function countStatements({ database }: Stack, per: number): Promise<Costs> {
  const { rows } = await database.query<Costs>(
    `select sum(calls)::float8 / $1 as statements, sum(rows)::float8 / $1 as rows,
            sum(shared_blks_hit + shared_blks_read)::float8 / $1 as pages
       from pg_stat_statements where query !~ 'pg_stat_|pg_current_wal'`,
    [per],
  );
  return rows[0] ?? {};
}

async function readTables({ database }: Stack): Promise<Costs> {
  const { rows } = await database.query<{ connections: number; dead: number }>(
    `select (select count(*)::int from pg_stat_activity where datname = current_database()) as connections,
            (select sum(n_dead_tup)::int from pg_stat_user_tables) as dead`,
  );
  return { connections: rows[0]?.connections ?? 0, 'dead rows': rows[0]?.dead ?? 0 };
}

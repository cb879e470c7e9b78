import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom } from '../support/random.js';
import { waitFor } from '../support/wait-for.js';
import { judgeChanges } from './judge-changes.js';
import { judgeRecord } from './judge-record.js';
import { judgeWorkflows } from './judge-workflows.js';
import { killAsPlanned } from './kill-as-planned.js';
import { startLoad } from './load.js';
import { Progress } from './progress.js';
import { hurry, untilQuiet } from './quiet.js';
import { recover, setEnabled, startRandomActions } from './random-actions.js';
import { readRecord, withDatabase } from './record.js';
import type { FailpointKill, Kill } from './schedule.js';
import { type Service, startService } from './service.js';

export interface CrashOptions {
  /** Seed of the receivers' behaviour and of the requests. */
  seed: number;
  /** The kills in order. The load starts with the schedule and ends with the last kill. */
  plan: readonly (Kill | FailpointKill)[];
  /** Changes per second. */
  rate: number;
  /** Whether receivers may hang for the full time limit of 15 s. */
  hangs: boolean;
  /** Whether to wait for leases and Temporal's time limits as in production, or to make them expire at once. */
  patient: boolean;
  /** Called with a line for each kill and each phase, and every 10 s with what the run waits for. */
  say(line: string): void;
}

export interface CrashResult {
  seed: number;
  /** A line for each loss and each untrue record. A run fails only if there is one. */
  faults: string[];
  kills: Record<string, number>;
  /** How often a process died at each failpoint of the plan. */
  failpoints: Record<string, number>;
  numbers: Record<string, number>;
  answers: Record<string, number>;
  deliveryActions: Record<string, number>;
}

/** A ladder that a receiver with a few failures never exhausts, and that a run can wait for. */
const LADDER = '0s,1s,1s,2s,2s,3s,3s';
const RUNGS = LADDER.split(',').length + 1;

/** How long a run may take beside its kills, ms: it waits for time limits and for the backlog, twice. */
const REST = 600_000;
const STOP = 60_000;

/** Runs load and kills, waits for quiet, judges, recovers the disabled or exhausted deliveries, and judges again. */
export async function runCrash(options: CrashOptions): Promise<CrashResult> {
  const last = options.plan.at(-1)?.at ?? 0;
  const progress = new Progress(options.say, 3 * last + REST);
  const random = randomFrom(options.seed + 1);
  try {
    progress.phase('starting Postgres, Temporal, a receiver, two APIs and two workers');
    const service = await progress.within(startService({ ...options, ladder: LADDER, random }));
    try {
      return await progress.within(run(service, options, random, progress));
    } finally {
      progress.phase('stopping the service');
      await Promise.race([service.stop(), sleep(STOP, undefined, { ref: false })]);
    }
  } finally {
    progress.end();
  }
}

async function run(
  service: Service,
  { seed, plan, rate, patient }: CrashOptions,
  random: () => number,
  progress: Progress,
): Promise<CrashResult> {
  const since = new Date().toISOString();
  const load = startLoad(service.clients, random, rate);
  const deliveryActions = startRandomActions(service.endpoints, random, since);
  progress.phase('killing', () => `${load.asked.length} changes requested`);
  const { kills, failpoints } = await killAsPlanned(service, plan, since, progress);
  progress.phase('ending the load', () => `${load.running} transfers in progress`);
  await Promise.all([load.stop(), deliveryActions.stop()]);
  if (!patient) await hurry(service);

  const quiet: Record<string, number> = {};
  const faults = [...load.faults];
  quiet.seconds = await untilQuiet(service, faults, progress);
  const judge = async (when: string) => {
    const { record, arrivals } = await readAll(service);
    const judgement = judgeRecord(record, arrivals, RUNGS);
    const changes = judgeChanges(load, record);
    faults.push(...[...judgement.faults, ...changes.faults].map((fault) => `${when}: ${fault}`));
    progress.say(`judged ${when}: ${faults.length} faults`);
    return { record, arrivals, judgement, changes };
  };
  await judge('after the kills');
  await recoverAll(service, since, faults, progress);
  quiet.again = await untilQuiet(service, faults, progress);
  const { record, arrivals, judgement, changes } = await judge('after the recovery');
  faults.push(...(await judgeWorkflows(service.temporal, record, RUNGS)));
  for (const { id, status } of record.deliveries) {
    if (status !== 'succeeded') faults.push(`not delivered in the end (${status}): ${id}`);
  }
  for (const role of service.roles) faults.push(...role.failures);
  for (const [answer, count] of Object.entries({ ...load.answers, ...deliveryActions.answers })) {
    if (/\b500$/.test(answer)) faults.push(`answered ${answer}, ${count} times`);
  }
  // The log says why a response was 500.
  for (const role of service.roles)
    for (const line of role.errors) progress.say(`${role.name} logged an error: ${line}`);
  return {
    seed,
    faults: [...new Set(faults)],
    kills,
    failpoints,
    numbers: {
      'changes asked for': load.asked.length,
      acknowledged: changes.acknowledged,
      'not acknowledged, yet made': changes.madeUnacknowledged,
      events: record.events.length,
      deliveries: record.deliveries.length,
      'attempts recorded': record.attempts.length,
      'requests that the receiver saw': arrivals.length,
      'of them never recorded': judgement.unrecorded,
      'deliveries seen twice': judgement.duplicates,
      'quiet after (s)': quiet.seconds,
      'recovered after (s)': quiet.again,
    },
    answers: load.answers,
    deliveryActions: deliveryActions.answers,
  };
}

/** Heals every receiver. The cancelled and exhausted deliveries must then arrive too. */
async function recoverAll(service: Service, since: string, faults: string[], progress: Progress): Promise<void> {
  await service.heal();
  // The random recoveries may have used up the limit per hour.
  await withDatabase(service.databaseUrl, (database) =>
    database.query(`delete from limit_uses where name = 'recoveries'`),
  );
  for (const endpoint of service.endpoints) {
    progress.phase(`recovering ${endpoint.url}`);
    await waitFor('the endpoint to be enabled', async () => (await setEnabled(endpoint, true)).status === 200);
    await waitFor(
      `${endpoint.webhookId} to be recovered`,
      async () => (await recover(endpoint, since)).status === 202,
      60_000,
    ).catch((error: Error) => faults.push(error.message));
  }
}

async function readAll(service: Service) {
  const [record, arrivals] = await Promise.all([withDatabase(service.databaseUrl, readRecord), service.arrivals()]);
  return { record, arrivals };
}

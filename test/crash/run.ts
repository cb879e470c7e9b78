import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom } from '../support/random.js';
import { waitFor } from '../support/wait-for.js';
import { judgeChanges } from './judge-changes.js';
import { judgeRecord } from './judge-record.js';
import { describeRecovery, judgeWorkflows } from './judge-workflows.js';
import { startLoad } from './load.js';
import { partsOf } from './parts.js';
import { hurry, untilQuiet } from './quiet.js';
import { recover, setEnabled, startRandomActions } from './random-actions.js';
import { readRecord, withDatabase } from './record.js';
import type { Kill } from './schedule.js';
import { type Service, startService } from './service.js';

export interface CrashOptions {
  /** Seed of the receivers' behaviour and of the requests. */
  seed: number;
  /** The kills in order. The load starts with the schedule and ends with the last kill. */
  plan: readonly Kill[];
  /** Changes per second. */
  rate: number;
  /** Whether receivers may hang for the full time limit of 15 s. */
  hangs: boolean;
  /** Whether to wait for leases and Temporal's time limits as in production, or to make them expire at once. */
  patient: boolean;
  /** Called with a line for each kill and each later step. */
  say(line: string): void;
}

export interface CrashResult {
  seed: number;
  /** A line for each loss and each untrue record. A run fails only if there is one. */
  faults: string[];
  kills: Record<string, number>;
  numbers: Record<string, number>;
  answers: Record<string, number>;
  deliveryActions: Record<string, number>;
}

/** A ladder that a receiver with a few failures never exhausts, and that a run can wait for. */
const LADDER = '0s,1s,1s,2s,2s,3s,3s';
const RUNGS = LADDER.split(',').length + 1;

/** Runs load and kills, waits for quiet, judges, recovers the disabled or exhausted deliveries, and judges again. */
export async function runCrash(options: CrashOptions): Promise<CrashResult> {
  const { seed, plan, rate, hangs, patient, say } = options;
  const random = randomFrom(seed + 1);
  const service = await startService({ ladder: LADDER, seed, random, hangs });
  try {
    const since = new Date().toISOString();
    const load = startLoad(service.clients, random, rate);
    const deliveryActions = startRandomActions(service.endpoints, random, since);
    const kills = await killAsPlanned(service, plan, say);
    await Promise.all([load.stop(), deliveryActions.stop()]);
    say(`${load.asked.length} changes requested; waiting for quiet`);
    if (!patient) await hurry(service);

    const quiet: Record<string, number> = {};
    const faults = [...load.faults];
    quiet.seconds = await untilQuiet(service, faults);
    const judge = async (when: string) => {
      const { record, arrivals } = await readAll(service);
      const judgement = judgeRecord(record, arrivals, RUNGS);
      const changes = judgeChanges(load, record);
      faults.push(...[...judgement.faults, ...changes.faults].map((fault) => `${when}: ${fault}`));
      say(`judged ${when}: ${faults.length} faults`);
      return { record, arrivals, judgement, changes };
    };
    await judge('after the kills');
    say('quiet; recovering cancelled and failed deliveries');
    await recoverAll(service, since, faults);
    quiet.again = await untilQuiet(service, faults);
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
    for (const role of service.roles) for (const line of role.errors) say(`${role.name} logged an error: ${line}`);
    return {
      seed,
      faults: [...new Set(faults)],
      kills,
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
  } finally {
    await service.stop();
  }
}

async function killAsPlanned(service: Service, plan: readonly Kill[], say: (line: string) => void) {
  const kills: Record<string, number> = {};
  const began = Date.now();
  for (const kill of plan) {
    await sleep(Math.max(0, began + kill.at - Date.now()));
    const hit = partsOf(service.parts, kill);
    const pids = await Promise.all(hit.map(async (part) => `${part.name} (${await part.kill(kill.how, kill.pause)})`));
    const what = `${kill.how} of ${kill.target}`;
    kills[what] = (kills[what] ?? 0) + 1;
    say(`${((Date.now() - began) / 1_000).toFixed(1)} s  ${kill.how}: ${pids.join(', ')}`);
  }
  return kills;
}

/** Heals every receiver. The cancelled and exhausted deliveries must then arrive too. */
async function recoverAll(service: Service, since: string, faults: string[]): Promise<void> {
  await service.heal();
  // The random recoveries may have used up the limit per hour.
  await withDatabase(service.databaseUrl, (database) =>
    database.query(`delete from limit_uses where name = 'recoveries'`),
  );
  for (const endpoint of service.endpoints) {
    await waitFor('the endpoint to be enabled', async () => (await setEnabled(endpoint, true)).status === 200);
    // Temporal lists a workflow later than it starts it, so the count may miss a running workflow.
    await waitFor(
      `${endpoint.webhookId} to be recovered`,
      async () => (await recover(endpoint, since)).status === 202,
      60_000,
    ).catch(async (error: Error) => {
      faults.push(`${error.message}: ${await describeRecovery(service.temporal, endpoint.webhookId)}`);
    });
  }
}

async function readAll(service: Service) {
  const [record, arrivals] = await Promise.all([withDatabase(service.databaseUrl, readRecord), service.arrivals()]);
  return { record, arrivals };
}

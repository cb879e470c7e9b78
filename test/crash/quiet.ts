import { setTimeout as sleep } from 'node:timers/promises';
import { makeItLongAgo } from '../support/long-ago.js';
import { runningWorkflows } from './judge-workflows.js';
import type { Progress } from './progress.js';
import { inProgress, withDatabase } from './record.js';
import type { Service } from './service.js';

/**
 * ms without a change after which the service counts as stuck. A lease expires after 30 s, an activity of a dead worker
 * after 45 s. An activity that failed while Postgres was down is retried after at most a minute. A long backlog is not
 * stuck while it shrinks.
 */
const STUCK_AFTER = 150_000;

/** ms that the quiet must last: Temporal lists a started workflow late. */
const LISTED_AFTER = 3_000;

/** Makes the time limits expire as soon as every process runs again, for runs that cannot wait for them. */
export async function hurry(service: Service): Promise<void> {
  await Promise.all(service.roles.map((role) => role.untilReady()));
  await withDatabase(service.databaseUrl, (database) => makeItLongAgo(database, service.temporal));
}

/** @returns the seconds until the service was quiet */
export async function untilQuiet(service: Service, faults: string[], progress: Progress): Promise<number> {
  const began = Date.now();
  let changedAt = began;
  let last = '';
  progress.phase('waiting for quiet', () => last);
  let quietSince: number | undefined;
  for (;;) {
    const left = await countLeft(service).catch(() => undefined);
    const seen = left ? JSON.stringify(left) : last;
    const quiet = left && Object.values(left).every((count) => count === 0);
    quietSince = quiet ? (quietSince ?? Date.now()) : undefined;
    if (quietSince !== undefined && Date.now() - quietSince > LISTED_AFTER) break;
    if (seen !== last) changedAt = Date.now();
    last = seen;
    if (Date.now() - changedAt > STUCK_AFTER) {
      faults.push(`not quiet: nothing has changed for ${STUCK_AFTER / 1_000} s: ${last}`);
      break;
    }
    await sleep(250);
  }
  return Math.round((Date.now() - began) / 1_000);
}

async function countLeft(service: Service): Promise<Record<string, number>> {
  const counts = await withDatabase(service.databaseUrl, inProgress);
  return { ...counts, workflows: await runningWorkflows(service.temporal) };
}

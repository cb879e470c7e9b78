import { setTimeout as sleep } from 'node:timers/promises';
import { makeItLongAgo } from '../support/long-ago.js';
import { runningWorkflows } from './judge-workflows.js';
import { underWay, withDatabase } from './record.js';
import type { Service } from './service.js';

/**
 * So long nothing may change before it counts as stuck: a lease runs out after 30 s, an activity of a dead worker after 45 s,
 * one that failed while Postgres was away is tried again a minute later at most. A backlog takes as long as it takes.
 */
const STUCK_AFTER = 150_000;

/** Temporal lists late what it has started, and a recovery that was accepted has yet to begin: a moment of quiet is none, ms. */
const LISTED_AFTER = 3_000;

/** As soon as everything is back, time limits run out: for who cannot wait for them. */
export async function hurry(service: Service): Promise<void> {
  await Promise.all(service.roles.map((role) => role.untilReady()));
  await withDatabase(service.databaseUrl, (database) => makeItLongAgo(database, service.temporal));
}

/** @returns after how many seconds */
export async function untilQuiet(service: Service, faults: string[]): Promise<number> {
  const began = Date.now();
  let changedAt = began;
  let last = '';
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
  const counts = await withDatabase(service.databaseUrl, underWay);
  return { ...counts, workflows: await runningWorkflows(service.temporal) };
}

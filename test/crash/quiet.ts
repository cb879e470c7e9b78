import { setTimeout as sleep } from 'node:timers/promises';
import { makeItLongAgo } from '../support/long-ago.js';
import { waitFor } from '../support/wait-for.js';
import { runningWorkflows } from './judge-workflows.js';
import { underWay, withDatabase } from './record.js';
import type { Service } from './service.js';

/** A lease runs out after 30 s, an activity of a dead worker after 45 s; then comes a ladder, and backlogs. */
const PATIENCE = 240_000;
/** Where none of that is waited for; an activity that failed while Postgres was away still is tried again a minute later at most. */
const IMPATIENCE = 150_000;

/** As soon as everything is back, time limits run out: for who cannot wait for them. */
export async function hurry(service: Service): Promise<void> {
  await Promise.all(service.roles.map((role) => role.untilReady()));
  await withDatabase(service.databaseUrl, (database) => makeItLongAgo(database, service.temporal));
}

/** @returns after how many seconds */
export async function untilQuiet(service: Service, patient: boolean, faults: string[]): Promise<number> {
  const within = patient ? PATIENCE : IMPATIENCE;
  const began = Date.now();
  const left = async () => {
    const counts = await withDatabase(service.databaseUrl, underWay);
    return { ...counts, workflows: await runningWorkflows(service.temporal) };
  };
  let last: Record<string, number> = {};
  await waitFor(
    'quiet',
    async () => {
      last = await left().catch(() => last);
      if (Object.values(last).some((count) => count > 0)) return sleep(250).then(() => false);
      return Object.keys(last).length > 0;
    },
    within,
  ).catch(() => faults.push(`not quiet after ${within / 1_000} s: ${JSON.stringify(last)}`));
  return Math.round((Date.now() - began) / 1_000);
}

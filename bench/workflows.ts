import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Stack } from './stack.js';
import { untilNone } from './waiting.js';

const PATIENCE = 60_000;
const WAITING = { every: 100, patience: PATIENCE };
/** Time after which a batch of starts has finished and is visible, ms. */
const STARTED_WITHIN = 2_000;

/** Unfinished events: an attempt is queued, or the workflow has something to learn. */
export async function countWaiting({ database }: Stack): Promise<number> {
  const { rows } = await database.query<{ n: number }>(
    `select count(*)::int as n from (
       select event_id from outbox union select d.event_id from queue q join deliveries d on d.id = q.delivery_id) e`,
  );
  return rows[0]?.n ?? 0;
}

/** @throws Error if no workflow starts for too long */
export async function untilAllStarted(stack: Stack): Promise<void> {
  const left = await untilNone(() => countWaiting(stack), WAITING);
  if (left > 0) throw new Error(`${left} events have waited for their workflow for ${PATIENCE / 1_000} s`);
}

export function countClosed(client: Client, type: string): Promise<number> {
  return client.workflow.count(`WorkflowType = "${type}" and ExecutionStatus != "Running"`).then(({ count }) => count);
}

/** Resolves when `count` workflows of this type have ended. @throws Error if none ends for too long */
export async function untilClosed(client: Client, type: string, count: number): Promise<void> {
  const left = await untilNone(async () => count - (await countClosed(client, type)), WAITING);
  if (left > 0) throw new Error(`${left} workflows ${type} have not ended for ${PATIENCE / 1_000} s`);
}

/**
 * Discards what workflows have to learn, so that what is measured next does not compete with their starts.
 * Resolves when the first attempts are recorded and the workflows that have started have ended.
 */
export async function discardStarts({ database, temporal }: Stack): Promise<void> {
  await untilNone(async () => {
    const { rows } = await database.query<{ n: number }>('select count(*)::int as n from queue');
    return rows[0]?.n ?? 0;
  }, WAITING);
  const { rowCount } = await database.query(`delete from outbox where state in ('start', 'delivered')`);
  if (rowCount === 0) return;
  await sleep(STARTED_WITHIN);
  const running = `WorkflowType = "deliverEvent" and ExecutionStatus = "Running"`;
  await untilNone(() => temporal.workflow.count(running).then(({ count }) => count), WAITING);
}

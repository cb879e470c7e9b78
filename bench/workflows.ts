import type { Client } from '@temporalio/client';
import type { Stack } from './stack.js';
import { untilNone } from './waiting.js';

const PATIENCE = 60_000;

/** Unfinished events: their first attempts are not recorded, or their workflow is not started. */
export async function countWaiting({ database }: Stack): Promise<number> {
  const { rows } = await database.query<{ n: number }>(`select count(*)::int as n from events where outbox <> 'done'`);
  return rows[0]?.n ?? 0;
}

/** @throws Error if no workflow starts for too long */
export async function untilAllStarted(stack: Stack): Promise<void> {
  const left = await untilNone(() => countWaiting(stack), { every: 100, patience: PATIENCE });
  if (left > 0) throw new Error(`${left} events have waited for their workflow for ${PATIENCE / 1_000} s`);
}

export function countClosed(client: Client, type: string): Promise<number> {
  return client.workflow.count(`WorkflowType = "${type}" and ExecutionStatus != "Running"`).then(({ count }) => count);
}

/** Resolves when `count` workflows of this type have ended. @throws Error if none ends for too long */
export async function untilClosed(client: Client, type: string, count: number): Promise<void> {
  const left = await untilNone(async () => count - (await countClosed(client, type)), {
    every: 100,
    patience: PATIENCE,
  });
  if (left > 0) throw new Error(`${left} workflows ${type} have not ended for ${PATIENCE / 1_000} s`);
}

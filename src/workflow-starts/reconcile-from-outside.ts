import type { Actor } from '../audit/actor.js';
import { recordAudit } from '../audit/record.js';
import type { Environment } from '../config.js';
import { atomically, type Handle } from '../database/database.js';
import { type PendingKey, readPending } from './read-pending.js';
import { startPending } from './start-pending.js';
import { withTemporal } from './temporal-from-outside.js';

const PAGE = 200;

export interface Reconciled {
  /** Workflows that were started. */
  started: number;
  /** Workflows that were already running. They were not changed. */
  running: number;
  /** Ids of the workflows whose input Temporal refused. */
  refused: string[];
}

/**
 * Starts the workflow of every pending delivery that has none running, overdue or not. A worker does the same by itself
 * for deliveries that are ten minutes overdue.
 * @param replace terminates running workflows and starts them anew from the rows; for use after Postgres was restored
 * @throws ConfigError
 */
export function reconcileFromOutside(
  db: Handle,
  environment: Environment,
  actor: Actor,
  replace: boolean,
): Promise<Reconciled> {
  return withTemporal(environment, async (client) => {
    const result: Reconciled = { started: 0, running: 0, refused: [] };
    await atomically(db, (tx) =>
      recordAudit(tx, { actor, action: 'deliveries.reconcile', target: null, details: { replace } }),
    );
    const seen = new Set<string>();
    let after: PendingKey | null = null;
    do {
      const page = await readPending(db, environment.DELIVERY_RETRY_DELAYS, {
        overdueMinutes: null,
        after,
        limit: PAGE,
      });
      // The deliveries of one event share a workflow and may be on several pages.
      const starts = page.starts.filter(({ workflowId }) => !seen.has(workflowId));
      for (const { workflowId } of starts) seen.add(workflowId);
      const { started, running, refused } = await startPending(client, starts, replace ? 'replace' : 'restart');
      result.started += started.length;
      result.running += running;
      result.refused.push(...refused);
      after = page.next;
    } while (after !== null);
    return result;
  });
}

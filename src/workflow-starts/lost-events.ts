import { ClientId, EventType, TransferId } from '../../workflows/search-attributes.js';
import type { Environment } from '../config.js';
import type { Handle } from '../database/database.js';
import { isId } from '../ids.js';
import { withTemporal } from './temporal-from-outside.js';

const BATCH = 500;

/** An event that Temporal knows and Postgres does not. */
export interface LostEvent {
  event_id: string;
  client_id: string | null;
  transfer_id: string | null;
  type: string | null;
  /** When its workflow started. */
  started_at: string;
}

/**
 * The events whose workflows started since then and that have no row: lost when Postgres was set back. Receivers may have
 * them. @param since ms since 1970 @throws ConfigError
 */
export function findLostEvents(db: Handle, environment: Environment, since: number): Promise<LostEvent[]> {
  return withTemporal(environment, async (client) => {
    const lost: LostEvent[] = [];
    let batch = new Map<string, LostEvent>();
    const judge = async () => {
      const rows = await db.query<{ id: string }>(EXISTING, [[...batch.keys()]]);
      for (const { id } of rows) batch.delete(id);
      lost.push(...batch.values());
      batch = new Map();
    };
    const query = `WorkflowType = 'deliverEvent' AND StartTime >= '${new Date(since).toISOString()}'`;
    for await (const { workflowId, typedSearchAttributes: attributes, startTime } of client.workflow.list({ query })) {
      // A recovered delivery has a workflow of another name; its event has one of its own.
      if (!isId(workflowId)) continue;
      batch.set(workflowId, {
        event_id: workflowId,
        client_id: attributes.get(ClientId) ?? null,
        transfer_id: attributes.get(TransferId) ?? null,
        type: attributes.get(EventType) ?? null,
        started_at: startTime.toISOString(),
      });
      if (batch.size === BATCH) await judge();
    }
    await judge();
    return lost.sort((a, b) => (a.event_id < b.event_id ? -1 : 1));
  });
}

const EXISTING = 'select id::text from events where id = any($1::uuid[])';

import type { WorkflowExecutionInfo } from '@temporalio/client';
import { ClientId, EventType, TransferId } from '../../workflows/search-attributes.js';
import type { Environment } from '../platform/config/config.js';
import type { Handle } from '../platform/database/database.js';
import { isId } from '../platform/ids.js';
import { withTemporal } from '../temporal/connection.js';

const BATCH = 500;

/** An event that has a workflow in Temporal and no row in Postgres. */
export type LostEvent = ReturnType<typeof eventOf>;

function eventOf({ workflowId, typedSearchAttributes: attributes, startTime }: WorkflowExecutionInfo) {
  return {
    event_id: workflowId,
    client_id: attributes.get(ClientId) ?? null,
    transfer_id: attributes.get(TransferId) ?? null,
    type: attributes.get(EventType) ?? null,
    /** When its workflow started. */
    started_at: startTime.toISOString(),
  };
}

/**
 * Finds the events whose workflow started since a time and that have no row in Postgres: they were lost when Postgres
 * was restored to an earlier time. Receivers may have them. @param since ms since 1970 @throws ConfigError
 */
export function findLostEvents(db: Handle, environment: Environment, since: number): Promise<LostEvent[]> {
  return withTemporal(environment, async (client) => {
    const lost: LostEvent[] = [];
    let batch = new Map<string, LostEvent>();
    const keepMissing = async () => {
      const existing = await db.prisma.event.findMany({
        where: { id: { in: [...batch.keys()] } },
        select: { id: true },
      });
      for (const { id } of existing) batch.delete(id);
      lost.push(...batch.values());
      batch = new Map();
    };
    const query = `WorkflowType = 'deliverEvent' AND StartTime >= '${new Date(since).toISOString()}'`;
    for await (const workflow of client.workflow.list({ query })) {
      // Workflows started manually may have any id.
      if (!isId(workflow.workflowId)) continue;
      batch.set(workflow.workflowId, eventOf(workflow));
      if (batch.size === BATCH) await keepMissing();
    }
    await keepMissing();
    return lost.sort((a, b) => (a.event_id < b.event_id ? -1 : 1));
  });
}

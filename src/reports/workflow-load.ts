import type { Client } from '@temporalio/client';
import { type Handle, readClock, rowOf } from '../platform/database/database.js';
import { lowestIdAt } from '../platform/ids.js';

/** Rates are those of the last minute, ms. */
const MEASURED = 60_000;

/** How many events there are a second, and how many workflows start. */
export interface WorkflowLoad {
  events: number;
  starts: number;
  /** A delivered event has waited for its workflow for a minute. */
  isBehind: boolean;
}

/** Temporal counts what its visibility store knows, which is some seconds behind. */
export async function readWorkflowLoad(db: Handle, { workflow }: Client): Promise<WorkflowLoad> {
  const since = (await readClock(db)) - MEASURED;
  const { events, isBehind } = await rowOf<{ events: number; isBehind: boolean }>(db, LOAD, [lowestIdAt(since)]);
  const started = `WorkflowType = 'deliverEvent' and StartTime > '${new Date(since).toISOString()}'`;
  const { count } = await workflow.count(started);
  const rate = (total: number) => Math.round((10 * total * 1_000) / MEASURED) / 10;
  return { events: rate(events), starts: rate(count), isBehind };
}

const LOAD = `
select (select count(*)::int from events where id > $1::uuid) as events,
       exists (select from outbox where state = 'delivered' and event_id < $1::uuid order by event_id limit 1) as "isBehind"`;

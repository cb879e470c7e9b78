import type { Client } from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import { ClientId, TransferId, WebhookIds } from '../../workflows/search-attributes.js';
import type { Handle } from '../platform/database/database.js';
import { reportTo } from '../platform/database/faults.js';
import { failpoint } from '../platform/failpoints.js';
import { Periodic } from '../platform/periodic.js';
import { isRefusedInput, startUnlessRunning } from '../temporal/connection.js';
import type { WorkflowStarterOptions } from './workflow-starter.js';
import { KEPT, type WorkflowStart } from './workflow-starts.js';

/** Rows leased at once. */
const BATCH = 5;
/** After so many seconds, a row that a process leased and did not start is free again. */
const LEASE_SECONDS = 30;
/**
 * The rest after each start, as a multiple of the time that the start took: the slower Temporal is, the fewer starts it
 * gets. A flood waits in Postgres, because in Temporal its tasks would take the server's time from deliveries.
 */
const REST = 4;
/** Shortest and longest rest, ms. */
const [SHORTEST_REST, LONGEST_REST] = [40, 1_000];
/** Until the next try, s: after a failure, and after a rejection by Temporal. */
const [RETRY_AFTER, REJECTED_AFTER] = [1, 60];

export interface StartWorkflowsOptions extends Omit<WorkflowStarterOptions, 'workflows' | 'waiting'> {
  /** Asked at each poll: whether rows are due. */
  waiting: () => Promise<{ workflows: boolean }>;
  /** Ends what is too late to start. Runs before each lease, also while Temporal is unavailable. */
  endLate?: () => Promise<void>;
  /** The table is read this often, ms. */
  interval: number;
}

/** Starts the workflows of `workflow_starts`, and starts those again that have stopped renewing their rows. */
export function startWorkflows(options: StartWorkflowsOptions): Periodic {
  const { db, temporal, waiting, endLate, interval, log } = options;

  /** Starts one workflow after the other. @returns whether the table may have more */
  async function startBatch(): Promise<boolean> {
    if (!temporal() || loop.stopped) return false;
    const due = await leaseStarts(db, BATCH, LEASE_SECONDS);
    let goesOn = true;
    for (const start of due) {
      const client = temporal();
      // The process is about to end, or Temporal is unavailable: any worker may take the rest.
      if (!goesOn || !client || loop.stopped) {
        await releaseStart(db, start, 0);
        goesOn = false;
        continue;
      }
      const since = performance.now();
      goesOn = await startOne(client, start);
      const rest = REST * (performance.now() - since);
      await loop.pause(Math.min(Math.max(SHORTEST_REST, rest), LONGEST_REST));
    }
    return due.length === BATCH && goesOn;
  }

  /** @returns false if Temporal may take no other start either */
  async function startOne(client: Client, start: LeasedStart): Promise<boolean> {
    try {
      await startWorkflow(client, start);
      failpoint('after-workflow-start');
      await db.query(MARK_STARTED, [start.workflowId, start.lease]);
      return true;
    } catch (error) {
      const rejected = isRefusedInput(error);
      log.warn({ err: error, workflow_id: start.workflowId }, 'a workflow could not be started; next try soon');
      await releaseStart(db, start, rejected ? REJECTED_AFTER : RETRY_AFTER);
      return rejected;
    }
  }

  const loop = new Periodic({
    interval,
    isDue: async () => (await waiting()).workflows,
    run: async () => {
      await endLate?.();
      while (await startBatch());
    },
    onFault: reportTo(log, 'starting workflows failed; next try at the next poll'),
  });
  return loop;
}

/** Starts the workflow, unless it runs already. */
function startWorkflow(client: Client, start: LeasedStart): Promise<void> {
  const { workflowId, type, taskQueue, clientId, input, summary, endpointId, transferId } = start;
  const attributes: SearchAttributePair[] = [
    { key: ClientId, value: clientId },
    ...(endpointId === null ? [] : [{ key: WebhookIds, value: [endpointId] }]),
    ...(transferId === null ? [] : [{ key: TransferId, value: transferId }]),
  ];
  return startUnlessRunning(client, () =>
    client.workflow.start(type, {
      workflowId,
      taskQueue,
      workflowIdReusePolicy: 'ALLOW_DUPLICATE',
      args: [input],
      priority: { fairnessKey: clientId },
      staticSummary: summary,
      typedSearchAttributes: attributes,
    }),
  );
}

/** A row that is leased to this process for a start. */
export interface LeasedStart extends Omit<WorkflowStart, 'renewedWithin' | 'endpointId' | 'transferId'> {
  endpointId: string | null;
  transferId: string | null;
  /** The end of the lease. A row that has another `start_after` meanwhile is no longer this process's. */
  lease: string;
}

/**
 * Leases up to `limit` due rows for `seconds`, those of the clients with the fewest workflows in progress first, so
 * that no client waits behind the backlogs of others. Each type of workflow counts by itself: a client's check does not
 * wait behind its own transfers.
 */
export function leaseStarts(db: Handle, limit: number, seconds: number): Promise<LeasedStart[]> {
  return db.query<LeasedStart>(LEASE, [limit, seconds]);
}

/**
 * Only release 1.0 has workflows of recoveries; its APIs may still ask for them. A loose index scan finds clients and
 * types. A row that is leased or started has its `start_after` in the future; the due rows of the same client and type
 * take their turns after it.
 */
const LEASE = `
with recursive lines as (
  (select client_id, type from workflow_starts order by client_id, type limit 1)
  union all
  select x.client_id, x.type from lines l cross join lateral (
    select client_id, type from workflow_starts
     where (client_id, type) > (l.client_id, l.type) order by client_id, type limit 1) x
), candidates as (
  select due.workflow_id
    from lines l cross join lateral (
      select count(*) from workflow_starts r
       where r.client_id = l.client_id and r.type = l.type and r.start_after > now()) in_progress
    cross join lateral (
      select workflow_id, row_number() over (order by start_after) as place from workflow_starts x
       where x.client_id = l.client_id and x.type = l.type and x.start_after <= now()
       order by start_after limit $1::int) due
   where l.type <> 'recoverEndpoint'
   order by in_progress.count + due.place, random() limit $1::int
), free as (
  select workflow_id from workflow_starts
   where workflow_id in (select workflow_id from candidates) and start_after <= now()
     for update skip locked
)
update workflow_starts w set start_after = now() + $2::int * interval '1 second'
  from free f where w.workflow_id = f.workflow_id
returning w.workflow_id as "workflowId", w.type, w.task_queue as "taskQueue", w.client_id as "clientId", w.input, w.summary,
          w.endpoint_id as "endpointId", w.transfer_id as "transferId", w.start_after::text as lease`;

/** The workflow runs. It is due again when its activities must have renewed it. */
const MARK_STARTED = `update workflow_starts set ${KEPT} where workflow_id = $1 and start_after = $2::timestamptz`;

/** Ends the lease of a row whose workflow is not started. It is due again in `seconds`. */
async function releaseStart(db: Handle, { workflowId, lease }: LeasedStart, seconds: number): Promise<void> {
  await db.query(RELEASE, [workflowId, lease, seconds]);
}

const RELEASE = `
update workflow_starts set start_after = now() + $3::int * interval '1 second'
 where workflow_id = $1 and start_after = $2::timestamptz`;

import type { Handle } from '../database/database.js';

/** A workflow that runs until the work of its row has ended. */
export interface WorkflowStart {
  workflowId: string;
  type: 'recoverEndpoint' | 'checkReceiver' | 'sandboxTransfer';
  taskQueue: string;
  /** The fairness key, and the search attribute `ClientId`. */
  clientId: string;
  /** What the workflow is called with, JSON. A second start gets it too. */
  input: object;
  /** What Temporal's UI shows of the workflow. */
  summary: string;
  /** The search attribute `WebhookIds`. */
  endpointId?: string;
  /** The search attribute `TransferId`. */
  transferId?: string;
  /** Longest time between two activities of the workflow, s. After it, the workflow is started again if it was lost. */
  renewedWithin: number;
}

/**
 * Records in the caller's transaction that a workflow is needed, so that no start is lost while Temporal is unavailable or
 * when a process dies. The row lives until the workflow has ended. Its activities move `start_after` ahead, and the last
 * one deletes the row, so a terminated workflow and one of a lost Temporal store start again.
 */
export async function enqueueWorkflow(tx: Handle, start: WorkflowStart): Promise<void> {
  const { workflowId, type, taskQueue, clientId, endpointId = null, transferId = null, input, summary } = start;
  const ids = [workflowId, type, taskQueue, clientId, endpointId, transferId];
  await tx.query(ENQUEUE, [...ids, JSON.stringify(input), summary, start.renewedWithin]);
}

/** The columns' defaults are Postgres's clock; those of Prisma would be this process's. */
const ENQUEUE = `
insert into workflow_starts (workflow_id, type, task_queue, client_id, endpoint_id, transfer_id, input, summary, renewed_within)
values ($1, $2, $3, $4::uuid, $5::uuid, $6::uuid, $7::jsonb, $8, $9::int)`;

/** SQL, the assignments of an update: an activity of the workflow runs. */
export const KEPT = `started_at = coalesce(started_at, now()), start_after = now() + renewed_within * interval '1 second'`;

/** Called by each activity of a workflow but the last: while it runs, it is not started again. */
export async function keepStarted(db: Handle, workflowId: string): Promise<void> {
  await db.query(`update workflow_starts set ${KEPT} where workflow_id = $1`, [workflowId]);
}

/** A row that is leased to this process for a start. */
export interface LeasedStart extends Omit<WorkflowStart, 'renewedWithin' | 'endpointId' | 'transferId'> {
  endpointId: string | null;
  transferId: string | null;
  /** The end of the lease. A row that has another `start_after` meanwhile is no longer this process's. */
  lease: string;
  /** The workflow was started before. */
  restart: boolean;
}

/**
 * Leases up to `limit` due rows for `seconds`, those of the clients with the fewest workflows in progress first, so that no
 * client waits behind the backlogs of others. Each type of workflow counts by itself: a client's check does not wait behind
 * its own transfers.
 */
export function leaseStarts(db: Handle, limit: number, seconds: number): Promise<LeasedStart[]> {
  return db.query<LeasedStart>(LEASE, [limit, seconds]);
}

/**
 * A loose index scan finds clients and types. A row that is leased or started has its `start_after` in the future; the due
 * rows of the same client and type take their turns after it.
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
   order by in_progress.count + due.place, random() limit $1::int
), free as (
  select workflow_id from workflow_starts
   where workflow_id in (select workflow_id from candidates) and start_after <= now()
     for update skip locked
)
update workflow_starts w set start_after = now() + $2::int * interval '1 second'
  from free f where w.workflow_id = f.workflow_id
returning w.workflow_id as "workflowId", w.type, w.task_queue as "taskQueue", w.client_id as "clientId", w.input, w.summary,
          w.endpoint_id as "endpointId", w.transfer_id as "transferId", w.started_at is not null as restart, w.start_after::text as lease`;

/** Records that the workflow runs. It is due again in `seconds`, at the latest when its activities must have renewed it. */
export async function markStarted(db: Handle, { workflowId, lease }: LeasedStart, seconds?: number): Promise<void> {
  await db.query(MARK, [workflowId, lease, seconds ?? null]);
}

const MARK = `
update workflow_starts set started_at = coalesce(started_at, now()),
       start_after = now() + least(renewed_within, $3::int) * interval '1 second'
 where workflow_id = $1 and start_after = $2::timestamptz`;

/** Ends the lease of a row whose workflow is not started. It is due again in `seconds`. */
export async function releaseStart(db: Handle, { workflowId, lease }: LeasedStart, seconds: number): Promise<void> {
  await db.query(RELEASE, [workflowId, lease, seconds]);
}

const RELEASE = `
update workflow_starts set start_after = now() + $3::int * interval '1 second'
 where workflow_id = $1 and start_after = $2::timestamptz`;

/** The workflows of a type that were never started; counts up to `limit`. */
export async function countWaiting(db: Handle, type: WorkflowStart['type'], limit: number): Promise<number> {
  const [row] = await db.query<{ count: number }>(COUNT, [type, limit]);
  return row?.count ?? 0;
}

const COUNT = `
select count(*)::int as count from (
  select from workflow_starts where type = $1 and started_at is null limit $2::int) w`;

import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import type { RecoverEndpointInput } from '../../workflows/recover-endpoint.js';
import { admitBeside } from '../endpoints/admit.js';
import { getEndpoint, refuseInactive, refuseWhileCancelling } from '../endpoints/endpoints.js';
import { hostOf } from '../endpoints/url.js';
import type { By } from '../platform/audit.js';
import { recordAudit } from '../platform/audit.js';
import type { Handle } from '../platform/database/database.js';
import { lockInTransaction } from '../platform/database/database.js';
import { newId } from '../platform/ids.js';
import { LIMITS } from '../platform/limits.js';
import { PostgresLimit } from '../platform/rate-limit.js';
import { countRecoverable, type RecoverScope, type RecoverSize } from './recovery-batches.js';
import { countWithinLimits, readWindow } from './window.js';
import { enqueueWorkflow, KEPT } from './workflow-starts.js';

const limit = new PostgresLimit('recoveries', LIMITS.recoveries);
/** Longer than a batch takes with its tries, s: a recovery without a batch for so long is started again if it was lost. */
const RENEWED_WITHIN = 180;

/** A recovery of the events made in [since, until), ms since 1970. */
export interface RecoverRequest extends RecoverScope {
  by: By;
  /** Whether events without a delivery for the endpoint get one. */
  includeMissing: boolean;
  /** Whose limit of statements the count uses; null: the operator's, which has only the time limit. */
  countedFor: string | null;
}

/**
 * Starts the ladder of every failed or cancelled delivery of the range again, durably and at a bounded rate, and makes the
 * deliveries of missing events if the request includes them. A worker starts the workflow, which needs no Temporal here.
 * The recovery runs until its row in `recovers` has ended, however often its workflow starts. If there is nothing to
 * recover, none starts.
 * @throws Refusal not_found | cancellation_in_progress | endpoint_not_active | recover_in_progress |
 * recover_limit_reached | statement_limit_reached | unavailable
 */
export async function recoverEndpoint(tx: Handle, request: RecoverRequest): Promise<RecoverSize> {
  // The limits come before the count, which is expensive. No transaction waits for another request's count.
  await admit(tx, request);
  const size = await measure(tx, request);
  if (size.count + size.missing === 0) return size;
  await lockInTransaction(tx, `recovers of ${request.clientId}`);
  const url = await admit(tx, request);
  await begin(tx, request, size, hostOf(url));
  return size;
}

/** @returns the endpoint's URL */
async function admit(tx: Handle, { clientId, endpointId }: RecoverRequest): Promise<string> {
  const endpoint = await getEndpoint(tx, clientId, endpointId);
  refuseWhileCancelling(endpoint);
  refuseInactive(endpoint);
  admitBeside(await readRunning(tx, clientId), endpointId, LIMITS.recoveriesAtOnce, 'recovery');
  await limit.check(tx, endpointId);
  return endpoint.url;
}

function measure(tx: Handle, request: RecoverRequest): Promise<RecoverSize> {
  const { clientId, endpointId, since, until, includeMissing } = request;
  const scope = { clientId, endpointId, since, until };
  return countWithinLimits(tx, request.countedFor, async () => {
    if (!includeMissing) return { count: await countRecoverable(tx, scope), missing: 0 };
    const { failed, cancelled, missing } = await readWindow(tx, scope);
    return { count: failed + cancelled, missing };
  });
}

async function begin(tx: Handle, request: RecoverRequest, size: RecoverSize, host: string): Promise<void> {
  const { by, clientId, endpointId, since, until, includeMissing } = request;
  const { count, missing } = size;
  const recoverId = newId();
  await limit.consume(tx, endpointId);
  await tx.query(BEGIN, [recoverId, clientId, endpointId, count, missing]);
  const input = { recoverId, clientId, webhookId: endpointId, host, since, until, count, includeMissing, missing };
  await enqueueWorkflow(tx, {
    workflowId: `recover-${endpointId}`,
    type: 'recoverEndpoint',
    taskQueue: TASK_QUEUE,
    clientId,
    endpointId,
    input: input satisfies RecoverEndpointInput,
    summary: `recover ${count + missing} deliveries → ${host}`,
    renewedWithin: RENEWED_WITHIN,
  });
  const times = { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
  const details = {
    client_id: clientId,
    recover: recoverId,
    ...times,
    include_missing: includeMissing,
    count,
    missing,
  };
  await recordAudit(tx, { ...by, action: 'endpoints.recover', target: endpointId, details });
}

/** Number of running recoveries of a client, at least 1. They share the client's rate. */
export async function countRunning(db: Handle, clientId: string): Promise<number> {
  return Math.min(Math.max(1, (await readRunning(db, clientId)).length), LIMITS.recoveriesAtOnce.amount);
}

/** @returns the endpoint of each */
async function readRunning(db: Handle, clientId: string): Promise<readonly string[]> {
  const rows = await db.query<{ endpointId: string }>(RUNNING, [clientId]);
  return rows.map(({ endpointId }) => endpointId);
}

/** Called by each batch of a recovery: while it runs, its workflow is not started again. */
export async function keepRecovering(db: Handle, recoverId: string): Promise<void> {
  await db.query(KEEP, [recoverId]);
}

/** Ends a recovery, whose last delivery has started again, and the need for its workflow. */
export async function endRecover(db: Handle, recoverId: string): Promise<void> {
  await db.query(END, [recoverId]);
}

const RUNNING = 'select endpoint_id as "endpointId" from recovers where client_id = $1::uuid and ended_at is null';

const BEGIN = `
insert into recovers (id, client_id, endpoint_id, count, missing)
values ($1::uuid, $2::uuid, $3::uuid, $4::int, $5::int)`;

/** A batch that runs again after its recovery has ended leaves the row of the endpoint's next recovery alone. */
const KEEP = `
update workflow_starts w set ${KEPT}
  from recovers r
 where r.id = $1::uuid and r.ended_at is null and w.workflow_id = 'recover-' || r.endpoint_id`;

const END = `
with ended as (
  update recovers set ended_at = now() where id = $1::uuid and ended_at is null returning endpoint_id
)
delete from workflow_starts w using ended e where w.workflow_id = 'recover-' || e.endpoint_id`;

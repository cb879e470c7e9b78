import { TASK_QUEUE } from '../../workflows/deliver-event.input.js';
import { ladderToText } from '../../workflows/ladder.js';
import { type Receiver, receiverName } from '../../workflows/receiver.js';
import type { RecoverEndpointInput } from '../../workflows/recover-endpoint.js';
import { ACTIVE } from '../endpoints/disable.js';
import { getEndpoint, type PublicEndpoint, refuseInactive, refuseWhileCancelling } from '../endpoints/endpoints.js';
import { receiverOf } from '../endpoints/url.js';
import { countWithinLimits, LEFT_JOIN_DELIVERY, LOOKED_AT, readWindow } from '../endpoints/window.js';
import { type By, recordAudit } from '../platform/audit.js';
import { type Handle, lockInTransaction, readClock, rowOf } from '../platform/database/database.js';
import { lowestIdAt, NIL_ID, takeId } from '../platform/ids.js';
import { LIMITS } from '../platform/limits.js';
import { PostgresLimit } from '../platform/rate-limit.js';
import { queueLate, wakeWorkflows } from './queue.js';
import { admitWorkflow, enqueueWorkflow, readRunning } from './workflow-starts.js';

/** The time range [since, until) in which the events were made, ms since 1970. */
export type RecoveryRange = { since: number; until: number };

/** The deliveries of one endpoint for the events of a range. */
export type RecoveryScope = RecoveryRange & { clientId: string; endpointId: string };

/**
 * What a recovery does: `count` deliveries that have ended and `pending` ones that sleep start again, and `missing`
 * events get the delivery that they lack.
 */
export type RecoverySize = Pick<RecoverEndpointInput, 'count' | 'missing' | 'pending'>;

/** The number of deliveries that a recovery queues. */
export const sizeOf = ({ count, missing, pending }: RecoverySize) => count + missing + pending;

/** `id` null: there is nothing to recover. */
export type StartedRecovery = RecoverySize & { id: string | null };

const limit = new PostgresLimit('recoveries', LIMITS.recoveries);
/** The id of a recovery's workflow is this and the id of the recovery. */
export const RECOVERY_WORKFLOW = 'recover-';
/**
 * Longer than a batch takes with its tries, s: a recovery without a batch for so long is started again if it was lost.
 */
const RENEWED_WITHIN = 180;

/** A recovery of the events made in [since, until), ms since 1970. */
export interface RecoveryRequest extends Omit<RecoveryScope, 'until'> {
  /** Undefined: now, by the clock of events. */
  until?: number | undefined;
  by: By;
  /** Whether events without a delivery for the endpoint get one. */
  includeMissing: boolean;
  /** Whether deliveries that sleep start again too, so that nothing waits for its next rung. */
  includePending: boolean;
  /** Whose limit of statements the count uses; null: the operator's, which has only the time limit. */
  countedFor: string | null;
}

type Recovery = Omit<RecoveryRequest, 'until'> & RecoveryRange;

/**
 * Starts the ladder of every failed or cancelled delivery of the range again, durably and at a bounded rate, and makes
 * the deliveries of missing events if the request includes them. A worker starts the workflow, which needs no Temporal
 * here. The recovery runs as long as its row of `workflow_starts`, however often its workflow starts. If there is
 * nothing to recover, none starts.
 * @throws Refusal not_found | cancellation_in_progress | endpoint_not_active | recover_in_progress |
 * recover_limit_reached | statement_limit_reached | unavailable
 */
export async function recoverEndpoint(tx: Handle, { until, ...asked }: RecoveryRequest): Promise<StartedRecovery> {
  const request: Recovery = { ...asked, until: until ?? (await readClock(tx)) };
  // The limits come before the count, which is expensive. No transaction waits for another request's count.
  await admit(tx, request);
  const size = await measure(tx, request);
  if (sizeOf(size) === 0) return { id: null, ...size };
  await lockInTransaction(tx, `recoveries of ${request.clientId}`);
  const endpoint = await admit(tx, request);
  return { id: await begin(tx, request, size, receiverOf(endpoint)), ...size };
}

async function admit(tx: Handle, { clientId, endpointId }: RecoveryRequest): Promise<PublicEndpoint> {
  const endpoint = await getEndpoint(tx, clientId, endpointId);
  refuseWhileCancelling(endpoint);
  refuseInactive(endpoint);
  await admitWorkflow(tx, { type: 'recoverEndpoint', clientId, endpointId }, LIMITS.recoveriesAtOnce, 'recovery');
  await limit.check(tx, endpointId);
  return endpoint;
}

function measure(tx: Handle, request: Recovery): Promise<RecoverySize> {
  return countWithinLimits(tx, request.countedFor, async () => {
    const pending = request.includePending ? await countAsleep(tx, request) : 0;
    if (!request.includeMissing) return { count: await countRecoverable(tx, request), missing: 0, pending };
    const { failed, cancelled, missing } = await readWindow(tx, request);
    return { count: failed + cancelled, missing, pending };
  });
}

/** @returns the id of the recovery */
async function begin(tx: Handle, request: Recovery, size: RecoverySize, receiver: Receiver): Promise<string> {
  const { by, clientId, endpointId, since, until, includeMissing, includePending } = request;
  const { id: recoveryId } = await takeId(tx);
  const times = { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
  const ids = [recoveryId, clientId, endpointId];
  const { count, missing, pending } = size;
  await tx.query(BEGIN, [...ids, times.since, times.until, includeMissing, count, missing, includePending, pending]);
  await limit.consume(tx, endpointId);
  const input = { clientId, ...receiver, since, until, includeMissing, includePending, ...size };
  await enqueueWorkflow(tx, {
    workflowId: `${RECOVERY_WORKFLOW}${recoveryId}`,
    type: 'recoverEndpoint',
    taskQueue: TASK_QUEUE,
    clientId,
    endpointId,
    input: input satisfies RecoverEndpointInput,
    summary: `recover ${sizeOf(size)} deliveries → ${receiverName(receiver)}`,
    renewedWithin: RENEWED_WITHIN,
  });
  const included = { include_missing: includeMissing, include_pending: includePending };
  const details = { client_id: clientId, recover: recoveryId, ...times, ...included, ...size };
  await recordAudit(tx, { ...by, action: 'endpoints.recover', target: endpointId, details });
  return recoveryId;
}

/** The times are Postgres's clock. */
const BEGIN = `
insert into recoveries (id, client_id, endpoint_id, since, until, include_missing, count, missing, include_pending, pending)
values ($1::uuid, $2::uuid, $3::uuid, $4::timestamptz, $5::timestamptz, $6::boolean, $7::int, $8::int, $9::boolean, $10::int)`;

/** Number of running recoveries of a client, at least 1. They share the client's rate. */
export async function countRunning(db: Handle, clientId: string): Promise<number> {
  const running = await readRunning(db, clientId, 'recoverEndpoint');
  return Math.min(Math.max(1, running.length), LIMITS.recoveriesAtOnce.amount);
}

/** Counts the failed and cancelled deliveries of the scope. */
export const countRecoverable = (db: Handle, scope: RecoveryScope) => countOf(db, COUNT, scope);

/** Counts the pending deliveries of the scope that sleep. */
export const countAsleep = (db: Handle, scope: RecoveryScope) => countOf(db, COUNT_ASLEEP, scope);

async function countOf(db: Handle, statement: string, { endpointId, since, until }: RecoveryScope): Promise<number> {
  // Ids contain the time of their event, so that a time range is a range of the index.
  return (await rowOf<{ count: number }>(db, statement, [endpointId, lowestIdAt(since), lowestIdAt(until)])).count;
}

/** Of these, only the index is read. */
const COUNT = `
select count(*)::int as count from deliveries
 where endpoint_id = $1::uuid and status in ('failed', 'cancelled') and id >= $2::uuid and id < $3::uuid`;

/** SQL: a pending delivery `d` waits for its next rung; neither it nor a manual retry of it is due or in flight. */
const SLEEPS = `d.status = 'pending' and d.asleep and d.next_attempt_at > now()
   and not exists (select from queue q where q.delivery_id = d.id)`;

const COUNT_ASLEEP = `
select count(*)::int as count from deliveries d
 where d.endpoint_id = $1::uuid and d.id >= $2::uuid and d.id < $3::uuid and ${SLEEPS}`;

/** While so many deliveries of an endpoint wait in its late line, a recovery queues no more. */
export const LATE_WAITING = 20;

/** @returns how many attempts a recovery may queue now, at most `limit` */
export async function roomInLateLine(db: Handle, endpointId: string, limit: number): Promise<number> {
  const { waiting } = await rowOf<{ waiting: number }>(db, LATE, [endpointId, LATE_WAITING]);
  return Math.max(0, Math.min(limit, LATE_WAITING - waiting));
}

const LATE = `
select count(*)::int as waiting from (
  select from queue where endpoint_id = $1::uuid and line = 'late' and lease_until is null limit $2::int) q`;

/** The next deliveries of a recovery: at most `limit`, after the delivery or event `after`. */
export interface RecoveryPart extends RecoveryScope {
  after: string | null;
  limit: number;
  /** The present ladder, ms, with which they start. */
  retryDelays: readonly number[];
}

function valuesOf({ endpointId, clientId, since, until, after, limit, retryDelays }: RecoveryPart): unknown[] {
  return [endpointId, clientId, lowestIdAt(since), lowestIdAt(until), after, limit, ladderToText(retryDelays)];
}

/**
 * Queues the next deliveries of a phase, oldest first, with a new ladder: those that failed or were cancelled
 * (`ended`), or those that sleep (`pending`).
 * @returns their ids, and the delivery after which the next batch starts; null: none was found, or the endpoint is
 * inactive
 */
export async function resetForRecovery(
  db: Handle,
  part: RecoveryPart,
  phase: keyof typeof RESET = 'ended',
): Promise<{ ids: readonly string[]; after: string | null }> {
  return rowOf(db, RESET[phase], valuesOf(part));
}

/**
 * A delivery whose attempt is in flight, or queued by a manual retry, keeps that row of the queue.
 *
 * One ordered range of the index on (endpoint, status, id) for each status, as cancelling reads it (`CANCEL_PENDING`):
 * in the order of ids alone, the read after the last failed delivery walks over every later success.
 *
 * What is found may have changed before it is locked. The next batch starts after it, whether it was reset or not.
 */
const resetThose = (statuses: readonly string[], which: string) => `
with found as materialized (
  ${statuses
    .map(
      (status) => `(
  select d.id from deliveries d
   where d.endpoint_id = $1::uuid and d.status >= '${status}' and d.status <= '${status}' and d.id >= $3::uuid
     and d.id < $4::uuid and d.id > coalesce($5::uuid, '${NIL_ID}') and ${which}
   order by d.status desc, d.id limit $6::int)`,
    )
    .join(' union all ')}
), candidates as materialized (
  select d.id from deliveries d
    join webhook_endpoints e on e.id = d.endpoint_id and e.enabled and e.deleted_at is null
   where d.id = any(array(select id from found order by id limit $6::int)) and d.client_id = $2::uuid and ${which}
   order by d.id for no key update of d
), reset as (
  update deliveries d set status = 'pending', reason = null, finished_at = null, next_attempt_at = now(),
         rung = 0, ladder = $7::text, recovered = true, asleep = false
    from candidates c where d.id = c.id
  returning d.id, d.event_id, d.client_id, d.endpoint_id
), ${queueLate('reset', 'now()', `'recover'`)}, ${wakeWorkflows('reset')}
select coalesce((select json_agg(id order by id) from candidates), '[]') as ids,
       case when exists (select from webhook_endpoints e where e.id = $1::uuid and ${ACTIVE}) then
         (select max(id::text) from (select id from found order by id limit $6::int) f) end as after`;

const RESET = {
  ended: resetThose(['failed', 'cancelled'], `d.status in ('failed', 'cancelled')`),
  pending: resetThose(['pending'], SLEEPS),
};

/** Deliveries that a batch queued, and the delivery or event after which the next one starts; null: it was the last. */
export type QueuedPart = { recovered: number; after: string | null };

/**
 * Makes the deliveries of the next events that have none for the endpoint. They are queued like recovered ones.
 *
 * An event and the deliveries of its producer commit together, so that an event that is seen without a delivery never
 * gets one from its producer. The id of a delivery made here is made of the event's time and a hash of event and
 * endpoint, so that two calls at once make it once.
 */
export function deliverMissing(db: Handle, part: RecoveryPart): Promise<QueuedPart> {
  return rowOf<QueuedPart>(db, DELIVER_MISSING, [...valuesOf(part), LOOKED_AT]);
}

const HASH = `sha256(convert_to(l.id || ' ' || $1::uuid, 'UTF8'))`;
/** A UUID version 7 (RFC 9562): the event's time, then 73 bits of the hash; the version and the variant between. */
const MADE_ID = `(substr(l.id::text, 1, 13) || '-7' || substr(encode(${HASH}, 'hex'), 1, 3) || '-'
  || to_hex(8 + get_byte(${HASH}, 2) % 4) || substr(encode(${HASH}, 'hex'), 7, 3) || '-' || substr(encode(${HASH}, 'hex'), 11, 12))::uuid`;

const RANGE = `
  v.client_id = $2::uuid and v.id >= $3::uuid and v.id < $4::uuid and ($5::uuid is null or v.id > $5::uuid)
  and exists (select from webhook_endpoints
               where id = $1::uuid and client_id = $2::uuid and enabled and deleted_at is null)`;

/** Events are read in the order of their index, one after another, until enough of them are due. */
const DELIVER_MISSING = `
with due as materialized (
  select l.id as event_id, ${MADE_ID} as id
    from (select v.client_id, v.id from events v where ${RANGE} order by v.client_id, v.id limit $8::int) l${LEFT_JOIN_DELIVERY}
   where d.id is null
   order by l.client_id, l.id limit $6::int
), made as (
  insert into deliveries (id, event_id, endpoint_id, client_id, next_attempt_at, ladder, recovered)
  select id, event_id, $1::uuid, $2::uuid, now(), $7::text, true from due order by id
  on conflict (id) do nothing
  returning id, event_id, endpoint_id, client_id
), ${queueLate('made', 'now()', `'recover'`)}, ${wakeWorkflows('made')}
select (select count(*)::int from made) as recovered,
       case when (select count(*) from due) = $6::int then (select max(event_id::text) from due)
            else (select v.id::text from events v where ${RANGE} order by v.client_id, v.id offset $8::int - 1 limit 1)
        end as after`;

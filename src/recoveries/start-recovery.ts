import { getEndpoint } from '../endpoints/endpoints.js';
import { refuseAnother, refuseInactive, refuseWhileCancelling } from '../endpoints/refusals.js';
import { countWithinLimits, readWindow } from '../endpoints/window.js';
import { type By, recordAudit } from '../platform/audit.js';
import { type Handle, lockInTransaction, readClock, rowOf } from '../platform/database/database.js';
import { lowestIdAt, takeId } from '../platform/ids.js';
import { LIMITS } from '../platform/limits.js';
import { PostgresLimit } from '../platform/rate-limit.js';
import { type RecoveryRange, type RecoveryScope, SLEEPS } from './batches.js';

/**
 * What a recovery does, as counted at its request: `count` deliveries that have ended and `pending` ones that sleep
 * start again, and `missing` events get the delivery that they lack.
 */
export interface RecoverySize {
  count: number;
  pending: number;
  missing: number;
}

/** The number of deliveries that a recovery queues. */
export const sizeOf = ({ count, missing, pending }: RecoverySize) => count + missing + pending;

/** `id` null: there is nothing to recover. */
export type StartedRecovery = RecoverySize & { id: string | null };

const limit = new PostgresLimit('recoveries', LIMITS.recoveries);

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
 * the deliveries of missing events if the request includes them. A worker carries it out (`carryOutRecoveries`). If
 * there is nothing to recover, none starts.
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
  await admit(tx, request);
  return { id: await begin(tx, request, size), ...size };
}

async function admit(tx: Handle, { clientId, endpointId }: RecoveryRequest): Promise<void> {
  const endpoint = await getEndpoint(tx, clientId, endpointId);
  refuseWhileCancelling(endpoint);
  refuseInactive(endpoint);
  const running = await tx.query<{ endpointId: string }>(RUNNING, [clientId]);
  refuseAnother('recovery', endpointId, running, LIMITS.recoveriesAtOnce);
  await limit.check(tx, endpointId);
}

const RUNNING = `
select endpoint_id as "endpointId" from recoveries where finished_at is null and client_id = $1::uuid`;

function measure(tx: Handle, request: Recovery): Promise<RecoverySize> {
  return countWithinLimits(tx, request.countedFor, async () => {
    const pending = request.includePending ? await countAsleep(tx, request) : 0;
    if (!request.includeMissing) return { count: await countRecoverable(tx, request), missing: 0, pending };
    const { failed, cancelled, missing } = await readWindow(tx, request);
    return { count: failed + cancelled, missing, pending };
  });
}

/** @returns the id of the recovery */
async function begin(tx: Handle, request: Recovery, size: RecoverySize): Promise<string> {
  const { by, clientId, endpointId, since, until, includeMissing, includePending } = request;
  const { id: recoveryId } = await takeId(tx);
  const times = { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
  const ids = [recoveryId, clientId, endpointId];
  const { count, missing, pending } = size;
  await tx.query(BEGIN, [...ids, times.since, times.until, includeMissing, count, missing, includePending, pending]);
  await limit.consume(tx, endpointId);
  const included = { include_missing: includeMissing, include_pending: includePending };
  const details = { client_id: clientId, recover: recoveryId, ...times, ...included, ...size };
  await recordAudit(tx, { ...by, action: 'endpoints.recover', target: endpointId, details });
  return recoveryId;
}

/** The times are Postgres's clock. */
const BEGIN = `
insert into recoveries (id, client_id, endpoint_id, since, until, include_missing, count, missing, include_pending, pending)
values ($1::uuid, $2::uuid, $3::uuid, $4::timestamptz, $5::timestamptz, $6::boolean, $7::int, $8::int, $9::boolean, $10::int)`;

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

const COUNT_ASLEEP = `
select count(*)::int as count from deliveries d
 where d.endpoint_id = $1::uuid and d.id >= $2::uuid and d.id < $3::uuid and ${SLEEPS}`;

import type { By } from '../audit/actor.js';
import { recordAudit } from '../audit/record.js';
import { lockInTransaction } from '../database/advisory-lock.js';
import type { Handle } from '../database/database.js';
import { Refusal } from '../refusal.js';
import { getEndpoint, refuseInactive, refuseWhileCancelling } from './endpoints.js';
import { countRecoverable, type RecoverScope, type RecoverSize } from './recover.js';
import { readWindow } from './statement.js';
import { readWithinLimits } from './statement-limit.js';

/** Recovers of one endpoint in any hour (contract). */
export const RECOVERS_AN_HOUR = 10;
/** Recovers of one client that run at the same time (contract). */
export const RECOVERS_AT_ONCE = 2;
/** Longer than a process needs from inserting a recover's row to Temporal's response that the workflow has started. */
const STARTING_SECONDS = 30;

/** A recover of the events made in [since, until), ms since 1970. */
export type RecoverRequest = RecoverScope & {
  by: By;
  /** Whether events without a delivery for the endpoint get one; undefined: no (a plan of an earlier release). */
  includeMissing?: boolean;
};

/** The plan of a recover. `recoverId` identifies it in Postgres and in Temporal. */
export type PlannedRecover = RecoverRequest & { recoverId: string };

/** A recover whose end is not recorded in Postgres. */
export interface OpenRecover {
  id: string;
  endpointId: string;
  /** Its process may be about to start the workflow, so that Temporal may not know the workflow yet. */
  starting: boolean;
}

/** These recovers block another, provided that Temporal still runs them. */
export interface Blocked {
  blockedBy: readonly OpenRecover[];
}

/** `earlier`: this recover was already admitted, with this size, and may have started. */
export interface Unblocked {
  url: string;
  earlier?: RecoverSize & { ended: boolean };
}

/**
 * Checks everything but the size, which is expensive to count.
 * @param running recovers that Temporal has just reported as running
 * @throws Refusal not_found | cancellation_in_progress | endpoint_not_active | recover_in_progress |
 * recover_limit_reached
 */
export async function checkRecover(
  db: Handle,
  { recoverId, clientId, endpointId }: PlannedRecover,
  running: ReadonlySet<string>,
): Promise<Unblocked | Blocked> {
  const [own] = await db.query<RecoverSize & { url: string; ended: boolean }>(OWN, [recoverId]);
  if (own) return { url: own.url, earlier: own };
  const endpoint = await getEndpoint(db, clientId, endpointId);
  refuseWhileCancelling(endpoint);
  refuseInactive(endpoint);
  const blockedBy = blocking(await db.query<OpenRecover>(OPEN, [clientId]), endpointId);
  if (blockedBy.some(({ id, starting }) => !starting && !running.has(id))) return { blockedBy };
  if (blockedBy.length > 0) {
    throw new Refusal(
      'recover_in_progress',
      blockedBy.some((open) => open.endpointId === endpointId)
        ? 'A recover of this endpoint is running; wait until it ends.'
        : `${RECOVERS_AT_ONCE} recovers of this client are running; wait until one ends.`,
    );
  }
  await checkHour(db, endpointId);
  return { url: endpoint.url };
}

/**
 * Counts what a recover of the window does, with the limits of statements.
 * @throws Refusal statement_limit_reached | unavailable
 */
export function measureRecover(
  db: Handle,
  { clientId, endpointId, since, until, includeMissing = false }: Omit<RecoverRequest, 'by'>,
): Promise<RecoverSize> {
  const scope = { clientId, endpointId, since, until };
  return readWithinLimits(db, clientId, async (tx) => {
    if (!includeMissing) return { count: await countRecoverable(tx, scope), missing: 0 };
    const { failed, cancelled, missing } = await readWindow(tx, scope);
    return { count: failed + cancelled, missing };
  });
}

/**
 * Admits a recover that has something to recover. What was checked before the count is checked again, for one request
 * of a client at a time.
 * @throws as `checkRecover`
 */
export async function admitRecover(
  tx: Handle,
  recover: PlannedRecover,
  { count, missing }: RecoverSize,
  running: ReadonlySet<string>,
): Promise<Unblocked | Blocked> {
  const { recoverId, clientId, endpointId } = recover;
  await lockInTransaction(tx, `recovers of ${clientId}`);
  const checked = await checkRecover(tx, recover, running);
  if ('blockedBy' in checked || checked.earlier) return checked;
  await tx.query(BEGIN, [recoverId, clientId, endpointId, count, missing, STARTING_SECONDS]);
  await recordAudit(tx, entryOf(recover, { count, missing }));
  return checked;
}

/** The audit entry of a recover. */
export function entryOf({ by, recoverId, clientId, endpointId, ...range }: PlannedRecover, size: RecoverSize) {
  const { since, until, includeMissing = false } = range;
  const times = { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
  const details = { client_id: clientId, recover: recoverId, ...times, include_missing: includeMissing, ...size };
  return { ...by, action: 'endpoints.recover', target: endpointId, details } as const;
}

/** The recovers that block another: the endpoint's own, else all of a client that is at its limit. */
function blocking(open: readonly OpenRecover[], endpointId: string): readonly OpenRecover[] {
  const ofEndpoint = open.filter((recover) => recover.endpointId === endpointId);
  if (ofEndpoint.length > 0) return ofEndpoint;
  return open.length >= RECOVERS_AT_ONCE ? open : [];
}

async function checkHour(db: Handle, endpointId: string): Promise<void> {
  const [row] = await db.query<{ count: number; wait: number }>(LAST_HOUR, [endpointId]);
  if (!row || row.count < RECOVERS_AN_HOUR) return;
  const retryAfter = Math.max(1, row.wait);
  const detail = `This endpoint was recovered ${RECOVERS_AN_HOUR} times in the last hour; the next recover is possible in ${retryAfter} s.`;
  throw new Refusal('recover_limit_reached', detail, [], { retryAfter });
}

/** Number of running recovers of a client, at least 1. They share the client's rate. */
export async function countRunning(db: Handle, clientId: string): Promise<number> {
  const open = await db.query<OpenRecover>(OPEN, [clientId]);
  return Math.min(Math.max(1, open.length), RECOVERS_AT_ONCE);
}

/**
 * Records the end of a recover: its last delivery has started again, or Temporal reports that its workflow has ended.
 */
export async function endRecover(db: Handle, recoverId: string): Promise<void> {
  await db.query('update recovers set ended_at = now() where id = $1::uuid and ended_at is null', [recoverId]);
}

/** Deletes a recover whose workflow never started, so that it counts towards no limit. */
export async function forgetRecover(db: Handle, recoverId: string): Promise<void> {
  await db.prisma.recover.deleteMany({ where: { id: recoverId, endedAt: null } });
}

/** Ends the starting phase of a recover: its process has called Temporal, which now knows whether the workflow runs. */
export async function endStarting(db: Handle, recoverId: string): Promise<void> {
  await db.query('update recovers set starting_until = now() where id = $1::uuid', [recoverId]);
}

const OWN = `
select r.count, r.missing, e.url, r.ended_at is not null as ended
  from recovers r join webhook_endpoints e on e.id = r.endpoint_id where r.id = $1::uuid`;

const OPEN = `
select id, endpoint_id as "endpointId",
       starting_until > now() and starting_until < now() + interval '${2 * STARTING_SECONDS} seconds' as starting
  from recovers where client_id = $1::uuid and ended_at is null`;

const LAST_HOUR = `
select count(*)::int as count, coalesce(ceil(extract(epoch from min(at) + interval '1 hour' - now())), 0)::int as wait
  from recovers where endpoint_id = $1::uuid and at > now() - interval '1 hour'`;

const BEGIN = `
insert into recovers (id, client_id, endpoint_id, count, missing, starting_until)
values ($1::uuid, $2::uuid, $3::uuid, $4::int, $5::int, now() + $6::int * interval '1 second')`;

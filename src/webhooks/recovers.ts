import type { By } from '../audit/actor.js';
import { recordAudit } from '../audit/record.js';
import { lockInTransaction } from '../database/advisory-lock.js';
import type { Handle } from '../database/database.js';
import { Refusal } from '../refusal.js';
import { getEndpoint } from './endpoints.js';
import { countRecoverable, type RecoverScope, type RecoverSize } from './recover.js';
import { readWindow } from './statement.js';

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

export type Admission =
  /** `earlier`: this recover was already admitted, and may have started. */
  | (RecoverSize & { url: string; earlier: boolean; ended: boolean })
  /** These recovers block it, provided that Temporal still runs them. */
  | { blockedBy: readonly OpenRecover[] };

/**
 * Admits a recover, or returns the recovers that may block it. Requests of one client run one at a time. If the range
 * has nothing to recover, nothing is written.
 * @param running recovers that Temporal has just reported as running
 * @throws Refusal not_found | endpoint_not_active | recover_in_progress | recover_limit_reached
 */
export async function admitRecover(
  tx: Handle,
  recover: PlannedRecover,
  running: ReadonlySet<string>,
): Promise<Admission> {
  const { recoverId, clientId, endpointId } = recover;
  await lockInTransaction(tx, `recovers of ${clientId}`);
  const [own] = await tx.query<RecoverSize & { url: string; ended: boolean }>(OWN, [recoverId]);
  if (own) return { ...own, earlier: true };
  const { url } = await getActiveEndpoint(tx, clientId, endpointId);
  const blockedBy = blocking(await tx.query<OpenRecover>(OPEN, [clientId]), endpointId);
  if (blockedBy.length > 0) {
    if (blockedBy.some(({ id, starting }) => !starting && !running.has(id))) return { blockedBy };
    throw new Refusal(
      'recover_in_progress',
      blockedBy.some((open) => open.endpointId === endpointId)
        ? 'A recover of this endpoint is running; wait until it ends.'
        : `${RECOVERS_AT_ONCE} recovers of this client are running; wait until one ends.`,
    );
  }
  const { count, missing } = await measure(tx, recover);
  if (count + missing > 0) {
    await checkHour(tx, endpointId);
    await tx.query(BEGIN, [recoverId, clientId, endpointId, count, missing, STARTING_SECONDS]);
    await recordAudit(tx, entryOf(recover, { count, missing }));
  }
  return { count, missing, url, earlier: false, ended: false };
}

/** The audit entry of a recover. */
export function entryOf({ by, recoverId, clientId, endpointId, ...range }: PlannedRecover, size: RecoverSize) {
  const { since, until, includeMissing = false } = range;
  const times = { since: new Date(since).toISOString(), until: new Date(until).toISOString() };
  const details = { client_id: clientId, recover: recoverId, ...times, include_missing: includeMissing, ...size };
  return { ...by, action: 'endpoints.recover', target: endpointId, details } as const;
}

async function measure(
  tx: Handle,
  { includeMissing = false, ...scope }: Omit<RecoverRequest, 'by'>,
): Promise<RecoverSize> {
  if (!includeMissing) return { count: await countRecoverable(tx, scope), missing: 0 };
  const { failed, cancelled, missing } = await readWindow(tx, scope);
  return { count: failed + cancelled, missing };
}

/** @throws Refusal not_found | endpoint_not_active */
export async function getActiveEndpoint(db: Handle, clientId: string, endpointId: string): Promise<{ url: string }> {
  const endpoint = await getEndpoint(db, clientId, endpointId);
  if (!endpoint.enabled) throw new Refusal('endpoint_not_active', 'The webhook endpoint is disabled; enable it first.');
  return endpoint;
}

/** The recovers that block another: the endpoint's own, else all of a client that is at its limit. */
function blocking(open: readonly OpenRecover[], endpointId: string): readonly OpenRecover[] {
  const ofEndpoint = open.filter((recover) => recover.endpointId === endpointId);
  if (ofEndpoint.length > 0) return ofEndpoint;
  return open.length >= RECOVERS_AT_ONCE ? open : [];
}

async function checkHour(tx: Handle, endpointId: string): Promise<void> {
  const [row] = await tx.query<{ count: number; wait: number }>(LAST_HOUR, [endpointId]);
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

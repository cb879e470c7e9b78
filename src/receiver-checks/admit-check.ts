import type { By } from '../audit/actor.js';
import { recordAudit } from '../audit/record.js';
import { lockInTransaction } from '../database/advisory-lock.js';
import type { Handle } from '../database/database.js';
import { Refusal } from '../refusal.js';
import { getEndpoint, refuseInactive } from '../webhooks/endpoints.js';

/** Seconds between the starts of two checks of one endpoint (contract). */
export const BETWEEN_CHECKS = 10;
/** Checks of one client in any minute, those of deleted endpoints included. */
export const CHECKS_A_MINUTE = 10;
/** Checks of one client that run at the same time. */
export const CHECKS_AT_ONCE = 2;
/** Longer than a process needs from inserting a check's row to Temporal's response that the workflow has started. */
const STARTING_SECONDS = 30;

/** The plan of a check. `checkId` identifies it in Postgres and in Temporal. */
export type PlannedCheck = { checkId: string; by: By; clientId: string; endpointId: string };

/** A check whose end is not recorded in Postgres. */
interface OpenCheck {
  id: string;
  endpointId: string;
  /** Its process may be about to start the workflow, so that Temporal may not know the workflow yet. */
  starting: boolean;
}

export type CheckAdmission =
  /** `ended`: this check was admitted earlier and has ended. */
  | { url: string; ended: boolean }
  /** These checks block it, provided that Temporal still runs them. */
  | { blockedBy: readonly string[] };

/**
 * Admits a check, or returns the checks that may block it. Requests of one client run one at a time.
 * @param running checks that Temporal has just reported as running
 * @throws Refusal not_found | endpoint_not_active | check_in_progress | check_limit_reached
 */
export async function admitCheck(
  tx: Handle,
  check: PlannedCheck,
  running: ReadonlySet<string>,
): Promise<CheckAdmission> {
  const { checkId, clientId, endpointId } = check;
  await lockInTransaction(tx, `checks of ${clientId}`);
  const [own] = await tx.query<{ url: string; ended: boolean }>(OWN, [checkId]);
  if (own) return own;
  const endpoint = await getEndpoint(tx, clientId, endpointId);
  refuseInactive(endpoint);
  const open = await tx.query<OpenCheck>(OPEN, [clientId]);
  const ofEndpoint = open.filter((check) => check.endpointId === endpointId);
  const blocking = ofEndpoint.length > 0 || open.length < CHECKS_AT_ONCE ? ofEndpoint : open;
  const unsure = blocking.filter(({ id, starting }) => !starting && !running.has(id));
  if (unsure.length > 0) return { blockedBy: unsure.map(({ id }) => id) };
  if (blocking.length > 0) {
    throw new Refusal(
      'check_in_progress',
      ofEndpoint.length > 0
        ? 'A check of this endpoint is running; wait until it ends.'
        : `${CHECKS_AT_ONCE} checks of this client are running; wait until one ends.`,
    );
  }
  const [last] = await tx.query<{ wait: number }>(LAST, [endpointId]);
  if (last && last.wait > 0) {
    throw tooMany(`An endpoint can be checked once in ${BETWEEN_CHECKS} s`, last.wait);
  }
  const [minute] = await tx.query<{ count: number; wait: number }>(LAST_MINUTE, [clientId]);
  if (minute && minute.count >= CHECKS_A_MINUTE) {
    throw tooMany(`A client can check at most ${CHECKS_A_MINUTE} times in a minute`, minute.wait);
  }
  await tx.query(BEGIN, [checkId, clientId, endpointId, STARTING_SECONDS]);
  await recordAudit(tx, entryOf(check));
  return { url: endpoint.url, ended: false };
}

function tooMany(rule: string, wait: number): Refusal {
  const retryAfter = Math.max(1, wait);
  const detail = `${rule}; the next check is possible in ${retryAfter} s.`;
  return new Refusal('check_limit_reached', detail, [], { retryAfter });
}

/** The audit entry of a check. */
export function entryOf({ by, checkId, clientId, endpointId }: PlannedCheck) {
  const details = { client_id: clientId, check: checkId };
  return { ...by, action: 'endpoints.check', target: endpointId, details } as const;
}

/** Ends the starting phase of a check: its process has called Temporal, which now knows whether the workflow runs. */
export async function endStartingCheck(db: Handle, checkId: string): Promise<void> {
  await db.query('update receiver_checks set starting_until = now() where id = $1::uuid', [checkId]);
}

const OWN = `
select e.url, c.finished_at is not null as ended
  from receiver_checks c join webhook_endpoints e on e.id = c.endpoint_id where c.id = $1::uuid`;

/** A starting phase that ends later than the longest could was made by another clock (Postgres was restored). */
const OPEN = `
select id, endpoint_id as "endpointId",
       starting_until > now() and starting_until < now() + interval '${2 * STARTING_SECONDS} seconds' as starting
  from receiver_checks where client_id = $1::uuid and finished_at is null`;

const LAST = `
select ceil(extract(epoch from started_at + interval '${BETWEEN_CHECKS} seconds' - now()))::int as wait
  from receiver_checks where endpoint_id = $1::uuid order by started_at desc limit 1`;

const LAST_MINUTE = `
select count(*)::int as count, coalesce(ceil(extract(epoch from min(started_at) + interval '1 minute' - now())), 0)::int as wait
  from receiver_checks where client_id = $1::uuid and started_at > now() - interval '1 minute'`;

const BEGIN = `
insert into receiver_checks (id, client_id, endpoint_id, started_at, starting_until)
values ($1::uuid, $2::uuid, $3::uuid, now(), now() + $4::int * interval '1 second')`;

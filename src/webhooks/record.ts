import type { Trigger } from '../attempts.js';
import { arrayLiteral } from '../database/array-literal.js';
import type { Handle } from '../database/database.js';
import type { DeliveryStatus, OutboxState } from '../database/generated/enums.js';
import type { SendOutcome } from './sender/send.js';

/** An attempt to be made, and the delay that follows its failure. */
export interface AttemptPlan {
  number: number;
  trigger: Trigger;
  /** ms to wait after a failure; null: the ladder ends here. */
  nextDelay: number | null;
  /**
   * True for a retry by hand of an ended delivery: a success makes the delivery `succeeded`, a failure changes no
   * status.
   */
  single: boolean;
}

/** An attempt that was made. */
export interface MadeAttempt extends AttemptPlan {
  deliveryId: string;
  url: string;
  outcome: SendOutcome;
}

/** The delivery's state after the record. */
export interface RecordedAttempt {
  deliveryId: string;
  status: DeliveryStatus;
  reason: string | null;
}

/** The next outbox state of an event whose first attempts are over. `held`: this process keeps the lease. */
export interface Settlement {
  eventId: string;
  outbox: OutboxState;
  held: boolean;
}

/**
 * Records attempts and settles events in one statement. An attempt that is already recorded is not changed, and the
 * result has no row for it. A status changes only from `pending`, except by a `single` success and in a burst of 410s.
 */
export function recordAttempts(
  db: Handle,
  attempts: readonly MadeAttempt[],
  settlements: readonly Settlement[],
): Promise<RecordedAttempt[]> {
  return db.hot<RecordedAttempt>(RECORD, [
    arrayLiteral(attempts.map((a) => a.deliveryId)),
    arrayLiteral(attempts.map((a) => a.number)),
    arrayLiteral(attempts.map((a) => a.trigger)),
    attempts.map((a) => a.url),
    arrayLiteral(attempts.map((a) => a.outcome.t)),
    arrayLiteral(attempts.map((a) => a.outcome.startedAt.toISOString())),
    arrayLiteral(attempts.map((a) => Math.round(a.outcome.durationMs))),
    arrayLiteral(attempts.map((a) => a.outcome.responseStatus)),
    attempts.map((a) => a.outcome.responseBody),
    arrayLiteral(attempts.map((a) => a.outcome.error)),
    arrayLiteral(attempts.map((a) => a.nextDelay)),
    arrayLiteral(attempts.map((a) => a.single)),
    arrayLiteral(settlements.map((s) => s.eventId)),
    arrayLiteral(settlements.map((s) => s.outbox)),
    arrayLiteral(settlements.map((s) => s.held)),
    attempts.map((a) => a.outcome.responseHeaders && JSON.stringify(a.outcome.responseHeaders)),
  ]);
}

/** A delivery whose attempt in a burst got a 410, and which the first 410 cancelled when it disabled the endpoint. */
const GONE_IN_A_BURST = `d.status = 'cancelled' and d.reason = 'endpoint_gone' and i.response_status = 410 and not i.single`;

/**
 * The settlement says `is distinct from`, and not `<>`, so that the partial index of the outbox does not serve it: until
 * the next vacuum that index has an entry for each event that ever waited, and a plan made for small tables reads all.
 * Postgres does not know the length of `(select $1)`, so that it plans alike for one attempt and for many, and keeps
 * the plan.
 */
const RECORD = `
with input as (
  select * from unnest((select $1::uuid[]), $2::int[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::int[],
                       $8::int[], $9::text[], $10::text[], $11::bigint[], $12::boolean[],
                       $16::text[])
    as i(delivery_id, number, trigger, url, t, started_at, duration_ms, response_status, response_body, error, next_delay, single,
         response_headers)
), updated as (
  update deliveries d set
    attempt_count = i.number,
    attempting_until = null,
    status = case
      when i.error is null and (d.status = 'pending' or i.single) then 'succeeded'
      when d.status = 'pending' and i.error is not null and i.next_delay is null then 'failed'
      when ${GONE_IN_A_BURST} then 'failed'
      else d.status end,
    reason = case
      when i.error is null and (d.status = 'pending' or i.single) then null
      when d.status = 'pending' and i.next_delay is null
        then case i.response_status when 410 then 'endpoint_gone' else 'exhausted' end
      else d.reason end,
    next_attempt_at = case
      when d.status = 'pending' and i.error is not null then now() + i.next_delay * interval '1 millisecond' end,
    finished_at = case
      when d.status = 'pending' and (i.error is null or i.next_delay is null) then now()
      when i.single and i.error is null then now()
      when ${GONE_IN_A_BURST} then now()
      else d.finished_at end
    from input i
   where d.id = i.delivery_id and d.attempt_count = i.number - 1
  returning d.id, d.status, d.reason
), recorded as (
  insert into attempts (delivery_id, number, trigger, url, t, started_at, duration_ms, response_status,
                        response_headers, response_body, error)
  select i.delivery_id, i.number, i.trigger, i.url, i.t, i.started_at, i.duration_ms, i.response_status,
         i.response_headers::jsonb, i.response_body, i.error
    from input i join updated u on u.id = i.delivery_id
), settled as (
  update events v set outbox = s.outbox, lease_until = case when s.held then v.lease_until else now() end
    from unnest((select $13::uuid[]), $14::outbox_state[], $15::boolean[]) as s(id, outbox, held)
   where v.id = s.id and v.outbox is distinct from 'done'
)
select id as "deliveryId", status::text, reason from updated`;

import type { Handle } from '../database/database.js';
import { DeliveryStatus } from '../database/generated/enums.js';
import type { DisabledReason } from '../disabled-reasons.js';
import { lowestIdAt } from '../ids.js';
import { Refusal } from '../refusal.js';
import { getEndpoint, getEndpointForOperator } from './endpoints.js';
import { readWithinLimits } from './statement-limit.js';
import { isTooLong, MAX_WINDOW_DAYS } from './window.js';

const DAY = 86_400_000;
/** Periods that a statement shows (contract). */
export const SHOWN_PERIODS = 100;
/** Age from which no event is added to a time, ms. A request that makes an event takes less (contract: `final`). */
const FINAL_AFTER = 60_000;

/** A period in which an endpoint was disabled. `to` null: it lasts. */
export interface DisabledPeriod {
  from: Date;
  to: Date | null;
  reason: DisabledReason;
}

/** What became of a client's events at one endpoint. The numbers of the statuses and `missing` add up to `events`. */
export interface EventCounts extends Record<DeliveryStatus, number> {
  events: number;
  /** Events without a delivery for the endpoint. */
  missing: number;
}

/** The statement of an endpoint for the events made in [since, until), ms since 1970. */
export interface Statement extends EventCounts {
  since: number;
  until: number;
  /** Every event has succeeded. */
  complete: boolean;
  /** No event is added to the window any more. */
  final: boolean;
  /** The latest that touch the window, oldest first. */
  disabledPeriods: DisabledPeriod[];
  periodsKnownSince: Date;
}

export interface StatementRequest {
  /** The client that asks; null: the operator, for any client's endpoint and without the limits of a client. */
  clientId: string | null;
  endpointId: string;
  /** Undefined: 24 h ago, or the registration if that is later: what was made before is not missing. */
  since: number | undefined;
  /** Undefined: now. */
  until: number | undefined;
  /** ms; a window that starts earlier is refused. */
  retention: number;
}

/**
 * Makes the statement of an endpoint from one snapshot.
 * @throws Refusal not_found | invalid_request (the window is empty or too long) | outside_retention | statement_limit_reached | unavailable
 */
export async function readStatement(db: Handle, request: StatementRequest): Promise<Statement> {
  const { clientId, endpointId, retention } = request;
  const now = Date.now();
  const until = request.until ?? now;
  const endpoint =
    clientId === null ? await getEndpointForOperator(db, endpointId) : await getEndpoint(db, clientId, endpointId);
  const since = request.since ?? Math.max(now - DAY, endpoint.createdAt.getTime());
  if (request.since === undefined) refuseBadEnd(since, until);
  if (since < now - retention) throw outsideRetention(now - retention);
  const window = { clientId: endpoint.clientId, endpointId, since, until };
  const { periods, ...counts } = await readWithinLimits(db, clientId, (tx) => readWindow(tx, window));
  return {
    since,
    until,
    ...counts,
    complete: counts.succeeded === counts.events,
    final: until < now - FINAL_AFTER,
    disabledPeriods: periods,
    periodsKnownSince: endpoint.periodsKnownSince,
  };
}

/** The caller has checked a window whose start was given. */
function refuseBadEnd(since: number, until: number): void {
  if (since < until && !isTooLong({ since, until })) return;
  const start = `since, which is ${new Date(since).toISOString()} by default`;
  const [code, detail] =
    since < until
      ? ['window_too_long', `must be at most ${MAX_WINDOW_DAYS} days later than ${start}`]
      : ['invalid_range', `must be later than ${start}`];
  throw new Refusal('invalid_request', `until ${detail}.`, [{ parameter: 'until', code, detail }]);
}

function outsideRetention(kept: number): Refusal {
  const detail = `must not be before ${new Date(kept).toISOString()}, when the oldest events that are kept were made`;
  return new Refusal('outside_retention', `since ${detail}.`, [
    { parameter: 'since', code: 'outside_retention', detail },
  ]);
}

/** The events of a window, one endpoint's deliveries of them, and the periods that touch it, in one snapshot. */
export async function readWindow(
  db: Handle,
  window: { clientId: string; endpointId: string; since: number; until: number },
): Promise<EventCounts & { periods: DisabledPeriod[] }> {
  const { clientId, endpointId, since, until } = window;
  const times = [new Date(since).toISOString(), new Date(until).toISOString()];
  const ids = [lowestIdAt(since), lowestIdAt(until)];
  const [row] = await db.query<Omit<EventCounts, 'missing'> & { periods: PeriodRow[] }>(WINDOW, [
    clientId,
    endpointId,
    ...ids,
    ...times,
    SHOWN_PERIODS,
  ]);
  if (!row) throw new Error('the statement has no row');
  const { events, succeeded, pending, failed, cancelled, periods } = row;
  // An event has at most one delivery for an endpoint, with the event's time in its id.
  const missing = events - succeeded - pending - failed - cancelled;
  return { events, succeeded, pending, failed, cancelled, missing, periods: periods.map(toPeriod) };
}

/** A period as JSON has it. */
type PeriodRow = { from: string; to: string | null; reason: DisabledReason };

function toPeriod({ from, to, reason }: PeriodRow): DisabledPeriod {
  return { from: new Date(from), to: to === null ? null : new Date(to), reason };
}

const IN_WINDOW = 'id >= $3::uuid and id < $4::uuid';
const STATUSES = Object.values(DeliveryStatus);

/**
 * Every number comes from an index alone: (client, id) of events and (endpoint, status, id) of deliveries, as an id
 * begins with the time of its event. Their order makes Postgres choose them (see `exactly`). The periods of an endpoint do not overlap, so those that touch the window are among the latest that start
 * before its end.
 */
const WINDOW = `
with latest as (
  select id, started_at, ended_at, reason from endpoint_disabled_periods
   where endpoint_id = $2::uuid and started_at < $6::timestamptz
   order by started_at desc, id desc limit $7::int
), counts as (
  select ${STATUSES.map((status) => `count(*) filter (where s.status = '${status}')::int as ${status}`).join(', ')}
    from unnest('{${STATUSES.join()}}'::delivery_status[]) as s(status)
   cross join lateral (
     select from deliveries where endpoint_id = $2::uuid and status >= s.status and status <= s.status and ${IN_WINDOW}
      order by status, id desc) d
)
select (select count(*)::int
          from (select from events where client_id >= $1::uuid and client_id <= $1::uuid and ${IN_WINDOW}
                 order by client_id, id desc) e) as events, counts.*,
       (select coalesce(json_agg(json_build_object('from', started_at, 'to', ended_at, 'reason', reason)
                                 order by started_at, id), '[]')
          from latest where ended_at is null or ended_at > $5::timestamptz) as periods
  from counts`;

import { newestDeliveries } from '../endpoints/health.js';
import { newestHours } from '../endpoints/hours.js';
import type { Handle } from '../platform/database/database.js';

/** A client as the operator's page shows it: its attempts of 24 hours, and its endpoints. */
export interface ClientOverview {
  id: string;
  name: string;
  succeeded: number;
  failed: number;
  lastSuccessAt: Date | null;
  /** Pending deliveries, of each endpoint at most `COUNTED_PENDING`. */
  pending: number;
  endpoints: number;
  disabled: number;
  /** Enabled endpoints whose latest attempt failed. */
  failing: number;
}

/** Clients that the page shows: those with the lowest success rates. */
export const SHOWN_CLIENTS = 100;
const COUNTED_PENDING = 100;

/**
 * Reads the clients with attempts or endpoints, the lowest success rate first. Attempts come from the hourly totals of
 * each client; endpoints and pending deliveries are read for the clients that are shown.
 */
export function readClientOverviews(db: Handle): Promise<ClientOverview[]> {
  return db.query<ClientOverview>(CLIENTS, [SHOWN_CLIENTS, COUNTED_PENDING]);
}

const RATE = 'h.succeeded::float8 / nullif(h.succeeded + h.failed, 0)';

const CLIENTS = `
with shown as materialized (
  select c.id, c.name, coalesce(h.succeeded, 0) as succeeded, coalesce(h.failed, 0) as failed, h.at, ${RATE} as rate
    from clients c
    left join lateral (
      select sum(succeeded)::int as succeeded, sum(failed)::int as failed, max(last_success_at) as at
        from endpoint_hours where endpoint_id = c.id and hour > now() - interval '24 hours') h on true
   where c.revoked_at is null and exists (select from webhook_endpoints e where e.client_id = c.id and e.deleted_at is null)
   order by rate nulls last, c.id limit $1::int
)
select s.id::text, s.name, s.succeeded, s.failed, s.at as "lastSuccessAt", count(e.id)::int as endpoints,
       coalesce(sum(pending.count), 0)::int as pending, (count(*) filter (where not e.enabled))::int as disabled,
       (count(*) filter (where e.enabled and newest.failing))::int as failing
  from shown s
  join webhook_endpoints e on e.client_id = s.id and e.deleted_at is null
  left join lateral (
    select last_failure_at > coalesce(last_success_at, '-infinity') as failing
      from (${newestHours('e.id', 1)}) h) newest on true
 cross join lateral (
    select count(*) as count from (
      ${newestDeliveries('', { endpoint: 'e.id', status: `'pending'`, limit: '$2::int' })}) p) pending
 group by s.id, s.name, s.succeeded, s.failed, s.at, s.rate
 order by s.rate nulls last, s.id`;

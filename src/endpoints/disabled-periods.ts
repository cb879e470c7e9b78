import type { Handle } from '../platform/database/database.js';

/**
 * Ends and begins the periods in which an endpoint was disabled, so that they agree with its row. Every change of
 * `enabled`, `disabled_reason` or `deleted_at` calls it afterwards. A repeated call changes nothing.
 * @param tx the transaction that has changed the endpoint: its lock puts the periods in order
 * @param from the start of the first period of an endpoint that is registered as disabled
 */
export async function keepDisabledPeriods(tx: Handle, endpointId: string, from: Date | null = null): Promise<void> {
  await tx.query(KEEP, [endpointId, from?.toISOString() ?? null]);
}

/**
 * A period starts after the one before it, also if Postgres's clock was set back: (endpoint, start) is the key. Not
 * now(): the transaction may have waited for the row since its start.
 */
const KEEP = `
with endpoint as materialized (
  select id, not enabled and deleted_at is null as disabled, coalesce(disabled_reason, 'owner') as reason,
         coalesce($2::timestamptz, clock_timestamp())::timestamptz(3) as at
    from webhook_endpoints where id = $1::uuid
), latest as materialized (
  select started_at, ended_at, reason from endpoint_disabled_periods
   where endpoint_id = $1::uuid order by started_at desc limit 1
), ended as (
  update endpoint_disabled_periods p set ended_at = greatest(e.at, p.started_at)
    from endpoint e where p.endpoint_id = e.id and p.ended_at is null and not (e.disabled and p.reason = e.reason)
)
insert into endpoint_disabled_periods (endpoint_id, started_at, reason)
select e.id, greatest(e.at, l.started_at + interval '1 millisecond', l.ended_at), e.reason
  from endpoint e left join latest l on true
 where e.disabled and (l.started_at is null or l.ended_at is not null or l.reason <> e.reason)`;

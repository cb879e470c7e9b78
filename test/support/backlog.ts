import type { Handle } from '../../src/platform/database/database.js';

/**
 * Gives an endpoint `count` deliveries with one failed attempt each, that sleep for an hour. Their events are in no
 * outbox.
 */
export async function makeBacklog(
  db: { query(text: string, values: unknown[]): Promise<unknown> },
  endpointId: string,
  count: number,
): Promise<void> {
  await db.query(BACKLOG, [endpointId, count]);
}

const BACKLOG = `
with endpoint as (select id, client_id from webhook_endpoints where id = $1::uuid
), transfer as materialized (
  select client_id, uuidv7() as id from endpoint, generate_series(1, $2::int)
), event as (
  insert into events (id, client_id, transfer_id, type, body, created_at)
  select uuidv7(), client_id, id, 'transfer.status_changed',
         json_build_object('data', json_build_object('id', id, 'status', 'PROCESSING'))::text, now()
    from transfer
  returning id, client_id
)
insert into deliveries (id, event_id, endpoint_id, client_id, attempt_count, rung, next_attempt_at, asleep, ladder)
select uuidv7(), id, $1::uuid, client_id, 1, 1, now() + interval '1 hour', true, '0s,1h' from event`;

/** The number of the endpoint's deliveries by status and reason, such as `{ pending: 2, endpoint_gone: 1 }`. */
export async function countDeliveries(db: Handle, endpointId: string): Promise<Record<string, number>> {
  const rows = await db.query<{ what: string; count: number }>(COUNTS, [endpointId]);
  return Object.fromEntries(rows.map(({ what, count }) => [what, count]));
}

const COUNTS = `
select coalesce(reason, status::text) as what, count(*)::int as count
  from deliveries where endpoint_id = $1::uuid group by 1 order by 1`;

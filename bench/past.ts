import type { Stack } from './stack.js';
import type { Tenants } from './tenants.js';

const BATCH = 100_000;
const DAYS = 30;

/**
 * Fills in events of the last `days` that are over with: transfer, history, event, one delivery, one attempt each, of
 * the clients in turn, in whose indexes the measured ones go as well. A body is as long as a real one: shorter events
 * would fit into what is left of the pages of longer ones, and each would then write a page of its own to the WAL.
 */
export async function fillPast(
  { database }: Pick<Stack, 'database'>,
  { clients }: Tenants,
  count: number,
  say: (line: string) => void,
  days = DAYS,
): Promise<void> {
  const clientIds = clients.map(({ id }) => id);
  const endpoints = clients.map((client) => client.endpoints[0]);
  // Foreign keys are not checked row by row: what is made here fits by construction.
  await database.query(`set session_replication_role = replica`);
  const start = Date.now() - days * 86_400_000;
  for (let from = 0; from < count; from += BATCH) {
    const to = Math.min(from + BATCH, count) - 1;
    await database.query(FILL, [from, to, start, (days * 86_400_000) / count, clientIds, endpoints]);
    say(`${to + 1} of ${count} past events`);
  }
  await database.query('set session_replication_role = origin');
}

/** So that neither the statistics nor the cleaning up after the fill is part of what is measured. */
export async function settle({ database }: Stack): Promise<void> {
  await database.query('vacuum analyze');
  await database.query('checkpoint');
}

/** A UUID version 7 of a row's time, kind and number. */
const id = (kind: number) => `(lpad(to_hex(ms), 12, '0') || '7000800${kind}' || lpad(to_hex(n), 12, '0'))::uuid`;

const FILL = `
with past as materialized (
  select ${id(1)} as transfer_id, ${id(2)} as event_id, ${id(3)} as delivery_id, to_timestamp(ms / 1000.0) as at,
         ($5::uuid[])[1 + n % cardinality($5::uuid[])] as client_id, ($6::uuid[])[1 + n % cardinality($6::uuid[])] as endpoint_id
    from generate_series($1::bigint, $2::bigint) n, lateral (select ($3::bigint + n * $4::float8)::bigint as ms) t
), transfer as (
  insert into transfers (id, client_id, amount_value, amount_currency, destination_name, destination_account, status, created_at, updated_at)
  select transfer_id, client_id, 1250, 'EUR', 'Ada Lovelace', 'DE02120300000000202051', 'PROCESSING', at, at from past
), history as (
  insert into transfer_status_history (transfer_id, position, status, at)
  select transfer_id, position, (array['CREATED', 'PROCESSING'])[position + 1]::transfer_status, at
    from past, generate_series(0, 1) position
), event as (
  insert into events (id, client_id, transfer_id, type, body, created_at)
  select event_id, client_id, transfer_id, 'transfer.status_changed',
         format('{"id":"%s","version":"2026-11-21","type":"transfer.status_changed","data":{"id":"%s","status":"PROCESSING"},"created_at":"%s"}',
           event_id, transfer_id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS')), at
    from past
), delivery as (
  insert into deliveries (id, event_id, endpoint_id, client_id, status, attempt_count, created_at, finished_at, ladder)
  select delivery_id, event_id, endpoint_id, client_id, 'succeeded', 1, at, at, '0s,5m,30m,2h,6h,1d' from past
)
insert into attempts (delivery_id, number, trigger, url, t, started_at, duration_ms, response_status)
select delivery_id, 1, 'schedule', 'http://127.0.0.1/in', '2026-11-21T10:00:00.123Z', at, 3, 204 from past`;

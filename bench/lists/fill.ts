import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { newId } from '../../src/platform/ids.js';

/** What was filled in, for the queries. */
export interface Filled {
  /** Has half of all events, and most failed ones. */
  bigClient: string;
  /** Three tenths of all deliveries, all of them failed. */
  failingEndpoint: string;
  /** As many, nearly all of them succeeded. */
  busyEndpoint: string;
  smallClient: string;
  smallEndpoint: string;
}

const DAYS = 30;

/**
 * Fills empty tables with `events` events of as many transfers, one delivery each, over the last thirty days, as a
 * skewed house has them: one client of a thousand has half of it all, with one endpoint that always fails.
 */
export async function fill(db: pg.Client, events: number, clients = 1_000): Promise<void> {
  await db.query(FUNCTIONS);
  const start = Date.now() - DAYS * 86_400_000;
  const spread = [start, (DAYS * 86_400_000) / events];
  await db.query(CLIENTS, [clients]);
  await db.query(ENDPOINTS, [clients, 20]);
  await db.query(TRANSFERS, [events, clients, ...spread]);
  await db.query(EVENTS, [events, clients, ...spread]);
  await db.query(DELIVERIES, [events, clients, ...spread]);
  await db.query(ATTEMPTS);
  await db.query(ENDPOINT_HOURS, [clients]);
  await vacuumAll(db);
}

/** Vacuums until every page is known to be visible to all, as index-only scans need it: a page in use is skipped. */
async function vacuumAll(db: pg.Client): Promise<void> {
  for (let left = 100; left > 0; left--) {
    await db.query('vacuum analyze');
    const { rows } = await db.query(`select 1 from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = 'public' and c.relkind = 'r' and c.relallvisible < c.relpages limit 1`);
    if (rows.length === 0) return;
    await sleep(100);
  }
  throw new Error('vacuum left pages that are not visible to all: a transaction is open');
}

export async function readFilled(db: pg.Client): Promise<Filled> {
  return {
    bigClient: await one(db, `select made_id(0, 1, 0) as id`),
    failingEndpoint: await one(db, `select made_id(0, 2, 0) as id`),
    busyEndpoint: await one(db, `select made_id(0, 2, 1) as id`),
    smallClient: await one(db, `select made_id(0, 1, 7) as id`),
    smallEndpoint: await one(db, `select made_id(0, 2, 7 * 20) as id`),
  };
}

async function one(db: pg.Client, text: string): Promise<string> {
  const { rows } = await db.query<{ id: string }>(text);
  return rows[0]?.id ?? newId();
}

/** A UUID version 7 from a time, a table and a number; the client of an event; its endpoint. */
const FUNCTIONS = `
create function made_id(ms bigint, kind int, n bigint) returns uuid immutable parallel safe language sql as
$$ select (lpad(to_hex(ms), 12, '0') || '7000800' || kind || lpad(to_hex(n), 12, '0'))::uuid $$;
create function client_of(n bigint, clients bigint) returns bigint immutable parallel safe language sql as
$$ select case when n % 2 = 0 then 0 else 1 + (n / 2) % (clients - 1) end $$;
create function endpoint_of(n bigint, clients bigint) returns bigint immutable parallel safe language sql as
$$ select case when n % 2 = 1 then client_of(n, clients) * 20
               when n % 10 < 6 then 0 when n % 20 < 18 then 1 else 2 + n / 20 % 18 end $$;
create function at(ms double precision) returns timestamptz immutable parallel safe language sql as
$$ select to_timestamp(ms / 1000) $$`;

const CLIENTS = `
insert into clients (id, name) select made_id(0, 1, n), 'client ' || n from generate_series(0, $1::bigint - 1) n`;

const ENDPOINTS = `
insert into webhook_endpoints (id, client_id, url, secret_envelope, enabled_at, created_at, updated_at)
select made_id(0, 2, n), made_id(0, 1, n / $2::int), 'https://hooks' || n || '.example.com/in', 'sealed',
       now() - interval '60 days', now() - interval '60 days', now()
  from generate_series(0, $1::bigint * $2::int - 1) n`;

const TRANSFERS = `
insert into transfers (id, client_id, amount_value, amount_currency, destination_name, destination_account, reference,
                       status, created_at, updated_at)
select made_id(ms::bigint, 3, n), made_id(0, 1, client_of(n, $2::bigint)), 1250, 'EUR', 'Ada Lovelace', 'DE02120300000000202051',
       case when n % 3 = 0 then 'Invoice ' || n / 30 end,
       (array['PROCESSING', 'SENT', 'COMPLETED', 'COMPLETED', 'COMPLETED'])[1 + n / 2 % 5]::transfer_status, at(ms), at(ms)
  from generate_series(0, $1::bigint - 1) n, lateral (select $3::bigint + n * $4::double precision as ms) t`;

const EVENTS = `
insert into events (id, client_id, transfer_id, type, body, created_at)
select made_id(ms::bigint, 4, n), made_id(0, 1, client_of(n, $2::bigint)), made_id(ms::bigint, 3, n), 'transfer.status_changed',
       json_build_object('id', made_id(ms::bigint, 4, n), 'version', '2026-11-21', 'type', 'transfer.status_changed',
         'data', json_build_object('id', made_id(ms::bigint, 3, n), 'status', 'PROCESSING'), 'created_at', at(ms))::text,
       at(ms)
  from generate_series(0, $1::bigint - 1) n, lateral (select $3::bigint + n * $4::double precision as ms) t`;

/** A part of the last fiftieth is pending. Before, nearly all have the status typical of the endpoint. */
const DELIVERIES = `
insert into deliveries (id, event_id, endpoint_id, client_id, status, ladder, reason, attempt_count, next_attempt_at, created_at, finished_at)
select made_id(ms::bigint, 5, n), made_id(ms::bigint, 4, n), made_id(0, 2, e), made_id(0, 1, client_of(n, $2::bigint)),
       status::delivery_status, '0s,5m,30m,2h,6h,1d',
       case status when 'failed' then 'exhausted' when 'cancelled' then 'endpoint_disabled' end,
       case status when 'failed' then 7 when 'cancelled' then 2 else 1 end,
       case when status = 'pending' then now() + (n % 3600 - 60) * interval '1 second' end, at(ms),
       case when status <> 'pending' then at(ms + case status when 'failed' then 117300000 else 50 end) end
  from generate_series(0, $1::bigint - 1) n,
       lateral (select $3::bigint + n * $4::double precision as ms, endpoint_of(n, $2::bigint) as e) t,
       lateral (select case when n > $1 * 0.98 and n % 5 < 2 then 'pending' when e = 0 then 'failed'
                            when n % 97 = 0 then 'failed' when n % 89 = 0 then 'cancelled' else 'succeeded' end as status) s`;

const ATTEMPTS = `
insert into attempts (delivery_id, number, trigger, url, t, started_at, duration_ms, response_status, error)
select id, attempt_count, 'schedule', 'https://hooks.example.com/in', '2026-11-21T10:00:00.123Z', created_at, 12,
       case status when 'succeeded' then 204 else 503 end, case status when 'succeeded' then null else 'status' end
  from deliveries`;

/** Two days of each endpoint, as retention leaves them. */
const ENDPOINT_HOURS = `
insert into endpoint_hours (endpoint_id, hour, succeeded, failed, answer_times, last_success_at)
select made_id(0, 2, e), hour, 900, 100, array_fill(25, array[40]), hour + interval '30 minutes'
  from generate_series(0, $1::bigint * 20 - 1) e,
       generate_series(date_trunc('hour', now()) - interval '47 hours', now(), interval '1 hour') hour`;

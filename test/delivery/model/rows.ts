import type { Handle } from '../../../src/platform/database/database.js';

/**
 * The deliveries of a client as the model has them; times in ms since 1970. Sets the clock, after the rows are read.
 */
export const ROWS = `
with clock as (
  update clock.time set at = $2::timestamptz
)
select d.id::text, d.status::text, d.attempt_count as count, d.rung, d.asleep, d.recovered, o.state::text as outbox,
       array(select (extract(epoch from wait) * 1000)::float8 from unnest(string_to_array(d.ladder, ',')::interval[]) wait) as ladder,
       (extract(epoch from d.next_attempt_at) * 1000)::float8 as "nextAt",
       (extract(epoch from o.lease_until) * 1000)::float8 as "leaseUntil",
       (select count(*)::int from attempts a where a.delivery_id = d.id) as attempts,
       (select coalesce(max(a.number), 0) from attempts a where a.delivery_id = d.id) as last,
       (select json_build_object('line', q.line, 'trigger', q.trigger, 'due', (extract(epoch from q.due_at) * 1000)::float8,
                                 'holder', q.lease_token, 'until', (extract(epoch from q.lease_until) * 1000)::float8)
          from queue q where q.delivery_id = d.id) as queued,
       coalesce((select array(select (extract(epoch from at) * 1000)::float8 from unnest(l.uses) at)
                   from limit_uses l where l.name = 'retries' and l.key = d.id::text), '{}') as retries
  from deliveries d left join outbox o on o.event_id = d.event_id
 where d.client_id = $1::uuid`;

/** The tables that a restore sets back, with their rows as JSON. Each comes after those that it refers to. */
export type Saved = { table: string; rows: unknown }[];

const OF_DELIVERIES = 'delivery_id in (select id from deliveries where client_id = $1::uuid)';
const TABLES = [
  ['events', 'client_id = $1::uuid'],
  ['deliveries', 'client_id = $1::uuid'],
  ['queue', 'client_id = $1::uuid'],
  ['outbox', 'client_id = $1::uuid'],
  ['attempts', OF_DELIVERIES],
  ['limit_uses', `key in (select id::text from deliveries where client_id = $1::uuid)`],
] as const;

export async function readAll(db: Handle, clientId: string): Promise<Saved> {
  const saved: Saved = [];
  for (const [table, where] of [['webhook_endpoints', 'client_id = $1::uuid'] as const, ...TABLES]) {
    const [row] = await db.query<{ rows: unknown }>(
      `select coalesce(json_agg(saved), '[]') as rows from ${table} saved where ${where}`,
      [clientId],
    );
    saved.push({ table, rows: row?.rows });
  }
  return saved;
}

export async function restoreAll(db: Handle, clientId: string, saved: Saved): Promise<void> {
  for (const [table, where] of TABLES.toReversed()) await db.query(`delete from ${table} where ${where}`, [clientId]);
  for (const { table, rows } of saved) {
    const json = JSON.stringify(rows);
    if (table === 'webhook_endpoints') await db.query(RESTORE_ENDPOINTS, [json]);
    else await db.query(`insert into ${table} select * from json_populate_recordset(null::${table}, $1::json)`, [json]);
  }
}

const RESTORE_ENDPOINTS = `
update webhook_endpoints e set enabled = s.enabled, disabled_reason = s.disabled_reason, deleted_at = s.deleted_at,
       secret_envelope = s.secret_envelope, cancelling_after = s.cancelling_after
  from json_populate_recordset(null::webhook_endpoints, $1::json) s where e.id = s.id`;

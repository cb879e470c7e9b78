/** What is kept of an event: its id, and until it is handled, its body and what failed. */
const tables = (schema: string) => [
  `create table if not exists ${schema}inbox_events (
  id uuid primary key,
  transfer_id uuid,
  created_at timestamp(3) not null,
  handled_at timestamptz,
  body text,
  tries integer not null default 0,
  tried_at timestamptz,
  last_error text,
  parked_at timestamptz
)`,
  `create index if not exists inbox_events_transfer on ${schema}inbox_events (transfer_id, created_at)`,
  `create index if not exists inbox_events_created on ${schema}inbox_events (created_at, id)`,
  `create index if not exists inbox_events_unhandled on ${schema}inbox_events (tried_at) where handled_at is null`,
  `create table if not exists ${schema}inbox_cursor (
  id integer primary key default 1 check (id = 1),
  cursor text,
  removed_before timestamp(3)
)`,
  `insert into ${schema}inbox_cursor default values on conflict do nothing`,
];

/** SQL: a timestamp in UTC, as JavaScript reads it. */
const utc = (timestamp: string) => `to_char(${timestamp}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** The statements of the inbox. Parameters and results are texts, integers and booleans, and every one is cast. */
export type Statements = ReturnType<typeof statementsOf>;

/** @param name the schema of the tables; undefined: the first of the `search_path` */
export function statementsOf(name: string | undefined) {
  if (name !== undefined && !/^[a-z_][a-z0-9_]{0,62}$/.test(name)) {
    throw new TypeError('schema must be a lower-case name of letters, digits and _');
  }
  const schema = name === undefined ? '' : `"${name}".`;
  const events = `${schema}inbox_events`;
  const cursor = `${schema}inbox_cursor`;
  return {
    tables: tables(schema),

    /** Of concurrent migrations, and of the events of one transfer, one runs at a time. */
    lock: `select pg_advisory_xact_lock(hashtextextended('transfer-service inbox ' || $1::text, 0))::text as locked`,

    /**
     * What is known of an event. `late`: a later event of its transfer was handled. `earlier`: the number of earlier
     * ones. `removed`: it is so old that its row was removed, after it was handled.
     */
    state: `
select coalesce(e.handled_at is not null, false) as handled, coalesce(e.parked_at is not null, false) as parked,
       e.id is null and coalesce(c.removed_before > $3::text::timestamp, false) as removed,
       exists (select from ${events} l where l.transfer_id = $2::text::uuid and l.handled_at is not null
                  and l.created_at > $3::text::timestamp) as late,
       (select count(*)::int from ${events} l
         where l.transfer_id = $2::text::uuid and l.created_at < $3::text::timestamp) as earlier
  from (select) one left join ${events} e on e.id = $1::text::uuid left join ${cursor} c on true`,

    /** Has no row if the event was handled meanwhile. */
    handled: `
insert into ${events} as e (id, transfer_id, created_at, handled_at)
values ($1::text::uuid, $2::text::uuid, $3::text::timestamp, now())
on conflict (id) do update set handled_at = now(), body = null, last_error = null, parked_at = null
      where e.handled_at is null
returning id::text`,

    /** `$6`: 1 if the try counts, `$7`: the tries after which an event is parked. Has no row if it was handled. */
    failed: `
insert into ${events} as e (id, transfer_id, created_at, body, last_error, tries, tried_at, parked_at)
values ($1::text::uuid, $2::text::uuid, $3::text::timestamp, $4::text, $5::text, $6::int, now(),
        case when $6::int >= $7::int then now() end)
on conflict (id) do update
   set last_error = excluded.last_error, tries = e.tries + excluded.tries, tried_at = now(),
       parked_at = coalesce(e.parked_at, case when e.tries + excluded.tries >= $7::int then now() end)
 where e.handled_at is null
returning parked_at is not null as parked`,

    /** Events whose last try failed at least a minute ago; each failure doubles the minute. */
    due: `
select body from ${events}
 where handled_at is null and parked_at is null
   and tried_at <= now() - least(power(2, tries), 360) * interval '1 minute'
 order by tried_at limit 100`,

    failing: `select count(*)::int as failing from ${events} where handled_at is null and parked_at is null`,

    parked: `
select id::text, body, tries, last_error, ${utc("parked_at at time zone 'utc'")} as parked_at from ${events}
 where handled_at is null and parked_at is not null order by parked_at limit $1::int`,

    unhandled: `select body from ${events} where id = $1::text::uuid and handled_at is null`,

    /** Which of the ids, joined by commas, have a row. */
    known: `select id::text from ${events} where id = any(string_to_array($1::text, ',')::uuid[])`,

    cursor: `select cursor, ${utc('removed_before')} as removed_before from ${cursor}`,

    /** Has no row if another process has moved the cursor. */
    moveCursor: `
update ${cursor} set cursor = $1::text where cursor is not distinct from $2::text returning id`,

    /** Before `remove`, in its transaction: what is older is known without its row. */
    forget: `
update ${cursor}
   set removed_before = greatest(removed_before, (now() at time zone 'utc') - $1::int * interval '1 day')
returning id`,

    /** An earlier event of the transfer that is not handled yet needs the row, to be late. */
    remove: `
with expired as (
  select e.id from ${events} e
   where e.created_at < (select removed_before from ${cursor}) and e.handled_at is not null
     and not exists (select from ${events} u where u.transfer_id = e.transfer_id and u.handled_at is null)
   order by e.created_at limit 5000
), removed as (
  delete from ${events} where id in (select id from expired) returning 1
)
select count(*)::int as removed from removed`,

    /** The ids of a window in pages; `handled` is false for what failed or is parked. */
    window: `
select id::text, handled_at is not null as handled from ${events}
 where created_at >= $1::text::timestamp and created_at < $2::text::timestamp and id > $3::text::uuid
 order by id limit 5000`,
  };
}

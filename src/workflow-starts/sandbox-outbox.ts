import type { Handle } from '../database/database.js';

/** A transfer whose workflow `sandboxTransfer` is to be started. */
export interface DueSandboxTransfer {
  transferId: string;
  clientId: string;
  account: string;
  stepsMade: number;
  /** When the transfer was created, ms since 1970, as text. */
  createdAt: string;
  /** Its workflow was started before, and no step came since. */
  restart: boolean;
}

/**
 * Leases up to `limit` transfers whose workflow is to be started: those of the clients with the fewest running ones
 * first, so that no client waits behind the backlogs of others. The lease ends after `seconds`; then any worker takes
 * the transfer again.
 */
export function leaseSandboxTransfers(db: Handle, limit: number, seconds: number): Promise<DueSandboxTransfer[]> {
  return db.query<DueSandboxTransfer>(LEASE, [limit, seconds]);
}

/**
 * A loose index scan finds the clients. A row that is leased or started has its `start_after` in the future; its client's
 * due rows take their turns after it.
 */
const LEASE = `
with recursive clients as (
  (select client_id from sandbox_transfers where ended_at is null order by client_id limit 1)
  union all
  select (select x.client_id from sandbox_transfers x
           where x.ended_at is null and x.client_id > c.client_id order by x.client_id limit 1)
    from clients c where c.client_id is not null
), candidates as (
  select due.transfer_id
    from clients c cross join lateral (
      select count(*) from sandbox_transfers r
       where r.client_id = c.client_id and r.ended_at is null and r.start_after > now()) running
    cross join lateral (
      select transfer_id, row_number() over (order by start_after) as place from sandbox_transfers x
       where x.client_id = c.client_id and x.ended_at is null and x.start_after <= now()
       order by start_after limit $1::int) due
   order by running.count + due.place, random() limit $1::int
), free as (
  select transfer_id from sandbox_transfers
   where transfer_id in (select transfer_id from candidates) and ended_at is null and start_after <= now()
     for update skip locked
)
update sandbox_transfers x set start_after = now() + $2::int * interval '1 second'
  from free f, transfers t
 where x.transfer_id = f.transfer_id and t.id = x.transfer_id
returning x.transfer_id as "transferId", x.client_id as "clientId", t.destination_account as account,
          x.steps_made as "stepsMade", (extract(epoch from t.created_at) * 1000)::bigint::text as "createdAt",
          x.started_at is not null as restart`;

/** Marks a transfer whose workflow has started. It is started again if no end is recorded within `seconds`. */
export async function markStarted(db: Handle, transferId: string, seconds: number): Promise<void> {
  await db.query(MARK, [transferId, seconds]);
}

const MARK = `
update sandbox_transfers set started_at = coalesce(started_at, now()), start_after = now() + $2::int * interval '1 second'
 where transfer_id = $1::uuid`;

/** Ends the lease of a transfer whose workflow is not started. It is due again after so many seconds. */
export async function releaseSandboxTransfer(db: Handle, transferId: string, seconds: number): Promise<void> {
  await db.query(RELEASE, [transferId, seconds]);
}

const RELEASE = `
update sandbox_transfers set start_after = now() + $2::int * interval '1 second' where transfer_id = $1::uuid`;

/** The transfers that move by themselves: `waiting` for their workflow start, and `unfinished` in all. */
export interface SandboxCounts {
  waiting: number;
  unfinished: number;
}

/** Counts up to `limit` of each. */
export async function countSandboxTransfers(db: Handle, limit: number): Promise<SandboxCounts> {
  const [row] = await db.query<SandboxCounts>(COUNT, [limit]);
  if (!row) throw new Error('the counts have no row');
  return row;
}

const COUNT = `
select (select count(*)::int from (
          select from sandbox_transfers where ended_at is null and started_at is null limit $1::int) w) as waiting,
       (select count(*)::int from (
          select from sandbox_transfers where ended_at is null limit $1::int) u) as unfinished`;

import { type By, expire } from '../platform/audit.js';
import { type Database, rowOf } from '../platform/database/database.js';
import { ENDED_STATUSES } from './states.js';

const BATCH = 200;

/**
 * Removes the transfers that ended longer than `retention` ms ago, with their history, oldest first. A transfer stays
 * as long as one of its events. @returns their number @throws as `expire`
 */
export function expireTransfers(database: Database, by: By, retention: number, limit = BATCH): Promise<number> {
  let after: string | null = null;
  return expire(database, { by, action: 'transfers.expire', retention }, async (tx, before) => {
    const { seen, last, removed } = await rowOf<Batch>(tx, REMOVE, [before, after, limit, retention, ENDED_STATUSES]);
    after = last;
    return { removed, more: seen === limit };
  });
}

type Batch = { seen: number; last: string | null; removed: number };

const REMOVE = `
with candidates as materialized (
  select id from transfers where id < $1::uuid and ($2::uuid is null or id > $2::uuid) order by id limit $3::int
), expired as materialized (
  select t.id from transfers t
   where t.id in (select id from candidates) and t.status::text = any($5::text[])
     and t.updated_at < now() - $4::bigint * interval '1 millisecond'
     and not exists (select from events e where e.client_id = t.client_id and e.transfer_id = t.id)
     for update skip locked
), history as (
  delete from transfer_status_history h using expired x where h.transfer_id = x.id
), steps as (
  delete from sandbox_transfers s using expired x where s.transfer_id = x.id
), removed as (
  delete from transfers t using expired x where t.id = x.id returning 1
)
select (select count(*)::int from candidates) as seen, (select max(id::text) from candidates) as last,
       (select count(*)::int from removed) as removed`;

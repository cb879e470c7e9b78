import { type By, recordAudit } from '../platform/audit.js';
import type { Database } from '../platform/database/database.js';
import { requireOwner } from '../platform/database/roles.js';
import { formatDuration } from '../platform/duration.js';
import { inBatches, lowestIdBefore } from '../platform/retention.js';
import { ENDED_STATUSES } from './states.js';

const BATCH = 200;

/**
 * Removes the transfers that ended longer than `retention` ms ago, with their history, oldest first. A transfer stays as
 * long as one of its events. The audit entry is in the transaction of the first batch that removes something.
 * @param database of the owner of the tables: no role of a running process may remove a transfer
 * @returns the number of removed transfers
 * @throws Error of one line: another role
 */
export async function expireTransfers(database: Database, by: By, retention: number, limit = BATCH): Promise<number> {
  await requireOwner(database);
  const before = await lowestIdBefore(database, retention);
  let removed = 0;
  let after: string | null = null;
  await inBatches(async () => {
    const batch = await database.transaction(async (tx) => {
      const values = [before, after, limit, retention, ENDED_STATUSES];
      const [batch = { seen: 0, last: null, removed: 0 }] = await tx.query<Batch>(REMOVE, values);
      if (removed === 0 && batch.removed > 0) {
        const details = { older_than: formatDuration(retention) };
        await recordAudit(tx, { ...by, action: 'transfers.expire', target: null, details });
      }
      return batch;
    });
    removed += batch.removed;
    after = batch.last;
    return batch.seen === limit;
  });
  return removed;
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

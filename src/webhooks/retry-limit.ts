import { lockInTransaction } from '../database/advisory-lock.js';
import type { Handle } from '../database/database.js';
import { Refusal } from '../refusal.js';

/** Retries by hand of one delivery in any hour, counted over API, console and CLI of all processes (contract). */
export const RETRIES_AN_HOUR = 10;

/**
 * Counts a retry by hand of a delivery, once for each `retryId`. The count commits with `tx`. Transactions that count
 * for the same delivery wait for each other; claims of the delivery's attempts wait for none of them.
 * @throws Refusal retry_limit_reached
 */
export async function countRetry(tx: Handle, deliveryId: string, retryId: string): Promise<void> {
  await lockInTransaction(tx, `retries of ${deliveryId}`);
  const [row] = await tx.query<{ counted: boolean; wait: number | null }>(COUNT, [
    deliveryId,
    retryId,
    RETRIES_AN_HOUR,
  ]);
  if (row?.counted) return;
  const retryAfter = Math.max(1, row?.wait ?? 1);
  const detail = `This delivery was retried by hand ${RETRIES_AN_HOUR} times in the last hour; the next retry is possible in ${retryAfter} s.`;
  throw new Refusal('retry_limit_reached', detail, [], { retryAfter });
}

/** Removes the count of a retry that Temporal did not accept. */
export async function uncountRetry(db: Handle, deliveryId: string, retryId: string): Promise<void> {
  await db.prisma.manualRetry.deleteMany({ where: { deliveryId, id: retryId } });
}

const COUNT = `
with held as (
  select id, at from manual_retries where delivery_id = $1::uuid and at > now() - interval '1 hour'
), expired as (
  delete from manual_retries where delivery_id = $1::uuid and at <= now() - interval '1 hour' and id <> $2::uuid
), counted as (
  insert into manual_retries (delivery_id, id) select $1::uuid, $2::uuid where (select count(*) from held) < $3::int
  on conflict (delivery_id, id) do nothing
)
select (select count(*) from held) < $3::int or exists (select from held where id = $2::uuid) as counted,
       (select ceil(extract(epoch from min(at) + interval '1 hour' - now()))::int from held) as wait`;

import { LEFT_JOIN_DELIVERY } from '../endpoints/window.js';
import { LATEST_COMMIT } from '../platform/database/committed-until.js';
import { type Handle, rowOf } from '../platform/database/database.js';
import { lowestIdAt, timeOf } from '../platform/ids.js';

/** Pending deliveries that are compared with those of the successor. */
const COUNTED_ALONE = 10_000;

/**
 * Reads the pending deliveries of `endpointId` that are lost if it is deleted: no other delivery sends their events to
 * `successorId`, an endpoint that was registered later.
 * @returns their number, and the time of the oldest pending delivery's event; `more`: there are more than `count`, some
 * of which may have a delivery for the successor; undefined if there are none
 */
export async function readPendingAlone(db: Handle, endpointId: string, successorId: string) {
  const { enabled, enabledAt } = await db.prisma.endpoint.findUniqueOrThrow({ where: { id: successorId } });
  // A delivery has its event's time in its id. Every event that is committed later has a delivery for the successor.
  const before = lowestIdAt(enabled ? enabledAt.getTime() + LATEST_COMMIT : Number.POSITIVE_INFINITY);
  const { pending, alone, oldest } = await rowOf<Row>(db, PENDING_ALONE, [successorId, endpointId, before]);
  const more = pending > COUNTED_ALONE;
  const count = more ? COUNTED_ALONE : alone;
  return count > 0 && oldest !== null ? { count, more, since: new Date(timeOf(oldest)) } : undefined;
}

/** What `readPendingAlone` finds. */
export type PendingAlone = NonNullable<Awaited<ReturnType<typeof readPendingAlone>>>;

type Row = { pending: number; alone: number; oldest: string | null };

/** The oldest pending deliveries. Their order is that of the index on (endpoint, status, id desc), read backwards. */
const PENDING_ALONE = `
select count(*)::int as pending, (count(*) filter (where d.id is null))::int as alone, min(l.delivery_id::text) as oldest
  from (select id as delivery_id, event_id as id from deliveries
         where endpoint_id = $2::uuid and status >= 'pending' and status <= 'pending' and id < $3::uuid
         order by status desc, deliveries.id limit ${COUNTED_ALONE + 1}) l${LEFT_JOIN_DELIVERY}`;

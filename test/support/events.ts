import { eventBody } from '../../src/delivery/event-catalogue.js';
import type { Handle } from '../../src/platform/database/database.js';
import type { DeliveryStatus } from '../../src/platform/database/generated/enums.js';
import { newId } from '../../src/platform/ids.js';

/** Makes an event of a given time without any delivery, as if no endpoint had been enabled then. @param at ms */
export async function makeEvent(db: Handle, clientId: string, at: number): Promise<string> {
  const [id, transferId] = [newId(at), newId(at)];
  const body = eventBody({
    id,
    type: 'transfer.status_changed',
    data: { id: transferId, status: 'SENT' },
    createdAt: at,
  });
  await db.prisma.event.create({
    data: {
      id,
      clientId,
      transferId,
      type: 'transfer.status_changed',
      body,
      createdAt: new Date(at),
    },
  });
  return id;
}

/** Makes an event of a given time with one ended or pending delivery. @param at ms */
export async function makeDelivered(
  db: Handle,
  { clientId, endpointId, at, status }: { clientId: string; endpointId: string; at: number; status: DeliveryStatus },
): Promise<{ eventId: string; deliveryId: string }> {
  const eventId = await makeEvent(db, clientId, at);
  const deliveryId = newId(at);
  const nextAttemptAt = status === 'pending' ? new Date() : null;
  await db.prisma.delivery.create({
    data: {
      id: deliveryId,
      eventId,
      endpointId,
      clientId,
      status,
      nextAttemptAt,
      createdAt: new Date(at),
      ladder: '0s',
    },
  });
  return { eventId, deliveryId };
}

/**
 * Makes `count` events of consecutive milliseconds from `at` on, each with a succeeded delivery, except those of
 * `missing`.
 * @param missing positions of the events without a delivery, 0 is the newest
 * @returns the ids of these, in the same order
 */
export async function makeManyDelivered(
  db: Handle,
  of: { clientId: string; endpointId: string; at: number; count: number },
  missing: readonly number[],
): Promise<string[]> {
  await db.query(MANY, [of.clientId, of.endpointId, of.at, of.count, missing]);
  const { clientId } = of;
  const events = await db.prisma.event.findMany({ where: { clientId }, orderBy: { id: 'desc' }, select: { id: true } });
  return missing.map((position) => events[position]?.id ?? '');
}

const MANY = `
with made as (
  insert into events (id, client_id, transfer_id, type, body, created_at)
  select id, $1::uuid, id, 'transfer.status_changed',
         json_build_object('id', id, 'version', '2026-11-21', 'type', 'transfer.status_changed',
           'data', json_build_object('id', id, 'status', 'SENT'), 'created_at',
           to_char(to_timestamp(ms / 1000.0) at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS')),
         to_timestamp(ms / 1000.0)
    from generate_series($3::bigint, $3::bigint + $4::int - 1) ms,
         lateral (select (lpad(to_hex(ms), 12, '0') || '70008' || substr(md5($1 || ms), 1, 15))::uuid as id) i
  returning id, created_at
)
insert into deliveries (id, event_id, endpoint_id, client_id, status, created_at, ladder)
select id, id, $2::uuid, $1::uuid, 'succeeded', created_at, '0s'
  from (select *, row_number() over (order by id desc) - 1 as position from made) m
 where position <> all ($5::int[])`;

import type { Handle } from '../database/database.js';
import type { Event } from '../database/generated/client.js';
import type { DeliveryStatus } from '../database/generated/enums.js';
import { exactly, type IdRange, idsWithin } from '../ids.js';
import { Refusal } from '../refusal.js';

/** Number of an event's deliveries in each status. */
export type DeliveryCounts = Record<DeliveryStatus, number>;

export type EventRecord = Pick<Event, 'id' | 'body'> & { deliveries: DeliveryCounts };

export interface EventFilters extends IdRange {
  type?: string | undefined;
  transferId?: string | undefined;
  take: number;
}

/** Lists a client's events, newest first. */
export async function listEvents(
  db: Handle,
  clientId: string,
  { type, transferId, take, ...range }: EventFilters,
): Promise<EventRecord[]> {
  const events = await db.prisma.event.findMany({
    where: {
      clientId: exactly(clientId),
      id: idsWithin(range),
      ...(type !== undefined && { type }),
      ...(transferId !== undefined && { transferId }),
    },
    orderBy: [{ clientId: 'asc' }, { id: 'desc' }],
    take,
    select: { id: true, body: true },
  });
  return withCounts(db, events);
}

/** Reads a client's events of these ids, in their order. */
export async function readEventRecords(db: Handle, clientId: string, ids: readonly string[]): Promise<EventRecord[]> {
  const where = { id: { in: [...ids] }, clientId };
  return withCounts(
    db,
    await db.prisma.event.findMany({ where, orderBy: { id: 'desc' }, select: { id: true, body: true } }),
  );
}

/** @throws Refusal not_found */
export async function getEvent(db: Handle, clientId: string, id: string): Promise<EventRecord> {
  const events = await db.prisma.event.findMany({ where: { id, clientId }, select: { id: true, body: true } });
  const [event] = await withCounts(db, events);
  if (!event) throw new Refusal('not_found', 'There is no such event.');
  return event;
}

/** Lists the events of any client's transfer, for the operator. Empty if the transfer does not exist. */
export async function eventIdsOfTransfer(db: Handle, transferId: string): Promise<string[]> {
  const transfer = await db.prisma.transfer.findUnique({ where: { id: transferId }, select: { clientId: true } });
  if (!transfer) return [];
  const { clientId } = transfer;
  const events = await db.prisma.event.findMany({ where: { clientId, transferId }, select: { id: true } });
  return events.map(({ id }) => id);
}

async function withCounts(db: Handle, events: readonly Pick<Event, 'id' | 'body'>[]): Promise<EventRecord[]> {
  const records = new Map(
    events.map((event) => [event.id, { ...event, deliveries: { pending: 0, succeeded: 0, failed: 0, cancelled: 0 } }]),
  );
  if (records.size === 0) return [];
  const groups = await db.prisma.delivery.groupBy({
    by: ['eventId', 'status'],
    where: { eventId: { in: [...records.keys()] } },
    _count: true,
  });
  for (const { eventId, status, _count } of groups) {
    const record = records.get(eventId);
    if (record) record.deliveries[status] = _count;
  }
  return [...records.values()];
}

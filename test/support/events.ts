import type { Handle } from '../../src/database/database.js';
import type { DeliveryStatus } from '../../src/database/generated/enums.js';
import { newId } from '../../src/ids.js';
import { eventBody } from '../../src/webhooks/event-catalogue.js';

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
      outbox: 'done',
      leaseUntil: new Date(at),
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
    data: { id: deliveryId, eventId, endpointId, clientId, status, nextAttemptAt, createdAt: new Date(at) },
  });
  return { eventId, deliveryId };
}

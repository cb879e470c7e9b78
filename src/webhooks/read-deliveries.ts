import type { Handle } from '../database/database.js';
import type { Attempt, Delivery } from '../database/generated/client.js';
import type { DeliveryStatus } from '../database/generated/enums.js';
import { exactly } from '../ids.js';
import { Refusal } from '../refusal.js';

/** A delivery with its attempts, oldest first, and its endpoint's URL. */
export type DeliveryRecord = Delivery & { attempts: Attempt[]; endpoint: { url: string } };

export const RECORD = { attempts: { orderBy: { number: 'asc' } }, endpoint: { select: { url: true } } } as const;

export interface DeliveryFilters {
  /** Of one event, or to one endpoint; the caller has seen that it is the client's own. */
  of: { eventId: string } | { endpointId: string };
  status?: DeliveryStatus | undefined;
  before: string | undefined;
  take: number;
}

/** Newest first. */
export function listDeliveries(
  db: Handle,
  clientId: string,
  { of, status, before, take }: DeliveryFilters,
): Promise<DeliveryRecord[]> {
  return db.prisma.delivery.findMany({
    where: {
      clientId,
      ...('endpointId' in of ? { endpointId: exactly(of.endpointId) } : of),
      ...(status !== undefined && { status }),
      ...(before !== undefined && { id: { lt: before } }),
    },
    orderBy: [...('endpointId' in of ? [{ endpointId: 'asc' } as const] : []), { id: 'desc' }],
    take,
    include: RECORD,
  });
}

/** @throws Refusal not_found */
export async function getDelivery(db: Handle, clientId: string, id: string): Promise<DeliveryRecord> {
  const delivery = await db.prisma.delivery.findFirst({ where: { id, clientId }, include: RECORD });
  if (!delivery) throw new Refusal('not_found', 'There is no such delivery.');
  return delivery;
}

/** Any client's delivery: for the operator. @throws Refusal not_found */
export async function getDeliveryForOperator(db: Handle, id: string): Promise<DeliveryRecord> {
  const delivery = await db.prisma.delivery.findUnique({ where: { id }, include: RECORD });
  if (!delivery) throw new Refusal('not_found', 'There is no such delivery.');
  return delivery;
}

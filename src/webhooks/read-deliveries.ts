import { SHOWN_ATTEMPTS } from '../attempts.js';
import type { Handle } from '../database/database.js';
import type { Attempt, Delivery } from '../database/generated/client.js';
import type { DeliveryStatus } from '../database/generated/enums.js';
import { Refusal } from '../refusal.js';
import { newestDeliveryIds } from './newest-deliveries.js';
import { type PlannedAttempt, plannedAttempts } from './planned-attempts.js';
import { type LastAttempt, listAttempts, readLastAttempts } from './read-attempts.js';

/** A delivery's row, its endpoint's URL and what its event says. */
export type DeliveryRow = Delivery & {
  endpoint: { url: string };
  event: { type: string; transferId: string; body: string };
};

/** A delivery as lists and responses to retries show it. */
export type DeliveryRecord = DeliveryRow & { lastAttempt: LastAttempt | null };

/** A delivery as its own page shows it. */
export type DeliveryWithAttempts = DeliveryRow & {
  /** The latest `SHOWN_ATTEMPTS`, oldest first. */
  attempts: Attempt[];
  /** The attempts that are left. */
  planned: PlannedAttempt[];
};

export const WITH_CONTEXT = {
  endpoint: { select: { url: true } },
  event: { select: { type: true, transferId: true, body: true } },
} as const;

export interface DeliveryFilters {
  /** The event or the endpoint of the deliveries. The caller has checked that it belongs to the client. */
  of: { eventId: string } | { endpointId: string };
  status?: DeliveryStatus | undefined;
  before: string | undefined;
  take: number;
}

/** Lists a client's deliveries, newest first. */
export async function listDeliveries(
  db: Handle,
  clientId: string,
  { of, status, before, take }: DeliveryFilters,
): Promise<DeliveryRecord[]> {
  const where =
    'endpointId' in of
      ? { id: { in: await newestDeliveryIds(db, clientId, { ...of, status, before, take }) } }
      : { ...of, ...(status !== undefined && { status }), ...(before !== undefined && { id: { lt: before } }) };
  const rows = await db.prisma.delivery.findMany({
    where: { ...where, clientId },
    orderBy: { id: 'desc' },
    take,
    include: WITH_CONTEXT,
  });
  return withLastAttempts(db, rows);
}

/** Adds its last attempt to each delivery. */
export async function withLastAttempts<Row extends DeliveryRow>(
  db: Handle,
  rows: readonly Row[],
): Promise<(Row & Pick<DeliveryRecord, 'lastAttempt'>)[]> {
  const lastAttempts = await readLastAttempts(db, rows);
  return rows.map((row) => ({ ...row, lastAttempt: lastAttempts.get(row.id) ?? null }));
}

/** @throws Refusal not_found */
export async function getDelivery(db: Handle, clientId: string, id: string): Promise<DeliveryRecord> {
  const row = await getRow(db, clientId, id);
  const lastAttempts = await readLastAttempts(db, [row]);
  return { ...row, lastAttempt: lastAttempts.get(row.id) ?? null };
}

/**
 * @param clientId the client that must own the delivery; null: any client (the operator)
 * @param retryDelays the present ladder, ms, for a delivery whose row does not name its own
 * @throws Refusal not_found
 */
export async function getDeliveryWithAttempts(
  db: Handle,
  clientId: string | null,
  id: string,
  retryDelays: readonly number[],
): Promise<DeliveryWithAttempts> {
  const row = await getRow(db, clientId, id);
  // An attempt recorded after the row was read would contradict the row.
  const newestFirst = await listAttempts(db, id, { before: row.attemptCount + 1, take: SHOWN_ATTEMPTS });
  return { ...row, attempts: newestFirst.reverse(), planned: plannedAttempts(row, retryDelays) };
}

/** Reads any client's delivery, for the operator. @throws Refusal not_found */
export function getDeliveryForOperator(db: Handle, id: string): Promise<DeliveryRow> {
  return getRow(db, null, id);
}

async function getRow(db: Handle, clientId: string | null, id: string): Promise<DeliveryRow> {
  const where = { id, ...(clientId !== null && { clientId }) };
  const row = await db.prisma.delivery.findFirst({ where, include: WITH_CONTEXT });
  if (!row) throw new Refusal('not_found', 'There is no such delivery.');
  return row;
}

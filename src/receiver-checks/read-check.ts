import type { Handle } from '../database/database.js';
import type { Prisma } from '../database/generated/client.js';
import { Refusal } from '../refusal.js';
import { endUnstartedChecks, START_WITHIN } from './finish-check.js';

/** A check is shown and kept for this long, ms (contract). */
const KEPT = 24 * 3_600_000;

const WITH_CASES = { cases: { orderBy: { position: 'asc' } } } as const;

/** A check with the cases sent so far, in their order. */
export type CheckRecord = Prisma.ReceiverCheckGetPayload<{ include: typeof WITH_CASES }>;

interface CheckId {
  clientId: string;
  endpointId: string;
  id: string;
}

/** @throws Refusal not_found */
export async function getCheck(db: Handle, of: CheckId): Promise<CheckRecord> {
  const check = await read(db, of);
  if (check.finishedAt !== null || Date.now() - check.startedAt.getTime() < START_WITHIN * 1_000) return check;
  return (await endUnstartedChecks(db, of.clientId)) === 0 ? check : read(db, of);
}

async function read(db: Handle, { clientId, endpointId, id }: CheckId): Promise<CheckRecord> {
  const check = await db.prisma.receiverCheck.findFirst({
    where: { id, clientId, endpointId, startedAt: { gt: new Date(Date.now() - KEPT) } },
    include: WITH_CASES,
  });
  if (!check) throw new Refusal('not_found', 'There is no such check; a check is kept for a day.');
  return check;
}

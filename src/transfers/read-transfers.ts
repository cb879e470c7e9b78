import type { Handle } from '../database/database.js';
import type { StatusChange, Transfer } from '../database/generated/client.js';
import type { TransferStatus } from '../database/generated/enums.js';
import { exactly, type IdRange, idsWithin } from '../ids.js';
import { Refusal } from '../refusal.js';

export interface TransferFilters extends IdRange {
  status?: TransferStatus | undefined;
  reference?: string | undefined;
  take: number;
}

/** Lists a client's transfers, newest first. */
export function listTransfers(
  db: Handle,
  clientId: string,
  { status, reference, take, ...range }: TransferFilters,
): Promise<Transfer[]> {
  return db.prisma.transfer.findMany({
    where: {
      clientId: exactly(clientId),
      id: idsWithin(range),
      ...(status !== undefined && { status }),
      ...(reference !== undefined && { reference }),
    },
    orderBy: [{ clientId: 'asc' }, { id: 'desc' }],
    take,
  });
}

/** Reads a transfer with its history, oldest entry first. @throws Refusal not_found */
export async function getTransfer(
  db: Handle,
  clientId: string,
  id: string,
): Promise<Transfer & { history: StatusChange[] }> {
  const transfer = await db.prisma.transfer.findFirst({
    where: { id, clientId },
    include: { history: { orderBy: { position: 'asc' } } },
  });
  if (!transfer) throw new Refusal('not_found', 'There is no such transfer.');
  return transfer;
}

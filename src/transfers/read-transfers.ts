import type { Handle } from '../platform/database/database.js';
import type { Transfer } from '../platform/database/generated/client.js';
import type { TransferStatus } from '../platform/database/generated/enums.js';
import { exactly, type IdRange, idBounds, idsWithin } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';

export interface TransferFilters extends IdRange {
  status?: TransferStatus | undefined;
  reference?: string | undefined;
  take: number;
}

/** Lists a client's transfers, newest first. Each way is in the order of one index, which no other has (`exactly`). */
export async function listTransfers(
  db: Handle,
  clientId: string,
  { status, reference, take, ...range }: TransferFilters,
): Promise<Transfer[]> {
  const { transfer } = db.prisma;
  const id = idsWithin(range);
  if (reference !== undefined) {
    const where = {
      clientId,
      reference: { gte: reference, lte: reference },
      id,
      ...(status !== undefined && { status }),
    };
    return transfer.findMany({ where, orderBy: [{ reference: 'asc' }, { id: 'desc' }], take });
  }
  if (status !== undefined) {
    const { gte, lt } = idBounds(range);
    const rows = await db.query<{ id: string }>(NEWEST_IN_STATUS, [clientId, status, gte, lt, take]);
    return transfer.findMany({ where: { id: { in: rows.map((row) => row.id) } }, orderBy: { id: 'desc' } });
  }
  const where = { clientId: exactly(clientId), id };
  return transfer.findMany({ where, orderBy: [{ clientId: 'asc' }, { id: 'desc' }], take });
}

/** Prisma compares no range of an enum. */
const NEWEST_IN_STATUS = `
select t.id::text from transfers t
 where t.client_id = $1::uuid and t.status >= $2::transfer_status and t.status <= $2::transfer_status
   and t.id >= $3::uuid and t.id < $4::uuid
 order by t.status, t.id desc limit $5::int`;

/** Reads a transfer with its history, oldest entry first. @throws Refusal not_found */
export async function getTransfer(db: Handle, clientId: string, id: string) {
  const transfer = await db.prisma.transfer.findFirst({
    where: { id, clientId },
    include: { history: { orderBy: { position: 'asc' } } },
  });
  if (!transfer) throw new Refusal('not_found', 'There is no such transfer.');
  return transfer;
}

import type { Handle } from '../database/database.js';
import type { Transfer } from '../database/generated/client.js';
import { newId, timeOf } from '../ids.js';

export interface NewTransfer {
  clientId: string;
  amount: {
    /** Minor units, 1 to 2^53−1. */
    value: number;
    /** ISO 4217 */
    currency: string;
  };
  destination: { name: string; account: string };
  reference: string | null;
  metadata: Record<string, string>;
}

/**
 * Creates a transfer with the first entry of its history. Creation is not a change of status and makes no event
 * (contract, Transfers).
 */
export function createTransfer(db: Handle, transfer: NewTransfer): Promise<Transfer> {
  const id = newId();
  const now = new Date(timeOf(id));
  return db.prisma.transfer.create({
    data: {
      id,
      clientId: transfer.clientId,
      amountValue: transfer.amount.value,
      amountCurrency: transfer.amount.currency,
      destinationName: transfer.destination.name,
      destinationAccount: transfer.destination.account,
      reference: transfer.reference,
      metadata: transfer.metadata,
      createdAt: now,
      updatedAt: now,
      history: { create: { position: 0, status: 'CREATED', at: now, reason: null } },
    },
  });
}

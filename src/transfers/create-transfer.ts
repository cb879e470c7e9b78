import { atomically, type Handle } from '../database/database.js';
import type { Transfer } from '../database/generated/client.js';
import { newId, timeOf } from '../ids.js';
import { admitSandboxTransfer, movesByItself, type SandboxRules } from './admit-sandbox-transfer.js';

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
 * (contract, Transfers). The need for the workflow of a transfer that moves by itself commits with it.
 * @throws Refusal sandbox_account | unknown_sandbox_account | sandbox_limit_reached
 */
export async function createTransfer(db: Handle, rules: SandboxRules, transfer: NewTransfer): Promise<Transfer> {
  const { clientId } = transfer;
  if (!movesByItself(transfer.destination.account, rules)) return insert(db, transfer, false);
  return atomically(db, async (tx) => {
    await admitSandboxTransfer(tx, clientId, rules);
    return insert(tx, transfer, true);
  });
}

function insert(db: Handle, transfer: NewTransfer, moves: boolean): Promise<Transfer> {
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
      ...(moves && { sandbox: { create: { clientId: transfer.clientId } } }),
    },
  });
}

import { z } from 'zod';
import type { StatusChange, Transfer } from '../../database/generated/client.js';
import { REASON_CODES, type ReasonCode } from '../../transfers/reason-codes.js';
import { TRANSFER_STATUSES } from '../../transfers/states.js';
import { components } from '../openapi/components.js';
import { time, uuid } from '../schemas/time.js';

export const transferStatus = z
  .enum(TRANSFER_STATUSES)
  .meta({ examples: ['CREATED'] })
  .register(components, { id: 'TransferStatus' });

const reasonCode = z
  .enum(REASON_CODES)
  .nullable()
  .meta({
    description: 'Why the transfer failed, was returned or was cancelled; null if no code was given.',
    examples: [null],
  });

export const transferView = z
  .object({
    id: uuid,
    status: transferStatus,
    reason_code: reasonCode,
    amount: z.object({
      value: z.int().meta({ description: 'In minor units.', examples: [125_00] }),
      currency: z.string().meta({ description: 'ISO 4217', examples: ['EUR'] }),
    }),
    destination: z.object({
      name: z.string().meta({ examples: ['Ada Lovelace'] }),
      account: z.string().meta({ examples: ['DE89370400440532013000'] }),
    }),
    reference: z
      .string()
      .nullable()
      .meta({ examples: ['Invoice 2026-117'] }),
    metadata: z.record(z.string(), z.string()).meta({ examples: [{ order: '4711' }] }),
    created_at: time,
    updated_at: time,
  })
  .register(components, { id: 'Transfer' });

export const transferWithHistoryView = transferView
  .extend({
    status_history: z
      .array(
        z.object({
          status: transferStatus,
          at: time,
          reason: z
            .string()
            .nullable()
            .meta({ examples: [null] }),
          reason_code: reasonCode,
        }),
      )
      .meta({ description: 'Oldest first; the first entry is `CREATED`.' }),
  })
  .register(components, { id: 'TransferWithHistory' });

export function presentTransfer(transfer: Transfer): z.output<typeof transferView> {
  return {
    id: transfer.id,
    status: transfer.status,
    reason_code: transfer.reasonCode as ReasonCode | null,
    amount: { value: Number(transfer.amountValue), currency: transfer.amountCurrency },
    destination: { name: transfer.destinationName, account: transfer.destinationAccount },
    reference: transfer.reference,
    metadata: transfer.metadata as Record<string, string>,
    created_at: transfer.createdAt.toISOString(),
    updated_at: transfer.updatedAt.toISOString(),
  };
}

export function presentTransferWithHistory(
  transfer: Transfer & { history: readonly StatusChange[] },
): z.output<typeof transferWithHistoryView> {
  return {
    ...presentTransfer(transfer),
    status_history: transfer.history.map(({ status, at, reason, reasonCode }) => ({
      status,
      at: at.toISOString(),
      reason,
      reason_code: reasonCode as ReasonCode | null,
    })),
  };
}

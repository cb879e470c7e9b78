import type { Transfer as Row } from '../platform/database/generated/client.js';

/** A transfer without the digest, which only a repeat of its creation reads. */
export type Transfer = Omit<Row, 'requestDigest'>;

/** A transfer as JSON, which has neither 64-bit numbers nor times. */
export type TransferJson = Omit<Transfer, 'amountValue' | 'createdAt' | 'updatedAt'> &
  Record<'createdAt' | 'updatedAt', string> & { amountValue: number };

/** SQL: the row `t` of transfers as `TransferJson`. */
export const transferJson = (t: string): string => `json_build_object(
    'id', ${t}.id, 'clientId', ${t}.client_id, 'amountValue', ${t}.amount_value, 'amountCurrency', ${t}.amount_currency,
    'destinationName', ${t}.destination_name, 'destinationAccount', ${t}.destination_account, 'reference', ${t}.reference,
    'metadata', ${t}.metadata, 'status', ${t}.status, 'reasonCode', ${t}.reason_code, 'idempotencyKey', ${t}.idempotency_key,
    'createdAt', ${t}.created_at, 'updatedAt', ${t}.updated_at)`;

export function toTransfer({ amountValue, createdAt, updatedAt, ...others }: TransferJson): Transfer {
  const times = { createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
  return { ...others, amountValue: BigInt(amountValue), ...times };
}

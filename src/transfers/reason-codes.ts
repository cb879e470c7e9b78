import type { TransferStatus } from '../platform/database/generated/enums.js';

/** Reasons for which a transfer ended without the money reaching its destination (contract, Transfers). */
export const REASON_CODES = [
  'account_closed',
  'account_not_found',
  'insufficient_funds',
  'limit_exceeded',
  'name_mismatch',
  'rejected_by_bank',
  'compliance',
  'duplicate',
  'customer_request',
  'other',
] as const;
export type ReasonCode = (typeof REASON_CODES)[number];

/** The statuses with which a change may give a reason code. */
export const STATUSES_WITH_REASON_CODE = [
  'FAILED',
  'RETURNED',
  'CANCELLED',
] as const satisfies readonly TransferStatus[];

export function takesReasonCode(status: TransferStatus): boolean {
  return STATUSES_WITH_REASON_CODE.some((allowed) => allowed === status);
}

import type { TransferStatus } from '../platform/database/generated/enums.js';

/** The state machine (contract, Transfers): the statuses that may follow each status. */
const NEXT = {
  CREATED: ['PROCESSING', 'CANCELLED', 'FAILED'],
  PROCESSING: ['SENT', 'CANCELLED', 'FAILED'],
  SENT: ['COMPLETED', 'FAILED', 'RETURNED'],
  COMPLETED: ['RETURNED'],
  CANCELLED: [],
  FAILED: [],
  RETURNED: [],
} as const satisfies Record<TransferStatus, readonly TransferStatus[]>;

export const TRANSFER_STATUSES = Object.keys(NEXT) as TransferStatus[];

/** The statuses that may follow `from`; none: `from` is final. */
export function nextStatuses(from: TransferStatus): readonly TransferStatus[] {
  return NEXT[from];
}

/** The statuses after which a transfer needs nothing more. A completed one may still be returned. */
export const ENDED_STATUSES: readonly TransferStatus[] = ['COMPLETED', 'CANCELLED', 'FAILED', 'RETURNED'];
export const UNFINISHED_STATUSES = TRANSFER_STATUSES.filter((status) => !ENDED_STATUSES.includes(status));

export function canChange(from: TransferStatus, to: TransferStatus): boolean {
  return nextStatuses(from).includes(to);
}

/** The statuses from which one change leads to `to`. */
export function previousStatuses(to: TransferStatus): TransferStatus[] {
  return TRANSFER_STATUSES.filter((from) => canChange(from, to));
}

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

import type { TransferStatus } from '../platform/database/generated/enums.js';

/** The state machine: the statuses that may follow each status; none: it is final. */
export const NEXT_STATUSES: Readonly<Record<TransferStatus, readonly TransferStatus[]>> = {
  CREATED: ['PROCESSING', 'CANCELLED', 'FAILED'],
  PROCESSING: ['SENT', 'CANCELLED', 'FAILED'],
  SENT: ['COMPLETED', 'FAILED', 'RETURNED'],
  COMPLETED: ['RETURNED'],
  CANCELLED: [],
  FAILED: [],
  RETURNED: [],
};

export const TRANSFER_STATUSES = Object.keys(NEXT_STATUSES) as TransferStatus[];

/** The statuses after which a transfer needs nothing more. A completed one may still be returned. */
export const ENDED_STATUSES: readonly TransferStatus[] = ['COMPLETED', 'CANCELLED', 'FAILED', 'RETURNED'];
export const UNFINISHED_STATUSES = TRANSFER_STATUSES.filter((status) => !ENDED_STATUSES.includes(status));

/** Reasons for which a transfer ended without the money reaching its destination. */
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
export const STATUSES_WITH_REASON_CODE: readonly TransferStatus[] = ['FAILED', 'RETURNED', 'CANCELLED'];

import type { TransferStatus } from '../database/generated/enums.js';

/** The state machine (contract, Transfers): from each status, where it may go. */
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

/** The statuses that a transfer in `from` may go to; none: `from` is final. */
export function nextStatuses(from: TransferStatus): readonly TransferStatus[] {
  return NEXT[from];
}

export function canChange(from: TransferStatus, to: TransferStatus): boolean {
  return nextStatuses(from).includes(to);
}

/** The statuses from which `to` can be reached in one change. */
export function previousStatuses(to: TransferStatus): TransferStatus[] {
  return TRANSFER_STATUSES.filter((from) => canChange(from, to));
}

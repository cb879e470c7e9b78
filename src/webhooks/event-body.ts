import type { TransferStatus } from '../database/generated/enums.js';

/** Version of the event format (spec §9). */
export const EVENT_VERSION = '2026-11-21';
export const TRANSFER_STATUS_CHANGED = 'transfer.status_changed';

/**
 * The JSON text of a `transfer.status_changed` event (spec §2, members in that order). Made once: these are the bytes
 * that every attempt signs and sends.
 * @param createdAt ms since 1970; written in UTC with three fraction digits and no zone designator, as the spec shows
 */
export function transferStatusChanged(event: {
  id: string;
  transferId: string;
  status: TransferStatus;
  createdAt: number;
}): string {
  return JSON.stringify({
    id: event.id,
    version: EVENT_VERSION,
    type: TRANSFER_STATUS_CHANGED,
    data: { id: event.transferId, status: event.status },
    created_at: new Date(event.createdAt).toISOString().slice(0, -1),
  });
}

import type { DeliveryStatus, TransferStatus } from '../../database/generated/enums.js';

type Tone = 'good' | 'bad' | 'waiting' | 'quiet';

const TONES: Readonly<Record<DeliveryStatus | TransferStatus, Tone>> = {
  pending: 'waiting',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'quiet',
  CREATED: 'quiet',
  PROCESSING: 'waiting',
  SENT: 'waiting',
  COMPLETED: 'good',
  CANCELLED: 'quiet',
  FAILED: 'bad',
  RETURNED: 'bad',
};

/** The status of a delivery or of a transfer, by its name in the API. The colour repeats what the word says. */
export function Status({ status }: { status: DeliveryStatus | TransferStatus }) {
  return <span class={`status ${TONES[status]}`}>{status}</span>;
}

import type { DeliveryStatus, TransferStatus } from '../../database/generated/enums.js';

/** Classes of the style sheet; none: the outcome is neither good nor bad. */
type Tone = 'good' | 'bad' | 'warn' | '';

const TONES: Readonly<Record<DeliveryStatus | TransferStatus, Tone>> = {
  pending: 'warn',
  succeeded: 'good',
  failed: 'bad',
  cancelled: '',
  CREATED: '',
  PROCESSING: 'warn',
  SENT: 'warn',
  COMPLETED: 'good',
  CANCELLED: '',
  FAILED: 'bad',
  RETURNED: 'bad',
};

/** The status of a delivery or of a transfer, by its name in the API. The colour repeats what the word says. */
export function Status({ status }: { status: DeliveryStatus | TransferStatus }) {
  return <span class={`badge ${TONES[status]}`.trim()}>{status}</span>;
}

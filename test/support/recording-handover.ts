import { type Handover, NOTHING_LEASED, type QueuedEvent } from '../../src/delivery/handover.js';

/** A handover without a dispatcher. `events` and `retried` have what was handed over. */
export type RecordingHandover = Handover & { events: QueuedEvent[]; retried: string[] };

export function recordingHandover({ retryDelays = [0] }: { retryDelays?: readonly number[] } = {}): RecordingHandover {
  const events: QueuedEvent[] = [];
  const retried: string[] = [];
  return {
    events,
    retried,
    retryDelays,
    leaseTerms: () => NOTHING_LEASED,
    committed: (event) => void events.push(event),
    queued: ({ deliveryId }) => void retried.push(deliveryId),
  };
}

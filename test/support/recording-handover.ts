import type { Handover, QueuedEvent } from '../../src/delivery/handover.js';
import { newId } from '../../src/platform/ids.js';

/** A handover without a dispatcher. `events` and `retried` have what was handed over. */
export type RecordingHandover = Handover & { events: QueuedEvent[]; retried: string[]; token: string };

/** @param leases whether an insert leases the attempts to this process, as for a dispatcher with free slots */
export function recordingHandover({
  leases = true,
  retryDelays = [0],
}: {
  leases?: boolean;
  retryDelays?: readonly number[];
} = {}): RecordingHandover {
  const token = newId();
  const events: QueuedEvent[] = [];
  const retried: string[] = [];
  return {
    token,
    events,
    retried,
    retryDelays,
    lease: () => (leases ? { token, full: [] } : null),
    committed: (event) => void events.push(event),
    queued: ({ deliveryId }) => void retried.push(deliveryId),
  };
}

import type { MadeAttempt } from '../../src/delivery/record.js';
import type { CommittedEvent } from './committed-event.js';
import { outcome } from './factories.js';

/** The end of a lease that is over. */
export const ENDED = new Date(0).toISOString();

type Fields = Partial<MadeAttempt['attempt']> & { outcome?: MadeAttempt['outcome']; of?: number };

/**
 * An attempt that was made at a delivery of the event, its first one by default: attempt 1 of the ladder, with a 204.
 */
export function madeAttempt(event: CommittedEvent, { outcome: made = outcome(), of = 0, ...fields }: Fields = {}) {
  const { deliveryId, url } = event.deliveries[of]!;
  const first = { line: 'fresh', number: 1, trigger: 'schedule', leasedUntil: ENDED } as const;
  return { attempt: { eventId: event.eventId, deliveryId, url, ...first, ...fields }, outcome: made };
}

import type { Handle } from '../database/database.js';

/** The deliveries of events made in [since, until), ms since 1970. */
export interface RecoverRange {
  since: number;
  until: number;
}

/** What a client may ask of deliveries under way or over (contract, Events and deliveries). */
export interface Steering {
  /**
   * Makes one attempt now: wakes a delivery that sleeps, makes a single new attempt at one that has ended; nothing more
   * where one is in flight.
   * @param db what the answer to an `Idempotency-Key` is kept in: statements go through it, never around it
   * @throws Refusal not_found | endpoint_not_active | unavailable (Temporal down)
   */
  retry(db: Handle, clientId: string, deliveryId: string): Promise<void>;
  /**
   * Starts every failed or cancelled delivery of the range again from its ladder's start, durable, at a bounded pace.
   * @returns how many
   * @throws Refusal not_found | endpoint_not_active | recover_in_progress | unavailable
   */
  recover(db: Handle, clientId: string, endpointId: string, range: RecoverRange): Promise<number>;
}

import type { Database, Handle } from '../database/database.js';
import type { PlannedRecover } from './recovers.js';

/** The deliveries of events made in [since, until), ms since 1970. */
export interface RecoverRange {
  since: number;
  until: number;
}

/**
 * An action whose effect Temporal makes, in two steps, so that no transaction is open while Temporal is asked. A plan is
 * JSON: it is kept under the `Idempotency-Key` of its request.
 */
export interface TwoStepAction<Request, Plan, Result> {
  /**
   * Checks the request and decides what identifies its effect. `tx` commits the plan with what it counts.
   * @param earlier what an earlier try of the same request planned; its effect may have been made
   */
  plan(tx: Handle, request: Request, earlier: Plan | undefined): Promise<Plan>;
  /** Makes the effect of a plan: once, however often and wherever it is called. No transaction is open. */
  carryOut(db: Database, plan: Plan): Promise<Result>;
}

/** Attempt `number` is asked for; null: an attempt is in flight, so nothing more is done. */
export type PlannedRetry = { retryId: string; clientId: string; deliveryId: string; number: number | null };

/** What a client may ask of deliveries under way or over (contract, Events and deliveries). */
export interface DeliveryActions {
  /**
   * Makes one attempt now: wakes a delivery that sleeps, makes a single new attempt at one that has ended; nothing more
   * where one is in flight.
   * @throws Refusal not_found | endpoint_not_active | retry_limit_reached; unavailable (Temporal down), rate_limited
   */
  retry: TwoStepAction<{ clientId: string; deliveryId: string }, PlannedRetry, void>;
  /**
   * Starts every failed or cancelled delivery of the range again from its ladder's start, durable, at a bounded pace.
   * Its result is how many; 0 starts nothing.
   * @throws Refusal not_found | endpoint_not_active; recover_in_progress | recover_limit_reached | unavailable |
   * rate_limited
   */
  recover: TwoStepAction<RecoverRange & { clientId: string; endpointId: string }, PlannedRecover, number>;
}

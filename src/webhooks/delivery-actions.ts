import type { By } from '../audit/actor.js';
import type { Database, Handle } from '../database/database.js';
import type { RecoverSize } from './recover.js';
import type { PlannedRecover, RecoverRequest } from './recovers.js';

/**
 * An action whose effect Temporal makes. It has two steps, so that no transaction is open during the call to Temporal.
 * A plan is JSON: it is stored under the `Idempotency-Key` of its request.
 */
export interface TwoStepAction<Request, Plan, Result> {
  /**
   * Checks the request and decides the ids of its effect. `tx` commits the plan together with its entry in the limits.
   * @param earlier the plan of an earlier try of the same request; its effect may exist already
   */
  plan(tx: Handle, request: Request, earlier: Plan | undefined): Promise<Plan>;
  /** Makes the effect of a plan, once, even if several processes call it several times. No transaction is open. */
  carryOut(db: Database, plan: Plan): Promise<Result>;
}

/** Runs both steps of an action that has no `Idempotency-Key`. @returns the plan */
export async function carryOutNow<Request, Plan, Result>(
  database: Database,
  action: TwoStepAction<Request, Plan, Result>,
  request: Request,
): Promise<Plan> {
  const plan = await database.transaction((tx) => action.plan(tx, request, undefined));
  await action.carryOut(database, plan);
  return plan;
}

export type RetryRequest = { by: By; clientId: string; deliveryId: string };

/** The plan of a retry. `number`: the requested attempt; null: an attempt is in flight, so the plan has no effect. */
export type PlannedRetry = RetryRequest & { retryId: string; number: number | null };

/** The actions of a client on its pending and ended deliveries (contract, Events and deliveries). */
export interface DeliveryActions {
  /**
   * Makes one attempt now. A delivery that waits for its next attempt is woken; a delivery that has ended gets a single
   * new attempt. If an attempt is in flight, the retry has no effect.
   * @throws Refusal not_found | endpoint_not_active | retry_limit_reached; unavailable (Temporal down), rate_limited
   */
  retry: TwoStepAction<RetryRequest, PlannedRetry, void>;
  /**
   * Starts the ladder of every failed or cancelled delivery of the range again, durably and at a bounded rate, and
   * makes the deliveries of missing events if the request includes them. If there are none, no recover starts.
   * @throws Refusal not_found | endpoint_not_active | cancellation_in_progress; recover_in_progress |
   * recover_limit_reached | unavailable | rate_limited
   */
  recover: TwoStepAction<RecoverRequest, PlannedRecover, RecoverSize>;
}

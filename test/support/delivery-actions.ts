import type { Database } from '../../src/database/database.js';
import type { DeliveryActions, TwoStepAction } from '../../src/webhooks/delivery-actions.js';
import { getEndpoint, refuseInactive } from '../../src/webhooks/endpoints.js';
import type { RecoverRange } from '../../src/webhooks/recover.js';
import { BY_OPERATOR as by } from './factories.js';

/** Runs both steps of an action, like a request without an Idempotency-Key. */
export async function takeSteps<Request, Plan, Result>(
  db: Database,
  action: TwoStepAction<Request, Plan, Result>,
  request: Request,
): Promise<Result> {
  const plan = await db.transaction((tx) => action.plan(tx, request, undefined));
  return action.carryOut(db, plan);
}

export const retryNow = (db: Database, deliveryActions: DeliveryActions, clientId: string, deliveryId: string) =>
  takeSteps(db, deliveryActions.retry, { by, clientId, deliveryId });

export const recoverNow = (
  db: Database,
  deliveryActions: DeliveryActions,
  clientId: string,
  endpointId: string,
  range: RecoverRange,
) => takeSteps(db, deliveryActions.recover, { by, clientId, endpointId, ...range });

/** Delivery actions without Temporal. `carriedOut` gets the arguments of each action; `refuse` may throw. */
export function fakeDeliveryActions({
  count = 0,
  missing = 0,
  refuse = () => {},
  carriedOut = () => {},
}: {
  count?: number;
  missing?: number;
  refuse?: () => void;
  carriedOut?: (...asked: unknown[]) => void;
} = {}): DeliveryActions {
  return {
    retry: {
      plan: async (_tx, request) => ({ ...request, retryId: request.deliveryId, number: 1 }),
      async carryOut(_db, { clientId, deliveryId }) {
        refuse();
        carriedOut(clientId, deliveryId);
      },
    },
    recover: {
      async plan(tx, request) {
        refuseInactive(await getEndpoint(tx, request.clientId, request.endpointId));
        return { recoverId: request.endpointId, ...request };
      },
      async carryOut(_db, { clientId, endpointId, since, until }) {
        refuse();
        carriedOut(clientId, endpointId, { since, until });
        return { count, missing };
      },
    },
  };
}

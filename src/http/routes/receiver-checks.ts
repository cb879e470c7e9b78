import { z } from 'zod';
import { byOf } from '../../auth/caller.js';
import {
  BETWEEN_CHECKS,
  CHECKS_A_MINUTE,
  CHECKS_AT_ONCE,
  type PlannedCheck,
} from '../../receiver-checks/admit-check.js';
import { getCheck } from '../../receiver-checks/read-check.js';
import type { AppDependencies } from '../dependencies.js';
import { components } from '../openapi/components.js';
import { presentCheck, receiverCheckView } from '../presenters/receiver-check.js';
import { route, twoStepRoute } from '../route.js';
import { uuid } from '../schemas/time.js';

const started = z.object({ id: uuid }).register(components, { id: 'StartedReceiverCheck' });

/** `/webhook-endpoints/{webhookId}/checks` (contract, Is my receiver right?). Production has no such routes. */
export function receiverCheckRoutes({ config, checkAction }: AppDependencies) {
  if (config.environment !== 'sandbox') return [];
  const tag = 'Sandbox';
  return [
    twoStepRoute({
      method: 'POST',
      path: '/webhook-endpoints/{webhookId}/checks',
      operationId: 'checkReceiver',
      tag,
      summary: 'Check a receiver',
      description: `Sandbox only. Sends nine requests to the endpoint's URL, one after the other: five that a receiver accepts and four that it refuses. A check is no delivery and changes nothing of the endpoint. One check runs for an endpoint and ${CHECKS_AT_ONCE} for a client; at most one starts in ${BETWEEN_CHECKS} s for an endpoint and ${CHECKS_A_MINUTE} in a minute for a client. The report is kept for a day.`,
      scope: 'webhooks:write',
      response: {
        status: 202,
        description: 'The check has started.',
        schema: started,
        headers: { Location: 'The URL of the report.' },
      },
      refusals: ['endpoint_not_active', 'check_in_progress', 'check_limit_reached'],
      plan: ({ caller, params, db }, earlier: PlannedCheck | undefined) =>
        checkAction.plan(db, { by: byOf(caller), clientId: caller.clientId, endpointId: params.webhookId }, earlier),
      async carryOut(database, plan) {
        await checkAction.carryOut(database, plan);
        const { checkId: id, endpointId } = plan;
        return {
          status: 202,
          headers: { Location: `${config.baseUrl}/webhook-endpoints/${endpointId}/checks/${id}` },
          body: { id },
        };
      },
    }),
    route({
      method: 'GET',
      path: '/webhook-endpoints/{webhookId}/checks/{id}',
      operationId: 'getReceiverCheck',
      tag,
      summary: 'Read the report of a check',
      description: 'Sandbox only.',
      scope: 'webhooks:read',
      response: { status: 200, description: 'The report.', schema: receiverCheckView },
      async handle({ caller, params: { webhookId: endpointId, id }, db }) {
        const check = await getCheck(db, { clientId: caller.clientId, endpointId, id });
        return { status: 200, body: presentCheck(check, caller.scopes.has('webhooks:write')) };
      },
    }),
  ];
}

import { byOf } from '../../auth/caller.js';
import { getCheck, startCheck } from '../../checks/checks.js';
import { describeLimit, LIMITS } from '../../platform/limits.js';
import { Refusal } from '../../platform/refusal.js';
import type { AppDependencies } from '../context.js';
import { created } from '../response.js';
import { routesOf } from '../route.js';
import { uuid, view } from '../schemas/fields.js';
import { presentCheck, receiverCheckView } from '../schemas/receiver-check.js';

const started = view('StartedReceiverCheck', { id: uuid });

/** `/webhook-endpoints/{webhookId}/checks`. Production has no such routes. */
export function receiverCheckRoutes({ config, readiness }: AppDependencies) {
  if (config.environment !== 'sandbox') return [];
  const route = routesOf('Sandbox', 'webhooks');
  return [
    route('POST', '/webhook-endpoints/{webhookId}/checks', {
      operationId: 'checkReceiver',
      summary: 'Check a receiver',
      description: `Sandbox only. Sends nine requests to the endpoint's URL, one after the other: five that the receiver must accept and four that it must reject. A check makes no delivery and never modifies the endpoint. One check can run for an endpoint. Limit: ${describeLimit(LIMITS.checksAtOnce)}; ${describeLimit(LIMITS.checksOfEndpoint)}; ${describeLimit(LIMITS.checks)}. The report is kept for a day.`,
      status: 202,
      returns: started,
      refusals: ['endpoint_not_active', 'check_in_progress', 'check_limit_reached'],
      isAudited: true,
      // A check is for a person who waits for its report: without Temporal it would not start.
      async around(change) {
        const { checks } = await readiness();
        if (checks.temporal !== 'ok')
          throw new Refusal('unavailable', `Checks need Temporal, which is ${checks.temporal}.`);
        return change();
      },
      async handle({ caller, params: { webhookId: endpointId }, db }) {
        const id = await startCheck(db, { by: byOf(caller), clientId: caller.clientId, endpointId });
        return created(`${config.baseUrl}/webhook-endpoints/${endpointId}/checks/${id}`, { id });
      },
    }),
    route('GET', '/webhook-endpoints/{webhookId}/checks/{id}', {
      operationId: 'getReceiverCheck',
      summary: 'Read the report of a check',
      description: 'Sandbox only.',
      returns: receiverCheckView,
      async handle({ caller, params: { webhookId: endpointId, id }, db }) {
        const check = await getCheck(db, { clientId: caller.clientId, endpointId, id });
        return presentCheck(check, caller.scopes.has('webhooks:write'));
      },
    }),
  ];
}

import { newId } from '../../src/ids.js';
import { getEndpoint, refuseInactive } from '../../src/webhooks/endpoints.js';
import type { CheckAction } from '../../src/workflow-starts/check.js';

/** The check of a receiver without Temporal: it only looks for the endpoint. */
export function fakeCheckAction(): CheckAction {
  return {
    async plan(tx, request) {
      refuseInactive(await getEndpoint(tx, request.clientId, request.endpointId));
      return { checkId: newId(), ...request };
    },
    carryOut: async () => {},
  };
}

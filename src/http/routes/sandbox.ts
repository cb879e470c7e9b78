import { changeStatus } from '../../transfers/change-status.js';
import type { AppDependencies } from '../dependencies.js';
import { presentTransfer, transferView } from '../presenters/transfer.js';
import { route } from '../route.js';
import { statusChange } from '../schemas/transfer.js';

/** `/sandbox/…`: lets a client do the operator's work on its own transfers. Production has no such routes. */
export function sandboxRoutes({ config, handover }: AppDependencies) {
  if (config.environment !== 'sandbox') return [];
  return [
    route({
      method: 'POST',
      path: '/sandbox/transfers/{id}/status',
      operationId: 'setSandboxTransferStatus',
      tag: 'Sandbox',
      summary: 'Change the status of your own transfer',
      description:
        'Sandbox only. Changes the status as the operator would, so that the event of the change is delivered.',
      scope: 'transfers:write',
      body: statusChange,
      sharesStatement: true,
      response: { status: 200, description: 'The status is changed, and the event is created.', schema: transferView },
      refusals: ['invalid_transition'],
      async handle({ caller, params, body: { status, reason, reason_code: reasonCode }, db }) {
        const request = { transferId: params.id, clientId: caller.clientId, to: status, reason, reasonCode };
        return { status: 200, body: presentTransfer(await changeStatus(db, handover, request)) };
      },
    }),
  ];
}

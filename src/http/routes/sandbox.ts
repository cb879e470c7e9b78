import { changeStatus } from '../../transfers/change-status.js';
import type { AppDependencies } from '../dependencies.js';
import { presentTransfer, transferView } from '../presenters/transfer.js';
import { route } from '../route.js';
import { statusChange } from '../schemas/transfer.js';

/** `/sandbox/…`: what a client may play the operator with; there is none of it in production. */
export function sandboxRoutes({ config, handover }: AppDependencies) {
  if (config.environment !== 'sandbox') return [];
  return [
    route({
      method: 'POST',
      path: '/sandbox/transfers/{id}/status',
      operationId: 'setSandboxTransferStatus',
      tag: 'Sandbox',
      summary: 'Change a transfer of your own',
      description: 'Sandbox only: moves a transfer on, as the operator would, so that its event is delivered.',
      scope: 'transfers:write',
      body: statusChange,
      answer: { status: 200, description: 'Changed; its event is made.', schema: transferView },
      refusals: ['invalid_transition'],
      async handle({ caller, params, body: { status, reason, reason_code: reasonCode }, db }) {
        const request = { transferId: params.id, clientId: caller.clientId, to: status, reason, reasonCode };
        return { status: 200, body: presentTransfer(await changeStatus(db, handover, request)) };
      },
    }),
  ];
}

import { byOf } from '../../auth/caller.js';
import { changeStatus } from '../../transfers/change-status.js';
import type { AppDependencies } from '../dependencies.js';
import { presentTransfer, transferView } from '../presenters/transfer.js';
import { route } from '../route.js';
import { statusChange } from '../schemas/transfer.js';

/** `/operator/…`: for the operator's systems (contract, Scopes). */
export function operatorRoutes({ handover }: AppDependencies) {
  return [
    route({
      method: 'POST',
      path: '/operator/transfers/{id}/status',
      operationId: 'setTransferStatus',
      tag: 'Operator',
      summary: "Change the status of any client's transfer",
      scope: 'operator',
      isAudited: true,
      body: statusChange,
      sharesStatement: true,
      response: { status: 200, description: 'The status is changed, and the event is created.', schema: transferView },
      refusals: ['invalid_transition'],
      async handle({ caller, params, body: { status, reason, reason_code: reasonCode }, db }) {
        const transfer = await changeStatus(db, handover, {
          transferId: params.id,
          by: byOf(caller),
          to: status,
          reason,
          reasonCode,
        });
        return { status: 200, body: presentTransfer(transfer) };
      },
    }),
  ];
}

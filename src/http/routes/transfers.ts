import { z } from 'zod';
import { byOf } from '../../auth/caller.js';
import { SANDBOX_TRANSFERS_A_SECOND, SANDBOX_TRANSFERS_UNFINISHED } from '../../transfers/admit-sandbox-transfer.js';
import { changeStatus } from '../../transfers/change-status.js';
import { createTransfer } from '../../transfers/create-transfer.js';
import { getTransfer, listTransfers } from '../../transfers/read-transfers.js';
import { ACCOUNT_CODES, SANDBOX_ACCOUNTS } from '../../transfers/sandbox-accounts.js';
import { TRANSFER_STATUSES } from '../../transfers/states.js';
import { idCursor } from '../cursor.js';
import type { AppDependencies } from '../dependencies.js';
import { pageOf, paging, respondWithPage } from '../paging.js';
import { pageView } from '../presenters/page.js';
import {
  presentTransfer,
  presentTransferWithHistory,
  transferView,
  transferWithHistoryView,
} from '../presenters/transfer.js';
import { route } from '../route.js';
import { text } from '../schemas/text.js';
import { madeWithin } from '../schemas/time.js';
import { newTransfer } from '../schemas/transfer.js';

const transfers = pageView('TransferPage', transferView);
const cursors = idCursor('transfers');

const filters = z.strictObject({
  status: z.enum(TRANSFER_STATUSES).optional(),
  reference: text({ max: 140 }).optional().meta({ description: 'Only transfers with exactly this reference.' }),
  ...madeWithin,
  ...paging(cursors),
});

/** How a transfer of the sandbox moves by itself, by its account. Production's document does not have it. */
const SANDBOX_OUTCOMES = `In the sandbox a transfer moves by itself, with one event for each status, if its \`destination.account\` is ${SANDBOX_ACCOUNTS.map(
  ([account, statuses]) => `\`${account}\` (${statuses.join(', ')})`,
).join(
  ', ',
)}. The last status has a \`reason_code\`: \`<CODE>\` is one of ${ACCOUNT_CODES.join(', ')}; \`SANDBOX-CANCEL\` has \`customer_request\`. Any other change of the transfer ends its automatic steps. At most ${SANDBOX_TRANSFERS_A_SECOND} of these transfers may be created a second, and ${SANDBOX_TRANSFERS_UNFINISHED} be unfinished.`;

/** `/transfers` (contract, Transfers). */
export function transferRoutes({ config, handover }: AppDependencies) {
  const tag = 'Transfers';
  return [
    route({
      method: 'POST',
      path: '/transfers',
      operationId: 'createTransfer',
      tag,
      summary: 'Create a transfer',
      description: `Send an \`Idempotency-Key\`: a repeat of the request after a broken connection then creates no second transfer.${config.environment === 'sandbox' ? ` ${SANDBOX_OUTCOMES}` : ''}`,
      scope: 'transfers:write',
      body: newTransfer,
      response: {
        status: 201,
        description: 'The created transfer.',
        schema: transferView,
        headers: { Location: 'The URL of the transfer.' },
      },
      refusals:
        config.environment === 'sandbox' ? ['unknown_sandbox_account', 'sandbox_limit_reached'] : ['sandbox_account'],
      async handle({ caller, body, db }) {
        const transfer = await createTransfer(db, config, { ...body, clientId: caller.clientId });
        const headers = { Location: `${config.baseUrl}/transfers/${transfer.id}` };
        return { status: 201, headers, body: presentTransfer(transfer) };
      },
    }),
    route({
      method: 'GET',
      path: '/transfers',
      operationId: 'listTransfers',
      tag,
      summary: 'List transfers',
      scope: 'transfers:read',
      query: filters,
      response: { status: 200, description: 'A page of the list, newest first.', schema: transfers },
      async handle({ caller, query, db, ...request }) {
        const { status, reference, created_after, created_before } = query;
        const rows = await listTransfers(db, caller.clientId, {
          status,
          reference,
          createdAfter: created_after,
          createdBefore: created_before,
          ...pageOf(query),
        });
        return respondWithPage(cursors, rows, query.limit, presentTransfer, { ...request, baseUrl: config.baseUrl });
      },
    }),
    route({
      method: 'GET',
      path: '/transfers/{id}',
      operationId: 'getTransfer',
      tag,
      summary: 'Read a transfer',
      scope: 'transfers:read',
      response: { status: 200, description: 'The transfer with its status history.', schema: transferWithHistoryView },
      async handle({ caller, params, db }) {
        return { status: 200, body: presentTransferWithHistory(await getTransfer(db, caller.clientId, params.id)) };
      },
    }),
    route({
      method: 'POST',
      path: '/transfers/{id}/cancel',
      operationId: 'cancelTransfer',
      tag,
      summary: 'Cancel a transfer',
      description: 'Only a transfer with the status `CREATED` can be cancelled.',
      scope: 'transfers:write',
      isAudited: true,
      sharesStatement: true,
      response: { status: 200, description: 'The cancelled transfer.', schema: transferView },
      refusals: ['invalid_transition'],
      async handle({ caller, params, db }) {
        const transfer = await changeStatus(db, handover, {
          transferId: params.id,
          clientId: caller.clientId,
          by: byOf(caller),
          to: 'CANCELLED',
          from: ['CREATED'],
          reason: null,
          reasonCode: 'customer_request',
        });
        return { status: 200, body: presentTransfer(transfer) };
      },
    }),
  ];
}

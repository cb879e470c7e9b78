import { z } from 'zod';
import { changeStatus } from '../../transfers/change-status.js';
import { createTransfer } from '../../transfers/create-transfer.js';
import { getTransfer, listTransfers } from '../../transfers/read-transfers.js';
import { TRANSFER_STATUSES } from '../../transfers/states.js';
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

const filters = z.strictObject({
  status: z.enum(TRANSFER_STATUSES).optional(),
  reference: text({ max: 140 }).optional().meta({ description: 'Only transfers with exactly this reference.' }),
  ...madeWithin,
  ...paging,
});

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
      description:
        'Send an `Idempotency-Key`: a repeat of the request after a broken connection then creates no second transfer.',
      scope: 'transfers:write',
      body: newTransfer,
      response: {
        status: 201,
        description: 'The created transfer.',
        schema: transferView,
        headers: { Location: 'The URL of the transfer.' },
      },
      async handle({ caller, body, db }) {
        const transfer = await createTransfer(db, { ...body, clientId: caller.clientId });
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
        return respondWithPage(rows, query.limit, presentTransfer, { ...request, baseUrl: config.baseUrl });
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
      response: { status: 200, description: 'The cancelled transfer.', schema: transferView },
      refusals: ['invalid_transition'],
      async handle({ caller, params, db }) {
        const transfer = await changeStatus(db, handover, {
          transferId: params.id,
          clientId: caller.clientId,
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

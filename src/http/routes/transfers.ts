import { z } from 'zod';
import { byOf } from '../../auth/caller.js';
import type { By } from '../../platform/audit.js';
import { describeLimit, LIMITS } from '../../platform/limits.js';
import { changeStatus } from '../../transfers/change-status.js';
import { createTransfer } from '../../transfers/create-transfer.js';
import {
  findTransferByKey,
  getTransfer,
  LIST_ORDERS,
  listTransfers,
  lockTransfer,
} from '../../transfers/read-transfers.js';
import { ACCOUNT_CODES, SANDBOX_ACCOUNTS } from '../../transfers/sandbox.js';
import { TRANSFER_STATUSES } from '../../transfers/states.js';
import type { Transfer } from '../../transfers/transfer-json.js';
import type { AppDependencies } from '../context.js';
import { etagOf } from '../etag.js';
import { keyReused } from '../idempotency.js';
import { idCursor, pageOf, pageView, paging, respondWithPage } from '../paging.js';
import { created, tagged } from '../response.js';
import { type Incoming, routesOf, type Target } from '../route.js';
import { idFilter, madeWithin, text } from '../schemas/fields.js';
import {
  createdTransferView,
  newTransfer,
  operatorTransferView,
  operatorTransferWithHistoryView,
  presentOperatorTransfer,
  presentOperatorTransferWithHistory,
  presentTransfer,
  presentTransferWithHistory,
  statusChange,
  transferView,
  transferWithHistoryView,
} from '../schemas/transfer.js';

const transfers = pageView('TransferPage', transferView);
const cursors = idCursor('transfers');

const filters = z.strictObject({
  status: z.enum(TRANSFER_STATUSES).optional(),
  reference: text({ max: 140 }).optional().meta({ description: 'Only transfers with exactly this reference.' }),
  ...madeWithin,
  ...paging(cursors),
});

const ownFilters = z.strictObject({
  ...filters.shape,
  idempotency_key: text({ min: 1, max: 255 })
    .optional()
    .meta({ description: 'Only the transfer that was created with this `Idempotency-Key`, unquoted.' }),
});

/** Outcomes of simulated transfers by account. The OpenAPI document of production omits them. */
const SANDBOX_OUTCOMES = `In the sandbox, a transfer changes its status automatically, with one event for each change, if its \`destination.account\` is ${SANDBOX_ACCOUNTS.map(
  ([account, statuses]) => `\`${account}\` (${statuses.join(', ')})`,
).join(
  ', ',
)}. The last status has a \`reason_code\`: \`<CODE>\` is one of ${ACCOUNT_CODES.join(', ')}; \`SANDBOX-CANCEL\` has \`customer_request\`. Any other change of the transfer ends its automatic steps. Limit: ${describeLimit(LIMITS.sandboxTransfers)}; ${describeLimit(LIMITS.unfinishedSandboxTransfers)}.`;

/** One tag for all that shows the transfer, with its history and without. */
const etagOfTransfer = (transfer: Transfer) => etagOf(presentTransfer(transfer));
/** @param clientId null: a transfer of any client, for the operator */
const versionOf = async ({ params: { id }, db }: Target<'/transfers/{id}'>, clientId: string | null) =>
  etagOfTransfer(await lockTransfer(db, clientId, id));
const versionOfOwn = (target: Target<'/transfers/{id}'>) => versionOf(target, target.caller.clientId);

/** The change of status that a client may make in every environment. */
const CANCELLATION = { to: 'CANCELLED', from: ['CREATED'], reason: null, reasonCode: 'customer_request' } as const;

/** `/transfers`. */
export function transferRoutes({ config, handover }: AppDependencies) {
  const route = routesOf('Transfers', 'transfers');
  return [
    route('POST', '/transfers', {
      operationId: 'createTransfer',
      summary: 'Create a transfer',
      description: `Send an \`Idempotency-Key\`: if the connection breaks, you can then repeat the request without creating a second transfer. The transfer keeps its key: a repeat after the 24 hours gets 200 with the transfer as it is then, with its \`status_history\`.${config.environment === 'sandbox' ? ` ${SANDBOX_OUTCOMES}` : ''}`,
      tagged: true,
      body: newTransfer,
      status: 201,
      returns: createdTransferView,
      refusals:
        config.environment === 'sandbox' ? ['unknown_sandbox_account', 'sandbox_limit_reached'] : ['sandbox_account'],
      async earlier({ caller, db, once: { key, bodyDigest } }) {
        const transfer = await findTransferByKey(db, caller.clientId, key);
        if (!transfer) return undefined;
        if (!transfer.requestDigest || !bodyDigest.equals(transfer.requestDigest)) throw keyReused();
        return tagged(presentTransferWithHistory(transfer), etagOfTransfer(transfer));
      },
      async handle({ caller, body, db, once }) {
        const transfer = await createTransfer(db, config, { ...body, clientId: caller.clientId, once });
        const made = presentTransfer(transfer);
        return created(`${config.baseUrl}/transfers/${transfer.id}`, made, { ETag: etagOf(made) });
      },
    }),
    route('GET', '/transfers', {
      operationId: 'listTransfers',
      summary: 'List transfers',
      query: ownFilters,
      returns: transfers,
      async handle(request) {
        const { caller, query, db } = request;
        const { status, reference, idempotency_key: key } = query;
        const { before: cursor, ...page } = pageOf(query);
        const { clientId } = caller;
        const rows = await listTransfers(db, { clientId, status, reference, key, order: 'newest', cursor, ...page });
        return respondWithPage(request, cursors, rows, presentTransfer);
      },
    }),
    route('GET', '/transfers/{id}', {
      operationId: 'getTransfer',
      summary: 'Read a transfer',
      tagged: true,
      returns: transferWithHistoryView,
      async handle({ caller, params, db }) {
        const transfer = await getTransfer(db, caller.clientId, params.id);
        return tagged(presentTransferWithHistory(transfer), etagOfTransfer(transfer));
      },
    }),
    route('POST', '/transfers/{id}/cancel', {
      operationId: 'cancelTransfer',
      summary: 'Cancel a transfer',
      description: 'Only a transfer with the status `CREATED` can be cancelled.',
      isAudited: true,
      sharesStatement: true,
      tagged: true,
      version: versionOfOwn,
      returns: transferView,
      refusals: ['invalid_transition'],
      async handle({ caller, params: { id: transferId }, db }) {
        const request = { ...CANCELLATION, transferId, clientId: caller.clientId, by: byOf(caller) };
        return tagged(presentTransfer(await changeStatus(db, handover, request)));
      },
    }),
  ];
}

const operatorTransfers = pageView('OperatorTransferPage', operatorTransferView);
const operatorCursors = idCursor("the operator's transfers");

const operatorFilters = z.strictObject({
  ...filters.shape,
  client_id: idFilter.meta({ description: 'Only transfers of this client.' }),
  order: z.enum(LIST_ORDERS).default('newest').meta({ description: 'The end of the list that the first page has.' }),
  ...paging(operatorCursors),
});

const operatorRoute = routesOf('Operator: transfers', ['operator:transfers', 'operator']);

/** `/operator/transfers`: transfers of all clients. */
export function operatorTransferRoutes() {
  return [
    operatorRoute('GET', '/operator/transfers', {
      operationId: 'listOperatorTransfers',
      summary: "List every client's transfers",
      description:
        '`status=CREATED&order=oldest` is the work list of a payment rail. Read its first page again in each round, without a cursor, and claim a transfer by changing its status to `PROCESSING`: of two workers, one gets 409.',
      query: operatorFilters,
      returns: operatorTransfers,
      async handle(request) {
        const { query, db } = request;
        const { status, reference, order, client_id: clientId = null } = query;
        const { before: cursor, ...range } = pageOf(query);
        const filters = { status, reference, order, clientId, cursor, ...range };
        const rows = await listTransfers(db, filters);
        return respondWithPage(request, operatorCursors, rows, presentOperatorTransfer);
      },
    }),
    operatorRoute('GET', '/operator/transfers/{id}', {
      operationId: 'getOperatorTransfer',
      summary: "Read any client's transfer",
      tagged: true,
      returns: operatorTransferWithHistoryView,
      async handle({ params, db }) {
        const transfer = await getTransfer(db, null, params.id);
        return tagged(presentOperatorTransferWithHistory(transfer), etagOfTransfer(transfer));
      },
    }),
  ];
}

/**
 * `/operator/transfers/{id}/status`, for the operator's systems, and `/sandbox/…`, which lets a
 * client do the operator's work on its own transfers. Production has no such route.
 */
export function statusRoutes({ config, handover }: AppDependencies) {
  const shared = {
    body: statusChange,
    sharesStatement: true,
    tagged: true,
    returns: transferView,
    refusals: ['invalid_transition'],
  } as const;
  const change = async ({ params, body, db }: StatusRequest, whose: { clientId?: string; by?: By }) => {
    const { status: to, reason, reason_code: reasonCode } = body;
    const transfer = await changeStatus(db, handover, { transferId: params.id, to, reason, reasonCode, ...whose });
    return tagged(presentTransfer(transfer));
  };
  const byOperator = operatorRoute('POST', '/operator/transfers/{id}/status', {
    ...shared,
    operationId: 'setTransferStatus',
    version: (target) => versionOf(target, null),
    summary: "Change the status of any client's transfer",
    handle: (request) => change(request, { by: byOf(request.caller) }),
  });
  if (config.environment !== 'sandbox') return [byOperator];
  const byClient = routesOf('Sandbox', 'transfers')('POST', '/sandbox/transfers/{id}/status', {
    ...shared,
    operationId: 'setSandboxTransferStatus',
    version: versionOfOwn,
    summary: 'Change the status of your own transfer',
    description: 'Sandbox only. Makes the change as an operator would, and delivers its event.',
    handle: (request) => change(request, { clientId: request.caller.clientId }),
  });
  return [byOperator, byClient];
}

type StatusRequest = Pick<
  Incoming<'/transfers/{id}/status', unknown, z.output<typeof statusChange>>,
  'params' | 'body' | 'db'
>;

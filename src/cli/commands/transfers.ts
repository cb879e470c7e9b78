import { InvalidArgumentError } from 'commander';
import { showClient } from '../../auth/clients.js';
import { notifyHandover } from '../../delivery/notifications.js';
import {
  presentOperatorTransfer,
  presentOperatorTransferWithHistory,
  presentTransfer,
} from '../../http/schemas/transfer.js';
import type { TransferStatus } from '../../platform/database/generated/enums.js';
import { changeStatus } from '../../transfers/change-status.js';
import { amountText } from '../../transfers/currencies.js';
import { expireTransfers } from '../../transfers/expire-transfers.js';
import { getTransfer, listTransfers } from '../../transfers/read-transfers.js';
import {
  REASON_CODES,
  type ReasonCode,
  STATUSES_WITH_REASON_CODE,
  TRANSFER_STATUSES,
  takesReasonCode,
} from '../../transfers/states.js';
import { type Command, type CommandResult, idOf, oneOf, parseLimit } from '../command.js';
import { pageOf } from '../view.js';
import { expiring, onDatabase } from '../with-database.js';

/** `transfers …`: the same changes as the operator's routes. */
export function declare(transfers: Command): void {
  const status = oneOf(TRANSFER_STATUSES, `The statuses are ${TRANSFER_STATUSES.join(', ')}.`);

  transfers
    .command('list')
    .description('list the transfers of all clients, newest first')
    .option('--status <status>', TRANSFER_STATUSES.join(' | '), status)
    .option('--client <client_id>', 'only transfers of this client', idOf('client'))
    .option('--oldest', 'list the oldest first')
    .option('--limit <n>', 'at most this many transfers', parseLimit, 50)
    .option('--cursor <transfer_id>', 'the last transfer of the previous page', idOf('transfer'))
    .does(list);

  transfers
    .command('show')
    .argument('<transfer_id>', '', idOf('transfer'))
    .description('show a transfer with its status history')
    .does(show);

  transfers
    .command('set-status')
    .argument('<transfer_id>', '', idOf('transfer'))
    .argument('<status>', TRANSFER_STATUSES.join(' | '), status)
    .description('change the status of a transfer; its client is notified by webhook')
    .option('--reason <text>', 'recorded in the status history, at most 255 characters', parseReason)
    .option(
      '--reason-code <code>',
      `only with ${STATUSES_WITH_REASON_CODE.join(', ')}: ${REASON_CODES.join(' | ')}`,
      oneOf(REASON_CODES, `The reason codes are ${REASON_CODES.join(', ')}.`),
    )
    .does(setStatus);

  transfers
    .command('expire')
    .description('remove transfers that ended longer than TRANSFER_RETENTION ago; needs the DATABASE_URL of the owner')
    .does(expire);
}

/** The same limit as in the operator's route. */
function parseReason(text: string): string {
  if ([...text].length > 255) throw new InvalidArgumentError('Give at most 255 characters.');
  return text;
}

interface ListOptions {
  status?: TransferStatus;
  client?: string;
  oldest?: true;
  limit: number;
  cursor?: string;
}

const list = onDatabase(async ({ database }, { status, client, oldest, limit, cursor }: ListOptions) => {
  // A mistyped id is an error; an empty list means that the client has no such transfers.
  if (client !== undefined) await showClient(database, client);
  const order = oldest ? 'oldest' : 'newest';
  const filters = { status, clientId: client ?? null, order, cursor, take: limit + 1 } as const;
  const rows = await listTransfers(database, filters);
  const { shown, note } = pageOf(rows, limit);
  const found = shown.map(presentOperatorTransfer);
  return {
    json: found,
    text: {
      rows: found.map((transfer) => ({
        transfer: transfer.id,
        status: transfer.status,
        amount: amountText(transfer.amount),
        to: transfer.destination.name,
        reference: transfer.reference,
        client: transfer.client_id,
        created: new Date(transfer.created_at),
      })),
      wraps: ['to', 'reference'],
      none: 'no transfers',
    },
    note,
  };
});

const show = onDatabase(async ({ database }, id: string) => {
  const transfer = presentOperatorTransferWithHistory(await getTransfer(database, null, id));
  return {
    json: transfer,
    text: [
      {
        fields: {
          transfer: id,
          status: transfer.status,
          'reason code': transfer.reason_code,
          amount: amountText(transfer.amount),
          to: transfer.destination.name,
          account: transfer.destination.account,
          reference: transfer.reference,
          metadata: JSON.stringify(transfer.metadata),
          client: transfer.client_id,
          created: new Date(transfer.created_at),
          updated: new Date(transfer.updated_at),
        },
      },
      {
        rows: transfer.status_history.map((change) => ({ ...change, at: new Date(change.at) })),
        wraps: ['reason'],
        none: 'no status history',
      },
    ],
  };
});

async function setStatus(
  transferId: string,
  to: TransferStatus,
  options: { reason?: string; reasonCode?: ReasonCode },
  command: Command,
): Promise<CommandResult> {
  const { reason = null, reasonCode = null } = options;
  if (reasonCode !== null && !takesReasonCode(to)) {
    command.error(`error: --reason-code may be given only with ${STATUSES_WITH_REASON_CODE.join(', ')}`);
  }
  return onDatabase(async ({ database, environment, actor }) => {
    // This process has no dispatcher: it notifies the workers.
    const handover = notifyHandover(database, environment.DELIVERY_RETRY_DELAYS);
    const request = { transferId, by: { actor }, to, reason, reasonCode };
    const transfer = await changeStatus(database, handover, request);
    await handover.flush();
    const { id, status, reason_code, updated_at } = presentTransfer(transfer);
    return {
      json: { id, client_id: transfer.clientId, status, reason_code, updated_at },
      text: `transfer ${id} is ${status}`,
    };
  })();
}

const expire = expiring('TRANSFER_RETENTION', 'transfers', '3650d', expireTransfers);

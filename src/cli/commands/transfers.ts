import { Argument, Option } from 'commander';
import { showClient } from '../../auth/clients.js';
import { notifyHandover } from '../../delivery/notifications.js';
import { presentOperatorTransfer, presentOperatorTransferWithHistory } from '../../http/schemas/transfer.js';
import type { TransferStatus } from '../../platform/database/generated/enums.js';
import { changeStatus } from '../../transfers/change-status.js';
import { expireTransfers } from '../../transfers/expire-transfers.js';
import { getTransfer, listTransfers } from '../../transfers/read-transfers.js';
import { REASON_CODES, type ReasonCode, STATUSES_WITH_REASON_CODE, TRANSFER_STATUSES } from '../../transfers/states.js';
import { type Command, idOf, textOf } from '../command.js';
import { declareList, type Page } from '../list.js';
import { expiring, onDatabase } from '../with-database.js';

type ListOptions = { status?: TransferStatus; client?: string; reference?: string; oldest?: true };

/** `transfers …`: the same changes as the operator's routes. */
export function declare(transfers: Command): void {
  declareList(transfers, {
    about: 'list the transfers of all clients, newest first',
    columns: ['id', 'status', 'amount.value', 'amount.currency', 'reference', 'client_id', 'created_at'],
    async read(database, { status, client, reference, oldest, before: cursor, take }: ListOptions & Page) {
      // A mistyped id is an error; an empty list means that the client has no such transfers.
      if (client !== undefined) await showClient(database, client);
      const order = oldest ? 'oldest' : 'newest';
      return listTransfers(database, { status, reference, clientId: client ?? null, order, cursor, take });
    },
    present: presentOperatorTransfer,
  })
    .addOption(new Option('--status <status>').choices(TRANSFER_STATUSES))
    .option('--client <client_id>', 'only transfers of this client', idOf('client'))
    .option('--reference <text>', 'only transfers with exactly this reference', textOf({ min: 1, max: 140 }))
    .option('--oldest', 'list the oldest first');

  transfers
    .command('show')
    .argument('<transfer_id>', '', idOf('transfer'))
    .description('show a transfer with its status history')
    .does(
      onDatabase(async ({ database }, id: string) => ({
        json: presentOperatorTransferWithHistory(await getTransfer(database, null, id)),
      })),
      { status_history: ['at', 'status', 'reason_code', 'reason'] },
    );

  transfers
    .command('set-status')
    .argument('<transfer_id>', '', idOf('transfer'))
    .addArgument(new Argument('<status>').choices(TRANSFER_STATUSES))
    .description('change the status of a transfer; its client is notified by webhook')
    .option('--reason <text>', 'recorded in the status history, at most 255 characters', textOf({ max: 255 }))
    .addOption(
      new Option('--reason-code <code>', `only with ${STATUSES_WITH_REASON_CODE.join(', ')}`).choices(REASON_CODES),
    )
    .does(setStatus);

  transfers
    .command('expire')
    .description('remove transfers that ended longer than TRANSFER_RETENTION ago; needs the DATABASE_URL of the owner')
    .does(expiring('TRANSFER_RETENTION', expireTransfers));
}

const setStatus = onDatabase(
  async (
    { database, environment, actor },
    transferId: string,
    to: TransferStatus,
    options: { reason?: string; reasonCode?: ReasonCode },
    command: Command,
  ) => {
    const { reason = null, reasonCode = null } = options;
    if (reasonCode !== null && !STATUSES_WITH_REASON_CODE.includes(to)) {
      command.error(`error: --reason-code may be given only with ${STATUSES_WITH_REASON_CODE.join(', ')}`);
    }
    // This process has no dispatcher: it notifies the workers.
    const handover = notifyHandover(database, environment.DELIVERY_RETRY_DELAYS);
    const transfer = await changeStatus(database, handover, { transferId, by: { actor }, to, reason, reasonCode });
    await handover.flush();
    const { id, client_id, status, reason_code, updated_at } = presentOperatorTransfer(transfer);
    return { json: { id, client_id, status, reason_code, updated_at } };
  },
);

import { type Command, InvalidArgumentError } from 'commander';
import type { TransferStatus } from '../database/generated/enums.js';
import { isId } from '../ids.js';
import { notifyHandover } from '../outbox/notify.js';
import { Refusal } from '../refusal.js';
import { changeStatus } from '../transfers/change-status.js';
import { TRANSFER_STATUSES } from '../transfers/states.js';
import { answers } from './command.js';
import { withDatabase } from './with-database.js';

/** `transfers …`: what the operator's routes do. */
export function addTransfers(program: Command): void {
  const transfers = program.command('transfers').description('change transfers as the operator');

  answers(
    transfers
      .command('set-status')
      .argument('<transfer_id>')
      .argument('<status>', TRANSFER_STATUSES.join(' | '), parseStatus)
      .description('change the status of a transfer, which tells its client by webhook')
      .option('--reason <text>', 'kept in the status history, at most 255 characters', parseReason),
    async (transferId: string, to: TransferStatus, options: { reason?: string }) => {
      if (!isId(transferId)) throw new Refusal('not_found', 'There is no such transfer.');
      const transfer = await withDatabase(async (database) => {
        // This process has no lane: the workers are told.
        const handover = notifyHandover(database);
        const changed = await changeStatus(database, handover, { transferId, to, reason: options.reason ?? null });
        await handover.flush();
        return changed;
      });
      return {
        json: {
          id: transfer.id,
          client_id: transfer.clientId,
          status: transfer.status,
          updated_at: transfer.updatedAt.toISOString(),
        },
        text: `transfer ${transfer.id} is ${transfer.status}`,
      };
    },
  );
}

/** As the operator's route takes it. */
function parseReason(text: string): string {
  if ([...text].length > 255) throw new InvalidArgumentError('Give at most 255 characters.');
  return text;
}

function parseStatus(text: string): TransferStatus {
  const status = TRANSFER_STATUSES.find((known) => known === text);
  if (!status) throw new InvalidArgumentError(`The statuses are ${TRANSFER_STATUSES.join(', ')}.`);
  return status;
}

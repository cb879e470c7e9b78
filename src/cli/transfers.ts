import { type Command, InvalidArgumentError } from 'commander';
import { personHere } from '../audit/actor.js';
import type { TransferStatus } from '../database/generated/enums.js';
import { notifyHandover } from '../outbox/notify.js';
import { changeStatus } from '../transfers/change-status.js';
import { TRANSFER_STATUSES } from '../transfers/states.js';
import { idOf, oneOf } from './arguments.js';
import { answers } from './command.js';
import { withDatabase } from './with-database.js';

/** `transfers …`: what the operator's routes do. */
export function addTransfers(program: Command): void {
  const transfers = program.command('transfers').description('change transfers as the operator');

  answers(
    transfers
      .command('set-status')
      .argument('<transfer_id>', '', idOf('transfer'))
      .argument(
        '<status>',
        TRANSFER_STATUSES.join(' | '),
        oneOf(TRANSFER_STATUSES, `The statuses are ${TRANSFER_STATUSES.join(', ')}.`),
      )
      .description('change the status of a transfer, which tells its client by webhook')
      .option('--reason <text>', 'kept in the status history, at most 255 characters', parseReason),
    async (transferId: string, to: TransferStatus, options: { reason?: string }) => {
      const transfer = await withDatabase(async (database) => {
        // This process has no lane: the workers are told.
        const handover = notifyHandover(database);
        const request = { transferId, actor: personHere(), to, reason: options.reason ?? null };
        const changed = await changeStatus(database, handover, request);
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

import { type Command, InvalidArgumentError } from 'commander';
import { personHere } from '../audit/actor.js';
import type { TransferStatus } from '../database/generated/enums.js';
import { notifyHandover } from '../outbox/notify.js';
import { changeStatus } from '../transfers/change-status.js';
import {
  REASON_CODES,
  type ReasonCode,
  STATUSES_WITH_REASON_CODE,
  takesReasonCode,
} from '../transfers/reason-codes.js';
import { TRANSFER_STATUSES } from '../transfers/states.js';
import { idOf, oneOf } from './arguments.js';
import { setAction } from './command.js';
import { withDatabase } from './with-database.js';

/** `transfers …`: what the operator's routes do. */
export function addTransfers(program: Command): void {
  const transfers = program.command('transfers').description('change transfers as the operator');

  setAction(
    transfers
      .command('set-status')
      .argument('<transfer_id>', '', idOf('transfer'))
      .argument(
        '<status>',
        TRANSFER_STATUSES.join(' | '),
        oneOf(TRANSFER_STATUSES, `The statuses are ${TRANSFER_STATUSES.join(', ')}.`),
      )
      .description('change the status of a transfer, which tells its client by webhook')
      .option('--reason <text>', 'kept in the status history, at most 255 characters', parseReason)
      .option(
        '--reason-code <code>',
        `only with ${STATUSES_WITH_REASON_CODE.join(', ')}: ${REASON_CODES.join(' | ')}`,
        oneOf(REASON_CODES, `The reason codes are ${REASON_CODES.join(', ')}.`),
      ),
    async (transferId: string, to: TransferStatus, options: { reason?: string; reasonCode?: ReasonCode }) => {
      const { reason = null, reasonCode = null } = options;
      if (reasonCode !== null && !takesReasonCode(to)) {
        program.error(`error: --reason-code may be given only with ${STATUSES_WITH_REASON_CODE.join(', ')}`);
      }
      const transfer = await withDatabase(async (database) => {
        // This process has no lane: the workers are told.
        const handover = notifyHandover(database);
        const request = { transferId, actor: personHere(), to, reason, reasonCode };
        const changed = await changeStatus(database, handover, request);
        await handover.flush();
        return changed;
      });
      return {
        json: {
          id: transfer.id,
          client_id: transfer.clientId,
          status: transfer.status,
          reason_code: transfer.reasonCode,
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

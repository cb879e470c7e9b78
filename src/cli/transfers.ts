import { type Command, InvalidArgumentError } from 'commander';
import { personHere } from '../audit/actor.js';
import type { TransferStatus } from '../database/generated/enums.js';
import { presentTransfer } from '../http/presenters/transfer.js';
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

/** `transfers …`: the same changes as the operator's routes. */
export function addTransfers(program: Command): void {
  const transfers = program.command('transfers').description('change transfers of any client');

  setAction(
    transfers
      .command('set-status')
      .argument('<transfer_id>', '', idOf('transfer'))
      .argument(
        '<status>',
        TRANSFER_STATUSES.join(' | '),
        oneOf(TRANSFER_STATUSES, `The statuses are ${TRANSFER_STATUSES.join(', ')}.`),
      )
      .description('change the status of a transfer; its client is notified by webhook')
      .option('--reason <text>', 'recorded in the status history, at most 255 characters', parseReason)
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
      const transfer = await withDatabase(async (database, environment) => {
        // This process has no express lane: it notifies the workers.
        const handover = notifyHandover(database, environment.DELIVERY_RETRY_DELAYS);
        const request = { transferId, actor: personHere(), to, reason, reasonCode };
        const changed = await changeStatus(database, handover, request);
        await handover.flush();
        return changed;
      });
      const { id, status, reason_code, updated_at } = presentTransfer(transfer);
      return {
        json: { id, client_id: transfer.clientId, status, reason_code, updated_at },
        text: `transfer ${transfer.id} is ${transfer.status}`,
      };
    },
  );
}

/** The same limit as in the operator's route. */
function parseReason(text: string): string {
  if ([...text].length > 255) throw new InvalidArgumentError('Give at most 255 characters.');
  return text;
}

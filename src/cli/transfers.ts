import { InvalidArgumentError } from 'commander';
import { REASON_CODES, STATUSES_WITH_REASON_CODE, TRANSFER_STATUSES } from '../transfers/states.js';
import { type Command, idOf, oneOf } from './command.js';

/** `transfers …`: the same changes as the operator's routes. */
export function addTransfers(program: Command): void {
  const transfers = program.command('transfers').description('change transfers of any client');

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
    )
    .does(async () => (await import('./actions/transfers.js')).setStatus);

  transfers
    .command('expire')
    .description('remove transfers that ended longer than TRANSFER_RETENTION ago; needs the DATABASE_URL of the owner')
    .does(async () => (await import('./actions/transfers.js')).expire);
}

/** The same limit as in the operator's route. */
function parseReason(text: string): string {
  if ([...text].length > 255) throw new InvalidArgumentError('Give at most 255 characters.');
  return text;
}

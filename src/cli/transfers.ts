import { InvalidArgumentError } from 'commander';
import { REASON_CODES, STATUSES_WITH_REASON_CODE, TRANSFER_STATUSES } from '../transfers/states.js';
import { type Command, idOf, oneOf, parseLimit } from './command.js';

/** `transfers …`: the same changes as the operator's routes. */
export function addTransfers(program: Command): void {
  const transfers = program.command('transfers').description('list, show and change transfers of any client');
  const status = oneOf(TRANSFER_STATUSES, `The statuses are ${TRANSFER_STATUSES.join(', ')}.`);

  transfers
    .command('list')
    .description('list the transfers of all clients, newest first')
    .option('--status <status>', TRANSFER_STATUSES.join(' | '), status)
    .option('--client <client_id>', 'only transfers of this client', idOf('client'))
    .option('--oldest', 'list the oldest first')
    .option('--limit <n>', 'at most this many transfers', parseLimit, 50)
    .option('--cursor <transfer_id>', 'the last transfer of the previous page', idOf('transfer'))
    .does(async () => (await import('./actions/transfers.js')).list);

  transfers
    .command('show')
    .argument('<transfer_id>', '', idOf('transfer'))
    .description('show a transfer with its status history')
    .does(async () => (await import('./actions/transfers.js')).show);

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

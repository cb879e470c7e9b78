import { type Command, InvalidArgumentError } from 'commander';
import { SHOWN_ATTEMPTS } from '../attempts.js';
import { DeliveryStatus } from '../database/generated/enums.js';
import { idOf, oneOf, parseDigest, parseLimit, parseSince } from './arguments.js';
import { setAction } from './command.js';
import { addRestore } from './deliveries-restore.js';

const STATUSES = Object.values(DeliveryStatus);

/** `deliveries …`: deliveries of all clients, their attempts, retries and repair. */
export function addDeliveries(program: Command): void {
  const deliveries = program.command('deliveries').description('list, show, retry and repair deliveries');

  setAction(
    deliveries
      .command('list')
      .description('list the deliveries of all clients, newest first')
      .option('--status <status>', STATUSES.join(' | '), oneOf(STATUSES, `Give one of ${STATUSES.join(', ')}.`))
      .option('--client <client_id>', 'only deliveries of this client', idOf('client'))
      .option('--endpoint <webhookId>', 'only deliveries to this endpoint', idOf('webhook endpoint'))
      .option('--event <event_id>', 'only deliveries of this event', idOf('event'))
      .option('--transfer <transfer_id>', "only deliveries of this transfer's events", idOf('transfer'))
      .option('--since <time>', 'only deliveries created since then: 2h (ago), or 2026-11-21T10:00:00Z', parseSince)
      .option('--limit <n>', 'at most this many deliveries', parseLimit, 50),
    async () => (await import('./actions/deliveries.js')).list,
  );

  setAction(
    deliveries
      .command('show')
      .argument('<delivery_id>', '', idOf('delivery'))
      .description(`show a delivery with its latest ${SHOWN_ATTEMPTS} attempts and those that are planned`),
    async () => (await import('./actions/deliveries.js')).show,
  );

  setAction(
    deliveries
      .command('retry')
      .argument('<delivery_id>', '', idOf('delivery'))
      .description('make one attempt now, for a waiting or an ended delivery'),
    async () => (await import('./actions/delivery-retry.js')).retry,
  );
  setAction(
    deliveries
      .command('explain')
      .argument('<delivery_id>', '', idOf('delivery'))
      .requiredOption('--attempt <n>', 'the number of the attempt', parseAttempt)
      .requiredOption('--v0 <digest>', 'the digest that the receiver computed', parseDigest)
      .description('name the mistake by which a receiver computed another signature'),
    async () => (await import('./actions/deliveries.js')).explain,
  );
  addRestore(deliveries);
}

function parseAttempt(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('Give the number of an attempt, such as 1.');
  return Number(text);
}

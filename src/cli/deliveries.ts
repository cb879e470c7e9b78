import { InvalidArgumentError } from 'commander';
import { DeliveryStatus } from '../platform/database/generated/enums.js';
import { SHOWN_ATTEMPTS } from '../platform/vocabulary.js';
import { type Command, idOf, oneOf, parseLimit, parseSince, wholeNumber } from './command.js';

const STATUSES = Object.values(DeliveryStatus);

/** `deliveries …`: deliveries of all clients, their attempts and retries. */
export function addDeliveries(program: Command): void {
  const deliveries = program
    .command('deliveries')
    .description('list, show, retry and explain deliveries, and find lost events');
  const ofOne = (name: string) => deliveries.command(name).argument('<delivery_id>', '', idOf('delivery'));

  deliveries
    .command('list')
    .description('list the deliveries of all clients, newest first')
    .option('--status <status>', STATUSES.join(' | '), oneOf(STATUSES, `Give one of ${STATUSES.join(', ')}.`))
    .option('--client <client_id>', 'only deliveries of this client', idOf('client'))
    .option('--endpoint <webhookId>', 'only deliveries to this endpoint', idOf('webhook endpoint'))
    .option('--event <event_id>', 'only deliveries of this event', idOf('event'))
    .option('--transfer <transfer_id>', "only deliveries of this transfer's events", idOf('transfer'))
    .option('--since <time>', 'only deliveries created since then: 2h (ago), or 2026-11-21T10:00:00Z', parseSince)
    .option('--limit <n>', 'at most this many deliveries', parseLimit, 50)
    .option('--cursor <delivery_id>', 'the last delivery of the previous page', idOf('delivery'))
    .does(async () => (await import('./actions/deliveries.js')).list);

  ofOne('show')
    .description(`show a delivery with its latest ${SHOWN_ATTEMPTS} attempts and its planned ones`)
    .does(async () => (await import('./actions/deliveries.js')).show);

  ofOne('retry')
    .option('--wait', 'wait up to 60 s for the attempt; exits with 1 if it fails')
    .description('make one more attempt now; a failure changes neither the status nor the planned attempts')
    .does(async () => (await import('./actions/deliveries.js')).retry);

  ofOne('explain')
    .requiredOption(
      '--attempt <n>',
      'the number of the attempt',
      wholeNumber(1, 999_999_999, 'Give the number of an attempt, such as 1.'),
    )
    .requiredOption('--v0 <digest>', 'the digest that the receiver computed', parseDigest)
    .description('find out why a receiver computed a different signature')
    .does(async () => (await import('./actions/deliveries.js')).explain);

  deliveries
    .command('lost')
    .description('list events that Temporal has and the database does not: they were lost when Postgres was restored')
    .requiredOption(
      '--since <time>',
      'the time that Postgres was restored to: 2h (ago), or 2026-11-21T10:00:00Z',
      parseSince,
    )
    .does(async () => (await import('./actions/deliveries.js')).lost);
}

/** A longer text is no digest of any kind. */
const MAX_DIGEST = 512;

/** A digest that a receiver computed: any text that is no longer than the API's route accepts. */
function parseDigest(text: string): string {
  if (text.length > MAX_DIGEST) throw new InvalidArgumentError(`Give at most ${MAX_DIGEST} characters.`);
  return text;
}

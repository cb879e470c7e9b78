import { MAX_WINDOW_DAYS } from '../platform/limits.js';
import { MAX_CONCURRENCY } from '../platform/vocabulary.js';
import { type Command, idOf, parseLimit, parseSince, wholeNumber } from './command.js';

/** `endpoints …`: the clients' webhook endpoints. */
export function addEndpoints(program: Command): void {
  const endpoints = program
    .command('endpoints')
    .description(
      'list, disable, enable and check webhook endpoints, limit concurrent attempts, and recover deliveries',
    );
  const ofOne = (name: string) => endpoints.command(name).argument('<webhookId>', '', idOf('webhook endpoint'));

  endpoints
    .command('list')
    .option('--client <client_id>', 'only endpoints of this client')
    .option('--failing', 'only endpoints whose latest attempt failed: since when (to the hour) and why')
    .option('--limit <n>', 'at most this many endpoints', parseLimit, 1_000)
    .option('--cursor <webhookId>', 'the last endpoint of the previous page', idOf('webhook endpoint'))
    .description('list the endpoints of all clients, newest first')
    .does(async () => (await import('./actions/endpoints.js')).list);

  ofOne('disable')
    .option('--yes', 'do not ask on a terminal')
    .description('stop and cancel all deliveries to an endpoint; only the `enable` command can enable it again')
    .does(async () => (await import('./actions/endpoints.js')).disable);

  ofOne('enable')
    .description('resume deliveries to an endpoint, whatever disabled it')
    .does(async () => (await import('./actions/endpoints.js')).enable);

  ofOne('set-concurrency')
    .argument('<limit>', `1 to ${MAX_CONCURRENCY}, or default`, parseConcurrency)
    .description('limit the concurrent attempts at an endpoint, over all workers; default: ENDPOINT_CONCURRENCY')
    .does(async () => (await import('./actions/endpoints.js')).setConcurrency);

  ofOne('recover')
    .requiredOption('--since <time>', 'start of the range: 24h (ago), or 2026-11-21T10:00:00Z', parseSince)
    .option('--until <time>', 'end of the range, exclusive; default: now', parseSince)
    .option(
      '--include-missing',
      `also deliver events that have no delivery for this endpoint; limits the range to ${MAX_WINDOW_DAYS} days`,
    )
    .description('send the failed and cancelled deliveries of a range again, at 20 a second')
    .does(async () => (await import('./actions/endpoints.js')).recover);

  ofOne('statement')
    .option(
      '--since <time>',
      'start of the window: 24h (ago), or 2026-11-21T10:00:00Z; default: 24h, or the registration if that is later',
      parseSince,
    )
    .option('--until <time>', 'end of the window, exclusive; default: now', parseSince)
    .description(`count the events of a window of up to ${MAX_WINDOW_DAYS} days by outcome`)
    .does(async () => (await import('./actions/endpoints.js')).statement);

  ofOne('check')
    .description('check what a receiver accepts and rejects (sandbox only); exits with 1 if a case fails')
    .does(async () => (await import('./actions/endpoints.js')).check);
}

const parseNumber = wholeNumber(1, MAX_CONCURRENCY, `Give 1 to ${MAX_CONCURRENCY}, or default.`);

/** A limit of concurrent attempts. @returns null for `default`, the limit of the deployment */
function parseConcurrency(text: string): number | null {
  return text === 'default' ? null : parseNumber(text);
}

import { MAX_WINDOW_DAYS } from '../platform/limits.js';
import { MAX_CONCURRENCY } from '../platform/vocabulary.js';
import { type Command, idOf, parseSince, wholeNumber } from './command.js';

/** `endpoints …`: the clients' webhook endpoints. */
export function addEndpoints(program: Command): void {
  const endpoints = program
    .command('endpoints')
    .description(
      "list, disable and enable the clients' webhook endpoints, limit their attempts at once, recover and count what they received, and check receivers",
    );

  endpoints
    .command('list')
    .requiredOption('--client <client_id>', 'the owner of the endpoints')
    .description('list the endpoints of a client, newest first')
    .does(async () => (await import('./actions/endpoints.js')).list);

  for (const [verb, description] of [
    ['disable', 'stop all deliveries to an endpoint; only the `enable` command can undo this'],
    ['enable', 'resume deliveries to an endpoint, whatever disabled it'],
  ] as const) {
    endpoints
      .command(verb)
      .argument('<webhookId>', '', idOf('webhook endpoint'))
      .description(description)
      .does(async () => (await import('./actions/endpoints.js'))[verb]);
  }
  endpoints
    .command('set-concurrency')
    .argument('<webhookId>', '', idOf('webhook endpoint'))
    .argument('<limit>', `1 to ${MAX_CONCURRENCY}, or default`, parseConcurrency)
    .description('limit the attempts at once at an endpoint, over all workers; default: ENDPOINT_CONCURRENCY')
    .does(async () => (await import('./actions/endpoints.js')).setConcurrency);

  endpoints
    .command('recover')
    .argument('<webhookId>', '', idOf('webhook endpoint'))
    .requiredOption('--since <time>', 'start of the range: 24h (ago), or 2026-11-21T10:00:00Z', parseSince)
    .option('--until <time>', 'end of the range, exclusive; default: now', parseSince)
    .option(
      '--include-missing',
      `also deliver the events without a delivery for this endpoint; the range is then at most ${MAX_WINDOW_DAYS} days`,
    )
    .description('deliver the failed and cancelled deliveries of a range again, at 20 a second')
    .does(async () => (await import('./actions/endpoints.js')).recover);

  endpoints
    .command('statement')
    .argument('<webhookId>', '', idOf('webhook endpoint'))
    .option(
      '--since <time>',
      'start of the window: 24h (ago), or 2026-11-21T10:00:00Z; default: 24h, or the registration if that is later',
      parseSince,
    )
    .option('--until <time>', 'end of the window, exclusive; default: now', parseSince)
    .description(`count what became of the events of a window of up to ${MAX_WINDOW_DAYS} days`)
    .does(async () => (await import('./actions/endpoints.js')).statement);

  endpoints
    .command('check')
    .argument('<webhookId>', '', idOf('webhook endpoint'))
    .description('check in the sandbox what a receiver accepts and rejects; exits with 1 if a case fails')
    .does(async () => (await import('./actions/endpoints.js')).check);
}

const parseNumber = wholeNumber(1, MAX_CONCURRENCY, `Give 1 to ${MAX_CONCURRENCY}, or default.`);

/** A limit of attempts at once. @returns null for `default`, the limit of the deployment */
function parseConcurrency(text: string): number | null {
  return text === 'default' ? null : parseNumber(text);
}

import type { Command } from 'commander';
import { MAX_CONCURRENCY } from '../max-concurrency.js';
import { idOf, parseConcurrency } from './arguments.js';
import { setAction } from './command.js';
import { addCheck } from './endpoint-check.js';
import { addStatement } from './endpoint-statement.js';

/** `endpoints …`: the clients' webhook endpoints. */
export function addEndpoints(program: Command): void {
  const endpoints = program
    .command('endpoints')
    .description(
      "list, disable and enable the clients' webhook endpoints, limit their attempts at once, count what they received, and check receivers",
    );

  setAction(
    endpoints
      .command('list')
      .requiredOption('--client <client_id>', 'the owner of the endpoints')
      .description('list the endpoints of a client, newest first'),
    async () => (await import('./actions/endpoints.js')).list,
  );

  for (const [verb, description] of [
    ['disable', 'stop all deliveries to an endpoint; only the `enable` command can undo this'],
    ['enable', 'resume deliveries to an endpoint, whatever disabled it'],
  ] as const) {
    setAction(
      endpoints.command(verb).argument('<webhookId>', '', idOf('webhook endpoint')).description(description),
      async () => (await import('./actions/endpoints.js'))[verb],
    );
  }
  setAction(
    endpoints
      .command('set-concurrency')
      .argument('<webhookId>', '', idOf('webhook endpoint'))
      .argument('<limit>', `1 to ${MAX_CONCURRENCY}, or default`, parseConcurrency)
      .description('limit the attempts at once at an endpoint, over all workers; default: ENDPOINT_CONCURRENCY'),
    async () => (await import('./actions/endpoints.js')).setConcurrency,
  );
  addStatement(endpoints);
  addCheck(endpoints);
}

import type { Command } from 'commander';
import { showClient } from '../auth/clients.js';
import { isId } from '../ids.js';
import { Refusal } from '../refusal.js';
import { listEndpoints, type PublicEndpoint, setEndpointEnabledByOperator } from '../webhooks/endpoints.js';
import { answers } from './command.js';
import { withDatabase } from './with-database.js';

/** More than any client may have. */
const ALL = 10_000;

/** `endpoints …`: the clients' webhook endpoints. */
export function addEndpoints(program: Command): void {
  const endpoints = program.command('endpoints').description("the clients' webhook endpoints");

  answers(
    endpoints
      .command('list')
      .requiredOption('--client <client_id>', 'whose endpoints')
      .description("a client's endpoints, newest first"),
    async (options: { client: string }) => {
      const found = await withDatabase(async (database) => {
        // A mistyped id is told from a client that has none.
        await showClient(database, options.client);
        return listEndpoints(database, options.client, { before: undefined, take: ALL });
      });
      return { json: found.map(present), text: found.map(line).join('\n') || 'no endpoints' };
    },
  );

  for (const [verb, enabled, description] of [
    ['disable', false, 'send nothing more to an endpoint; only `enable` here undoes it'],
    ['enable', true, 'send to an endpoint again, whoever disabled it'],
  ] as const) {
    answers(endpoints.command(verb).argument('<webhookId>').description(description), async (id: string) => {
      if (!isId(id)) throw new Refusal('not_found', 'There is no such webhook endpoint.');
      const endpoint = await withDatabase((database) => setEndpointEnabledByOperator(database, id, enabled));
      return { json: present(endpoint), text: line(endpoint) };
    });
  }
}

function present(endpoint: PublicEndpoint) {
  return {
    webhookId: endpoint.id,
    client_id: endpoint.clientId,
    url: endpoint.url,
    description: endpoint.description,
    enabled: endpoint.enabled,
    disabled_reason: endpoint.disabledReason,
    created_at: endpoint.createdAt.toISOString(),
    updated_at: endpoint.updatedAt.toISOString(),
  };
}

function line(endpoint: PublicEndpoint): string {
  const state = endpoint.enabled ? 'enabled' : `disabled (${endpoint.disabledReason})`;
  return `${endpoint.id}  ${endpoint.url}  ${state}`;
}

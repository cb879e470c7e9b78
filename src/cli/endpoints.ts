import type { Command } from 'commander';
import { personHere } from '../audit/actor.js';
import { showClient } from '../auth/clients.js';
import { MAX_CONCURRENCY } from '../config.js';
import { presentEndpoint } from '../http/presenters/endpoint.js';
import { listEndpoints, type PublicEndpoint } from '../webhooks/endpoints.js';
import { setEndpointConcurrencyByOperator, setEndpointEnabledByOperator } from '../webhooks/operate-endpoint.js';
import { idOf, parseConcurrency } from './arguments.js';
import { setAction } from './command.js';
import { addCheck } from './endpoint-check.js';
import { addStatement } from './endpoint-statement.js';
import type { Table } from './view/table.js';
import { withDatabase } from './with-database.js';

/** More than a client may have. */
const ALL = 10_000;

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
    async (options: { client: string }) => {
      const found = await withDatabase(async (database) => {
        // A mistyped id is an error; an empty list means that the client has no endpoints.
        await showClient(database, options.client);
        return listEndpoints(database, options.client, { before: undefined, take: ALL });
      });
      return { json: found.map(present), text: table(found) };
    },
  );

  for (const [verb, enabled, description] of [
    ['disable', false, 'stop all deliveries to an endpoint; only the `enable` command can undo this'],
    ['enable', true, 'resume deliveries to an endpoint, whatever disabled it'],
  ] as const) {
    setAction(
      endpoints.command(verb).argument('<webhookId>', '', idOf('webhook endpoint')).description(description),
      async (id: string) => {
        const endpoint = await withDatabase((database) =>
          setEndpointEnabledByOperator(database, personHere(), id, enabled),
        );
        return { json: present(endpoint), text: `${endpoint.id}  ${endpoint.url}  ${state(endpoint)}` };
      },
    );
  }
  setAction(
    endpoints
      .command('set-concurrency')
      .argument('<webhookId>', '', idOf('webhook endpoint'))
      .argument('<limit>', `1 to ${MAX_CONCURRENCY}, or default`, parseConcurrency)
      .description('limit the attempts at once at an endpoint, over all workers; default: ENDPOINT_CONCURRENCY'),
    async (id: string, limit: number | null) => {
      const endpoint = await withDatabase((database) =>
        setEndpointConcurrencyByOperator(database, personHere(), id, limit),
      );
      return { json: present(endpoint), text: `${endpoint.id}  ${endpoint.url}  at once: ${limit ?? 'default'}` };
    },
  );
  addStatement(endpoints);
  addCheck(endpoints);
}

function present(endpoint: PublicEndpoint) {
  const { webhookId, ...fields } = presentEndpoint(endpoint);
  return { webhookId, client_id: endpoint.clientId, ...fields };
}

function table(endpoints: readonly PublicEndpoint[]): Table {
  return {
    columns: [
      { name: 'endpoint' },
      { name: 'state' },
      { name: 'at once' },
      { name: 'url', wraps: true },
      { name: 'description', wraps: true },
      { name: 'created' },
    ],
    rows: endpoints.map((one) => [
      one.id,
      state(one),
      one.maxConcurrency ?? 'default',
      one.url,
      one.description,
      one.createdAt,
    ]),
    none: 'no endpoints',
  };
}

function state({ enabled, disabledReason }: PublicEndpoint): string {
  return enabled ? 'enabled' : `disabled (${disabledReason})`;
}

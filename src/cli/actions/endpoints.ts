import { personHere } from '../../audit/actor.js';
import { showClient } from '../../auth/clients.js';
import { presentEndpoint } from '../../http/presenters/endpoint.js';
import { listEndpoints, type PublicEndpoint } from '../../webhooks/endpoints.js';
import { setEndpointConcurrencyByOperator, setEndpointEnabledByOperator } from '../../webhooks/operate-endpoint.js';
import type { CommandResult } from '../command.js';
import type { Table } from '../view/table.js';
import { withDatabase } from '../with-database.js';

/** More than a client may have. */
const ALL = 10_000;

/** `endpoints list` */
export async function list(options: { client: string }): Promise<CommandResult> {
  const found = await withDatabase(async (database) => {
    // A mistyped id is an error; an empty list means that the client has no endpoints.
    await showClient(database, options.client);
    return listEndpoints(database, options.client, { before: undefined, take: ALL });
  });
  return { json: found.map(present), text: table(found) };
}

/** `endpoints disable` */
export const disable = (id: string) => setEnabled(id, false);

/** `endpoints enable` */
export const enable = (id: string) => setEnabled(id, true);

async function setEnabled(id: string, enabled: boolean): Promise<CommandResult> {
  const endpoint = await withDatabase((database) => setEndpointEnabledByOperator(database, personHere(), id, enabled));
  return { json: present(endpoint), text: `${endpoint.id}  ${endpoint.url}  ${state(endpoint)}` };
}

/** `endpoints set-concurrency` */
export async function setConcurrency(id: string, limit: number | null): Promise<CommandResult> {
  const endpoint = await withDatabase((database) =>
    setEndpointConcurrencyByOperator(database, personHere(), id, limit),
  );
  return { json: present(endpoint), text: `${endpoint.id}  ${endpoint.url}  at once: ${limit ?? 'default'}` };
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

function state({ enabled, disabledReason, cancellingAfter }: PublicEndpoint): string {
  if (enabled) return 'enabled';
  return `disabled (${disabledReason})${cancellingAfter === null ? '' : ', cancelling'}`;
}

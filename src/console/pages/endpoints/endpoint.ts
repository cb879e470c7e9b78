import type { z } from 'zod';
import type { Scope } from '../../../auth/caller.js';
import type { endpointView } from '../../../http/presenters/endpoint.js';
import type { EndpointHealth } from '../../../webhooks/endpoint-health.js';
import { refuseIfChanged } from '../../../webhooks/endpoints.js';
import type { Visit } from '../../page.js';
import { forgetHealth } from './health.js';

export type Endpoint = z.output<typeof endpointView>;

type EndpointVisit = Visit<'webhookId'>;

export const READ = 'webhooks:read' satisfies Scope;
export const WRITE = 'webhooks:write' satisfies Scope;

/** The most that one list of the API has; a client has fewer endpoints by default (`MAX_ENDPOINTS`). */
const MOST_LISTED = '100';

/** @throws Refusal not_found */
export function readEndpoint({ operations, params }: EndpointVisit): Promise<Endpoint> {
  return operations.read<Endpoint>('getWebhookEndpoint', { params: { webhookId: params.webhookId } });
}

/** The client's endpoints, newest first. */
export async function readEndpoints({ operations }: Visit): Promise<readonly Endpoint[]> {
  const query = { limit: MOST_LISTED };
  return (await operations.read<{ data: Endpoint[] }>('listWebhookEndpoints', { query })).data;
}

/**
 * Changes fields of an endpoint; those that are not given stay.
 * @param shown `updated_at` of the endpoint that the form shows; if omitted, any state may be changed
 * @throws Refusal endpoint_changed where another request has changed the endpoint since
 */
export async function changeEndpoint(
  visit: EndpointVisit,
  change: { url?: string; description?: string | null; max_concurrency?: unknown; enabled?: boolean },
  shown?: string,
): Promise<Endpoint> {
  const { webhookId } = visit.params;
  const changed = await visit.operations.change<Endpoint>('patchWebhookEndpoint', {
    params: { webhookId },
    body: change,
    before: async (tx) => {
      if (shown !== undefined) await refuseIfChanged(tx, visit.session.clientId, webhookId, shown);
    },
  });
  forgetHealth(visit);
  return changed;
}

/** Whether the session may change endpoints; a viewer sees no buttons. */
export const isEditor = ({ session }: Pick<Visit, 'session'>): boolean => session.scopes.has(WRITE);

/** Whether the latest attempt at an enabled endpoint failed. */
export function isFailing({ enabled }: Endpoint, health: EndpointHealth | undefined): boolean {
  const failure = health?.lastFailure;
  return enabled && !!failure && (health.lastSuccessAt === null || failure.at > health.lastSuccessAt);
}

/** Whether no attempt at an enabled endpoint is known, so that nobody can say that it works. */
export function isUntried({ enabled }: Endpoint, health: EndpointHealth | undefined): boolean {
  return enabled && !!health && !health.lastSuccessAt && !health.lastFailure && health.pending.count === 0;
}

export const pathOf = (webhookId: string) => `/console/endpoints/${webhookId}` as const;

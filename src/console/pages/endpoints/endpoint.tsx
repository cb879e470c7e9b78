import { LRUCache } from 'lru-cache';
import type { ComponentChildren } from 'preact';
import type { z } from 'zod';
import { refuseIfChanged } from '../../../endpoints/endpoints.js';
import { type EndpointHealth, readEndpointHealth } from '../../../endpoints/health.js';
import type { endpointView } from '../../../http/schemas/endpoint.js';
import type { Handle } from '../../../platform/database/database.js';
import type { Listed } from '../../components/lists.js';
import { Crumbs } from '../../components/parts.js';
import { Untrusted } from '../../components/values.js';
import { type Form, form, type Page, page, type SeeOther, type Visit } from '../../page.js';
import { endpointPath } from '../paths.js';

// What the pages of endpoints share: reading and changing one, its health, and the top of its pages.

export type Endpoint = z.output<typeof endpointView>;

/** The request of a page or form of one endpoint. */
export type EndpointVisit = Visit<'webhookId'>;

/** The most that one list of the API has; a client has fewer endpoints by default (`MAX_ENDPOINTS`). */
const MOST_LISTED = '100';

/** @throws Refusal not_found */
export function readEndpoint({ operations, params }: EndpointVisit): Promise<Endpoint> {
  return operations.read<Endpoint>('getWebhookEndpoint', { params: { webhookId: params.webhookId } });
}

/** The client's endpoints, newest first. */
export async function readEndpoints({ operations }: Visit): Promise<readonly Endpoint[]> {
  return (await operations.read<Listed<Endpoint>>('listWebhookEndpoints', { query: { limit: MOST_LISTED } })).data;
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
  // The next page reads the health again, because the person has just changed the endpoint.
  readings.delete(visit.session.clientId);
  return changed;
}

export type HealthByEndpoint = ReadonlyMap<string, EndpointHealth>;

/**
 * One read at a time for a client in this process, and its result for a second: pages that are open all day, and update
 * themselves, cost one read a second.
 */
const readings = new LRUCache<string, HealthByEndpoint, Handle>({
  max: 1_000,
  ttl: 1_000,
  // A page that already waits for the read still gets its result.
  ignoreFetchAbort: true,
  fetchMethod: (clientId, _stale, { context: db }) => readEndpointHealth(db, clientId),
});

/** The health of the client's endpoints, at most a second old. */
export async function healthOf({ db, session }: Pick<Visit, 'db' | 'session'>): Promise<HealthByEndpoint> {
  return (await readings.fetch(session.clientId, { context: db })) ?? new Map();
}

/** The pages of one endpoint, by the ends of their paths. */
const TABS = {
  '': { tab: 'Health', title: 'Endpoint', scope: 'webhooks:read' },
  statement: { tab: 'Statement', title: 'Statement', scope: 'webhooks:read' },
  recover: { tab: 'Recover', title: 'Recover what was missed', scope: 'webhooks:write' },
  check: { tab: 'Receiver check', title: 'Is my receiver right?', scope: 'webhooks:read' },
  'new-secret': { tab: 'New secret', title: 'Switch over to a new secret', scope: 'webhooks:write' },
  edit: { tab: 'Edit', title: 'Edit the endpoint', scope: 'webhooks:write' },
  delete: { tab: 'Delete', title: 'Delete the endpoint', scope: 'webhooks:write' },
} as const;

type Tab = keyof typeof TABS;

interface EndpointDeclaration extends Pick<Page, 'points' | 'asksItself'> {
  /** What stands below the top that every page of an endpoint has. `path` is that of its first page. */
  view(request: { visit: EndpointVisit; endpoint: Endpoint; path: string }): Promise<ComponentChildren>;
}

/** Declares a page of one endpoint. */
export function endpointPage(tab: Tab, { view, ...declaration }: EndpointDeclaration): Page {
  return page({
    ...declaration,
    path: `/console/endpoints/{webhookId}${tab && `/${tab}`}`,
    scope: TABS[tab].scope,
    title: TABS[tab].title,
    async view(visit) {
      const endpoint = await readEndpoint(visit);
      return (
        <>
          <EndpointHead endpoint={endpoint} here={tab} visit={visit} />
          {await view({ visit, endpoint, path: endpointPath(endpoint.webhookId) })}
        </>
      );
    },
  });
}

/** Declares a form of one endpoint: a POST to the end of its path. @param shown the page that has the form */
export function endpointForm(
  end: string,
  shown: Page,
  submit: (visit: EndpointVisit, fields: URLSearchParams) => Promise<SeeOther>,
): Form {
  return form({ path: `/console/endpoints/{webhookId}/${end}`, scope: 'webhooks:write', page: shown, submit });
}

/** The top of every page of one endpoint: which one it is, and the ways to its other pages. */
function EndpointHead({ endpoint, here, visit }: { endpoint: Endpoint; here: Tab; visit: Visit }) {
  const { scopes } = visit.session;
  const isOpen = (name: string) => name !== 'check' || visit.config.environment === 'sandbox';
  const path = endpointPath(endpoint.webhookId);
  return (
    <header class="endpoint-top">
      <Crumbs to={{ '/console/endpoints': 'Endpoints' }} />
      <h1>{TABS[here].title}</h1>
      <EndpointName endpoint={endpoint} />
      <nav class="tabs" aria-label="This endpoint">
        <ul>
          {Object.entries(TABS).map(
            ([name, { tab, scope }]) =>
              scopes.has(scope) &&
              isOpen(name) && (
                <li key={name}>
                  <a href={name === '' ? path : `${path}/${name}`} aria-current={name === here ? 'page' : undefined}>
                    {tab}
                  </a>
                </li>
              ),
          )}
        </ul>
      </nav>
    </header>
  );
}

/** An endpoint as people know it: its description, and the URL under it. Both are texts of the client, and no links. */
export function EndpointName({ endpoint: { description, url } }: { endpoint: Pick<Endpoint, 'description' | 'url'> }) {
  return (
    <span class="endpoint-name">
      {description && (
        <strong>
          <Untrusted text={description} />
        </strong>
      )}
      <code>
        <Untrusted text={url} />
      </code>
    </span>
  );
}

export function OpenLink({ webhookId }: Pick<Endpoint, 'webhookId'>) {
  return (
    <a href={endpointPath(webhookId)} aria-label={`Open endpoint ${webhookId}`}>
      Open
    </a>
  );
}

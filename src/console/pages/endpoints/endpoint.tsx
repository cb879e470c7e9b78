import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type { ComponentChildren } from 'preact';
import { listEndpoints } from '../../../endpoints/endpoints.js';
import { type EndpointHealth, readEndpointHealth } from '../../../endpoints/health.js';
import { etagOf } from '../../../http/etag.js';
import { presentEndpoint } from '../../../http/schemas/endpoint.js';
import type { Handle } from '../../../platform/database/database.js';
import { timeOf } from '../../../platform/ids.js';
import { Tabs, Up } from '../../components/parts.js';
import { Untrusted } from '../../components/values.js';
import { type Form, form, type Page, page, type SeeOther, type Visit } from '../../page.js';
import { endpointPath } from '../paths.js';
import { type Endpoint, EndpointState } from './state.js';

export type { Endpoint };

// What the pages of endpoints share: reading and changing one, its health, and the top of its pages.

/** The request of a page or form of one endpoint. */
export type EndpointVisit = Visit<'webhookId'>;

/** More than `MAX_ENDPOINTS` may allow. */
const MOST_LISTED = 10_001;

/** @throws Refusal not_found */
export function readEndpoint({ operations, params }: EndpointVisit): Promise<Endpoint> {
  return operations.read<Endpoint>('getWebhookEndpoint', { params: { webhookId: params.webhookId } });
}

/** The client's endpoints, newest first. */
export async function readEndpoints({ read, session }: Visit): Promise<readonly Endpoint[]> {
  const page = { before: undefined, take: MOST_LISTED };
  return (await read((db) => listEndpoints(db, session.clientId, page))).map(presentEndpoint);
}

/**
 * Changes fields of an endpoint; those that are not given stay.
 * @param ifMatch the ETag of the endpoint that the form shows; if omitted, any state may be changed
 * @throws Refusal changed_meanwhile
 */
export async function changeEndpoint(
  visit: EndpointVisit,
  change: {
    url?: string;
    description?: string | null;
    max_concurrency?: unknown;
    max_per_second?: unknown;
    signatures?: string[];
    headers?: { name: string; value?: string }[] | undefined;
    enabled?: boolean;
  },
  ifMatch?: string,
): Promise<Endpoint> {
  const { webhookId } = visit.params;
  const changed = await visit.operations.change<Endpoint>('patchWebhookEndpoint', {
    params: { webhookId },
    body: change,
    ifMatch,
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
  statement: { tab: 'Statement and recovery', title: 'Statement and recovery', scope: 'webhooks:read' },
  recoveries: { tab: 'Recoveries', title: 'Recoveries', scope: 'webhooks:read' },
  check: { tab: 'Check', title: 'Check the receiver', scope: 'webhooks:read' },
  'new-secret': { tab: 'New secret', title: 'Switch to a new secret', scope: 'webhooks:write' },
  edit: { tab: 'Edit', title: 'Edit the endpoint', scope: 'webhooks:write' },
  disable: { tab: 'Disable', title: 'Disable the endpoint', scope: 'webhooks:write' },
  delete: { tab: 'Delete', title: 'Delete the endpoint', scope: 'webhooks:write' },
} as const;

type Tab = keyof typeof TABS;

interface EndpointRequest {
  visit: EndpointVisit;
  endpoint: Endpoint;
  health: EndpointHealth | undefined;
  /** The path of the endpoint's first page. */
  path: string;
}

interface EndpointDeclaration extends Pick<Page, 'points'> {
  /** What stands below the top that every page of an endpoint has. */
  view(request: EndpointRequest): Promise<ComponentChildren>;
}

/** Declares a page of one endpoint. */
export function endpointPage(tab: Tab, { view, ...declaration }: EndpointDeclaration): Page {
  return page({
    ...declaration,
    path: `/console/endpoints/{webhookId}${tab && `/${tab}`}`,
    scope: TABS[tab].scope,
    title: TABS[tab].title,
    async view(visit) {
      const [endpoint, all] = await Promise.all([readEndpoint(visit), healthOf(visit)]);
      const { webhookId } = endpoint;
      const request = { visit, endpoint, health: all.get(webhookId), path: endpointPath(webhookId) };
      return (
        <>
          <EndpointHead {...request} here={tab} />
          {isStale(visit) && <Changes before={shownBefore(visit)} now={endpoint} />}
          {await view(request)}
        </>
      );
    },
  });
}

/** Whether the form of the page was refused because it shows an older state. */
const isStale = ({ refused }: Pick<Visit, 'refused'>) => refused?.refusal.code === 'changed_meanwhile';

/**
 * The hidden fields of a form that changes what it shows: the endpoint and its ETag. After a stale form they are those
 * of the present state: a reader who has seen the change can then send the form again.
 */
export function ShownState({ visit, endpoint }: Pick<EndpointRequest, 'visit' | 'endpoint'>) {
  const typed = isStale(visit) ? undefined : visit.refused?.fields;
  return (
    <>
      <input type="hidden" name="etag" value={typed?.get('etag') ?? etagOf(endpoint)} />
      <input type="hidden" name="shown" value={typed?.get('shown') ?? JSON.stringify(endpoint)} />
    </>
  );
}

function shownBefore({ refused }: Pick<Visit, 'refused'>): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(refused?.fields.get('shown') ?? ''));
  } catch {
    return {};
  }
}

/** What was changed since the form was opened. */
function Changes({ before, now }: { before: Readonly<Record<string, unknown>>; now: Endpoint }) {
  const changed = Object.entries(now).filter(
    ([name, value]) => name in before && name !== 'updated_at' && !isDeepStrictEqual(before[name], value),
  );
  if (changed.length === 0) return null;
  return (
    <section class="banner warn" aria-label="What was changed">
      <h2>What was changed</h2>
      <ul>
        {changed.map(([name, value]) => (
          <li key={name}>
            {name.replaceAll('_', ' ')}: was <Untrusted text={shownValue(before[name])} />, is now{' '}
            <Untrusted text={shownValue(value)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The value of a field in words. Of a header, only the name is known. */
function shownValue(value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => item?.name ?? item).join(', ') || 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value ?? 'none');
}

/** Declares a form of one endpoint: a POST to the end of its path. @param shown the page that has the form */
export function endpointForm(
  end: string,
  shown: Page,
  submit: (visit: EndpointVisit, fields: URLSearchParams) => Promise<SeeOther>,
): Form {
  return form({ path: `/console/endpoints/{webhookId}/${end}`, scope: 'webhooks:write', page: shown, submit });
}

/** The top of every page of one endpoint: its name and state, and its other pages. */
function EndpointHead({ endpoint, health, here, visit, path }: EndpointRequest & { here: Tab }) {
  const { scopes } = visit.session;
  const closed: Partial<Record<string, boolean>> = {
    check: visit.config.environment !== 'sandbox',
    disable: !endpoint.enabled,
  };
  const hrefOf = (name: string) => (name === '' ? path : `${path}/${name}`);
  const tabs = Object.entries(TABS).flatMap(([name, { tab, scope }]) =>
    scopes.has(scope) && !closed[name] ? [{ href: hrefOf(name), text: tab }] : [],
  );
  return (
    <>
      <Up to="/console/endpoints">Endpoints</Up>
      <div class="row between">
        <div>
          <h1>
            <Untrusted text={endpoint.description || endpoint.url} />
          </h1>
          {endpoint.description && (
            <code class="muted">
              <Untrusted text={endpoint.url} />
            </code>
          )}
        </div>
        <EndpointState endpoint={endpoint} health={health} />
      </div>
      <Tabs label="This endpoint" tabs={tabs} here={hrefOf(here)} />
    </>
  );
}

type Named = Pick<Endpoint, 'webhookId' | 'description' | 'url'>;

/**
 * Names of endpoints by id: the description, or the URL if there is none. Endpoints with the same name also show when
 * they were registered, which is part of the id.
 */
export function namesOf(endpoints: readonly Named[]): ReadonlyMap<string, string> {
  const nameOf = ({ description, url }: Named) => description || url;
  const counts = new Map<string, number>();
  for (const name of endpoints.map(nameOf)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    endpoints.map((endpoint) => {
      const name = nameOf(endpoint);
      const isUnique = counts.get(name) === 1;
      const registered = new Date(timeOf(endpoint.webhookId)).toISOString().replace('T', ' ').replace('Z', ' UTC');
      return [endpoint.webhookId, isUnique ? name : `${name} (registered ${registered})`];
    }),
  );
}

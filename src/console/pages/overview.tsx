import type { EndpointHealth } from '../../webhooks/endpoint-health.js';
import { Live } from '../components/live.js';
import { countOf } from '../components/quantity.js';
import { page, type Visit } from '../page.js';
import { type Endpoint, isEditor, isFailing, pathOf, READ, readEndpoints } from './endpoints/endpoint.js';
import { healthOf } from './endpoints/health.js';
import { HealthView } from './endpoints/health-view.js';
import { EndpointName, EndpointState } from './endpoints/name.js';
import { Trouble } from './endpoints/trouble.js';

const overview = page({
  path: '/console',
  scope: READ,
  title: 'Overview',
  navigation: 'Overview',
  async view(visit) {
    const endpoints = await readEndpoints(visit);
    const editor = isEditor(visit);
    if (endpoints.length === 0) return <FirstSteps editor={editor} environment={visit.config.environment} />;
    const health = await healthOf(visit);
    return <Overview endpoints={endpoints} health={health} editor={editor} now={new Date()} />;
  },
});

interface Props {
  endpoints: readonly Endpoint[];
  health: ReadonlyMap<string, EndpointHealth>;
  editor: boolean;
  now: Date;
}

/** The health of each endpoint; those in trouble come first. */
export function Overview({ endpoints, health, editor, now }: Props) {
  const isTroubled = (endpoint: Endpoint) => !endpoint.enabled || isFailing(endpoint, health.get(endpoint.webhookId));
  const troubled = endpoints.filter(isTroubled);
  const others = endpoints.filter((endpoint) => !isTroubled(endpoint));
  return (
    <>
      <div class="page-head">
        <h1>Overview</h1>
        {editor && (
          <a class="button" href="/console/endpoints/new">
            Register an endpoint
          </a>
        )}
      </div>
      <Live id="overview" class="stack" path="/console">
        <p class={troubled.length > 0 ? 'summary' : 'summary good-text'}>
          {summaryOf(endpoints.length, troubled.length)}
        </p>
        {[...troubled, ...others].map((endpoint) => (
          <EndpointCard
            key={endpoint.webhookId}
            endpoint={endpoint}
            health={health.get(endpoint.webhookId)}
            editor={editor}
            now={now}
          />
        ))}
      </Live>
    </>
  );
}

function summaryOf(endpoints: number, troubled: number): string {
  if (troubled === 0) return endpoints === 1 ? 'Your endpoint works.' : `All ${endpoints} endpoints work.`;
  return `${countOf(troubled, 'endpoint needs', 'endpoints need')} your attention, of ${endpoints}.`;
}

interface CardProps {
  endpoint: Endpoint;
  health: EndpointHealth | undefined;
  editor: boolean;
  now: Date;
}

function EndpointCard({ endpoint, health, editor, now }: CardProps) {
  return (
    <section class="card endpoint-card" aria-label={`Endpoint ${endpoint.webhookId}`}>
      <div class="endpoint-head">
        <h2>
          <EndpointName endpoint={endpoint} />
        </h2>
        <EndpointState endpoint={endpoint} failing={isFailing(endpoint, health)} />
        <a href={pathOf(endpoint.webhookId)} aria-label={`Open endpoint ${endpoint.webhookId}`}>
          Open
        </a>
      </div>
      <Trouble endpoint={endpoint} health={health} editor={editor} now={now} />
      <HealthView health={health} now={now} />
    </section>
  );
}

/** What a newcomer does first. */
export function FirstSteps({ editor, environment }: { editor: boolean; environment: Visit['config']['environment'] }) {
  const sandbox = environment === 'sandbox';
  return (
    <>
      <h1>Overview</h1>
      <section class="card stack first-steps">
        <h2>See your first webhook in two steps</h2>
        <ol>
          <li>
            <strong>Register an endpoint:</strong> the URL of your receiver, and a secret that signs what is sent to it.
          </li>
          <li>
            {sandbox ? (
              <>
                <strong>Make a sandbox transfer</strong> that moves by itself: each change of its status is one event,
                which is sent to your endpoint at once.
              </>
            ) : (
              <>
                <strong>Make a transfer:</strong> each change of its status is one event, which is sent to your endpoint
                at once.
              </>
            )}
          </li>
        </ol>
        {editor ? (
          <p class="actions">
            <a class="button primary" href="/console/endpoints/new">
              Register an endpoint
            </a>
            {sandbox && <a href="/console/transfers">Make a sandbox transfer</a>}
          </p>
        ) : (
          <p class="muted">Your session is view only. An editor registers the endpoint.</p>
        )}
      </section>
    </>
  );
}

export const overviewPages = [overview];

import type { EndpointHealth } from '../../webhooks/endpoint-health.js';
import { Live } from '../components/live.js';
import { type ConsoleConfig, page } from '../page.js';
import { type Endpoint, isEditor, isFailing, isUntried, pathOf, READ, readEndpoints } from './endpoints/endpoint.js';
import { healthOf } from './endpoints/health.js';
import { HealthView } from './endpoints/health-view.js';
import { EndpointName, EndpointState } from './endpoints/name.js';
import { Trouble } from './endpoints/trouble.js';
import { Untried } from './endpoints/untried.js';
import { mayMove } from './transfers/may-move.js';
import { MOVING_TRANSFER } from './transfers/path.js';

const overview = page({
  path: '/console',
  scope: READ,
  points: 5,
  title: 'Overview',
  navigation: 'Overview',
  async view(visit) {
    const endpoints = await readEndpoints(visit);
    const editor = isEditor(visit);
    if (endpoints.length === 0) return <FirstSteps editor={editor} environment={visit.config.environment} />;
    const health = await healthOf(visit);
    return <Overview {...{ endpoints, health, editor }} makesTransfers={mayMove(visit)} now={new Date()} />;
  },
});

interface Props {
  endpoints: readonly Endpoint[];
  health: ReadonlyMap<string, EndpointHealth>;
  editor: boolean;
  /** Whether the session may make transfers here. */
  makesTransfers: boolean;
  now: Date;
}

/** The health of each endpoint; those in trouble come first. */
export function Overview({ endpoints, health, editor, makesTransfers, now }: Props) {
  const isTroubled = (endpoint: Endpoint) => !endpoint.enabled || isFailing(endpoint, health.get(endpoint.webhookId));
  const troubled = endpoints.filter(isTroubled);
  const others = endpoints.filter((endpoint) => !isTroubled(endpoint));
  const untried = endpoints.filter((endpoint) => isUntried(endpoint, health.get(endpoint.webhookId)));
  const allWork = troubled.length + untried.length === 0;
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
        <p class={allWork ? 'summary good-text' : 'summary'}>
          {summaryOf(endpoints.length, troubled.length, untried.length)}
        </p>
        {[...troubled, ...others].map((endpoint) => (
          <EndpointCard
            key={endpoint.webhookId}
            endpoint={endpoint}
            health={health.get(endpoint.webhookId)}
            editor={editor}
            makesTransfers={makesTransfers}
            now={now}
          />
        ))}
      </Live>
    </>
  );
}

function summaryOf(endpoints: number, troubled: number, untried: number): string {
  if (troubled > 0) {
    if (endpoints === 1) return 'Your endpoint needs your attention.';
    return `${troubled} of ${endpoints} endpoints ${troubled === 1 ? 'needs' : 'need'} your attention.`;
  }
  if (untried > 0) {
    return endpoints === 1
      ? 'Your endpoint is ready.'
      : `Nothing needs your attention; nothing was sent to ${untried} of ${endpoints} endpoints yet.`;
  }
  return endpoints === 1 ? 'Your endpoint works.' : `All ${endpoints} endpoints work.`;
}

interface CardProps {
  endpoint: Endpoint;
  health: EndpointHealth | undefined;
  editor: boolean;
  /** Whether the session may make transfers here. */
  makesTransfers: boolean;
  now: Date;
}

function EndpointCard({ endpoint, health, editor, makesTransfers, now }: CardProps) {
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
      {isUntried(endpoint, health) && <Untried makesTransfers={makesTransfers} />}
      <HealthView health={health} now={now} />
    </section>
  );
}

/** What a newcomer does first. */
export function FirstSteps({ editor, environment }: { editor: boolean; environment: ConsoleConfig['environment'] }) {
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
            {sandbox && <a href={MOVING_TRANSFER}>Make a sandbox transfer</a>}
          </p>
        ) : (
          <p class="muted">Your session is view only. An editor registers the endpoint.</p>
        )}
      </section>
    </>
  );
}

export const overviewPages = [overview];

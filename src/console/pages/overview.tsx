import { Live, PageHead } from '../components/parts.js';
import { isEditor, mayMove, page, type Visit } from '../page.js';
import { type Endpoint, type HealthByEndpoint, healthOf, namesOf, readEndpoints } from './endpoints/endpoint.js';
import { EndpointTable } from './endpoints/health.js';
import { stateOf, Trouble, Untried } from './endpoints/state.js';
import { MOVING_TRANSFER, REGISTER } from './paths.js';

export const overview = page({
  path: '/console',
  scope: 'webhooks:read',
  points: 5,
  title: 'Overview',
  navigation: 'Overview',
  async view(visit) {
    const endpoints = await readEndpoints(visit);
    if (endpoints.length === 0) return <FirstSteps visit={visit} />;
    return <Overview visit={visit} endpoints={endpoints} health={await healthOf(visit)} />;
  },
});

type Seen = Pick<Visit, 'session' | 'config'>;
type Shown = { visit: Seen; endpoints: readonly Endpoint[]; health: HealthByEndpoint };

/** Endpoints in trouble with the way out, then the health of all. */
export function Overview({ visit, endpoints, health }: Shown) {
  const stateOfOne = (endpoint: Endpoint) => stateOf(endpoint, health.get(endpoint.webhookId));
  const troubled = endpoints.filter((endpoint) => ['disabled', 'failing'].includes(stateOfOne(endpoint)));
  const untried = endpoints.filter((endpoint) => stateOfOne(endpoint) === 'untried');
  const names = namesOf(endpoints);
  const allWork = troubled.length + untried.length === 0;
  return (
    <>
      <PageHead title="Overview" button={isEditor(visit) && REGISTER} />
      <Live id="overview" class="stack" path="/console">
        <p class={allWork ? 'good-text' : undefined}>
          <strong>{summaryOf(endpoints.length, troubled.length, untried.length)}</strong>{' '}
          {untried.length > 0 && <Untried makesTransfers={mayMove(visit)} />}
        </p>
        {troubled.map((endpoint) => {
          const { webhookId } = endpoint;
          const shown = { endpoint, health: health.get(webhookId), name: names.get(webhookId) };
          return <Trouble key={webhookId} {...shown} editor={isEditor(visit)} />;
        })}
        <EndpointTable endpoints={endpoints} health={health} />
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
      : `No endpoint needs your attention. ${untried} of ${endpoints} have received nothing yet.`;
  }
  return endpoints === 1 ? 'Your endpoint works.' : `All ${endpoints} endpoints work.`;
}

/** The first steps of a newcomer. */
export function FirstSteps({ visit }: { visit: Seen }) {
  const sandbox = visit.config.environment === 'sandbox';
  return (
    <>
      <h1>Overview</h1>
      <section class="card stack">
        <h2>See your first webhook in two steps</h2>
        <ol>
          <li>
            <strong>Register an endpoint:</strong> the URL of your receiver, and the secret that signs your deliveries.
          </li>
          <li>
            <strong>Make a {sandbox ? 'sandbox transfer' : 'transfer'}</strong>
            {sandbox && ' that completes on its own'}: each change of its status is an event, which is delivered to your
            endpoint at once.
          </li>
        </ol>
        {isEditor(visit) ? (
          <p class="row">
            <a class="button primary" href={REGISTER.href}>
              {REGISTER.text}
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

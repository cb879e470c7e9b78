import { Empty, type Listed } from '../components/lists.js';
import { Live, PageHead } from '../components/parts.js';
import { isEditor, mayMove, page, seeOther, type Visit } from '../page.js';
import { type Delivery, DeliveryTable } from './deliveries.js';
import { type Endpoint, type HealthByEndpoint, healthOf, namesOf, readEndpoints } from './endpoints/endpoint.js';
import { EndpointTable } from './endpoints/health.js';
import { stateOf, Trouble } from './endpoints/state.js';
import { MOVING_TRANSFER, REGISTER } from './paths.js';

export const overview = page({
  path: '/console',
  scope: null,
  points: 5,
  title: 'Overview',
  navigation: 'Overview',
  async view(visit) {
    const { scopes } = visit.session;
    if (!scopes.has('webhooks:read')) {
      return seeOther(scopes.has('transfers:read') ? '/console/transfers' : '/console/settings');
    }
    const [endpoints, health, recent] = await Promise.all([readEndpoints(visit), healthOf(visit), readRecent(visit)]);
    return <Overview visit={visit} endpoints={endpoints} health={health} recent={recent} />;
  },
});

const DAY = 86_400_000;

/** The newest failed and pending deliveries. Reads only events whose ladder may have ended within the last day. */
async function readRecent({ operations, config }: Visit): Promise<Delivery[]> {
  const ladder = config.retryDelays.reduce((sum, delay) => sum + delay, DAY);
  const query = { created_after: new Date(Date.now() - ladder).toISOString(), limit: '10' };
  const list = (status: 'failed' | 'pending') =>
    operations.read<Listed<Delivery>>('listDeliveries', { query: { ...query, status } });
  return (await Promise.all([list('failed'), list('pending')])).flatMap(({ data }) => data);
}

interface Shown {
  visit: Visit;
  endpoints: readonly Endpoint[];
  health: HealthByEndpoint;
  /** Failed deliveries, then pending ones. */
  recent: readonly Delivery[];
}

/** Endpoints in trouble with the way out, the health of all, and what happened lately. */
export function Overview({ visit, endpoints, health, recent }: Shown) {
  const troubled = endpoints.filter((endpoint) =>
    ['disabled', 'failing'].includes(stateOf(endpoint, health.get(endpoint.webhookId))),
  );
  const names = namesOf(endpoints);
  return (
    <>
      <PageHead title="Overview" button={isEditor(visit) && REGISTER} />
      <Live id="overview" class="stack" path="/console">
        {endpoints.length === 0 ? (
          <Empty title="See your first webhook">
            <p>Register an endpoint: the URL of your receiver, and the secret that signs your deliveries.</p>
            <p>Then make a transfer. Each change of its status is an event, which is delivered at once.</p>
          </Empty>
        ) : (
          <p>
            <strong>
              Endpoints that need your attention: {troubled.length} of {endpoints.length}
            </strong>
          </p>
        )}
        {mayMove(visit) && <a href={MOVING_TRANSFER}>Make a sandbox transfer</a>}
        {troubled.map((endpoint) => {
          const { webhookId } = endpoint;
          const shown = { endpoint, health: health.get(webhookId), name: names.get(webhookId) };
          return <Trouble key={webhookId} {...shown} editor={isEditor(visit)} />;
        })}
        {endpoints.length > 0 && <EndpointTable endpoints={endpoints} health={health} />}
        {recent.length > 0 && (
          <section class="stack" aria-labelledby="recent-name">
            <h2 id="recent-name">Failed and pending deliveries</h2>
            <DeliveryTable visit={visit} deliveries={recent} names={names} />
            <p class="row">
              <a href="/console/deliveries?status=failed">All failed</a>
              <a href="/console/deliveries?status=pending">All pending</a>
            </p>
          </section>
        )}
      </Live>
    </>
  );
}

import { type AttemptStep, readAttemptSeries } from '../../reports/attempt-series.js';
import { Empty, type Listed } from '../components/lists.js';
import { Live, PageHead } from '../components/parts.js';
import { AttemptPlot, periodOf } from '../components/plot.js';
import { countOf, Untrusted } from '../components/values.js';
import { isEditor, mayMove, page, seeOther, type Visit } from '../page.js';
import { type Delivery, DeliveryTable } from './deliveries.js';
import { type Endpoint, type HealthByEndpoint, healthOf, namesOf, readEndpoints } from './endpoints/endpoint.js';
import { EndpointTable } from './endpoints/health.js';
import { stateOf, Trouble, troubleText } from './endpoints/state.js';
import { deliveriesOf, endpointPath, MOVING_TRANSFER, REGISTER } from './paths.js';
import { type TransferSummaries, transfersOf } from './transfer-label.js';

export const overview = page({
  path: '/console',
  scope: null,
  points: 6,
  title: 'Overview',
  hasRows: true,
  navigation: 'Overview',
  async view(visit) {
    const { scopes } = visit.session;
    if (!scopes.has('webhooks:read')) {
      return seeOther(scopes.has('transfers:read') ? '/console/transfers' : '/console/settings');
    }
    const { clientId } = visit.session;
    const [endpoints, health, recent, series] = await Promise.all([
      readEndpoints(visit),
      healthOf(visit),
      readRecent(visit),
      visit.read((db) => readAttemptSeries(db, clientId, periodOf(visit.query))),
    ]);
    const transfers = await transfersOf(
      visit,
      recent.map(({ transfer_id }) => transfer_id),
    );
    return <Overview {...{ visit, endpoints, health, recent, transfers, steps: series.steps }} />;
  },
});

const DAY = 86_400_000;

/** The newest failed and pending deliveries. Reads only events whose ladder may have ended within the last day. */
async function readRecent({ operations, config, session }: Visit): Promise<Delivery[]> {
  const ladder = config.retryDelays.reduce((sum, delay) => sum + delay, DAY);
  const query = { created_after: new Date(session.now - ladder).toISOString(), limit: '10' };
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
  transfers: TransferSummaries;
  /** The attempts at all endpoints, for the plot. */
  steps: readonly AttemptStep[];
}

/** Endpoints in trouble with the way out, the attempts and the health of all, and what happened lately. */
export function Overview({ visit, endpoints, health, recent, transfers, steps }: Shown) {
  const names = namesOf(endpoints);
  const period = periodOf(visit.query);
  return (
    <>
      <PageHead title="Overview" button={isEditor(visit) && REGISTER} />
      <Live id="overview" class="stack" path="/console" query={visit.query}>
        {endpoints.length === 0 && (
          <Empty title="See your first webhook">
            <p>Register an endpoint: the URL of your receiver, and the secret that signs your deliveries.</p>
            <p>Then make a transfer. Each change of its status is an event, which is delivered at once.</p>
          </Empty>
        )}
        {endpoints.length > 0 && <Attention visit={visit} endpoints={endpoints} health={health} names={names} />}
        {mayMove(visit) && <a href={MOVING_TRANSFER}>Make a sandbox transfer</a>}
        {endpoints.length > 0 && (
          <>
            <AttemptPlot path="/console" period={period} steps={steps} hrefOf={deliveriesOf()} />
            <EndpointTable endpoints={endpoints} health={health} />
          </>
        )}
        {recent.length > 0 && (
          <section class="stack" aria-labelledby="recent-name">
            <h2 id="recent-name">Failed and pending deliveries</h2>
            <DeliveryTable visit={visit} deliveries={recent} names={names} transfers={transfers} />
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

/** How many endpoints are in trouble: a banner with the way out for one, a line for each of several. */
function Attention({
  visit,
  endpoints,
  health,
  names,
}: Pick<Shown, 'visit' | 'endpoints' | 'health'> & { names: Names }) {
  const troubled = endpoints.flatMap((endpoint) => {
    const own = health.get(endpoint.webhookId);
    const state = stateOf(endpoint, own);
    return state === 'disabled' || state === 'failing' ? [{ endpoint, own, state }] : [];
  });
  const [first] = troubled;
  const head = `Endpoints that need your attention: ${troubled.length} of ${endpoints.length}`;
  if (!first || troubled.length === 1) {
    return (
      <>
        <p>
          <strong>{head}</strong>
        </p>
        {first && (
          <Trouble
            endpoint={first.endpoint}
            health={first.own}
            name={names.get(first.endpoint.webhookId)}
            editor={isEditor(visit)}
          />
        )}
      </>
    );
  }
  const pending = troubled.reduce((sum, { own }) => sum + (own?.pending.count ?? 0), 0);
  return (
    <section class={`banner ${troubled.some(({ state }) => state === 'disabled') ? 'bad' : 'warn'}`}>
      <h2>
        {head}. {countOf(pending, 'delivery', 'deliveries')} pending
      </h2>
      <ul class="lines-of">
        {troubled.slice(0, MOST_LINES).map(({ endpoint, own }) => (
          <li key={endpoint.webhookId}>
            <a href={endpointPath(endpoint.webhookId)}>
              <Untrusted text={names.get(endpoint.webhookId) ?? endpoint.url} />
            </a>
            : {troubleText(endpoint, own)}
          </li>
        ))}
        {troubled.length > MOST_LINES && (
          <li>
            <a href="/console/endpoints">{troubled.length - MOST_LINES} more</a>
          </li>
        )}
      </ul>
    </section>
  );
}

type Names = ReadonlyMap<string, string>;

const MOST_LINES = 5;

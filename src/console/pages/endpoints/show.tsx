import { listDeliveries } from '../../../reports/list-deliveries.js';
import { Empty, Table } from '../../components/lists.js';
import { Card, Facts, Live, PageHead } from '../../components/parts.js';
import { countText, durationText, Id, Time } from '../../components/values.js';
import { isEditor, mayMove, page, seeOther } from '../../page.js';
import { DeliveryTable } from '../deliveries.js';
import { endpointPath, REGISTER } from '../paths.js';
import {
  changeEndpoint,
  type Endpoint,
  EndpointName,
  endpointForm,
  endpointPage,
  type HealthByEndpoint,
  healthOf,
  namesOf,
  readEndpoints,
} from './endpoint.js';
import { HealthView, HoursTable, LastSuccess, Rate, Sparkline } from './health.js';
import { EndpointState, Trouble, Untried } from './state.js';
import { missedSince } from './statement.js';

export const endpointList = page({
  path: '/console/endpoints',
  scope: 'webhooks:read',
  points: 3,
  title: 'Endpoints',
  navigation: 'Endpoints',
  async view(visit) {
    const [endpoints, health] = await Promise.all([readEndpoints(visit), healthOf(visit)]);
    return (
      <>
        <PageHead title="Endpoints" button={isEditor(visit) && REGISTER} />
        {endpoints.length === 0 ? (
          <Empty title="No endpoints yet">
            <p>An endpoint is the URL of your receiver, to which every event is delivered.</p>
            {isEditor(visit) && <a href={REGISTER.href}>{REGISTER.text}</a>}
          </Empty>
        ) : (
          <Live id="endpoints" path="/console/endpoints">
            <EndpointTable endpoints={endpoints} health={health} />
          </Live>
        )}
        <p class="hint">
          {endpoints.length} of at most {visit.config.maxEndpoints} endpoints.
        </p>
      </>
    );
  },
});

interface TableProps {
  endpoints: readonly Endpoint[];
  health: HealthByEndpoint;
}

/** Endpoints with their last 24 h, on the list and on the overview. */
export function EndpointTable({ endpoints, health }: TableProps) {
  const names = namesOf(endpoints);
  return (
    <Table
      card
      rows={endpoints.map((endpoint) => ({ endpoint, own: health.get(endpoint.webhookId) }))}
      href={({ endpoint }) => endpointPath(endpoint.webhookId)}
      classes={{ 'Last 24 h': 'wide-only', 'Success rate': 'right', p95: 'right', Pending: 'right' }}
      columns={{
        Endpoint: ({ endpoint }) => <EndpointName endpoint={endpoint} name={names.get(endpoint.webhookId)} />,
        State: ({ endpoint, own }) => <EndpointState endpoint={endpoint} health={own} />,
        'Last 24 h': ({ own }) => own && <Sparkline hours={own.hours} />,
        'Success rate': ({ own }) => <Rate health={own} />,
        p95: ({ own }) => (own?.answerTime ? durationText(own.answerTime.p95) : '–'),
        Pending: ({ own }) => own && countText(own.pending.count) + (own.pending.more ? '+' : ''),
        'Last success': ({ own }) => <LastSuccess health={own} />,
      }}
    />
  );
}

/** Deliveries on the page; the list of deliveries has the others. */
const LATEST = 10;

const healthPage = endpointPage('', {
  points: 5,
  async view({ visit, endpoint, health, path }) {
    const { session } = visit;
    const { webhookId } = visit.params;
    const deliveries = await visit.read((db) =>
      listDeliveries(db, session.clientId, { endpointId: webhookId, take: LATEST }),
    );
    const editor = isEditor(visit);
    const { created_at, updated_at, max_concurrency, enabled } = endpoint;
    return (
      <Live id="endpoint" class="stack" path={path}>
        <Trouble endpoint={endpoint} health={health} editor={editor} />
        <section class="card stack" aria-label="Health">
          <HealthView health={health} />
          {health && <HoursTable health={health} />}
        </section>
        <section class="stack" aria-label="Latest deliveries">
          <div class="row between">
            <h2>Latest deliveries</h2>
            {deliveries.length > 0 && <a href={`/console/deliveries?endpoint=${webhookId}`}>All deliveries</a>}
          </div>
          {deliveries.length > 0 ? (
            <DeliveryTable visit={visit} deliveries={deliveries} />
          ) : (
            <Empty title="No deliveries yet">
              <p>
                <Untried makesTransfers={mayMove(visit)} />
              </p>
            </Empty>
          )}
        </section>
        <Card title="About this endpoint">
          <Facts
            of={{
              Id: <Id id={webhookId} whole />,
              Registered: <Time at={created_at} ago />,
              'Last changed': <Time at={updated_at} ago />,
              'Concurrent deliveries': max_concurrency !== null && `at most ${max_concurrency}`,
              Secret: <span class="muted">stored encrypted, never shown</span>,
            }}
          />
          {editor && enabled && (
            <p>
              <a class="button" href={`${path}/disable`}>
                Disable
              </a>
            </p>
          )}
        </Card>
      </Live>
    );
  },
});

/** Enabling leads to the recovery of what was missed, with its count. */
const enable = endpointForm('enable', healthPage, async (visit) => {
  const { webhookId } = visit.params;
  const health = (await healthOf(visit)).get(webhookId);
  const endpoint = await changeEndpoint(visit, { enabled: true });
  const since = missedSince(endpoint, health, visit.config.retention);
  return seeOther(
    `${endpointPath(webhookId)}/statement?since=${encodeURIComponent(since)}`,
    'The endpoint is enabled. Below is what it missed.',
  );
});

export const endpointPages = [healthPage, enable];

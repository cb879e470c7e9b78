import type { ComponentChildren } from 'preact';
import type { EndpointHealth } from '../../../endpoints/health.js';
import { readAttemptSeries, readEndpointMarks } from '../../../reports/attempt-series.js';
import { Empty, type Listed, Table } from '../../components/lists.js';
import { Card, Facts, Live, PageHead } from '../../components/parts.js';
import { AttemptPlot, periodOf } from '../../components/plot.js';
import { CauseBars, Sparkline } from '../../components/small-plots.js';
import { countText, durationText, Id, rateText, Time, Untrusted } from '../../components/values.js';
import { isEditor, mayMove, page, seeOther } from '../../page.js';
import { type Delivery, DeliveryTable } from '../deliveries.js';
import { deliveriesOf, endpointPath, MOVING_TRANSFER, REGISTER } from '../paths.js';
import { transfersOf } from '../transfer-label.js';
import {
  changeEndpoint,
  type Endpoint,
  endpointForm,
  endpointPage,
  type HealthByEndpoint,
  healthOf,
  namesOf,
  readEndpoints,
} from './endpoint.js';
import { EndpointState, LastSuccess, Pending, Trouble } from './state.js';
import { missedSince } from './statement.js';

export const endpointList = page({
  path: '/console/endpoints',
  scope: 'webhooks:read',
  points: 3,
  title: 'Endpoints',
  hasRows: true,
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
            <EndpointTable endpoints={endpoints} health={health} id="rows" />
          </Live>
        )}
        <p class="hint">
          {endpoints.length} of at most {visit.session.maxEndpoints ?? visit.config.maxEndpoints} endpoints.
        </p>
      </>
    );
  },
});

interface Row {
  own: EndpointHealth | undefined;
}

/** The columns of the last 24 h of an endpoint. */
const HEALTH: Readonly<Record<string, (row: Row) => ComponentChildren>> = {
  '24 hours': ({ own }) => own && <Sparkline hours={own.hours} />,
  'Success rate': ({ own }) => own && <SuccessRate {...own} />,
  p95: ({ own }) => (own?.answerTime ? durationText(own.answerTime.p95) : '–'),
  Pending: ({ own }) => own && <Pending pending={own.pending} />,
  'Last success': ({ own }) => <LastSuccess health={own} />,
};

interface EndpointTableProps {
  endpoints: readonly Endpoint[];
  health: HealthByEndpoint;
  id?: string;
}

/** Endpoints with their last 24 h, on the list and on the overview. */
export function EndpointTable({ endpoints, health, id = 'endpoint-rows' }: EndpointTableProps) {
  const names = namesOf(endpoints);
  return (
    <Table
      id={id}
      rows={endpoints.map((endpoint) => ({ endpoint, own: health.get(endpoint.webhookId) }))}
      href={({ endpoint }) => endpointPath(endpoint.webhookId)}
      columns={{
        Endpoint: ({ endpoint: { webhookId, description, url } }) => (
          <span>
            <strong>
              <Untrusted text={names.get(webhookId) ?? url} />
            </strong>
            {description && (
              <code class="muted">
                <Untrusted text={url} />
              </code>
            )}
          </span>
        ),
        State: ({ endpoint, own }) => <EndpointState endpoint={endpoint} health={own} />,
        ...HEALTH,
      }}
    />
  );
}

/** Deliveries on the page; the list of deliveries has the others. */
const LATEST = '10';

const healthPage = endpointPage('', {
  points: 7,
  async view({ visit, endpoint, health, path }) {
    const { webhookId } = visit.params;
    const period = periodOf(visit.query);
    const [{ steps, causes }, marks] = await visit.read(async (db) => [
      await readAttemptSeries(db, endpoint.webhookId, period),
      await readEndpointMarks(db, endpoint.webhookId, period),
    ]);
    const { data: deliveries } = await visit.operations.read<Listed<Delivery>>('listDeliveries', {
      query: { webhookId, limit: LATEST },
    });
    const transfers = await transfersOf(
      visit,
      deliveries.map(({ transfer_id }) => transfer_id),
    );
    const { created_at, updated_at, max_concurrency, max_per_second, headers } = endpoint;
    const range = { webhookId, created_after: period };
    return (
      <Live id="endpoint" class="stack" path={path} query={visit.query}>
        <Trouble endpoint={endpoint} health={health} editor={isEditor(visit)} />
        {health?.slowedUntil && (
          <p class="banner warn">
            The receiver asked for a pause: it gets one delivery at a time until <Time at={health.slowedUntil} />.
          </p>
        )}
        <section class="stack" aria-label="Health">
          <h2>Last 24 hours</h2>
          <Table rows={[{ own: health }]} columns={HEALTH} />
        </section>
        <AttemptPlot {...{ path, period, steps, marks }} hrefOf={deliveriesOf(webhookId)} />
        {Object.keys(causes).length > 0 && (
          <Card title="Failed attempts by cause">
            <CauseBars
              causes={causes}
              hrefOf={(response) => `/console/deliveries?${new URLSearchParams({ ...range, response })}`}
            />
          </Card>
        )}
        <section class="stack" aria-label="Latest deliveries">
          <div class="row between">
            <h2>Latest deliveries</h2>
            {deliveries.length > 0 && <a href={`/console/deliveries?webhookId=${webhookId}`}>All deliveries</a>}
          </div>
          {deliveries.length > 0 ? (
            <DeliveryTable visit={visit} deliveries={deliveries} transfers={transfers} />
          ) : (
            <Empty title="No deliveries yet">
              <p>The next change of a transfer's status is delivered here.</p>
              {mayMove(visit) && <a href={MOVING_TRANSFER}>Make a sandbox transfer</a>}
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
              'Deliveries per second': max_per_second !== null && `at most ${max_per_second}`,
              Headers: headers.length > 0 && headers.map(({ name }) => name).join(', '),
            }}
          />
        </Card>
      </Live>
    );
  },
});

/** Enabling leads to the recovery of what was missed, with its count. */
const enable = endpointForm('enable', healthPage, async (visit, fields) => {
  const { webhookId } = visit.params;
  const health = (await healthOf(visit)).get(webhookId);
  const endpoint = await changeEndpoint(visit, { enabled: true }, fields.get('etag') ?? undefined);
  const since = missedSince(endpoint, health, visit.config.retention, visit.session.now);
  return seeOther(
    `${endpointPath(webhookId)}/statement?since=${encodeURIComponent(since)}`,
    'The endpoint is enabled. Below is what it missed.',
  );
});

export const endpointPages = [healthPage, enable];

/** `95.8 % of 24`, in red unless all succeeded. */
function SuccessRate({ succeeded, failed }: Pick<EndpointHealth, 'succeeded' | 'failed'>) {
  const attempts = succeeded + failed;
  if (attempts === 0) return <>–</>;
  return (
    <span class="one-line">
      <span class={failed > 0 ? 'bad-text' : undefined}>{rateText(succeeded, attempts)}</span>
      <span class="muted">of {countText(attempts)}</span>
    </span>
  );
}

import type { ComponentChildren } from 'preact';
import type { EndpointHealth } from '../../../endpoints/health.js';
import { Empty, type Listed, Table } from '../../components/lists.js';
import { Card, Facts, Live, PageHead } from '../../components/parts.js';
import { countText, durationText, Id, Time, Untrusted } from '../../components/values.js';
import { isEditor, mayMove, page, seeOther } from '../../page.js';
import { type Delivery, DeliveryTable } from '../deliveries.js';
import { endpointPath, MOVING_TRANSFER, REGISTER } from '../paths.js';
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
  'Success rate': ({ own }) => own && <SuccessRate {...own} />,
  p95: ({ own }) => (own?.answerTime ? durationText(own.answerTime.p95) : '–'),
  Pending: ({ own }) => own && <Pending pending={own.pending} />,
  'Last success': ({ own }) => <LastSuccess health={own} />,
};

/** Endpoints with their last 24 h, on the list and on the overview. */
export function EndpointTable({ endpoints, health }: { endpoints: readonly Endpoint[]; health: HealthByEndpoint }) {
  const names = namesOf(endpoints);
  return (
    <Table
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
  points: 5,
  async view({ visit, endpoint, health, path }) {
    const { webhookId } = visit.params;
    const { data: deliveries } = await visit.operations.read<Listed<Delivery>>('listDeliveries', {
      query: { webhookId, limit: LATEST },
    });
    const { created_at, updated_at, max_concurrency } = endpoint;
    return (
      <Live id="endpoint" class="stack" path={path}>
        <Trouble endpoint={endpoint} health={health} editor={isEditor(visit)} />
        <section class="stack" aria-label="Health">
          <h2>Last 24 hours</h2>
          <Table rows={[{ own: health }]} columns={HEALTH} />
          <details>
            <summary>Attempts of each hour</summary>
            <Table
              rows={health?.hours.toReversed() ?? []}
              columns={{
                Hour: ({ start }) => <Time at={start} />,
                Succeeded: ({ succeeded }) => countText(succeeded),
                Failed: ({ failed }) => countText(failed),
              }}
            />
          </details>
        </section>
        <section class="stack" aria-label="Latest deliveries">
          <div class="row between">
            <h2>Latest deliveries</h2>
            {deliveries.length > 0 && <a href={`/console/deliveries?webhookId=${webhookId}`}>All deliveries</a>}
          </div>
          {deliveries.length > 0 ? (
            <DeliveryTable visit={visit} deliveries={deliveries} />
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
            }}
          />
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

/** The share of successes in per cent, rounded down, so that 100 % means all. */
export function rateText(succeeded: number, attempts: number): string {
  return `${Math.floor((succeeded / attempts) * 1_000) / 10} %`;
}

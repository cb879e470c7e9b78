import { listDeliveries } from '../../../reports/list-deliveries.js';
import { PostButton } from '../../components/forms.js';
import { Table } from '../../components/lists.js';
import { Card, Facts, Live, PageHead } from '../../components/parts.js';
import { RelativeTime, Time } from '../../components/values.js';
import { isEditor, mayMove, page, seeOther } from '../../page.js';
import { DeliveryTable } from '../deliveries.js';
import { endpointPath, REGISTER } from '../paths.js';
import {
  changeEndpoint,
  EndpointName,
  endpointForm,
  endpointPage,
  healthOf,
  OpenLink,
  readEndpoints,
} from './endpoint.js';
import { HealthView, HoursTable, LastSuccess } from './health.js';
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
          <p class="card muted">No endpoint is registered. An endpoint is a URL of yours to which events are sent.</p>
        ) : (
          <Live id="endpoints" class="card table-card" path="/console/endpoints">
            <Table
              rows={endpoints}
              columns={[
                { heading: 'Endpoint', cell: (endpoint) => <EndpointName endpoint={endpoint} /> },
                {
                  heading: 'State',
                  cell: (endpoint) => <EndpointState endpoint={endpoint} health={health.get(endpoint.webhookId)} />,
                },
                {
                  heading: 'Last success',
                  cell: ({ webhookId }) => <LastSuccess health={health.get(webhookId)} />,
                },
                { heading: 'Registered', cell: ({ created_at }) => <RelativeTime at={created_at} /> },
                { heading: 'Its page', hidden: true, cell: (endpoint) => <OpenLink {...endpoint} /> },
              ]}
            />
          </Live>
        )}
        <p class="muted">
          {endpoints.length} of at most {visit.config.maxEndpoints} endpoints.
        </p>
      </>
    );
  },
});

/** Deliveries on the page; the list of deliveries has the others. */
const LATEST = 10;

const healthPage = endpointPage('', {
  points: 5,
  async view({ visit, endpoint, path }) {
    const { session } = visit;
    const { webhookId } = visit.params;
    const [all, deliveries] = await Promise.all([
      healthOf(visit),
      visit.read((db) => listDeliveries(db, session.clientId, { endpointId: webhookId, take: LATEST })),
    ]);
    const health = all.get(webhookId);
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
          <div class="page-head">
            <h2>Latest deliveries</h2>
            {deliveries.length > 0 && <a href={`/console/deliveries?endpoint=${webhookId}`}>All deliveries</a>}
          </div>
          {deliveries.length > 0 ? (
            <DeliveryTable deliveries={deliveries} ofSeveral={false} />
          ) : (
            <div class="card">
              <Untried makesTransfers={mayMove(visit)} />
            </div>
          )}
        </section>
        <Card title="About this endpoint">
          <Facts
            of={{
              State: <EndpointState endpoint={endpoint} health={health} />,
              Id: <code>{webhookId}</code>,
              Registered: <Time at={created_at} />,
              'Last changed': <Time at={updated_at} />,
              'Deliveries at the same time': max_concurrency !== null && `at most ${max_concurrency}`,
              Secret: <span class="muted">kept encrypted, never shown</span>,
            }}
          />
          {editor && enabled && (
            <PostButton
              action={`${path}/disable`}
              note={<span class="muted">Cancels what waits, and sends nothing until it is enabled again.</span>}
            >
              Disable
            </PostButton>
          )}
        </Card>
      </Live>
    );
  },
});

const disable = endpointForm('disable', healthPage, async (visit) => {
  await changeEndpoint(visit, { enabled: false });
  return seeOther(endpointPath(visit.params.webhookId), 'The endpoint is disabled. Nothing is sent to it.');
});

/** Enabling leads to the recover of what was missed, with its count. */
const enable = endpointForm('enable', healthPage, async (visit) => {
  const { webhookId } = visit.params;
  const health = (await healthOf(visit)).get(webhookId);
  const endpoint = await changeEndpoint(visit, { enabled: true });
  const since = missedSince(endpoint, health, visit.config.retention);
  return seeOther(
    `${endpointPath(webhookId)}/recover?since=${encodeURIComponent(since)}`,
    'The endpoint is enabled. Below is what it missed.',
  );
});

export const endpointPages = [healthPage, disable, enable];

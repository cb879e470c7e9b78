import type { ComponentChildren } from 'preact';
import { type ClientDelivery, listDeliveriesForClient } from '../../../webhooks/list-for-client.js';
import { Live } from '../../components/live.js';
import { Time } from '../../components/time.js';
import { page } from '../../page.js';
import { DeliveryTable } from '../deliveries/list.js';
import { mayMove } from '../transfers/may-move.js';
import { type Endpoint, isEditor, isFailing, pathOf, READ, readEndpoint } from './endpoint.js';
import { EndpointHead } from './head.js';
import { healthOf } from './health.js';
import { HealthView, HoursTable } from './health-view.js';
import { EndpointState } from './name.js';
import { Trouble } from './trouble.js';
import { Untried } from './untried.js';

/** Deliveries on the page; the list of deliveries has the others. */
const LATEST = 10;

export const endpointPage = page({
  path: '/console/endpoints/{webhookId}',
  scope: READ,
  points: 5,
  title: 'Endpoint',
  async view(visit) {
    const { session } = visit;
    const { webhookId } = visit.params;
    const [endpoint, all, deliveries] = await Promise.all([
      readEndpoint(visit),
      healthOf(visit),
      visit.read((db) => listDeliveriesForClient(db, session.clientId, { endpointId: webhookId, take: LATEST })),
    ]);
    const [editor, now, health] = [isEditor(visit), new Date(), all.get(webhookId)];
    return (
      <>
        <EndpointHead endpoint={endpoint} here="" visit={visit} />
        <Live id="endpoint" class="stack" path={pathOf(webhookId)}>
          <Trouble endpoint={endpoint} health={health} editor={editor} now={now} />
          <section class="card stack" aria-label="Health">
            <HealthView health={health} now={now} />
            {health && <HoursTable health={health} />}
          </section>
          <LatestDeliveries deliveries={deliveries} webhookId={webhookId}>
            <Untried makesTransfers={mayMove(visit)} />
          </LatestDeliveries>
          <Facts endpoint={endpoint} failing={isFailing(endpoint, health)} editor={editor} now={now} />
        </Live>
      </>
    );
  },
});

function Facts({
  endpoint,
  failing,
  editor,
  now,
}: {
  endpoint: Endpoint;
  failing: boolean;
  editor: boolean;
  now: Date;
}) {
  return (
    <section class="card stack" aria-label="About this endpoint">
      <h2>About this endpoint</h2>
      <dl class="facts">
        <dt>State</dt>
        <dd>
          <EndpointState endpoint={endpoint} failing={failing} />
        </dd>
        <dt>Id</dt>
        <dd>
          <code>{endpoint.webhookId}</code>
        </dd>
        <dt>Registered</dt>
        <dd>
          <Time at={endpoint.created_at} now={now} />
        </dd>
        <dt>Last changed</dt>
        <dd>
          <Time at={endpoint.updated_at} now={now} />
        </dd>
        {endpoint.max_concurrency !== null && (
          <>
            <dt>Deliveries at the same time</dt>
            <dd>at most {endpoint.max_concurrency}</dd>
          </>
        )}
        <dt>Secret</dt>
        <dd class="muted">kept encrypted, never shown</dd>
      </dl>
      {editor && endpoint.enabled && <DisableForm endpoint={endpoint} />}
    </section>
  );
}

function DisableForm({ endpoint }: { endpoint: Endpoint }) {
  return (
    <form class="inline" method="post" action={`${pathOf(endpoint.webhookId)}/disable`}>
      <button type="submit">Disable</button>
      <span class="muted">Cancels what waits, and sends nothing until it is enabled again.</span>
    </form>
  );
}

interface LatestProps {
  deliveries: readonly ClientDelivery[];
  webhookId: string;
  /** Stands where there are no deliveries. */
  children: ComponentChildren;
}

function LatestDeliveries({ deliveries, webhookId, children }: LatestProps) {
  return (
    <section class="stack" aria-label="Latest deliveries">
      <div class="page-head">
        <h2>Latest deliveries</h2>
        {deliveries.length > 0 && <a href={`/console/deliveries?endpoint=${webhookId}`}>All deliveries</a>}
      </div>
      {deliveries.length > 0 ? (
        <DeliveryTable deliveries={deliveries} ofSeveral={false} />
      ) : (
        <div class="card">{children}</div>
      )}
    </section>
  );
}

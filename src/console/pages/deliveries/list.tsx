import { DeliveryStatus } from '../../../database/generated/enums.js';
import { idCursor } from '../../../http/cursor.js';
import { isId } from '../../../id-form.js';
import { eventTitle } from '../../../webhooks/event-catalogue.js';
import { type ClientDelivery, listDeliveriesForClient } from '../../../webhooks/list-for-client.js';
import { Empty } from '../../components/empty.js';
import { type Choice, Field, Select } from '../../components/field.js';
import { Filters, readChoice, TimeFilters, timeRange } from '../../components/filters.js';
import { Live } from '../../components/live.js';
import { Pager } from '../../components/pager.js';
import { Status } from '../../components/status.js';
import { RelativeTime, Time } from '../../components/time.js';
import { Untrusted } from '../../components/untrusted.js';
import { page, type Visit } from '../../page.js';
import { Answer } from '../events/answer.js';
import { eventPath, findById } from '../events/find.js';
import { readCursor } from '../read-cursor.js';

const PATH = '/console/deliveries';
const cursors = idCursor("a client's deliveries");
const DELIVERIES_A_PAGE = 25;
/** As many endpoints as one page of the API's list has. */
const MAX_ENDPOINTS = '100';

interface Endpoint {
  webhookId: string;
  url: string;
  description: string | null;
}

/** `/console/deliveries`: the deliveries to all endpoints, newest first. */
export const deliveryList = page({
  path: PATH,
  scope: 'webhooks:read',
  points: 5,
  title: 'Deliveries',
  navigation: 'Deliveries',
  async view(visit) {
    const found = await findById(visit);
    if ('location' in found) return found;
    const { query, session } = visit;
    const { data: endpoints } = await visit.operations.read<{ data: Endpoint[] }>('listWebhookEndpoints', {
      query: { limit: MAX_ENDPOINTS },
    });
    const endpointId = query.get('endpoint')?.toLowerCase() ?? '';
    const filters = {
      status: readChoice(query, 'status', Object.values(DeliveryStatus)),
      ...(isId(endpointId) && { endpointId }),
      transferId: found.transferId,
      ...timeRange(query),
      before: readCursor(query, cursors),
      take: DELIVERIES_A_PAGE + 1,
    };
    const rows = await visit.read((db) => listDeliveriesForClient(db, session.clientId, filters));
    const deliveries = rows.slice(0, DELIVERIES_A_PAGE);
    const last = deliveries.at(-1);
    const nextCursor = rows.length > deliveries.length && last ? cursors.write(last.id) : null;
    return <DeliveryList {...{ visit, endpoints, deliveries, nextCursor }} />;
  },
});

interface Props {
  visit: Visit;
  endpoints: readonly Endpoint[];
  deliveries: readonly ClientDelivery[];
  nextCursor: string | null;
}

function DeliveryList({ visit, endpoints, deliveries, nextCursor }: Props) {
  const { query } = visit;
  return (
    <>
      <h1>Deliveries</h1>
      <Filters path={PATH} query={query}>
        <Select
          label="Status"
          name="status"
          value={query.get('status') ?? ''}
          choices={[ANY, ...Object.values(DeliveryStatus).map((status) => ({ value: status, text: status }))]}
        />
        <Select
          label="Endpoint"
          name="endpoint"
          value={query.get('endpoint') ?? ''}
          choices={[ANY, ...endpoints.map(choiceOf)]}
        />
        <Field label="Event, delivery or transfer id" name="id" class="mono" value={query.get('id') ?? ''} />
        <TimeFilters query={query} />
      </Filters>
      <Live id="deliveries" path={PATH} query={query}>
        {deliveries.length === 0 ? (
          <NoDeliveries visit={visit} hasEndpoint={endpoints.length > 0} />
        ) : (
          <DeliveryTable deliveries={deliveries} />
        )}
        <Pager path={PATH} query={query} nextCursor={nextCursor} />
      </Live>
    </>
  );
}

const ANY: Choice = { value: '', text: 'Any' };

const choiceOf = ({ webhookId, url, description }: Endpoint): Choice => ({
  value: webhookId,
  text: description || url,
});

interface TableProps {
  deliveries: readonly ClientDelivery[];
  /** Whether they are of several endpoints. */
  ofSeveral?: boolean;
}

export function DeliveryTable({ deliveries, ofSeveral = true }: TableProps) {
  const now = new Date();
  return (
    <div class="card table-card scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">Status</th>
            {ofSeveral && <th scope="col">Endpoint</th>}
            <th scope="col">Attempts</th>
            <th scope="col">Last answer</th>
            <th scope="col">Created</th>
          </tr>
        </thead>
        <tbody>
          {deliveries.map((delivery) => (
            <tr key={delivery.id} id={`delivery-${delivery.id}`} data-announce={`${delivery.status} delivery`}>
              <td data-label="Event">
                <a href={eventPath(delivery.eventId, delivery.id)}>
                  {eventTitle(delivery.event.type, delivery.event.body)}
                </a>
              </td>
              <td data-label="Status">
                <div>
                  <Status status={delivery.status} />
                  {delivery.nextAttemptAt && <NextAttempt at={delivery.nextAttemptAt} now={now} />}
                </div>
              </td>
              {ofSeveral && (
                <td data-label="Endpoint" class="url">
                  <Untrusted text={delivery.endpoint.description || delivery.endpoint.url} />
                </td>
              )}
              <td data-label="Attempts" class="numeric">
                {delivery.attemptCount}
              </td>
              <td data-label="Last answer">
                {delivery.lastAttempt ? <Answer outcome={delivery.lastAttempt} /> : <span class="muted">none</span>}
              </td>
              <td data-label="Created">
                <Time at={delivery.createdAt.toISOString()} now={now} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function NextAttempt({ at, now }: { at: Date; now: Date }) {
  return (
    <div class="relative">
      {at > now ? 'next ' : 'due '}
      <RelativeTime at={at.toISOString()} now={now} />
    </div>
  );
}

function NoDeliveries({ visit: { query, config }, hasEndpoint }: { visit: Visit; hasEndpoint: boolean }) {
  if ([...query].some(([, value]) => value !== '')) {
    return (
      <Empty title="No delivery matches">
        <p>
          Deliveries of a deleted endpoint are listed by their transfer only. <a href={PATH}>Show all deliveries</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No delivery yet">
      <p>
        {hasEndpoint
          ? 'A delivery is made when the status of a transfer changes while an endpoint is enabled.'
          : 'First register an endpoint: the address of your receiver.'}
      </p>
      <p class="actions">
        {!hasEndpoint && <a href="/console/endpoints">Endpoints</a>}
        {config.environment === 'sandbox' && <a href="/console/transfers">Make a transfer and move it</a>}
      </p>
    </Empty>
  );
}

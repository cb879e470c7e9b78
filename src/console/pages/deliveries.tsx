import { eventTitle } from '../../delivery/event-catalogue.js';
import { idCursor } from '../../http/paging.js';
import { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { isId } from '../../platform/ids.js';
import { listDeliveries } from '../../reports/list-deliveries.js';
import type { DeliveryRecord } from '../../reports/read-deliveries.js';
import { findEventOf } from '../../reports/read-events.js';
import { Field, Select } from '../components/forms.js';
import { ANY, invalidFilter, List, pageOf, readChoice, readCursor, Table, timeRange } from '../components/lists.js';
import { Answer, RelativeTime, Status, Time, Untrusted } from '../components/values.js';
import { page, type Visit } from '../page.js';
import { readEndpoints } from './endpoints/endpoint.js';
import { eventPath } from './paths.js';

const PATH = '/console/deliveries';
const STATUSES = Object.values(DeliveryStatus);
const DELIVERIES_A_PAGE = 25;
const cursors = idCursor("a client's deliveries");

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
    const { query, session, config } = visit;
    const endpoints = await readEndpoints(visit);
    const hasEndpoint = endpoints.length > 0;
    const endpointId = query.get('endpoint')?.toLowerCase() ?? '';
    const filters = {
      status: readChoice(query, 'status', STATUSES),
      ...(isId(endpointId) && { endpointId }),
      transferId: found.transferId,
      ...timeRange(query),
      before: readCursor(query, cursors),
      take: DELIVERIES_A_PAGE + 1,
    };
    const rows = await visit.read((db) => listDeliveries(db, session.clientId, filters));
    const { shown, nextCursor } = pageOf(rows, DELIVERIES_A_PAGE, cursors);
    const choices = endpoints.map(({ webhookId, url, description }) => ({
      value: webhookId,
      text: description || url,
    }));
    return (
      <>
        <h1>Deliveries</h1>
        <List
          {...{ path: PATH, query, many: 'deliveries', one: 'delivery', nextCursor }}
          filters={
            <>
              <Select label="Status" name="status" value={query.get('status')} choices={[ANY, ...STATUSES]} />
              <Select label="Endpoint" name="endpoint" value={query.get('endpoint')} choices={[ANY, ...choices]} />
              <IdFilter query={query} />
            </>
          }
          table={shown.length > 0 && <DeliveryTable deliveries={shown} />}
          noMatch="Deliveries of a deleted endpoint are listed by their transfer only."
        >
          <p>
            {hasEndpoint
              ? 'A delivery is made when the status of a transfer changes while an endpoint is enabled.'
              : 'First register an endpoint: the address of your receiver.'}
          </p>
          <p class="actions">
            {!hasEndpoint && <a href="/console/endpoints">Endpoints</a>}
            {config.environment === 'sandbox' && <a href="/console/transfers">Make a transfer and move it</a>}
          </p>
        </List>
      </>
    );
  },
});

interface TableProps {
  deliveries: readonly DeliveryRecord[];
  /** Whether they are of several endpoints. */
  ofSeveral?: boolean;
}

export function DeliveryTable({ deliveries, ofSeveral = true }: TableProps) {
  const endpoint = {
    heading: 'Endpoint',
    class: 'wide',
    cell: ({ endpoint }: DeliveryRecord) => <Untrusted text={endpoint.description || endpoint.url} />,
  } as const;
  return (
    <Table
      card
      rows={deliveries}
      row={({ id, status }) => ({ id: `delivery-${id}`, 'data-announce': `${status} delivery` })}
      columns={[
        {
          heading: 'Event',
          cell: ({ id, eventId, event }) => <a href={eventPath(eventId, id)}>{eventTitle(event.type, event.body)}</a>,
        },
        { heading: 'Status', cell: (delivery) => <StatusAndNext delivery={delivery} /> },
        ...(ofSeveral ? [endpoint] : []),
        { heading: 'Attempts', class: 'numeric', cell: ({ attemptCount }) => attemptCount },
        {
          heading: 'Last answer',
          cell: ({ lastAttempt }) => (lastAttempt ? <Answer {...lastAttempt} /> : <span class="muted">none</span>),
        },
        { heading: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
  );
}

function StatusAndNext({ delivery: { status, nextAttemptAt } }: { delivery: DeliveryRecord }) {
  return (
    <div>
      <Status status={status} />
      {nextAttemptAt && (
        <div class="relative">
          {nextAttemptAt > new Date() ? 'next ' : 'due '}
          <RelativeTime at={nextAttemptAt} />
        </div>
      )}
    </div>
  );
}

/** The filter that `findById` reads. */
export function IdFilter({ query }: { query: URLSearchParams }) {
  return <Field label="Event, delivery or transfer id" name="id" class="mono" value={query.get('id')} />;
}

/** What an id in the filter `id` leads to: a page of its own, or the events of a transfer. */
type Found = { location: `/console${string}` } | { transferId: string | undefined };

/**
 * Reads the filter `id`: the id of an event or of a delivery leads to the event's page; any other id is a transfer's.
 * @throws Refusal invalid_request
 */
export async function findById({ query, read, session }: Pick<Visit, 'query' | 'read' | 'session'>): Promise<Found> {
  const id = (query.get('id') ?? '').trim().toLowerCase();
  if (id === '') return { transferId: undefined };
  if (!isId(id)) throw invalidFilter('id', 'invalid_id', 'must be the whole id of an event, delivery or transfer');
  const found = await read((db) => findEventOf(db, session.clientId, id));
  return found ? { location: eventPath(found.eventId, found.deliveryId) } : { transferId: id };
}

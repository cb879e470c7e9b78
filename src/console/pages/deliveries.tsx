import { eventSubject } from '../../delivery/event-catalogue.js';
import { idCursor } from '../../http/paging.js';
import { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { isId, timeOf } from '../../platform/ids.js';
import { type DeliveryRecord, listDeliveries } from '../../reports/read-deliveries.js';
import { findEventOf } from '../../reports/read-events.js';
import { ANY, invalidFilter, List, pageOf, readChoice, readCursor, Table, timeRange } from '../components/lists.js';
import { Field, Select } from '../components/parts.js';
import { Id, NextAttempt, Response, Status, Time, Untrusted } from '../components/values.js';
import { page, type SeeOther, seeOther, type Visit } from '../page.js';
import { namesOf, readEndpoints } from './endpoints/endpoint.js';
import { eventPath, MOVING_TRANSFER, REGISTER, transferHref } from './paths.js';

const PATH = '/console/deliveries';
const STATUSES = Object.values(DeliveryStatus);
const DELIVERIES_A_PAGE = 25;
const cursors = idCursor("a client's deliveries");

/** `/console/deliveries`: the deliveries to all endpoints, newest events first. */
export const deliveryList = page({
  path: PATH,
  scope: 'webhooks:read',
  points: 5,
  title: 'Deliveries',
  navigation: 'Deliveries',
  asksItself: true,
  async view(visit) {
    const query = filtersOf(visit);
    const found = await findById(visit, query);
    if ('location' in found) return found;
    const { session, config } = visit;
    const endpoints = await readEndpoints(visit);
    const names = namesOf(endpoints);
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
    const choices = endpoints.map(({ webhookId }) => ({ value: webhookId, text: names.get(webhookId) ?? '' }));
    return (
      <>
        <h1>Deliveries</h1>
        <List
          {...{ path: PATH, query, many: 'deliveries', nextCursor }}
          filters={
            <>
              <Select label="Endpoint" name="endpoint" value={query.get('endpoint')} choices={[ANY, ...choices]} />
              <Select label="Status" name="status" value={query.get('status')} choices={[ANY, ...STATUSES]} />
              <IdFilter query={query} />
            </>
          }
          table={shown.length > 0 && <DeliveryTable visit={visit} deliveries={shown} names={names} />}
        >
          {endpoints.length > 0 ? (
            <p>Each change of a transfer's status creates one delivery for every enabled endpoint.</p>
          ) : (
            <p>
              Deliveries go to your endpoints. First <a href={REGISTER.href}>register an endpoint</a>: the URL of your
              receiver.
            </p>
          )}
          {config.environment === 'sandbox' && <a href={MOVING_TRANSFER}>Make a sandbox transfer</a>}
        </List>
      </>
    );
  },
});

interface TableProps {
  visit: Visit;
  deliveries: readonly DeliveryRecord[];
  /** The names of their endpoints; undefined: they are all of one. */
  names?: ReadonlyMap<string, string>;
}

export function DeliveryTable({ visit, deliveries, names }: TableProps) {
  return (
    <Table<DeliveryRecord>
      rows={deliveries}
      row={({ id, status }) => ({ id: `delivery-${id}`, 'data-announce': `${status} delivery` })}
      href={({ id, eventId }) => eventPath(eventId, id)}
      classes={{ Transfer: 'wide-only' }}
      columns={{
        Event: ({ event }) => eventSubject(event.type, event.body),
        ...(names && {
          Endpoint: ({ endpointId, endpoint }) => (
            <Untrusted text={names.get(endpointId) ?? (endpoint.description || endpoint.url)} />
          ),
        }),
        Status: ({ status, nextAttemptAt }) => (
          <span class="one-line">
            <Status status={status} />
            {nextAttemptAt && <NextAttempt at={nextAttemptAt} />}
          </span>
        ),
        'Last response': ({ lastAttempt }) =>
          lastAttempt && (
            <span class="one-line">
              <Response {...lastAttempt} /> <span class="muted">attempt {lastAttempt.number}</span>
            </span>
          ),
        Transfer: ({ event }) => <Id id={event.transferId} href={transferHref(visit, event.transferId)} />,
        // The list has the order of its events: a recovery may have made the delivery long after.
        'Event created': ({ id }) => <Time at={new Date(timeOf(id))} />,
      }}
    />
  );
}

/** The filters of a list; none where they were rejected, so that the page shows the whole list below their errors. */
export const filtersOf = ({ query, refused }: Visit): URLSearchParams => (refused ? new URLSearchParams() : query);

/** The filter that `findById` reads. */
export function IdFilter({ query }: { query: URLSearchParams }) {
  return <Field label="Id" name="id" placeholder="Event, delivery, transfer" value={query.get('id')} />;
}

/**
 * Reads the filter `id`: the id of an event or of a delivery leads to the event's page; any other id is a transfer's.
 * @throws Refusal invalid_request
 */
export async function findById(
  { read, session }: Visit,
  query: URLSearchParams,
): Promise<SeeOther | { transferId: string | undefined }> {
  const id = (query.get('id') ?? '').trim().toLowerCase();
  if (id === '') return { transferId: undefined };
  if (!isId(id))
    throw invalidFilter(
      'id',
      'invalid_id',
      'must be a whole id of 36 characters. The button beside an id copies all of it',
    );
  const found = await read((db) => findEventOf(db, session.clientId, id));
  return found ? seeOther(eventPath(found.eventId, found.deliveryId)) : { transferId: id };
}

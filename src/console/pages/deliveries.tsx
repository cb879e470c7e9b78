import type { z } from 'zod';
import type { deliveryView } from '../../http/schemas/delivery.js';
import { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { isId, timeOf } from '../../platform/ids.js';
import { findEventOf } from '../../reports/read-events.js';
import { ANY, invalidFilter, List, type Listed, listQuery, Table } from '../components/lists.js';
import { Field, Select } from '../components/parts.js';
import { Id, NextAttempt, Response, Status, Time, Untrusted } from '../components/values.js';
import { page, type SeeOther, seeOther, type Visit } from '../page.js';
import { namesOf, readEndpoints } from './endpoints/endpoint.js';
import { eventPath, MOVING_TRANSFER, REGISTER, transferHref } from './paths.js';

const PATH = '/console/deliveries';
export type Delivery = z.output<typeof deliveryView>;

const STATUSES = Object.values(DeliveryStatus);

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
    const endpoints = await readEndpoints(visit);
    const names = namesOf(endpoints);
    const { data, next_cursor: nextCursor } = await visit.operations.read<Listed<Delivery>>('listDeliveries', {
      query: { ...listQuery(query), transfer_id: found.transferId },
    });
    const choices = endpoints.map(({ webhookId }) => ({ value: webhookId, text: names.get(webhookId) ?? '' }));
    return (
      <>
        <h1>Deliveries</h1>
        <List
          {...{ path: PATH, query, many: 'deliveries', nextCursor }}
          filters={
            <>
              <Select label="Endpoint" name="webhookId" value={query.get('webhookId')} choices={[ANY, ...choices]} />
              <Select label="Status" name="status" value={query.get('status')} choices={[ANY, ...STATUSES]} />
              <IdFilter query={query} />
            </>
          }
          table={data.length > 0 && <DeliveryTable visit={visit} deliveries={data} names={names} />}
        >
          {endpoints.length > 0 ? (
            <p>Each change of a transfer's status creates one delivery for every enabled endpoint.</p>
          ) : (
            <p>
              Deliveries go to your endpoints. First <a href={REGISTER.href}>register an endpoint</a>: the URL of your
              receiver.
            </p>
          )}
          {visit.config.environment === 'sandbox' && <a href={MOVING_TRANSFER}>Make a sandbox transfer</a>}
        </List>
      </>
    );
  },
});

interface TableProps {
  visit: Visit;
  deliveries: readonly Delivery[];
  /** The names of their endpoints; undefined: they are all of one. */
  names?: ReadonlyMap<string, string>;
}

export function DeliveryTable({ visit, deliveries, names }: TableProps) {
  return (
    <Table<Delivery>
      rows={deliveries}
      row={({ id, status }) => ({ id: `delivery-${id}`, 'data-announce': `${status} delivery` })}
      href={({ id, event_id }) => eventPath(event_id, id)}
      classes={{ Transfer: 'wide-only' }}
      columns={{
        Event: ({ transfer_status }) => transfer_status,
        ...(names && {
          Endpoint: ({ webhookId, url }) => <Untrusted text={names.get(webhookId) ?? url} />,
        }),
        Status: ({ status, next_attempt_at }) => (
          <span class="one-line">
            <Status status={status} />
            {next_attempt_at && <NextAttempt at={new Date(next_attempt_at)} />}
          </span>
        ),
        'Last response': ({ last_attempt }) =>
          last_attempt && (
            <span class="one-line">
              <Response error={last_attempt.error} responseStatus={last_attempt.response_status} />{' '}
              <span class="muted">attempt {last_attempt.number}</span>
            </span>
          ),
        Transfer: ({ transfer_id }) => <Id id={transfer_id} href={transferHref(visit, transfer_id)} />,
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

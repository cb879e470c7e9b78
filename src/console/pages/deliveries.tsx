import type { z } from 'zod';
import type { deliveryView } from '../../http/schemas/delivery.js';
import { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { timeOf } from '../../platform/ids.js';
import { ANY, List, type Listed, listQuery, Table } from '../components/lists.js';
import { Select } from '../components/parts.js';
import { Id, NextAttempt, Response, Status, Time, Untrusted } from '../components/values.js';
import { page, type Visit } from '../page.js';
import { namesOf, readEndpoints } from './endpoints/endpoint.js';
import { eventPath, transferHref } from './paths.js';

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
  async view(visit) {
    const { query } = visit;
    const endpoints = await readEndpoints(visit);
    const names = namesOf(endpoints);
    const { data, next_cursor: nextCursor } = await visit.operations.read<Listed<Delivery>>('listDeliveries', {
      query: listQuery(query),
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
            </>
          }
          table={data.length > 0 && <DeliveryTable visit={visit} deliveries={data} names={names} />}
        >
          <p>Each change of a transfer's status creates one delivery for every enabled endpoint.</p>
          <a href="/console/endpoints">Endpoints</a>
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

import type { z } from 'zod';
import { eventSubject } from '../../delivery/event-catalogue.js';
import { idCursor } from '../../http/paging.js';
import { type eventView, presentEvent } from '../../http/schemas/delivery.js';
import { DeliveryStatus } from '../../platform/database/generated/enums.js';
import { isId } from '../../platform/ids.js';
import { listEventIdsByDelivery } from '../../reports/read-deliveries.js';
import { findEventOf, readEventRecords, readEventTimeline } from '../../reports/read-events.js';
import { ANY, List, type Listed, listQuery, Pager, Table } from '../components/lists.js';
import { Facts, Field, Live, Select, Up } from '../components/parts.js';
import { CopyButton, Id, JsonText, Time } from '../components/values.js';
import { form, page, seeOther, type Visit } from '../page.js';
import { deliveryFilters, EndpointFilter, ResponseFilter } from './deliveries.js';
import { DeliveryCard } from './delivery.js';
import { namesOf, readEndpoints } from './endpoints/endpoint.js';
import { eventPath, transferHref } from './paths.js';
import { TransferLabel, type TransferSummaries, transfersOf } from './transfer-label.js';

export type Event = z.output<typeof eventView>;

const PATH = '/console/events';

const OUTCOMES = Object.values(DeliveryStatus);

/** `/console/events`: every event, newest first. The id of an event or a delivery leads to the event's page. */
export const eventList = page({
  path: PATH,
  scope: 'webhooks:read',
  points: 6,
  title: 'Events',
  hasRows: true,
  navigation: 'Events',
  async view(visit) {
    const { query } = visit;
    const id = query.get('transfer_id')?.trim().toLowerCase() || undefined;
    if (id && !isId(id)) return seeOther(`/console/search?${new URLSearchParams({ q: id })}`);
    const found = id && (await visit.read((db) => findEventOf(db, visit.session.clientId, id)));
    if (found) return seeOther(eventPath(found.eventId, found.deliveryId));
    const byDelivery = Boolean(query.get('webhookId') || query.get('response'));
    const { data, next_cursor: nextCursor } = await (byDelivery
      ? readByDelivery(visit)
      : visit.operations.read<Listed<Event>>('listEvents', { query: plainQuery(visit, id) }));
    const names = namesOf(await readEndpoints(visit));
    const transfers = await transfersOf(
      visit,
      data.map((event) => event.data.id),
    );
    return (
      <>
        <h1>Events</h1>
        <List
          {...{ path: PATH, query, many: 'events', nextCursor }}
          filters={
            <>
              <EndpointFilter {...{ query, names }} />
              <Select
                label="Has a delivery that is"
                name="outcome"
                value={query.get('outcome')}
                choices={[ANY, ...OUTCOMES]}
              />
              <ResponseFilter query={query} />
              <Field
                label="Id"
                name="transfer_id"
                placeholder="Event, delivery, transfer"
                value={query.get('transfer_id')}
              />
            </>
          }
          table={data.length > 0 && <EventTable of={{ visit, transfers }} events={data} />}
        >
          <p>Every change of a transfer's status creates one event, which is delivered to each enabled endpoint.</p>
          <a href="/console/transfers">Transfers</a>
        </List>
      </>
    );
  },
});

/** Without the filters of the console alone, which are empty. */
function plainQuery(visit: Visit, id: string | undefined) {
  return { ...listQuery(visit), webhookId: undefined, response: undefined, transfer_id: id };
}

/** Endpoint and response are filters of the console alone: the events that have such a delivery. */
async function readByDelivery(visit: Visit): Promise<Listed<Event>> {
  const { session, read } = visit;
  const filters = deliveryFilters(visit, 'outcome');
  return read(async (db) => {
    const { eventIds, nextId } = await listEventIdsByDelivery(db, session.clientId, filters);
    const records = await readEventRecords(db, session.clientId, eventIds);
    return { data: records.map(presentEvent), next_cursor: nextId === null ? null : deliveryCursors.write(nextId) };
  });
}

interface EventTableProps {
  /** Names their transfers; undefined: they are all of one. */
  of?: { visit: Visit; transfers: TransferSummaries };
  events: readonly Event[];
}

/** Events as a table, on this page and on that of their transfer. */
export function EventTable({ of, events }: EventTableProps) {
  return (
    <Table<Event>
      id="rows"
      rows={events}
      row={({ id }) => ({ id: `event-${id}` })}
      href={({ id }) => eventPath(id)}
      classes={{ Id: 'wide-only' }}
      columns={{
        Event: (event) => eventSubject(event.type, JSON.stringify(event)),
        Deliveries: ({ deliveries }) => <Delivered counts={deliveries} />,
        Id: ({ id }) => <Id id={id} />,
        ...(of && { Transfer: ({ data }) => <TransferLabel visit={of.visit} id={data.id} of={of.transfers} /> }),
        Created: ({ created_at }) => <Time at={created_at} />,
      }}
    />
  );
}

/** `2 of 6 delivered`, and what became of the others. */
function Delivered({ counts }: { counts: Event['deliveries'] }) {
  const { pending, succeeded, failed, cancelled } = counts;
  const all = pending + succeeded + failed + cancelled;
  if (all === 0) return <span class="muted">No endpoint was enabled</span>;
  const others = { failed, cancelled, pending };
  const tone = succeeded === all ? 'good-text' : failed + cancelled > 0 ? 'bad-text' : 'warn-text';
  return (
    <span class="one-line">
      <span class={tone}>
        {succeeded} of {all} delivered
      </span>
      {Object.entries(others).map(([name, count]) => count > 0 && <span class="muted"> · {`${count} ${name}`}</span>)}
    </span>
  );
}

/** An event has a delivery for each endpoint: seldom more than a few. */
const DELIVERIES_A_PAGE = 25;
const cursors = idCursor("an event's deliveries");
const deliveryCursors = idCursor('deliveries');

/** `/console/events/{id}`: what happened to this event, and what happens next. */
export const eventPage = page({
  path: '/console/events/{id}',
  scope: 'webhooks:read',
  points: 10,
  title: 'Event',
  async view(visit) {
    const { query, session, params } = visit;
    const range = { after: cursors.read(query.get('cursor') ?? ''), take: DELIVERIES_A_PAGE + 1 };
    const read = (from: typeof range & { from?: string }) =>
      visit.read((db) => readEventTimeline(db, session.clientId, params.id, from));
    const wanted = query.get('delivery') ?? '';
    const first = await read(range);
    const isElsewhere = isId(wanted) && !query.has('cursor') && !first.deliveries.some(({ id }) => id === wanted);
    const there = isElsewhere ? await read({ ...range, from: wanted }) : first;
    const { event, deliveries } = there.deliveries[0]?.id === wanted ? there : first;
    const shown = deliveries.slice(0, DELIVERIES_A_PAGE);
    const last = deliveries.length > DELIVERIES_A_PAGE ? shown.at(-1) : undefined;
    const nextCursor = last ? cursors.after(last) : null;
    // What failed needs a person, and what is delivered needs nobody.
    const inTurn = ['failed', 'pending', 'cancelled', 'succeeded'].flatMap((status) =>
      shown.filter((delivery) => delivery.status === status),
    );
    const count = (status: DeliveryStatus) => shown.filter((delivery) => delivery.status === status).length;
    const names = namesOf(shown.map(({ endpoint }) => ({ ...endpoint, webhookId: endpoint.id })));
    return (
      <>
        <Up to={PATH}>Events</Up>
        <h1>Event {eventSubject(event.type, event.body)}</h1>
        <Facts
          of={{
            Type: <code>{event.type}</code>,
            Event: <Id id={event.id} whole />,
            Transfer: <Id id={event.transferId} href={transferHref(visit, event.transferId)} whole />,
            Created: <Time at={event.createdAt} ago />,
          }}
        />
        <Live id="deliveries" path={eventPath(event.id)} query={query} class="stack">
          <p>
            <strong>
              <Delivered
                counts={{
                  succeeded: count('succeeded'),
                  failed: count('failed'),
                  cancelled: count('cancelled'),
                  pending: count('pending'),
                }}
              />
            </strong>
            {(nextCursor !== null || query.has('cursor') || there !== first) && ' on this page'}
          </p>
          {there !== first && <a href={eventPath(event.id)}>All deliveries of the event</a>}
          {shown.length === 0 && (
            <p>
              To send it, enable or register an <a href="/console/endpoints">endpoint</a>, then recover what it missed.
            </p>
          )}
          {inTurn.map((delivery) => (
            <DeliveryCard
              key={delivery.id}
              visit={visit}
              delivery={delivery}
              name={names.get(delivery.endpointId)}
              open={delivery.status !== 'succeeded' || shown.length === 1 || delivery.id === wanted}
            />
          ))}
          <Pager path={eventPath(event.id)} query={query} nextCursor={nextCursor} />
        </Live>
        <section class="card stack" aria-labelledby="body-name">
          <div class="row between">
            <h2 id="body-name">Body</h2>
            <CopyButton copies={event.body} label="Copy the exact bytes" />
          </div>
          <JsonText label="Body of the event" text={event.body} />
        </section>
      </>
    );
  },
});

/**
 * `/console/events/{id}/retry`: retries one of its deliveries now. The page shows the result, or the error (409, 429).
 */
export const retryForm = form({
  path: '/console/events/{id}/retry',
  scope: 'webhooks:write',
  page: eventPage,
  async submit(visit, fields) {
    const delivery = fields.get('delivery') ?? '';
    await visit.operations.change('retryDelivery', { params: { id: delivery } });
    // It opens the delivery, and does not scroll to it: the notice is at the top.
    const opened = new URLSearchParams({ delivery });
    return seeOther(`${eventPath(visit.params.id)}?${opened}`, 'Retry requested. Its result appears below.');
  },
});

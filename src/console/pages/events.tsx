import type { z } from 'zod';
import { EVENT_TYPES, eventTitle } from '../../delivery/event-catalogue.js';
import { idCursor } from '../../http/paging.js';
import type { eventView } from '../../http/schemas/delivery.js';
import { readEventStory } from '../../reports/read-events.js';
import { Select } from '../components/forms.js';
import {
  ANY,
  Empty,
  List,
  type Listed,
  listQuery,
  Pager,
  pageOf,
  readChoice,
  readCursor,
  Table,
} from '../components/lists.js';
import { Live } from '../components/parts.js';
import { CopyButton, ShortId, Status, Time, UntrustedLines } from '../components/values.js';
import { page, type Visit } from '../page.js';
import { findById, IdFilter } from './deliveries.js';
import { DeliveryCard, EventHead } from './delivery.js';
import { eventPath, transferHref } from './paths.js';

export type Event = z.output<typeof eventView>;

const PATH = '/console/events';

/** `/console/events`: every event, newest first. */
export const eventList = page({
  path: PATH,
  scope: 'webhooks:read',
  points: 3,
  title: 'Events',
  navigation: 'Events',
  async view(visit) {
    const found = await findById(visit);
    if ('location' in found) return found;
    const { query } = visit;
    const filters = { type: readChoice(query, 'type', EVENT_TYPES), transfer_id: found.transferId };
    const events = await visit.operations.read<Listed<Event>>('listEvents', { query: listQuery(query, filters) });
    return (
      <>
        <h1>Events</h1>
        <List
          {...{ path: PATH, query, many: 'events', one: 'event', nextCursor: events.next_cursor }}
          filters={
            <>
              <Select label="Type" name="type" value={query.get('type')} choices={[ANY, ...EVENT_TYPES]} />
              <IdFilter query={query} />
            </>
          }
          table={events.data.length > 0 && <EventTable visit={visit} events={events.data} />}
          noMatch="Events are kept for a while and then removed."
        >
          <p>
            Every change of a transfer's status makes one event. <a href="/console/transfers">Look at the transfers</a>
          </p>
        </List>
      </>
    );
  },
});

/** Events as a table, on this page and on a transfer's. */
export function EventTable({ visit, events }: { visit: Visit; events: readonly Event[] }) {
  return (
    <Table
      card
      rows={events}
      row={({ id }) => ({ id: `event-${id}` })}
      columns={[
        {
          heading: 'Event',
          cell: (event) => <a href={eventPath(event.id)}>{eventTitle(event.type, JSON.stringify(event))}</a>,
        },
        { heading: 'Deliveries', cell: ({ deliveries }) => <Counts counts={deliveries} /> },
        { heading: 'Transfer', cell: ({ data }) => <ShortId id={data.id} href={transferHref(visit, data.id)} /> },
        { heading: 'Created', cell: ({ created_at }) => <Time at={created_at} /> },
      ]}
    />
  );
}

/** The number of an event's deliveries in each status that occurs. */
function Counts({ counts }: { counts: Event['deliveries'] }) {
  const present = (['pending', 'succeeded', 'failed', 'cancelled'] as const).filter((status) => counts[status] > 0);
  if (present.length === 0) return <span class="muted">none: no endpoint was enabled</span>;
  return (
    <span class="counts">
      {present.map((status) => (
        <span key={status}>
          {counts[status]} <Status status={status} />
        </span>
      ))}
    </span>
  );
}

/** An event has a delivery for each endpoint: seldom more than a few. */
const DELIVERIES_A_PAGE = 25;
const cursors = idCursor("an event's deliveries");

/** `/console/events/{id}`: what happened to this event, and what happens next. */
export const eventPage = page({
  path: '/console/events/{id}',
  scope: 'webhooks:read',
  points: 10,
  title: 'Event',
  async view(visit) {
    const { query, session, params } = visit;
    const range = { after: readCursor(query, cursors), take: DELIVERIES_A_PAGE + 1 };
    const { event, deliveries } = await visit.read((db) => readEventStory(db, session.clientId, params.id, range));
    const { shown, nextCursor } = pageOf(deliveries, DELIVERIES_A_PAGE, cursors);
    return (
      <>
        <EventHead visit={visit} event={event} />
        <Live id="deliveries" path={eventPath(event.id)} query={query} class="stack">
          {shown.length === 0 && (
            <Empty title="This event was sent to no endpoint">
              <p>
                No endpoint was enabled when it was made. Register or enable one, and recover what was missed on the
                endpoint's page. <a href="/console/endpoints">Endpoints</a>
              </p>
            </Empty>
          )}
          {shown.map((delivery) => (
            <DeliveryCard key={delivery.id} visit={visit} delivery={delivery} />
          ))}
          <Pager path={eventPath(event.id)} query={query} nextCursor={nextCursor} />
        </Live>
        <section class="card stack" aria-labelledby="body-name">
          <div class="page-head">
            <h2 id="body-name">Body</h2>
            <CopyButton copies={event.body} label="Copy" />
          </div>
          <p class="muted">These bytes are signed and sent in every attempt.</p>
          <UntrustedLines label="Body of the event" text={event.body} />
        </section>
      </>
    );
  },
});

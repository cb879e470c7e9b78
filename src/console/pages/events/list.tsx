import type { z } from 'zod';
import type { eventView } from '../../../http/presenters/event.js';
import type { pageView } from '../../../http/presenters/page.js';
import { EVENT_TYPES, eventTitle } from '../../../webhooks/event-catalogue.js';
import { Empty } from '../../components/empty.js';
import { Field, Select } from '../../components/field.js';
import { Filters, readChoice, TimeFilters, timeRange } from '../../components/filters.js';
import { Live } from '../../components/live.js';
import { Pager } from '../../components/pager.js';
import { ShortId } from '../../components/short-id.js';
import { Status } from '../../components/status.js';
import { Time } from '../../components/time.js';
import { page, type Visit } from '../../page.js';
import { transferHref } from '../transfers/path.js';
import { eventPath, findById } from './find.js';

type Event = z.output<typeof eventView>;
type Events = z.output<ReturnType<typeof pageView<typeof eventView>>>;

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
    const type = readChoice(query, 'type', EVENT_TYPES);
    const { createdAfter, createdBefore } = timeRange(query);
    const cursor = query.get('cursor');
    const events = await visit.operations.read<Events>('listEvents', {
      query: {
        ...(type !== undefined && { type }),
        ...(found.transferId !== undefined && { transfer_id: found.transferId }),
        ...(createdAfter !== undefined && { created_after: new Date(createdAfter).toISOString() }),
        ...(createdBefore !== undefined && { created_before: new Date(createdBefore).toISOString() }),
        ...(cursor !== null && { cursor }),
      },
    });
    return <EventList visit={visit} events={events} />;
  },
});

function EventList({ visit, events }: { visit: Visit; events: Events }) {
  const { query } = visit;
  return (
    <>
      <h1>Events</h1>
      <Filters path={PATH} query={query}>
        <Select
          label="Type"
          name="type"
          value={query.get('type') ?? ''}
          choices={[{ value: '', text: 'Any' }, ...EVENT_TYPES.map((type) => ({ value: type, text: type }))]}
        />
        <Field label="Event, delivery or transfer id" name="id" class="mono" value={query.get('id') ?? ''} />
        <TimeFilters query={query} />
      </Filters>
      <Live id="events" path={PATH} query={query}>
        {events.data.length === 0 ? <NoEvents query={query} /> : <EventTable visit={visit} events={events.data} />}
        <Pager path={PATH} query={query} nextCursor={events.next_cursor} />
      </Live>
    </>
  );
}

/** Events as a table, on this page and on a transfer's. */
export function EventTable({ visit, events }: { visit: Visit; events: readonly Event[] }) {
  return (
    <div class="card table-card scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col">Deliveries</th>
            <th scope="col">Transfer</th>
            <th scope="col">Created</th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <tr key={event.id} id={`event-${event.id}`}>
              <td data-label="Event">
                <a href={eventPath(event.id)}>{eventTitle(event.type, JSON.stringify(event))}</a>
              </td>
              <td data-label="Deliveries">
                <Counts counts={event.deliveries} />
              </td>
              <td data-label="Transfer">
                <ShortId id={event.data.id} href={transferHref(visit, event.data.id)} />
              </td>
              <td data-label="Created">
                <Time at={event.created_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The number of an event's deliveries in each status that occurs. */
export function Counts({ counts }: { counts: Event['deliveries'] }) {
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

function NoEvents({ query }: { query: URLSearchParams }) {
  if ([...query].some(([, value]) => value !== '')) {
    return (
      <Empty title="No event matches">
        <p>
          Events are kept for a while and then removed. <a href={PATH}>Show all events</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No event yet">
      <p>
        Every change of a transfer's status makes one event. <a href="/console/transfers">Look at the transfers</a>
      </p>
    </Empty>
  );
}

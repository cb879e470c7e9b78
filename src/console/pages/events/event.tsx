import { idCursor } from '../../../http/cursor.js';
import { eventTitle } from '../../../webhooks/event-catalogue.js';
import { plannedAttempts } from '../../../webhooks/planned-attempts.js';
import { type EventStory, readEventStory } from '../../../webhooks/read-event-story.js';
import { CopyButton } from '../../components/copy.js';
import { Empty } from '../../components/empty.js';
import { Live } from '../../components/live.js';
import { Pager } from '../../components/pager.js';
import { Time } from '../../components/time.js';
import { UntrustedLines } from '../../components/untrusted.js';
import { page, type Visit } from '../../page.js';
import { readCursor } from '../read-cursor.js';
import { transferHref } from '../transfers/path.js';
import { DeliveryCard } from './delivery-card.js';
import { eventPath } from './find.js';

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
    const after = readCursor(visit.query, cursors);
    const take = DELIVERIES_A_PAGE + 1;
    const { event, deliveries } = await visit.read((db) =>
      readEventStory(db, visit.session.clientId, visit.params.id, { after, take }),
    );
    const shown = deliveries.slice(0, DELIVERIES_A_PAGE);
    const last = shown.at(-1);
    const nextCursor = deliveries.length > shown.length && last ? cursors.write(last.id) : null;
    return <EventView {...{ visit, event, nextCursor }} deliveries={shown} now={new Date()} />;
  },
});

interface Props extends EventStory {
  visit: Visit;
  nextCursor: string | null;
  now: Date;
}

function EventView({ visit, event, deliveries, nextCursor, now }: Props) {
  return (
    <>
      <EventHead visit={visit} event={event} now={now} />
      <Live id="deliveries" path={eventPath(event.id)} query={visit.query} class="stack">
        {deliveries.length === 0 && <NoDelivery />}
        {deliveries.map((delivery) => (
          <DeliveryCard
            key={delivery.id}
            {...{ visit, delivery, now }}
            planned={plannedAttempts(delivery, visit.config.retryDelays)}
          />
        ))}
        <Pager path={eventPath(event.id)} query={visit.query} nextCursor={nextCursor} />
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
}

/** What the event is. */
export function EventHead({ visit, event, now }: Pick<Props, 'visit' | 'event' | 'now'>) {
  const transfer = transferHref(visit, event.transferId);
  return (
    <>
      <nav class="crumbs" aria-label="You are here">
        <a href="/console/events">Events</a>
      </nav>
      <h1>{eventTitle(event.type, event.body)}</h1>
      <dl class="facts">
        <dt>Event</dt>
        <dd>
          <code>{event.id}</code>
        </dd>
        <dt>Transfer</dt>
        <dd>
          {transfer ? (
            <a href={transfer} class="mono">
              {event.transferId}
            </a>
          ) : (
            <code>{event.transferId}</code>
          )}
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={event.createdAt.toISOString()} now={now} />
        </dd>
      </dl>
    </>
  );
}

function NoDelivery() {
  return (
    <Empty title="This event was sent to no endpoint">
      <p>
        No endpoint was enabled when it was made. Register or enable one, and recover what was missed on the endpoint's
        page. <a href="/console/endpoints">Endpoints</a>
      </p>
    </Empty>
  );
}

import type { z } from 'zod';
import { eventTitle } from '../../delivery/event-catalogue.js';
import type { attemptView } from '../../http/schemas/delivery.js';
import { type LastAttempt, plannedAttempts } from '../../reports/read-deliveries.js';
import { type EventStory, readDeliveryStory, type StoryDelivery } from '../../reports/read-events.js';
import { PostButton } from '../components/forms.js';
import { type Listed, Pager, Table } from '../components/lists.js';
import { Crumbs, Facts, Live } from '../components/parts.js';
import { Answer, Status, Time, Untrusted } from '../components/values.js';
import { form, isEditor, page, seeOther, type Visit } from '../page.js';
import { whatHappensNext } from './delivery-texts.js';
import { attemptPath, deliveryPath, endpointPath, eventPath, transferHref } from './paths.js';

type Attempt = z.output<typeof attemptView>;

/** `/console/deliveries/{id}`: one delivery with all its attempts, page by page. */
export const deliveryPage = page({
  path: '/console/deliveries/{id}',
  scope: 'webhooks:read',
  under: '/console/events',
  points: 4,
  title: 'Delivery',
  async view(visit) {
    const { id } = visit.params;
    const { event, delivery } = await visit.read((db) => readDeliveryStory(db, visit.session.clientId, id));
    const cursor = visit.query.get('cursor');
    const attempts = await visit.operations.read<Listed<Attempt>>('listAttempts', {
      params: { id },
      query: cursor === null ? {} : { cursor },
    });
    return (
      <>
        <EventHead visit={visit} event={event} />
        <p>
          <a href={eventPath(event.id, id)}>Every delivery of this event</a>
        </p>
        <Live id="delivery" path={deliveryPath(id)} query={visit.query} class="stack">
          <DeliveryCard visit={visit} delivery={delivery} />
          {attempts.data.length > 0 && <AttemptTable deliveryId={id} attempts={attempts.data} />}
          <Pager path={deliveryPath(id)} query={visit.query} nextCursor={attempts.next_cursor} />
        </Live>
      </>
    );
  },
});

/** `/console/deliveries/{id}/retry`: retries a delivery now. An error (409, 429) is shown on the delivery's page. */
export const retryForm = form({
  path: '/console/deliveries/{id}/retry',
  scope: 'webhooks:write',
  page: deliveryPage,
  async submit(visit) {
    const { id } = visit.params;
    const { event_id } = await visit.operations.change<{ event_id: string }>('retryDelivery', { params: { id } });
    return seeOther(
      eventPath(event_id, id),
      'The delivery is sent now. This page shows the answer as soon as it is there.',
    );
  },
});

function AttemptTable({ deliveryId, attempts }: { deliveryId: string; attempts: readonly Attempt[] }) {
  return (
    <section class="card table-card scroll">
      <h2>All attempts</h2>
      <Table
        rows={attempts}
        row={({ number }) => ({ id: `attempt-${number}` })}
        columns={[
          {
            heading: 'Attempt',
            cell: ({ number }) => <a href={attemptPath(deliveryId, number)}>Attempt {number}</a>,
          },
          {
            heading: 'Answer',
            cell: ({ error, response_status }) => <Answer error={error} responseStatus={response_status} />,
          },
          { heading: 'Trigger', cell: ({ trigger }) => trigger },
          { heading: 'Took', class: 'numeric', cell: ({ duration_ms }) => `${duration_ms} ms` },
          { heading: 'Started', cell: ({ started_at }) => <Time at={started_at} /> },
        ]}
      />
    </section>
  );
}

/** What the event is: the top of its page and of a delivery's. */
export function EventHead({ visit, event }: { visit: Visit; event: EventStory['event'] }) {
  const transfer = transferHref(visit, event.transferId);
  return (
    <>
      <Crumbs to={{ '/console/events': 'Events' }} />
      <h1>{eventTitle(event.type, event.body)}</h1>
      <Facts
        of={{
          Event: <code>{event.id}</code>,
          Transfer: transfer ? (
            <a href={transfer} class="mono">
              {event.transferId}
            </a>
          ) : (
            <code>{event.transferId}</code>
          ),
          Created: <Time at={event.createdAt} />,
        }}
      />
    </>
  );
}

/** A delivery: what happens next, its ladder, and the way to send it now. */
export function DeliveryCard({ visit, delivery }: { visit: Visit; delivery: StoryDelivery }) {
  const { id, endpoint, status, attempts, attemptCount } = delivery;
  const { next, until, announcement } = whatHappensNext(delivery, new Date());
  const name = `delivery-name-${id}`;
  return (
    <section class="card stack delivery" id={`delivery-${id}`} aria-labelledby={name}>
      <header class="delivery-head">
        <h2 id={name}>
          <Untrusted text={endpoint.description || endpoint.url} />
        </h2>
        <Status status={status} />
      </header>
      {endpoint.description && (
        <p class="mono muted address">
          <Untrusted text={endpoint.url} />
        </p>
      )}
      <p class="next" data-announce={announcement}>
        <strong>{next}</strong> {until}
      </p>
      <div class="actions">
        {/* Absent where the API always rejects it. */}
        {isEditor(visit) && endpoint.enabled && endpoint.deletedAt === null && (
          <PostButton
            action={`${deliveryPath(id)}/retry`}
            id={`retry-${id}`}
            class={status === 'succeeded' ? undefined : 'primary'}
          >
            {status === 'pending' ? 'Retry now' : 'Send again'}
          </PostButton>
        )}
        {endpoint.deletedAt === null && <a href={endpointPath(endpoint.id)}>Endpoint</a>}
      </div>
      <TimeLine delivery={delivery} />
      {attemptCount > attempts.length && (
        <p>
          <a href={deliveryPath(id)}>All {attemptCount} attempts</a>
        </p>
      )}
    </section>
  );
}

/** The ladder of a delivery: the attempts that were made, then the planned ones. */
function TimeLine({ delivery: { id, attempts, ...delivery } }: { delivery: StoryDelivery }) {
  return (
    <ol class="time-line">
      {attempts.map((attempt) => (
        <MadeAttempt key={attempt.number} deliveryId={id} attempt={attempt} />
      ))}
      {plannedAttempts(delivery).map(({ number, at }) => (
        <li key={number} class="rung planned" id={`rung-${id}-${number}`}>
          <span class="rung-head">
            <span class="rung-name">Attempt {number}</span>
            <span class="rung-time">
              {at > new Date() ? 'planned ' : 'due '}
              <Time at={at} />
            </span>
          </span>
        </li>
      ))}
    </ol>
  );
}

const TRIGGERS: Readonly<Record<LastAttempt['trigger'], string>> = {
  schedule: '',
  manual: 'manually',
  recover: 'recovery',
};

function MadeAttempt({ deliveryId, attempt }: { deliveryId: string; attempt: LastAttempt }) {
  const { number, trigger, startedAt, durationMs, error } = attempt;
  return (
    <li class={`rung ${error === null ? 'good' : 'bad'}`} id={`rung-${deliveryId}-${number}`}>
      <span class="rung-head">
        <span class="rung-name">
          Attempt {number} {TRIGGERS[trigger] && <span class="muted">({TRIGGERS[trigger]})</span>}
        </span>
        <Answer {...attempt} />
        <span class="rung-time">
          <Time at={startedAt} />
        </span>
        <span class="muted numeric">took {durationMs} ms</span>
      </span>
      <details class="attempt-details" id={`details-${deliveryId}-${number}`} data-load="">
        <summary>
          Request and answer<span class="visually-hidden"> of attempt {number}</span>
        </summary>
        <p>
          <a href={attemptPath(deliveryId, number)}>Open the page of attempt {number}</a>
        </p>
      </details>
    </li>
  );
}

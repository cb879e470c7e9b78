import type { z } from 'zod';
import { eventSubject } from '../../delivery/event-catalogue.js';
import type { attemptView } from '../../http/schemas/delivery.js';
import { type LastAttempt, plannedAttempts } from '../../reports/read-deliveries.js';
import { type EventTimeline, readDeliveryTimeline, type TimelineDelivery } from '../../reports/read-events.js';
import { type Listed, Pager, Table } from '../components/lists.js';
import { Facts, Live, PostButton, Up } from '../components/parts.js';
import { durationText, Id, Response, Sentence, Status, Time, Untrusted } from '../components/values.js';
import { form, isEditor, page, seeOther, type Visit } from '../page.js';
import { isRejection, retryEffect, whatHappensNext } from './delivery-texts.js';
import { attemptPath, deliveryPath, endpointPath, eventPath, explainId, transferHref } from './paths.js';

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
    const { event, delivery } = await visit.read((db) => readDeliveryTimeline(db, visit.session.clientId, id));
    const attempts = await visit.operations.read<Listed<Attempt>>('listAttempts', {
      params: { id },
      query: { cursor: visit.query.get('cursor') ?? undefined },
    });
    return (
      <>
        <EventHead visit={visit} event={event} />
        <p>
          <a href={eventPath(event.id, id)}>All deliveries of this event</a>
        </p>
        <Live id="delivery" path={deliveryPath(id)} query={visit.query} class="stack">
          <DeliveryCard visit={visit} delivery={delivery} open />
          {attempts.data.length > 0 && (
            <section class="stack" aria-label="All attempts">
              <h2>All attempts</h2>
              <Table
                rows={attempts.data}
                row={({ number }) => ({ id: `attempt-${number}` })}
                href={({ number }) => attemptPath(id, number)}
                columns={{
                  Attempt: ({ number }) => `Attempt ${number}`,
                  Response: ({ error, response_status }) => <Response error={error} responseStatus={response_status} />,
                  Trigger: ({ trigger }) => trigger,
                  Took: ({ duration_ms }) => durationText(duration_ms),
                  Started: ({ started_at }) => <Time at={started_at} />,
                }}
              />
            </section>
          )}
          <Pager path={deliveryPath(id)} query={visit.query} nextCursor={attempts.next_cursor} />
        </Live>
      </>
    );
  },
});

/** `/console/deliveries/{id}/retry`: retries a delivery now. Its page shows the response, or the error (409, 429). */
export const retryForm = form({
  path: '/console/deliveries/{id}/retry',
  scope: 'webhooks:write',
  page: deliveryPage,
  async submit(visit) {
    const { id } = visit.params;
    await visit.operations.change('retryDelivery', { params: { id } });
    return seeOther(deliveryPath(id), 'Retry requested. Its result appears below.');
  },
});

/** What the event is: the top of its page and of a delivery's. */
export function EventHead({ visit, event }: { visit: Visit; event: EventTimeline['event'] }) {
  const transfer = transferHref(visit, event.transferId);
  return (
    <>
      <Up to="/console/events">Events</Up>
      <h1>Event {eventSubject(event.type, event.body)}</h1>
      <Facts
        of={{
          Type: <code>{event.type}</code>,
          Event: <Id id={event.id} whole />,
          Transfer: <Id id={event.transferId} href={transfer} whole />,
          Created: <Time at={event.createdAt} ago />,
        }}
      />
    </>
  );
}

interface CardProps {
  visit: Visit;
  /** The endpoint's, beside others of the event. */
  name?: string | undefined;
  delivery: TimelineDelivery;
  open: boolean;
}

/** A delivery: what happens next, its ladder, and the button that sends it now. */
export function DeliveryCard({ visit, delivery, name, open }: CardProps) {
  const { id, endpoint, attempts, attemptCount } = delivery;
  const last = attempts.at(-1);
  return (
    <details class="card delivery" id={`delivery-${id}`} open={open}>
      <summary>
        <DeliveryLine delivery={delivery} name={name} />
      </summary>
      <div class="stack">
        <NextStep visit={visit} delivery={delivery} />
        <p class="row">
          {endpoint.deletedAt === null && <a href={endpointPath(endpoint.id)}>Endpoint</a>}
          {isEditor(visit) && last && isRejection(last) && (
            <a href={`${attemptPath(id, last.number)}#${explainId(id, last.number)}`}>Why was my signature rejected?</a>
          )}
          {attemptCount > attempts.length && <a href={deliveryPath(id)}>All {attemptCount} attempts</a>}
          <code class="muted">
            <Untrusted text={endpoint.url} />
          </code>
        </p>
        <TimeLine delivery={delivery} />
      </div>
    </details>
  );
}

/** A delivery in one line: its endpoint, its status and the latest response. */
export function DeliveryLine({ delivery, name }: Pick<CardProps, 'delivery' | 'name'>) {
  const { endpoint, status, attempts } = delivery;
  const last = attempts.at(-1);
  return (
    <span class="row">
      <h2>
        <Untrusted text={name ?? (endpoint.description || endpoint.url)} />
      </h2>
      <Status status={status} />
      {last && <Response {...last} />}
    </span>
  );
}

/** What happens to a delivery next, and the button that sends it now. */
export function NextStep({ visit, delivery }: Pick<CardProps, 'visit' | 'delivery'>) {
  const { id, endpoint, status } = delivery;
  const { next, until, announcement } = whatHappensNext(delivery, new Date());
  return (
    <>
      <p class="next" data-announce={announcement}>
        <strong>
          <Sentence text={next} />
        </strong>{' '}
        {until}
      </p>
      {/* Absent where the API always rejects it. */}
      {isEditor(visit) && endpoint.enabled && endpoint.deletedAt === null && (
        <PostButton
          action={`${deliveryPath(id)}/retry`}
          id={`retry-${id}`}
          class={status === 'succeeded' ? undefined : 'primary'}
          note={
            <span class="muted">
              <Sentence text={retryEffect(delivery)} />
            </span>
          }
        >
          {status === 'pending' ? 'Retry now' : 'Send again'}
        </PostButton>
      )}
    </>
  );
}

/** The ladder of a delivery: the attempts that were made, then the planned ones. */
function TimeLine({ delivery: { id, attempts, ...delivery } }: { delivery: TimelineDelivery }) {
  return (
    <ol class="time-line">
      {attempts.map((attempt) => (
        <MadeAttempt key={attempt.number} deliveryId={id} attempt={attempt} />
      ))}
      {plannedAttempts(delivery).map(({ number, at }) => (
        <li key={number} class="rung planned row muted" id={`rung-${id}-${number}`}>
          <span>
            Attempt {number} {at > new Date() ? 'planned' : 'due'}
          </span>
          <Time at={at} ago />
        </li>
      ))}
    </ol>
  );
}

const TRIGGERS: Readonly<Record<LastAttempt['trigger'], string>> = {
  schedule: '',
  manual: 'manual retry',
  recover: 'recovery',
};

function MadeAttempt({ deliveryId, attempt }: { deliveryId: string; attempt: LastAttempt }) {
  const { number, trigger, startedAt, durationMs, error } = attempt;
  return (
    <li class={`rung ${error === null ? 'good' : 'bad'}`} id={`rung-${deliveryId}-${number}`}>
      <span class="row">
        <strong>Attempt {number}</strong>
        {TRIGGERS[trigger] && <span class="muted">{TRIGGERS[trigger]}</span>}
        <Response {...attempt} />
        <Time at={startedAt} ago />
        <span class="muted numeric">took {durationText(durationMs)}</span>
      </span>
      <details class="attempt-details" id={`details-${deliveryId}-${number}`} data-load="">
        <summary>
          Request and response<span class="visually-hidden"> of attempt {number}</span>
        </summary>
        <p>
          <a href={attemptPath(deliveryId, number)}>Open the page of attempt {number}</a>
        </p>
      </details>
    </li>
  );
}

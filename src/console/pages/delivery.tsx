import { type LastAttempt, plannedAttempts } from '../../reports/read-deliveries.js';
import type { TimelineDelivery } from '../../reports/read-events.js';
import { PostButton } from '../components/parts.js';
import { durationText, Response, Sentence, Status, Time, Untrusted } from '../components/values.js';
import { isEditor, type Visit } from '../page.js';
import { isRejection, retryEffect, whatHappensNext } from './delivery-texts.js';
import { attemptPath, endpointPath, eventPath, explainId } from './paths.js';

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
          {attemptCount > attempts.length && (
            <span>
              The latest {attempts.length} of {attemptCount} attempts
            </span>
          )}
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
function DeliveryLine({ delivery, name }: Pick<CardProps, 'delivery' | 'name'>) {
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
function NextStep({ visit, delivery }: Pick<CardProps, 'visit' | 'delivery'>) {
  const { id, eventId, endpoint, status } = delivery;
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
          action={`${eventPath(eventId)}/retry`}
          id={`retry-${id}`}
          fields={{ delivery: id }}
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

import { useContext } from 'preact/hooks';
import { type LastAttempt, plannedAttempts } from '../../reports/read-deliveries.js';
import type { TimelineDelivery } from '../../reports/read-events.js';
import { LadderPlot } from '../components/ladder-plot.js';
import { PostButton } from '../components/parts.js';
import { durationText, NextAttempt, Now, Response, Status, Time, Untrusted, utcText } from '../components/values.js';
import { isEditor, type Visit } from '../page.js';
import { outcomeText, whatHappensNext } from './delivery-texts.js';
import { attemptPath, endpointPath, eventPath } from './paths.js';

interface CardProps {
  visit: Visit;
  delivery: TimelineDelivery;
  /** The endpoint's, beside others of the event. */
  name: string | undefined;
  open: boolean;
}

/** A delivery: what happens next, the button that sends it now, and its ladder. */
export function DeliveryCard({ visit, delivery, name, open }: CardProps) {
  const { id, eventId, endpoint, status, reason, nextAttemptAt, finishedAt, attempts, attemptCount } = delivery;
  const next = whatHappensNext(delivery, new Date(visit.session.now));
  const last = attempts.at(-1);
  const latest = last ? `${outcomeText(last)}.` : '';
  return (
    <details class="card delivery" id={`delivery-${id}`} open={open}>
      <summary>
        <span class="row">
          <h2>
            <Untrusted text={name ?? (endpoint.description || endpoint.url)} />
          </h2>
          <Status status={status} />
          {nextAttemptAt && <NextAttempt at={nextAttemptAt} />}
          {last && <Response {...last} />}
        </span>
      </summary>
      <div class="stack">
        <p
          class="next"
          data-announce={`${next} ${nextAttemptAt ? `It is due at ${utcText(nextAttemptAt)}.` : ''} ${latest}`}
        >
          <strong>{next}</strong> {latest} {finishedAt && <Time at={finishedAt} ago />}
        </p>
        {isEditor(visit) && reason === 'endpoint_gone' && !endpoint.enabled && endpoint.deletedAt === null && (
          <PostButton action={`${endpointPath(endpoint.id)}/enable`} class="primary">
            Enable and recover
          </PostButton>
        )}
        {/* Absent where the API always rejects it. */}
        {isEditor(visit) && endpoint.enabled && endpoint.deletedAt === null && (
          <PostButton
            action={`${eventPath(eventId)}/retry`}
            id={`retry-${id}`}
            fields={{ delivery: id }}
            class={status === 'succeeded' ? undefined : 'primary'}
            note={
              <span class="muted">
                If this extra attempt fails, the status {nextAttemptAt && 'and the planned attempts '}stay
                {nextAttemptAt ? '' : 's'}.
              </span>
            }
          >
            {status === 'pending' ? 'Retry now' : 'Send again'}
          </PostButton>
        )}
        <p class="row">
          {endpoint.deletedAt === null && <a href={endpointPath(endpoint.id)}>Endpoint</a>}
          <code class="muted">
            <Untrusted text={endpoint.url} />
          </code>
        </p>
        {attemptCount > attempts.length && (
          <p class="muted">
            The latest {attempts.length} of {attemptCount} attempts:
          </p>
        )}
        {attempts.length > 0 && <LadderPlot {...{ attempts, status }} planned={plannedAttempts(delivery)} />}
        <TimeLine delivery={delivery} />
      </div>
    </details>
  );
}

/** The ladder of a delivery: the attempts that were made, then the planned ones. */
function TimeLine({ delivery: { id, attempts, ...delivery } }: { delivery: TimelineDelivery }) {
  const now = useContext(Now);
  return (
    <ol class="time-line">
      {attempts.map((attempt) => (
        <MadeAttempt key={attempt.number} deliveryId={id} attempt={attempt} />
      ))}
      {plannedAttempts(delivery).map(({ number, at }) => (
        <li key={number} class="rung planned row muted" id={`rung-${id}-${number}`}>
          <span>
            Attempt {number} {at > now ? 'planned' : 'due'}
          </span>
          <Time at={at} ago />
        </li>
      ))}
    </ol>
  );
}

function MadeAttempt({ deliveryId, attempt }: { deliveryId: string; attempt: LastAttempt }) {
  const { number, trigger, startedAt, durationMs, error } = attempt;
  return (
    <li class={`rung ${error === null ? 'good' : 'bad'}`} id={`rung-${deliveryId}-${number}`}>
      <span class="row">
        <strong>Attempt {number}</strong>
        {trigger !== 'schedule' && <span class="muted">{trigger}</span>}
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

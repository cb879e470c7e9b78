import type { PlannedAttempt } from '../../../webhooks/planned-attempts.js';
import type { StoryDelivery } from '../../../webhooks/read-event-story.js';
import { Status } from '../../components/status.js';
import { Untrusted } from '../../components/untrusted.js';
import type { Visit } from '../../page.js';
import { EarlierAttempts, TimeLine } from './time-line.js';
import { whatHappensNext } from './what-happens-next.js';

interface Props {
  visit: Visit;
  delivery: StoryDelivery;
  planned: readonly PlannedAttempt[];
  now: Date;
}

/** A delivery: what happens next, its ladder, and the way to send it now. */
export function DeliveryCard({ visit, delivery, planned, now }: Props) {
  const { id, endpoint, status, attempts, attemptCount } = delivery;
  const { next, until, announcement } = whatHappensNext(delivery, now);
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
        <RetryForm {...{ visit, delivery }} />
        {endpoint.deletedAt === null && <a href={`/console/endpoints/${endpoint.id}`}>Endpoint</a>}
      </div>
      <TimeLine deliveryId={id} attempts={attempts} planned={planned} now={now} />
      {attemptCount > attempts.length && <EarlierAttempts deliveryId={id} count={attemptCount} />}
    </section>
  );
}

/** The button that sends a delivery now; absent where the API would refuse it whatever happens. */
function RetryForm({ visit, delivery }: Pick<Props, 'visit' | 'delivery'>) {
  const { id, endpoint } = delivery;
  if (!visit.session.scopes.has('webhooks:write') || !endpoint.enabled || endpoint.deletedAt !== null) return null;
  return (
    <form class="inline" method="post" action={`/console/deliveries/${id}/retry`} id={`retry-${id}`}>
      <button type="submit" class={delivery.status === 'succeeded' ? '' : 'primary'}>
        {delivery.status === 'pending' ? 'Retry now' : 'Send again'}
      </button>
    </form>
  );
}

import type { z } from 'zod';
import type { attemptView } from '../../../http/presenters/delivery.js';
import type { pageView } from '../../../http/presenters/page.js';
import { plannedAttempts } from '../../../webhooks/planned-attempts.js';
import { readDeliveryStory } from '../../../webhooks/read-event-story.js';
import { Live } from '../../components/live.js';
import { Pager } from '../../components/pager.js';
import { Time } from '../../components/time.js';
import { form, page, seeOther } from '../../page.js';
import { Answer } from './answer.js';
import { DeliveryCard } from './delivery-card.js';
import { EventHead } from './event.js';
import { eventPath } from './find.js';
import { attemptPath } from './time-line.js';

type Attempt = z.output<typeof attemptView>;
type Attempts = z.output<ReturnType<typeof pageView<typeof attemptView>>>;

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
    const attempts = await visit.operations.read<Attempts>('listAttempts', {
      params: { id },
      query: cursor === null ? {} : { cursor },
    });
    const now = new Date();
    return (
      <>
        <EventHead visit={visit} event={event} now={now} />
        <p>
          <a href={eventPath(event.id, id)}>Every delivery of this event</a>
        </p>
        <Live id="delivery" path={`/console/deliveries/${id}`} query={visit.query} class="stack">
          <DeliveryCard {...{ visit, delivery, now }} planned={plannedAttempts(delivery, visit.config.retryDelays)} />
          {attempts.data.length > 0 && <AttemptTable deliveryId={id} attempts={attempts.data} />}
          <Pager path={`/console/deliveries/${id}`} query={visit.query} nextCursor={attempts.next_cursor} />
        </Live>
      </>
    );
  },
});

/** `/console/deliveries/{id}/retry`: sends a delivery now. A refusal (409, 429) is shown on the delivery's page. */
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
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Attempt</th>
            <th scope="col">Answer</th>
            <th scope="col">Trigger</th>
            <th scope="col">Took</th>
            <th scope="col">Started</th>
          </tr>
        </thead>
        <tbody>
          {attempts.map((attempt) => (
            <tr key={attempt.number} id={`attempt-${attempt.number}`}>
              <td data-label="Attempt">
                <a href={attemptPath(deliveryId, attempt.number)}>Attempt {attempt.number}</a>
              </td>
              <td data-label="Answer">
                <Answer outcome={{ error: attempt.error, responseStatus: attempt.response_status }} />
              </td>
              <td data-label="Trigger">{attempt.trigger}</td>
              <td data-label="Took" class="numeric">
                {attempt.duration_ms} ms
              </td>
              <td data-label="Started">
                <Time at={attempt.started_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

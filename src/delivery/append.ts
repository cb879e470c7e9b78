import { ladderToText } from '../../workflows/ladder.js';
import type { Handle } from '../platform/database/database.js';
import { withoutDeadline } from '../platform/deadline.js';
import { failpoint } from '../platform/failpoints.js';
import { type EventType, eventBodySql } from './event-catalogue.js';
import type { Handover, QueuedEvent } from './handover.js';

/** Placeholders in the producer's statement, such as `$11`, for the values of `appendValues`, in the same order. */
export type AppendPlaceholders = readonly [type: string, ladder: string];

export function appendValues(type: EventType, { retryDelays }: Pick<Handover, 'retryDelays'>): [string, string] {
  return [type, ladderToText(retryDelays)];
}

/**
 * The door for every event: CTEs that insert events in the producer's own statement, each with a delivery and a queued
 * attempt for every enabled endpoint of its client. A delivery's id is a UUID version 7 with the event's time.
 * @param source the producer's relation, one row for each event: event_id, client_id, transfer_id, at, content
 * (`eventContent`), traceparent. The event's id has the time `at`
 * @returns CTEs; `appended` has a row for each event: event_id, deliveries (JSON)
 */
export function appendEvents(source: string, [type, ladder]: AppendPlaceholders): string {
  return `receivers as (
  select e.id, e.client_id, e.max_concurrency
    from webhook_endpoints e
   where e.client_id in (select client_id from ${source}) and e.enabled and e.deleted_at is null
), event as (
  insert into events (id, client_id, transfer_id, type, body, created_at, traceparent)
  select c.event_id, c.client_id, c.transfer_id, ${type}::text, ${eventBodySql('c.event_id', 'c.content', 'c.at')}, c.at, c.traceparent
    from ${source} c
  returning id
), delivery as (
  insert into deliveries (id, event_id, endpoint_id, client_id, next_attempt_at, created_at, ladder)
  select (substr(c.event_id::text, 1, 13) || '-7' || substr(gen_random_uuid()::text, 16))::uuid, c.event_id, r.id, c.client_id,
         c.at, c.at, ${ladder}::text
    from ${source} c join receivers r on r.client_id = c.client_id
  returning id, event_id, endpoint_id, client_id
), queued as (
  insert into queue (delivery_id, client_id, endpoint_id, line, due_at, trigger)
  select d.id, d.client_id, d.endpoint_id, 'fresh', now(), 'schedule' from delivery d
), told as (
  insert into outbox (event_id, client_id, state)
  select c.event_id, c.client_id, 'delivered' from ${source} c
   where not exists (select from receivers r where r.client_id = c.client_id)
), appended as (
  select e.id as event_id, coalesce(json_agg(json_build_object(
           'deliveryId', d.id, 'endpointId', d.endpoint_id, 'maxConcurrency', r.max_concurrency))
           filter (where d.id is not null), '[]') as deliveries
    from event e left join (delivery d join receivers r on r.id = d.endpoint_id) on d.event_id = e.id
   group by e.id
)`;
}

/** Hands an appended event over after its transaction has committed. @param event as `appended` has it */
export function handOverAfterCommit(
  db: Pick<Handle, 'afterCommit'>,
  handover: Pick<Handover, 'committed'>,
  event: QueuedEvent,
): Promise<void> | undefined {
  return db.afterCommit(() => {
    failpoint('after-commit');
    return withoutDeadline(() => handover.committed(event));
  });
}

import { ladderToText } from '../../workflows/ladder.js';
import type { Handle } from '../platform/database/database.js';
import { withoutDeadline } from '../platform/deadline.js';
import { failpoint } from '../platform/failpoints.js';
import { type EventType, eventBodySql } from './event-catalogue.js';
import type { Handover, LeasedAttempt, QueuedEvent } from './handover.js';
import { AT_ONCE, LEASE } from './lease.js';

/** Placeholders in the producer's statement, such as `$11`, for the values of `appendValues`, in the same order. */
export type AppendPlaceholders = readonly [type: string, ladder: string, token: string, except: string];

export type Appender = Pick<Handover, 'retryDelays' | 'leaseTerms'>;

export function appendValues(type: EventType, appender: Appender) {
  const { token, except } = appender.leaseTerms();
  return [type, ladderToText(appender.retryDelays), token, except] as const;
}

/** An event as `appended` has it, and the attempts that its statement has leased. */
export interface AppendedEvent {
  eventId: string;
  deliveries: { deliveryId: string; endpointId: string; maxConcurrency: number | null; isLeased: boolean }[];
  /** Null where nothing was leased. */
  body: string | null;
  leasedUntil: string;
}

/** What attempts need of their endpoint. */
export type LeasedEndpoint = Pick<
  LeasedAttempt,
  'endpointId' | 'url' | 'secretEnvelope' | 'headersEnvelope' | 'signsStandard' | 'maxPerSecond'
>;

/**
 * The door for every event: CTEs that insert events in the producer's own statement, each with a delivery and a queued
 * attempt for every enabled endpoint of its client. A delivery's id is a UUID version 7 with the event's time. The
 * process's own dispatcher gets the attempts leased, so that no further statement is needed before they are made.
 * @param source the producer's relation, one row for each event: event_id, client_id, transfer_id, at, content
 * (`eventContent`), traceparent. The event's id has the time `at`
 * @returns CTEs; `appended` has a row for each event: event_id, event (`AppendedEvent`); `leased_of` one row, receivers
 * (JSON, `LeasedEndpoint` of each endpoint of which attempts were leased; once for all events)
 */
export function appendEvents(source: string, [type, ladder, token, except]: AppendPlaceholders): string {
  return `receivers as materialized (
  select e.id, e.client_id, ${AT_ONCE} as max_concurrency, e.max_per_second, e.url, e.secret_envelope, e.headers_envelope,
         'standard' = any(e.signatures) as signs_standard,
         ${token}::uuid is not null and e.id <> all(${except}::uuid[]) as is_leased
    from webhook_endpoints e
   where e.client_id in (select client_id from ${source}) and e.enabled and e.deleted_at is null
), event as (
  insert into events (id, client_id, transfer_id, type, body, created_at, traceparent)
  select c.event_id, c.client_id, c.transfer_id, ${type}::text, ${eventBodySql('c.event_id', 'c.content', 'c.at')}, c.at, c.traceparent
    from ${source} c
  returning id, body
), delivery as (
  insert into deliveries (id, event_id, endpoint_id, client_id, next_attempt_at, created_at, ladder)
  select (substr(c.event_id::text, 1, 13) || '-7' || substr(gen_random_uuid()::text, 16))::uuid, c.event_id, r.id, c.client_id,
         c.at, c.at, ${ladder}::text
    from ${source} c join receivers r on r.client_id = c.client_id
  returning id, event_id, endpoint_id, client_id
), queued as (
  insert into queue (delivery_id, client_id, endpoint_id, line, due_at, trigger, lease_token, lease_until)
  select d.id, d.client_id, d.endpoint_id, 'fresh', now(), 'schedule',
         case when r.is_leased then ${token}::uuid end, case when r.is_leased then ${LEASED_UNTIL} end
    from delivery d join receivers r on r.id = d.endpoint_id
), told as (
  insert into outbox (event_id, client_id, state)
  select c.event_id, c.client_id, 'delivered' from ${source} c
   where not exists (select from receivers r where r.client_id = c.client_id)
), appended as (
  select e.id as event_id, json_build_object(
           'eventId', e.id, 'body', case when bool_or(r.is_leased) then e.body end, 'leasedUntil', ${LEASED_UNTIL},
           'deliveries', coalesce(json_agg(json_build_object(
             'deliveryId', d.id, 'endpointId', d.endpoint_id, 'maxConcurrency', r.max_concurrency, 'isLeased', r.is_leased))
             filter (where d.id is not null), '[]')) as event
    from event e left join (delivery d join receivers r on r.id = d.endpoint_id) on d.event_id = e.id
   group by e.id, e.body
), leased_of as (
  select coalesce(json_agg(json_build_object(
           'endpointId', id, 'url', url, 'secretEnvelope', secret_envelope,
           'headersEnvelope', headers_envelope, 'signsStandard', signs_standard, 'maxPerSecond', max_per_second)), '[]') as receivers
    from receivers where is_leased
)`;
}

/** To the millisecond, as the column keeps it: the dispatcher compares the text. */
const LEASED_UNTIL = `date_trunc('milliseconds', statement_timestamp()) + interval '${LEASE.seconds} seconds'`;

/** The event for `Handover.committed`. @param receivers of the same statement */
export function toQueuedEvent(
  { eventId, deliveries, body, leasedUntil }: AppendedEvent,
  receivers: ReadonlyMap<string, LeasedEndpoint>,
  rest: Pick<LeasedAttempt, 'clientId' | 'traceparent'> & { leasedAt: number },
): QueuedEvent {
  const { clientId, traceparent, leasedAt } = rest;
  const first = { eventId, clientId, line: 'fresh', number: 1, trigger: 'schedule', traceparent, leasedUntil } as const;
  const lease = (keys: AppendedEvent['deliveries'][number]): QueuedEvent['deliveries'][number] => {
    const { isLeased, ...queued } = keys;
    const receiver = isLeased && receivers.get(keys.endpointId);
    return receiver && body !== null ? { ...queued, leased: { ...first, ...queued, ...receiver, body } } : queued;
  };
  return { eventId, clientId, leasedAt, deliveries: deliveries.map(lease) };
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

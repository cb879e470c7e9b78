import type { Handle } from '../database/database.js';
import { ladderFromText } from '../ladder.js';
import { isFree, LEASE } from '../lease.js';
import type { EventRow } from './event-row.js';
import type { CommittedEvent, FreshDelivery } from './handover.js';

interface ClaimedRow extends FreshDelivery {
  eventId: string;
  ladder: string | null;
}

/**
 * Claims the first attempts of leased events that are not made yet.
 * @returns each event with the deliveries it claimed
 */
export async function claimFirstAttempts(db: Handle, events: readonly EventRow[]): Promise<CommittedEvent[]> {
  const claimed = await db.query<ClaimedRow>(CLAIM_FIRST, [events.map((event) => event.eventId), LEASE.seconds]);
  const byEvent = groupByEvent(claimed);
  return events.map((event) => {
    const rows = byEvent.get(event.eventId) ?? [];
    // One statement inserted them, with one ladder.
    const ladder = ladderFromText(rows[0]?.ladder ?? null);
    return { ...event, ladder, deliveries: rows.map(({ ladder: _, ...delivery }) => delivery) };
  });
}

function groupByEvent<Row extends { eventId: string }>(rows: readonly Row[]): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(row.eventId);
    if (group) group.push(row);
    else groups.set(row.eventId, [row]);
  }
  return groups;
}

/**
 * Deliveries are locked in the order of their ids, here and in `releaseClaims`, as a cancellation locks them
 * (disable-endpoint.ts): two statements never wait for each other in a ring.
 */
const CLAIM_FIRST = `
with free as materialized (
  select id from deliveries
   where event_id = any($1::uuid[]) and status = 'pending' and attempt_count = 0 and owner is null
     and ${isFree('attempting_until')}
   order by id for no key update
)
update deliveries d set attempting_until = now() + $2::int * interval '1 second'
  from free f, webhook_endpoints e
 where d.id = f.id and e.id = d.endpoint_id and e.enabled and e.deleted_at is null
returning d.event_id as "eventId", d.id as "deliveryId", d.endpoint_id as "endpointId", e.url,
          e.secret_envelope as "secretEnvelope", e.max_concurrency as "maxConcurrency", d.ladder`;

/** Releases the claims of first attempts that this process will not make. */
export async function releaseClaims(db: Handle, deliveryIds: readonly string[]): Promise<void> {
  await db.query(RELEASE_CLAIMS, [deliveryIds]);
}

const RELEASE_CLAIMS = `
with held as materialized (
  select id from deliveries where id = any($1::uuid[]) and attempt_count = 0 and owner is null
   order by id for no key update
)
update deliveries d set attempting_until = null from held h where d.id = h.id`;

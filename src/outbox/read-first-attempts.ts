import type { Handle } from '../database/database.js';
import { ladderFromText } from '../ladder.js';
import { isFree } from '../lease.js';
import type { EventRow } from './event-row.js';
import type { CommittedEvent, FreshDelivery } from './handover.js';

interface PendingRow extends FreshDelivery {
  eventId: string;
  ladder: string | null;
  /** Whether this process makes its first attempt. */
  isFirst: boolean;
}

/**
 * Reads the first attempts of leased events that are not made yet. The lease is the claim on them (lease.ts). Call this
 * after the lease is committed: only then does it see each claim that an activity made before the lease.
 * @returns each event with the deliveries whose first attempts this process makes, and the number of other pending ones
 */
export async function readFirstAttempts(db: Handle, events: readonly EventRow[]): Promise<CommittedEvent[]> {
  const found = await db.query<PendingRow>(PENDING, [events.map((event) => event.eventId)]);
  const byEvent = groupByEvent(found);
  return events.map((event) => {
    const rows = byEvent.get(event.eventId) ?? [];
    // One statement inserted them, with one ladder.
    const ladder = ladderFromText(rows[0]?.ladder ?? null);
    const deliveries = rows.filter(({ isFirst }) => isFirst).map(({ ladder: _, isFirst: __, ...delivery }) => delivery);
    return { ...event, ladder, deliveries, retries: rows.length - deliveries.length };
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

const PENDING = `
select d.event_id as "eventId", d.id as "deliveryId", d.endpoint_id as "endpointId", e.url,
       e.secret_envelope as "secretEnvelope", e.max_concurrency as "maxConcurrency", d.ladder,
       d.attempt_count = 0 and ${isFree('d.attempting_until')} and e.enabled and e.deleted_at is null as "isFirst"
  from deliveries d join webhook_endpoints e on e.id = d.endpoint_id
 where d.event_id = any($1::uuid[]) and d.status = 'pending' and d.owner is null
 order by d.id`;

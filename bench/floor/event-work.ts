import pg from 'pg';
import { Pool } from 'undici';
import { eventBody } from '../../src/delivery/event-catalogue.js';
import { LEASE } from '../../src/delivery/lease.js';
import { signatureHeader } from '../../src/delivery/sender/headers.js';
import { newId } from '../../src/platform/ids.js';
import { SECRET } from '../tenants.js';

// The least work of an event: one prepared statement and one signed POST. Optionally also the record of the attempt.

/** `sent`: the event counts as delivered at its commit. `recorded`: a second statement records the attempt. */
export type EventShape = 'sent' | 'recorded';

export interface EventWorkPlan {
  databaseUrl: string;
  /** Of the receiver. */
  origin: string;
  endpointId: string;
  /** Events in flight. */
  width: number;
  shape: EventShape;
}

/** A committed event to send. */
interface WorkEvent {
  id: string;
  deliveryId: string;
  body: string;
}

export interface EventWork {
  commit(transferId: string): Promise<WorkEvent>;
  post(event: WorkEvent): Promise<void>;
  close(): Promise<void>;
}

/** The service's default. */
const POOL_SIZE = 10;

/**
 * The attempt is leased, so that the service does not take it.
 * @param delivery the values of `status, attempt_count, finished_at`
 * @param lease of the row of the queue; null: there is none
 */
const change = (delivery: string, lease: string | null) => `
with changed as (
  update transfers set status = 'PROCESSING', updated_at = $3::timestamptz
   where id = $1::uuid and status = 'CREATED' returning id, client_id
), history as (
  insert into transfer_status_history (transfer_id, position, status, at)
  select id, 1, 'PROCESSING', $3::timestamptz from changed
), event as (
  insert into events (id, client_id, transfer_id, type, body, created_at)
  select $2::uuid, client_id, id, 'transfer.status_changed', $4::text, $3::timestamptz from changed
)${
  lease === null
    ? ''
    : `, queued as (
  insert into queue (delivery_id, client_id, endpoint_id, line, due_at, trigger, lease_until)
  select $5::uuid, client_id, $6::uuid, 'fresh', $3::timestamptz, 'schedule', now() + interval '${lease}' from changed
)`
}
insert into deliveries (id, event_id, endpoint_id, client_id, ladder, created_at, status, attempt_count, finished_at)
select $5::uuid, $2::uuid, $6::uuid, client_id, '0s,5m,30m,2h,6h,1d', $3::timestamptz, ${delivery} from changed`;

const CHANGE: Readonly<Record<EventShape, string>> = {
  sent: change("'succeeded', 1, $3::timestamptz", null),
  recorded: change("'pending', 0, null", `${LEASE.seconds} seconds`),
};

const RECORD = `
with delivery as (
  update deliveries set status = 'succeeded', attempt_count = 1, finished_at = now() where id = $1::uuid
), left_queue as (
  delete from queue where delivery_id = $1::uuid
)
insert into attempts (delivery_id, number, trigger, url, t, started_at, duration_ms, response_status)
values ($1::uuid, 1, 'schedule', $2::text, $3::text, $3::timestamptz, $4::int, $5::int)`;

export async function openEventWork(plan: EventWorkPlan): Promise<EventWork> {
  const { databaseUrl, origin, endpointId, width, shape } = plan;
  const database = new pg.Pool({ connectionString: databaseUrl, max: POOL_SIZE });
  const receiver = new Pool(origin, { connections: width, pipelining: 1 });
  const opened = await Promise.all(Array.from({ length: POOL_SIZE }, () => database.connect()));
  for (const connection of opened) connection.release();
  return {
    async commit(transferId) {
      const createdAt = Date.now();
      const id = newId(createdAt);
      const t = new Date(createdAt).toISOString();
      const body = eventBody({
        id,
        type: 'transfer.status_changed',
        data: { id: transferId, status: 'PROCESSING' },
        createdAt,
      });
      const deliveryId = newId(createdAt);
      const values = [transferId, id, t, body, deliveryId, endpointId];
      await database.query({ name: 'change', text: CHANGE[shape], values });
      return { id, deliveryId, body };
    },
    async post({ deliveryId, body }) {
      const startedAt = performance.now();
      const t = new Date().toISOString();
      const headers = {
        'Content-Type': 'application/json',
        'User-Agent': 'Service-Webhooks/1.0',
        'Service-Signature': signatureHeader({ secret: SECRET, t, body }),
      };
      const answer = await receiver.request({ method: 'POST', path: `/${endpointId}`, headers, body });
      await answer.body.dump();
      if (shape === 'sent') return;
      const durationMs = Math.round(performance.now() - startedAt);
      const values = [deliveryId, `${origin}/${endpointId}`, t, durationMs, answer.statusCode];
      await database.query({ name: 'record', text: RECORD, values });
    },
    async close() {
      await Promise.all([database.end(), receiver.close()]);
    },
  };
}

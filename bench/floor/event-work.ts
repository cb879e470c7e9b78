import pg from 'pg';
import { Pool } from 'undici';
import { eventBody } from '../../src/delivery/event-catalogue.js';
import { signatureHeader } from '../../src/delivery/sender/headers.js';
import { newId } from '../../src/platform/ids.js';
import { SECRET } from '../tenants.js';

// The least work of an event: one prepared statement, with which it counts as delivered, and one signed POST.

export interface EventWorkPlan {
  databaseUrl: string;
  /** Of the receiver. */
  origin: string;
  endpointId: string;
  /** Events in flight. */
  width: number;
}

/** A committed event to send. */
interface WorkEvent {
  id: string;
  body: string;
}

export interface EventWork {
  commit(transferId: string): Promise<WorkEvent>;
  post(event: WorkEvent): Promise<void>;
  close(): Promise<void>;
}

/** The service's default. */
const POOL_SIZE = 10;

const CHANGE = `
with changed as (
  update transfers set status = 'PROCESSING', updated_at = $3::timestamptz
   where id = $1::uuid and status = 'CREATED' returning id, client_id
), history as (
  insert into transfer_status_history (transfer_id, position, status, at)
  select id, 1, 'PROCESSING', $3::timestamptz from changed
), event as (
  insert into events (id, client_id, transfer_id, type, body, created_at)
  select $2::uuid, client_id, id, 'transfer.status_changed', $4::text, $3::timestamptz from changed
)
insert into deliveries (id, event_id, endpoint_id, client_id, ladder, created_at, status, attempt_count, finished_at)
select $5::uuid, $2::uuid, $6::uuid, client_id, '0s,5m,30m,2h,6h,1d', $3::timestamptz, 'succeeded', 1, $3::timestamptz from changed`;

export async function openEventWork(plan: EventWorkPlan): Promise<EventWork> {
  const { databaseUrl, origin, endpointId, width } = plan;
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
      const values = [transferId, id, t, body, newId(createdAt), endpointId];
      await database.query({ name: 'change', text: CHANGE, values });
      return { id, body };
    },
    async post({ body }) {
      const t = new Date().toISOString();
      const headers = {
        'Content-Type': 'application/json',
        'User-Agent': 'Service-Webhooks/1.0',
        'Service-Signature': signatureHeader({ secret: SECRET, t, body }),
      };
      const answer = await receiver.request({ method: 'POST', path: `/${endpointId}`, headers, body });
      await answer.body.dump();
    },
    async close() {
      await Promise.all([database.end(), receiver.close()]);
    },
  };
}

import pg from 'pg';
import { waitFor } from '../support/wait-for.js';

/** The content of the database after a run. It must be true. */
export interface Record {
  transfers: string[];
  events: EventRow[];
  deliveries: DeliveryRow[];
  attempts: AttemptRow[];
  /** Transfers with half a change: status, history and events do not agree. */
  halfChanged: string[];
  /** Events without a delivery for an endpoint that was enabled the whole time. */
  undirected: string[];
}

export interface EventRow {
  id: string;
  transfer: string;
  body: string;
  /** Null: its workflow has nothing to learn. */
  outbox: string | null;
}

export interface DeliveryRow {
  id: string;
  event: string;
  /** The path of the endpoint's URL. */
  path: string;
  status: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  attemptCount: number;
  /** Failed attempts of its present ladder. */
  rung: number;
}

export interface AttemptRow {
  delivery: string;
  number: number;
  trigger: string;
  t: string;
  responseStatus: number | null;
  error: string | null;
}

export async function readRecord(database: pg.Client): Promise<Record> {
  const rows = async <Row>(text: string) => (await database.query(text)).rows as Row[];
  return {
    transfers: (await rows<{ id: string }>('select id from transfers')).map(({ id }) => id),
    events: await rows<EventRow>(`select v.id, v.transfer_id as transfer, v.body, o.state::text as outbox
         from events v left join outbox o on o.event_id = v.id order by v.id`),
    deliveries: await rows<DeliveryRow>(
      `select d.id, d.event_id as event, substring(e.url from '^[a-z]+://[^/]+(.*)$') as path, d.status::text,
              d.attempt_count as "attemptCount", d.rung
         from deliveries d join webhook_endpoints e on e.id = d.endpoint_id order by d.id`,
    ),
    attempts: await rows<AttemptRow>(
      `select delivery_id as delivery, number, trigger, t, response_status as "responseStatus", error
         from attempts order by delivery_id, number`,
    ),
    halfChanged: (await rows<{ id: string }>(HALF_CHANGED)).map(({ id }) => id),
    undirected: (await rows<{ id: string }>(UNDIRECTED)).map(({ id }) => id),
  };
}

const HALF_CHANGED = `
select t.id from transfers t
  join lateral (select count(*) as changes, (array_agg(h.status order by h.position desc))[1] as last
                  from transfer_status_history h where h.transfer_id = t.id) h on true
 where t.status <> h.last or h.changes - 1 <> (select count(*) from events e where e.transfer_id = t.id)`;

/** The margin of 20 s allows either order of an enabling and a change at the same moment. */
const UNDIRECTED = `
select distinct e.id from events e
  join webhook_endpoints w on w.client_id = e.client_id and w.enabled and w.deleted_at is null
                          and w.enabled_at < e.created_at - interval '20 seconds'
 where not exists (select from deliveries d where d.event_id = e.id and d.endpoint_id = w.id)`;

/** Counts the work in progress. All counts are 0 when the service is quiet. */
export async function inProgress(database: pg.Client) {
  const { rows } = await database.query(
    `select (select count(*)::int from outbox) as outbox,
            (select count(*)::int from deliveries where status = 'pending') as pending,
            (select count(*)::int from queue) as queued,
            (select count(*)::int from recoveries where finished_at is null) as recoveries,
            (select count(*)::int from workflow_starts) as "workflowStarts"`,
  );
  return rows[0] as { [Table in 'outbox' | 'pending' | 'queued' | 'recoveries' | 'workflowStarts']: number };
}

/** Runs on a new connection, since Postgres is killed during a run. Waits until Postgres accepts one. */
export async function withDatabase<T>(databaseUrl: string, work: (database: pg.Client) => Promise<T>): Promise<T> {
  const database = await waitFor('Postgres to accept a connection', () => connect(databaseUrl).catch(() => undefined));
  try {
    return await work(database);
  } finally {
    await database.end();
  }
}

async function connect(databaseUrl: string): Promise<pg.Client> {
  const database = new pg.Client({ connectionString: databaseUrl });
  database.on('error', () => {});
  await database.connect();
  return database;
}

import { type Handle, rowOf } from '../platform/database/database.js';
import type { Notification } from '../platform/database/generated/client.js';
import { NIL_ID, takeId } from '../platform/ids.js';
import { EVENT_VERSION, type NotificationType } from '../platform/vocabulary.js';
import { hostOf } from './url.js';

/** What a message says beside the endpoint and its client. Times are ISO 8601 in UTC. */
export type Facts = Readonly<Record<string, string | number | null>>;

/** The types about an endpoint. */
type EndpointNotification = Exclude<NotificationType, 'workflows.behind'>;

/** Shortest time between two messages of a type about one endpoint, or about the service, s; an hour by default. */
const WITHIN: Partial<Record<NotificationType, number>> = { 'deliveries.ending': 86_400 };
const AN_HOUR = 3_600;

/**
 * Records in the caller's transaction that the operator and the endpoint's client are to be told. A worker starts the
 * workflows that send the message (src/notifications/notify.ts). Its text is fixed here, as an event's is, and has of
 * the endpoint's URL only the host.
 * @returns false if one of the type was recorded within the hour, or if an endpoint to be warned of is inactive
 */
export async function notifyAbout(
  tx: Handle,
  type: EndpointNotification,
  endpointId: string,
  facts: Facts,
): Promise<boolean> {
  const [about] = await tx.query<About>(ABOUT, [endpointId, type, WITHIN[type] ?? AN_HOUR]);
  if (!about || (type !== 'endpoint.disabled' && !about.enabled)) return false;
  const { clientId, clientName, url, description, at } = about;
  const data = { client_id: clientId, client_name: clientName, webhookId: endpointId, host: hostOf(url), description };
  if (type === 'endpoint.recovered') await tx.query(CLOSE, [endpointId]);
  const open = type === 'endpoint.failing' || type === 'endpoint.disabled';
  await insert(tx, { type, at, clientId, endpointId, open, data: { ...data, ...facts } });
  return true;
}

/** Records that the operator is to be told about the service. @returns false as `notifyAbout` */
export async function notifyOperator(tx: Handle, type: 'workflows.behind', facts: Facts): Promise<boolean> {
  const [last] = await tx.query<{ at: string; recent: boolean }>(ABOUT_SERVICE, [type, WITHIN[type] ?? AN_HOUR]);
  if (!last || last.recent) return false;
  await insert(tx, { type, at: last.at, clientId: null, endpointId: null, open: false, data: facts });
  return true;
}

interface About {
  clientId: string;
  clientName: string;
  url: string;
  description: string | null;
  enabled: boolean;
  at: string;
}

/** As an event has its time. */
const AT = `to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS')`;
const recent = (endpoint: string, type: string, seconds: string) => `exists (
   select from notifications n where n.endpoint_id is not distinct from ${endpoint} and n.type = ${type}
      and n.created_at > now() - ${seconds}::int * interval '1 second')`;

/** Messages of a type about an endpoint are recorded one after the other, since each locks its row. */
const ABOUT = `
select e.client_id::text as "clientId", c.name as "clientName", e.url, e.description,
       e.enabled and e.deleted_at is null as enabled, ${AT} as at
  from webhook_endpoints e join clients c on c.id = e.client_id
 where e.id = $1::uuid and not ${recent('e.id', '$2', '$3')}
   for no key update of e`;
const ABOUT_SERVICE = `select ${recent('null', '$1', '$2')} as recent, ${AT} as at`;
const CLOSE = 'update notifications set open = false where endpoint_id = $1::uuid and open';

interface NewNotification extends Pick<Notification, 'clientId' | 'endpointId' | 'open'> {
  type: NotificationType;
  at: string;
  data: Facts;
}

async function insert(tx: Handle, { type, at, clientId, endpointId, open, data }: NewNotification): Promise<void> {
  const { id } = await takeId(tx);
  const body = JSON.stringify({ id, version: EVENT_VERSION, type, data, created_at: at });
  await tx.query(INSERT, [id, type, clientId, endpointId, body, open]);
}

const INSERT = `
insert into notifications (id, type, client_id, endpoint_id, body, open)
values ($1::uuid, $2, $3::uuid, $4::uuid, $5, $6::boolean)`;

/** A notification as the console shows it. */
export interface ShownNotification {
  id: string;
  type: NotificationType;
  at: Date;
  data: Facts;
}

/** The messages about a client's endpoints, newest first. @param before only ids below this one */
export async function listNotifications(
  db: Handle,
  clientId: string,
  { before, take }: { before?: string | undefined; take: number },
): Promise<ShownNotification[]> {
  const where = { clientId, ...(before !== undefined && { id: { lt: before } }) };
  const rows = await db.prisma.notification.findMany({ where, orderBy: { id: 'desc' }, take });
  return rows.map(({ id, type, createdAt, body }) => {
    const { data } = JSON.parse(body) as { data: Facts };
    return { id, type: type as NotificationType, at: createdAt, data };
  });
}

/** How many messages about a client's endpoints came after those that its people have seen, counted up to `limit`. */
export async function countUnseen(db: Handle, clientId: string, limit: number): Promise<number> {
  return (await rowOf<{ count: number }>(db, UNSEEN, [clientId, limit])).count;
}

const UNSEEN = `
select count(*)::int as count from (
  select from notifications
   where client_id = $1::uuid
     and id > coalesce((select last from notifications_seen where client_id = $1::uuid), '${NIL_ID}')
   order by id desc limit $2::int) n`;

/** The people of a client have seen the messages up to this one. */
export async function markSeen(db: Handle, clientId: string, last: string): Promise<void> {
  await db.query(SEEN, [clientId, last]);
}

const SEEN = `
insert into notifications_seen as s (client_id, last) values ($1::uuid, $2::uuid)
on conflict (client_id) do update set last = excluded.last where s.last < excluded.last`;

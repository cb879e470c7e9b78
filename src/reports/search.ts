import type { Handle } from '../platform/database/database.js';
import { isId } from '../platform/ids.js';
import { findEventOf } from './read-events.js';

/** What a search found. */
export type Hit =
  | { kind: 'event'; id: string }
  | { kind: 'delivery'; id: string; eventId: string }
  | { kind: 'transfer' | 'endpoint'; id: string };

/** What a search may find: by the scopes of the reader. */
interface Readable {
  transfers: boolean;
  webhooks: boolean;
}

/** Rows of each kind, the newest, whose ids are compared with the end of one. */
const LOOKED_AT = 10_000;
/** Hits of each kind. */
export const MOST_HITS = 10;

/**
 * Finds a client's events, deliveries, transfers and endpoints by id, or by the end of an id as rows show it
 * (`…044a8345`).
 */
export async function searchIds(db: Handle, clientId: string, text: string, may: Readable): Promise<readonly Hit[]> {
  const id = text.trim().toLowerCase();
  if (isId(id)) return findById(db, clientId, id, may);
  const end = id.replace(/^(?:…|\.{3})/, '');
  return /^[0-9a-f-]{4,35}$/.test(end) ? findByEnd(db, clientId, end, may) : [];
}

async function findById(db: Handle, clientId: string, id: string, may: Readable): Promise<readonly Hit[]> {
  if (may.webhooks) {
    const found = await findEventOf(db, clientId, id);
    if (found?.deliveryId) return [{ kind: 'delivery', id, eventId: found.eventId }];
    if (found) return [{ kind: 'event', id }];
    if (await db.prisma.endpoint.findFirst({ where: { id, clientId, deletedAt: null }, select: { id: true } })) {
      return [{ kind: 'endpoint', id }];
    }
  }
  const isTransfer = may.transfers && (await db.prisma.transfer.findFirst({ where: { id, clientId } }));
  return isTransfer ? [{ kind: 'transfer', id }] : [];
}

async function findByEnd(db: Handle, clientId: string, end: string, may: Readable): Promise<Hit[]> {
  const values = [clientId, `%${end}`, LOOKED_AT, MOST_HITS];
  const webhooks = may.webhooks ? await db.query<Hit>(WEBHOOKS_BY_END, values) : [];
  return may.transfers ? [...webhooks, ...(await db.query<Hit>(TRANSFERS_BY_END, values))] : webhooks;
}

const MATCHING = 'where n.id::text like $2::text limit $4::int';

/** Each part reads an index from its newest entry on. */
const WEBHOOKS_BY_END = `
(select 'endpoint' as kind, n.id::text, null as "eventId"
   from (select id from webhook_endpoints where client_id = $1::uuid and deleted_at is null limit $3::int) n ${MATCHING})
union all
(select 'event', n.id::text, null
   from (select id from events where client_id >= $1::uuid and client_id <= $1::uuid
          order by client_id, id desc limit $3::int) n ${MATCHING})
union all
(select 'delivery', n.id::text, n.event_id::text
   from (select d.id, d.event_id
           from (select id from webhook_endpoints where client_id = $1::uuid) e
          cross join lateral (
            select id, event_id from deliveries
             where endpoint_id >= e.id and endpoint_id <= e.id order by endpoint_id, id desc limit greatest(100, $3::int / (
               select 1 + count(*)::int from webhook_endpoints where client_id = $1::uuid))) d) n ${MATCHING})`;

const TRANSFERS_BY_END = `
select 'transfer' as kind, n.id::text
  from (select id from transfers where client_id >= $1::uuid and client_id <= $1::uuid
         order by client_id, id desc limit $3::int) n ${MATCHING}`;

import { setTimeout as sleep } from 'node:timers/promises';
import { showClient } from '../auth/clients.js';
import { deleteEndpoint } from '../endpoints/endpoints.js';
import { type By, recordAudit } from '../platform/audit.js';
import { type Database, readClock } from '../platform/database/database.js';
import { requireOwner } from '../platform/database/roles.js';
import { inBatches } from '../platform/retention.js';
import { UNFINISHED_STATUSES } from './states.js';

const BATCH = 500;
/** Longer than a request that began before the client was revoked, ms. */
const LAST_REQUESTS = 30_000;

/**
 * Erases what names persons or accounts in the rows of a revoked client: of its transfers the destination, reference,
 * metadata, `Idempotency-Key` and reasons, of its endpoints url and description, its name, networks, stored responses
 * and notifications, and what the audit says of these. Amounts, statuses, times and ids stay. Its endpoints are
 * deleted. A call that was killed is repeated; a call after the last changes nothing.
 * @returns the number of rows that were changed
 * @param database of the owner of the tables: no role of a running process may change what a transfer says
 * @throws Refusal not_found; Error of one line: another role, a client that is not revoked, a transfer that has not
 * ended
 */
export async function eraseClient(database: Database, by: By, clientId: string, limit = BATCH) {
  await requireOwner(database);
  const { revokedAt, erasedAt } = await showClient(database, clientId);
  if (erasedAt) return { transfers: 0, endpoints: 0 };
  if (!revokedAt) throw new Error(`the client is not revoked; run: clients revoke ${clientId}`);
  await sleep(Math.max(0, revokedAt.getTime() + LAST_REQUESTS - (await readClock(database))));
  const [open] = await database.query<{ id: string; status: string }>(UNFINISHED, [clientId, UNFINISHED_STATUSES]);
  if (open) throw new Error(`the transfer ${open.id} is ${open.status}; end it first, with transfers set-status`);

  await database.transaction(async (tx) => {
    await tx.prisma.consoleSession.deleteMany({ where: { clientId } });
    await tx.prisma.consoleCode.deleteMany({ where: { clientId } });
    await recordAudit(tx, { ...by, action: 'clients.erase', target: clientId });
  });
  const live = await database.prisma.endpoint.findMany({ where: { clientId, deletedAt: null }, select: { id: true } });
  for (const { id } of live) await deleteEndpoint(database, by, clientId, id);
  const endpoints = await eraseRows(database, ERASE_ENDPOINTS, clientId, limit);
  const transfers = await eraseRows(database, ERASE_TRANSFERS, clientId, limit);
  await inBatches(async () => {
    const { count } = await database.prisma.idempotencyKey.deleteMany({ where: { clientId }, limit });
    return count === limit;
  });
  await inBatches(async () => {
    const { count } = await database.prisma.notification.deleteMany({ where: { clientId }, limit });
    return count === limit;
  });
  await database.prisma.notificationsSeen.deleteMany({ where: { clientId } });
  await database.query(ERASE_CLIENT, [clientId]);
  return { transfers, endpoints };
}

/** Runs `statement` for the rows of the client, page by page. @returns the number of changed rows */
async function eraseRows(database: Database, statement: string, clientId: string, limit: number): Promise<number> {
  let changed = 0;
  let after: string | null = null;
  await inBatches(async () => {
    const values = [clientId, after, limit];
    const [page] = await database.query<{ seen: number; last: string | null; changed: number }>(statement, values);
    changed += page?.changed ?? 0;
    after = page?.last ?? null;
    return page?.seen === limit;
  });
  return changed;
}

const ERASE_CLIENT = `
with entries as (
  update audit_entries set details = details - array['name', 'networks', 'from', 'to', 'host']
   where target = $1::text and action in ('clients.create', 'clients.rename', 'clients.allow', 'clients.set-notify')
)
update clients set name = 'erased', networks = '{}', notify_url = null, notify_secret_envelope = null,
       erased_at = clock_timestamp() where id = $1::uuid`;

const UNFINISHED = `
select id::text, status::text from transfers where client_id = $1::uuid and status = any($2::text[]::transfer_status[]) limit 1`;

/** A page of the client's rows by id. The range on the client keeps the order of its own index: `exactly` in ids.ts. */
const pageOf = (table: string) => `
with page as materialized (
  select id from ${table}
   where client_id >= $1::uuid and client_id <= $1::uuid and ($2::uuid is null or id > $2::uuid)
   order by client_id desc, id limit $3::int
)`;
const COUNTED = `
select (select count(*)::int from page) as seen, (select max(id::text) from page) as last,
       (select count(*)::int from changed) as changed`;

/** The audit keeps each entry of the page's rows, without this detail. */
const erasedEntries = (detail: string) => `entries as (
  update audit_entries a set details = a.details - '${detail}'
    from page p where a.target = p.id::text and a.details ? '${detail}'
)`;

const ERASE_TRANSFERS = `${pageOf('transfers')}, changed as (
  update transfers t set destination_name = 'erased', destination_account = 'erased', reference = null, metadata = '{}',
         idempotency_key = null, request_digest = null
    from page p where t.id = p.id
     and (destination_name <> 'erased' or destination_account <> 'erased' or reference is not null or metadata <> '{}'
      or idempotency_key is not null)
  returning 1
), reasons as (
  update transfer_status_history h set reason = null from page p where h.transfer_id = p.id and h.reason is not null
), ${erasedEntries('reason')}${COUNTED}`;

const ERASE_ENDPOINTS = `${pageOf('webhook_endpoints')}, changed as (
  update webhook_endpoints e set url = 'https://erased.invalid/', description = null
    from page p where e.id = p.id and (url <> 'https://erased.invalid/' or description is not null)
  returning 1
), ${erasedEntries('host')}${COUNTED}`;

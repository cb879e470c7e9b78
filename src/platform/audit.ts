import { hostname, userInfo } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database, Handle } from './database/database.js';
import type { AuditEntry, Prisma } from './database/generated/client.js';
import { requireOwner } from './database/roles.js';
import { formatDuration } from './duration.js';
import { type IdRange, idsWithin, lowestIdAt, NOW, newIdSql } from './ids.js';
import { inBatches, lowestIdBefore } from './retention.js';

/** Who acts: a person at a command line, a client's system, a session of its console, or the service itself. */
export type Actor = `cli:${string}` | `client:${string}` | `console:${string}` | 'service';

/** Who acts, as an audit entry says it. */
export interface By {
  actor: Actor;
  /** The facts of the console's session through which the client acts. They never contain a cookie or a code. */
  session?: Readonly<Record<string, string>>;
}

/** The person at this command line; under `sudo`, the user who ran `sudo`. */
export function personHere(env: NodeJS.ProcessEnv = process.env): Actor {
  return `cli:${env.SUDO_USER || userName()}@${hostname()}`;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user in a container may have a number but no name.
    return String(process.getuid?.() ?? 'unknown');
  }
}

/** The actions that the audit records, each as resource and verb. */
export type Action =
  | `clients.${'create' | 'rotate-secret' | 'revoke' | 'revoke-secret' | 'allow' | 'rename' | 'erase'}`
  | `clients.${'set-limits' | 'set-notify' | 'set-keys' | 'require-key'}`
  | `endpoints.${'create' | 'update' | 'delete' | 'disable' | 'set-concurrency' | 'set-rate' | 'enable'}`
  | `endpoints.${'check' | 'recover' | 'cancel-recovery'}`
  // The statement of src/transfers/change-status.ts writes `transfers.set-status` itself.
  | `transfers.${'set-status' | 'expire'}`
  | 'audit.expire'
  | 'deliveries.retry'
  | `keys.${'rotate' | 'revoke' | 'rotate-master'}`
  // Links, sign-ins and sign-outs of the console, and the changes there that the API does not record: `console.` and
  // the API's operation.
  | `console.${string}`;

interface AuditRecord extends By {
  action: Action;
  /** The id of the changed resource; null: all resources. */
  target: string | null;
  /** The facts that explain the action. They never contain a secret or its hash. */
  details?: Prisma.InputJsonObject;
}

/** Writes one entry. `tx` is the transaction of the action, so that both commit or neither does. */
export async function recordAudit(tx: Handle, record: AuditRecord): Promise<void> {
  const { actor, session, action, target, details } = record;
  await tx.query(RECORD, [actor, action, target, JSON.stringify({ ...details, ...session })]);
}

const RECORD = `
insert into audit_entries (id, at, actor, action, target, details)
select ${newIdSql('at')}, at, $1::text, $2::text, $3::text, $4::jsonb from (select ${NOW} as at) t`;

interface EntryFilters extends IdRange {
  target?: string | undefined;
  actor?: string | undefined;
  /** A prefix of the action, such as `clients` or `clients.revoke`. */
  action?: string | undefined;
  take: number;
}

/** Newest first. */
export function listEntries(
  db: Handle,
  { target, actor, action, take, ...range }: EntryFilters,
): Promise<AuditEntry[]> {
  return db.prisma.auditEntry.findMany({
    where: {
      id: idsWithin(range),
      ...(target !== undefined && { target }),
      ...(actor !== undefined && { actor }),
      ...(action !== undefined && { action: { startsWith: action } }),
    },
    orderBy: { id: 'desc' },
    take,
  });
}

/** Age from which no entry is added before another, ms. A transaction that writes an entry takes less. */
const SETTLED_AFTER = 60_000;
const PAGE = 500;
/** Time between two looks for new entries, ms. */
const LOOK = 2_000;

export interface Export {
  /** ms since 1970 */
  since: number | undefined;
  /** The last entry that an earlier export gave. */
  after: string | undefined;
  /** Set: the export goes on with new entries until it is aborted. */
  follow?: AbortSignal | undefined;
  settledAfter?: number;
}

/**
 * The entries, oldest first, in pages. An entry that is younger than SETTLED_AFTER waits: another one with a smaller id
 * may still commit, and an export that resumes after the last id would never give it.
 */
export async function* exportEntries(
  db: Handle,
  { since = 0, after, follow, settledAfter = SETTLED_AFTER }: Export,
): AsyncGenerator<AuditEntry[]> {
  let last = after;
  do {
    const lt = await lowestIdBefore(db, settledAfter);
    for (let full = true; full && !follow?.aborted; ) {
      const id = { lt, gte: lowestIdAt(since), ...(last !== undefined && { gt: last }) };
      const page = await db.prisma.auditEntry.findMany({ where: { id }, orderBy: { id: 'asc' }, take: PAGE });
      if (page.length > 0) yield page;
      last = page.at(-1)?.id ?? last;
      full = page.length === PAGE;
    }
    if (follow) await sleep(LOOK, undefined, { signal: follow }).catch(() => undefined);
  } while (follow && !follow.aborted);
}

/**
 * Removes what is older than `retention` ms, in batches. The entry about it is in the transaction of the first batch
 * that removes something.
 * @param database of the owner of the tables: no role of a running process may remove a record
 * @param remove one batch of what has an id below `before`; `more`: another may follow
 * @returns the number of removed rows
 * @throws Error of one line: another role
 */
export async function expire(
  database: Database,
  { by, action, retention }: { by: By; action: Action; retention: number },
  remove: (tx: Handle, before: string) => Promise<{ removed: number; more: boolean }>,
): Promise<number> {
  await requireOwner(database);
  const before = await lowestIdBefore(database, retention);
  let total = 0;
  await inBatches(async () => {
    const { removed, more } = await database.transaction(async (tx) => {
      const batch = await remove(tx, before);
      const details = { older_than: formatDuration(retention) };
      if (total === 0 && batch.removed > 0) await recordAudit(tx, { ...by, action, target: null, details });
      return batch;
    });
    total += removed;
    return more;
  });
  return total;
}

const EXPIRED_AT_ONCE = 1_000;

/** Removes the entries that are older than `retention` ms, oldest first. @returns their number @throws as `expire` */
export function expireAudit(database: Database, by: By, retention: number, limit = EXPIRED_AT_ONCE): Promise<number> {
  return expire(database, { by, action: 'audit.expire', retention }, async ({ prisma }, lt) => {
    const where = { id: { lt } };
    const oldest = await prisma.auditEntry.findMany({
      where,
      orderBy: { id: 'asc' },
      take: limit,
      select: { id: true },
    });
    const { count } = await prisma.auditEntry.deleteMany({ where: { id: { in: oldest.map(({ id }) => id) } } });
    return { removed: count, more: count === limit };
  });
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Handle } from '../database/database.js';
import type { AuditEntry } from '../database/generated/client.js';
import { type IdRange, idsWithin, lowestIdAt } from '../ids.js';
import { firstKept } from '../retention/expired.js';

export interface EntryFilters extends IdRange {
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
export const SETTLED_AFTER = 60_000;
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
    const lt = await firstKept(db, settledAfter);
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

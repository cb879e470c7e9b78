import type { Handle } from '../database/database.js';
import type { AuditEntry } from '../database/generated/client.js';
import { type IdRange, idsWithin } from '../ids.js';

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

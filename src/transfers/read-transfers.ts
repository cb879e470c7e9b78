import type { Handle } from '../platform/database/database.js';
import type { Transfer } from '../platform/database/generated/client.js';
import type { TransferStatus } from '../platform/database/generated/enums.js';
import { type IdRange, idBounds } from '../platform/ids.js';
import { Refusal } from '../platform/refusal.js';
import { UNFINISHED_STATUSES } from './states.js';

export const LIST_ORDERS = ['newest', 'oldest'] as const;
export type ListOrder = (typeof LIST_ORDERS)[number];

export interface TransferFilters extends Omit<IdRange, 'before'> {
  /** Null: of all clients, for the operator. */
  clientId: string | null;
  status?: TransferStatus | undefined;
  reference?: string | undefined;
  /** The `Idempotency-Key` of its creation. */
  key?: string | undefined;
  order: ListOrder;
  /** The last id of the page before. */
  cursor?: string | undefined;
  take: number;
}

/** Lists the transfers of one client, or of all. */
export async function listTransfers(db: Handle, filters: TransferFilters): Promise<Transfer[]> {
  const { text, values } = listStatement(filters);
  const rows = await db.query<{ id: string }>(text, values);
  const where = { id: { in: rows.map(({ id }) => id) } };
  return db.prisma.transfer.findMany({ where, orderBy: { id: filters.order === 'oldest' ? 'asc' : 'desc' } });
}

/** The predicate of `transfers_unfinished_idx`, without which Postgres does not use it. */
const UNFINISHED = `t.status in (${UNFINISHED_STATUSES.map((status) => `'${status}'`).join(', ')})`;

const TYPES = { reference: 'text', status: 'transfer_status', client_id: 'uuid' } as const;

/**
 * Each statement reads a page in the order of one index. The work list of a payment rail (unfinished transfers of all
 * clients) has an index of its own. A reference, or a final status, of all clients needs a page of each client: its
 * indexes begin with the client.
 */
function listStatement({ clientId, status, reference, key, order, cursor, take, ...range }: TransferFilters) {
  const isOldest = order === 'oldest';
  // The indexes are in the order (…, id desc): read backwards, the oldest are first.
  const [forward, byTime] = isOldest ? ['desc', 'asc'] : ['asc', 'desc'];
  const values: unknown[] = [];
  const use = (value: unknown, type: string) => `$${values.push(value)}::${type}`;
  const { gte, lt } = idBounds({ ...range, before: isOldest ? undefined : cursor });
  const limit = use(take, 'int');
  const within = [`t.id >= ${use(gte, 'uuid')}`, `t.id < ${use(lt, 'uuid')}`];
  if (isOldest && cursor !== undefined) within.push(`t.id > ${use(cursor, 'uuid')}`);
  const page = (column: keyof typeof TYPES, value: string, ...conditions: string[]) => {
    const key = use(value, TYPES[column]);
    // A range keeps the column in the order, and so the list in its index (`exactly`).
    const where = [`t.${column} >= ${key}`, `t.${column} <= ${key}`, ...within, ...conditions].join(' and ');
    return `select t.id from transfers t where ${where} order by t.${column} ${forward}, t.id ${byTime} limit ${limit}`;
  };
  const ofEachClient = (column: 'reference' | 'status', value: string, ...conditions: string[]) => {
    const each = page(column, value, 't.client_id = c.id', ...conditions);
    const who = clientId === null ? '' : `where c.id = ${use(clientId, 'uuid')}`;
    return `select p.id from clients c cross join lateral (${each}) p ${who} order by p.id ${byTime} limit ${limit}`;
  };
  const keyed = (wanted: string) => {
    const where = ['t.client_id =', use(clientId, 'uuid'), 'and t.idempotency_key =', use(wanted, 'text')];
    if (reference !== undefined) within.push(`t.reference = ${use(reference, 'text')}`);
    if (status !== undefined) within.push(`t.status = ${use(status, 'transfer_status')}`);
    return `select t.id from transfers t where ${where.join(' ')} and ${within.join(' and ')} limit ${limit}`;
  };
  const ids =
    key !== undefined
      ? keyed(key)
      : reference !== undefined
        ? ofEachClient('reference', reference, ...(status ? [`t.status = ${use(status, 'transfer_status')}`] : []))
        : status !== undefined && clientId === null && UNFINISHED_STATUSES.includes(status)
          ? page('status', status, UNFINISHED)
          : status !== undefined
            ? ofEachClient('status', status)
            : clientId !== null
              ? page('client_id', clientId)
              : `select t.id from transfers t where ${within.join(' and ')} order by t.id ${byTime} limit ${limit}`;
  return { text: `select p.id::text from (${ids}) p`, values };
}

/** The transfer that the client created with an `Idempotency-Key`, with its history; null: none. */
export function findTransferByKey(db: Handle, clientId: string, key: string) {
  return db.prisma.transfer.findFirst({ where: { clientId, idempotencyKey: key }, include: WITH_HISTORY });
}

const WITH_HISTORY = { history: { orderBy: { position: 'asc' } } } as const;

/**
 * Reads a transfer with its history, oldest entry first.
 * @param clientId null: of any client, for the operator
 * @throws Refusal not_found
 */
export async function getTransfer(db: Handle, clientId: string | null, id: string) {
  const transfer = await db.prisma.transfer.findFirst({
    where: { id, ...(clientId !== null && { clientId }) },
    include: WITH_HISTORY,
  });
  if (!transfer) throw new Refusal('not_found', 'There is no such transfer.');
  return transfer;
}

/** Locks a transfer's row, and reads it as `getTransfer` does. @throws Refusal not_found */
export async function lockTransfer(tx: Handle, clientId: string | null, id: string) {
  await tx.query(
    'select from transfers where id = $1::uuid and ($2::uuid is null or client_id = $2::uuid) for no key update',
    [id, clientId],
  );
  return getTransfer(tx, clientId, id);
}

/** What rows of events and deliveries show of their transfers. */
export type TransferSummary = Pick<Transfer, 'id' | 'amountValue' | 'amountCurrency' | 'reference'>;

/** Reads these transfers of a client. @returns by id; a transfer that was removed has no entry */
export async function readTransferSummaries(
  db: Handle,
  clientId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, TransferSummary>> {
  const rows = await db.prisma.transfer.findMany({
    where: { id: { in: [...new Set(ids)] }, clientId },
    select: { id: true, amountValue: true, amountCurrency: true, reference: true },
  });
  return new Map(rows.map((row) => [row.id, row]));
}

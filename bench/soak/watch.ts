import { ownMemoryOf, type Parts } from '../processes.js';
import type { Stack } from '../stack.js';
import { WAITING_EVENTS } from '../workflows.js';
import type { Missing, Sample } from './verdict.js';

/** The tables that retention keeps small. */
const TABLES = ['events', 'deliveries', 'attempts'] as const;

export interface Reading extends Sample {
  /** Events that wait for their first attempt or their workflow. */
  waiting: number;
  /** Rows of the tables that were removed since the start. */
  removed: number;
  temporalDiskMib: number;
}

export async function readSample(parts: Parts, stack: Stack, minute: number): Promise<Reading> {
  const { rows } = await stack.database.query(
    `select ${TABLES.map((table) => `(select count(*)::int from ${table}) as ${table}`).join()},
            (${WAITING_EVENTS}) as waiting`,
  );
  const { waiting, ...counted } = rows[0];
  const removed = await stack.database.query<{ n: number }>(
    `select coalesce(sum(n_tup_del), 0)::int as n from pg_stat_user_tables where relname = any($1)`,
    [TABLES],
  );
  return {
    minute,
    memory: Object.fromEntries(Object.entries(parts).map(([part, pids]) => [part, sumOf(pids.map(ownMemoryOf))])),
    rows: counted,
    waiting,
    removed: removed.rows[0]?.n ?? 0,
    temporalDiskMib: stack.servers.temporalBytesOnDisk() / 2 ** 20,
  };
}

/** The outcome of changes whose event the receiver did not get. */
export async function explainMissing({ database }: Stack, transfers: readonly string[]): Promise<Missing[]> {
  const { rows } = await database.query<{ transfer: string; status: string }>(
    `select e.transfer_id as transfer, d.status::text from events e join deliveries d on d.event_id = e.id
      where e.transfer_id = any($1::uuid[])`,
    [transfers],
  );
  const statuses = new Map(rows.map(({ transfer, status }) => [transfer, status]));
  return transfers.map((transfer) => ({ transfer, status: statuses.get(transfer) }));
}

const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);

/** Temporal runs the Schedule every hour; a soak is too short for that. A run in progress is left alone. */
export const runRetention = ({ temporal }: Stack) => temporal.schedule.getHandle('retention').trigger();

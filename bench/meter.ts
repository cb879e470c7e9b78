import { now } from './clock.js';
import { cpuOf, memoryOf, type Parts } from './processes.js';
import type { Stack } from './stack.js';

/** What the parts have used up to a moment. */
export interface Reading {
  at: number;
  /** CPU ms by part. */
  cpu: Record<string, number>;
  walBytes: number;
  commits: number;
}

export async function readMeter(parts: Parts, { database }: Pick<Stack, 'database'>): Promise<Reading> {
  const { rows } = await database.query<{ wal: string; commits: string }>(
    `select pg_current_wal_lsn() - '0/0' as wal, xact_commit as commits from pg_stat_database
      where datname = current_database()`,
  );
  const { wal, commits } = rows[0] ?? {};
  return { at: now(), cpu: each(parts, cpuOf), walBytes: Number(wal), commits: Number(commits) };
}

/** WAL of an event of the service's Postgres. */
export const walBetween = (from: Reading, to: Reading, events: number) => ({
  'WAL KiB': (to.walBytes - from.walBytes) / 1_024 / events,
});

/** Resident memory of each part, MiB. */
export const readMemory = (parts: Parts) => each(parts, memoryOf);

/** CPU ms of each part between two readings. */
export function cpuBetween(from: Reading, to: Reading): Record<string, number> {
  return Object.fromEntries(Object.entries(to.cpu).map(([part, used]) => [part, used - (from.cpu[part] ?? 0)]));
}

/** How many cores were at work: what limits, where it comes near to all there are. */
export function coresBetween(from: Reading, to: Reading): number {
  const used = Object.values(cpuBetween(from, to)).reduce((sum, ms) => sum + ms, 0);
  return used / (to.at - from.at);
}

function each(parts: Parts, of: (pid: number) => number): Record<string, number> {
  const total = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + of(pid), 0);
  return Object.fromEntries(Object.entries(parts).map(([part, pids]) => [part, total(pids)]));
}

import type pg from 'pg';
import { now } from './clock.js';
import { cpuOf, memoryOf, type Parts } from './processes.js';

/** What the parts have used up to a moment. */
export interface Reading {
  at: number;
  /** CPU ms by part. */
  cpu: Record<string, number>;
  walBytes: number;
  commits: number;
}

export async function readMeter(parts: Parts, database: pg.Client): Promise<Reading> {
  const { rows } = await database.query<{ wal: string; commits: string }>(
    `select pg_current_wal_lsn() - '0/0' as wal, xact_commit as commits from pg_stat_database
      where datname = current_database()`,
  );
  return {
    at: now(),
    cpu: each(parts, cpuOf),
    walBytes: Number(rows[0]?.wal),
    commits: Number(rows[0]?.commits),
  };
}

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
  return Object.fromEntries(Object.entries(parts).map(([part, pid]) => [part, of(pid)]));
}

import { readFileSync } from 'node:fs';

/** Processes by their role in the table; the children of each count with it, as Postgres's backends do. */
export type Parts = Readonly<Record<string, readonly number[]>>;

const TICK_MS = 10;

/**
 * CPU time used so far, ms: of the process with all its threads, of its children, and of those that have ended. Linux
 * only.
 */
export function cpuOf(pid: number): number {
  // proc(5), fields 14 to 17: utime, stime, and both of children that have ended.
  const ticks = ticksOf(pid, 4) + childrenOf(pid).reduce((sum, child) => sum + ticksOf(child, 2), 0);
  return ticks * TICK_MS;
}

/** Resident memory, MiB. Pages that a process and its children share (Postgres's buffers) count once. */
export function memoryOf(pid: number): number {
  const children = childrenOf(pid);
  const field = children.length === 0 ? 'Rss' : 'Pss';
  return [pid, ...children].reduce((sum, one) => sum + memoryField(one, field), 0);
}

function ticksOf(pid: number, fields: 2 | 4): number {
  return readProc(pid, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ')
    .slice(11, 11 + fields)
    .reduce((sum, ticks) => sum + Number(ticks), 0);
}

function memoryField(pid: number, field: 'Rss' | 'Pss'): number {
  const text = readProc(pid, 'smaps_rollup');
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0) / 1_024;
}

function childrenOf(pid: number): number[] {
  const children = readProc(pid, `task/${pid}/children`).trim();
  return children === '' ? [] : children.split(' ').map(Number);
}

/** Empty if the process has ended in between. */
function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

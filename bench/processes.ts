import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const TICK_MS = 10;

/** CPU time that a process and its descendants have used, ms; Linux only. */
export function cpuOf(pid: number): number {
  let total = 0;
  for (const one of [pid, ...descendants(pid)]) {
    try {
      const fields = readFileSync(`/proc/${one}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      // utime, stime, and those of children that have ended (proc(5), fields 14 to 17).
      total += fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_MS;
    } catch {
      // It ended in between.
    }
  }
  return total;
}

/** Resident memory of a process, MiB. */
export function residentOf(pid: number): number {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
  return Math.round((pages * 4096) / 2 ** 20);
}

function descendants(pid: number): number[] {
  const table = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const found: number[] = [];
  for (let parents = [pid]; parents.length > 0; ) {
    parents = table.filter(([, parent]) => parents.includes(parent ?? 0)).map(([child]) => child ?? 0);
    found.push(...parents);
  }
  return found;
}

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process and its start time, so that a later process with the same pid is not mistaken for it. */
export interface ProcessRecord {
  pid: number;
  started: string;
}

/** The record of a process. For a process that has already ended, the record never counts as running. */
export function recordProcess(pid: number): ProcessRecord {
  return { pid, started: startOf(pid) ?? 'ended' };
}

export function isRunning(record: ProcessRecord): boolean {
  return startOf(record.pid) === record.started;
}

/** Ends a process with `signal`, and after `within` ms its whole group with SIGKILL. Resolves when it has ended. */
export async function endProcess(record: ProcessRecord, signal: NodeJS.Signals, within: number): Promise<void> {
  if (!isRunning(record)) return;
  process.kill(record.pid, signal);
  const deadline = Date.now() + within;
  while (isRunning(record)) {
    if (Date.now() > deadline) killGroup(record.pid);
    await sleep(20);
  }
}

/** The command line of a process; empty if no process has that pid. A zombie does not count. */
export function commandOf(pid: number): string {
  if (startOf(pid) === undefined) return '';
  try {
    return process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      : execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return '';
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The process ended in the meantime.
  }
}

/** The start time of a process, in any form; undefined if no process has that pid. A zombie does not count. */
function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid);
}

function startOnLinux(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // proc(5): pid (name) state …; field 22 is the start in ticks since boot. The name may contain blanks and brackets.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [state, ticks] = [fields[0], fields[19]];
    if (state === 'Z' || state === 'X') return undefined;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()}/${ticks}`;
  } catch {
    return undefined;
  }
}

function startByPs(pid: number): string | undefined {
  try {
    const [state, ...started] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .split(/\s+/);
    return state?.startsWith('Z') ? undefined : started.join(' ');
  } catch {
    return undefined;
  }
}

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process and when it started, so that its number, given to another process later, is not taken for it. */
export interface ProcessRecord {
  pid: number;
  started: string;
}

/** Of a process that has ended already: a record that never counts as running. */
export function recordProcess(pid: number): ProcessRecord {
  return { pid, started: startOf(pid) ?? 'ended' };
}

export function isRunning(record: ProcessRecord): boolean {
  return startOf(record.pid) === record.started;
}

/** Ends a process, kindly at first; after `within` ms with its whole group, unkindly. Resolves when it is gone. */
export async function endProcess(record: ProcessRecord, signal: NodeJS.Signals, within: number): Promise<void> {
  if (!isRunning(record)) return;
  process.kill(record.pid, signal);
  const deadline = Date.now() + within;
  while (isRunning(record)) {
    if (Date.now() > deadline) killGroup(record.pid);
    await sleep(20);
  }
}

/** The command line of a process; empty where none runs (a zombie does not). */
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
    // It ended in between.
  }
}

/** Something that no two processes with this number share; undefined: none runs (a zombie does not). */
function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? startOnLinux(pid) : startByPs(pid);
}

function startOnLinux(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // proc(5): pid (name) state … the 22nd is the start in ticks since boot; the name may hold blanks and brackets.
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

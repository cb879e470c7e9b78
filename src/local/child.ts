import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
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

/**
 * Ends a process with `signal`. When it has ended, or after `within` ms, what is left of its group ends with SIGKILL.
 * Resolves when the process has ended.
 */
export async function endProcess(record: ProcessRecord, signal: NodeJS.Signals, within: number): Promise<void> {
  if (!isRunning(record)) return;
  process.kill(record.pid, signal);
  for (const deadline = Date.now() + within; isRunning(record) && Date.now() < deadline; ) await sleep(20);
  killGroup(record.pid);
  while (isRunning(record)) await sleep(20);
}

export function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // No process of the group runs.
  }
}

/** The start time of a process, in any form; undefined if no process has that pid. A zombie does not count. */
function startOf(pid: number): string | undefined {
  try {
    const [state = '', start] = process.platform === 'linux' ? readProc(pid) : askPs(pid);
    return /^[ZX]/.test(state) ? undefined : start;
  } catch {
    return undefined;
  }
}

function readProc(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // proc(5): pid (name) state …; field 22 is the start in ticks since boot. The name may contain blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [fields[0] ?? '', `${readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()}/${fields[19]}`];
}

function askPs(pid: number): string[] {
  const [state = '', ...started] = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/);
  return [state, started.join(' ')];
}

/** How the embedded stack starts each of its programs. */
export interface StartPlan {
  localDir: string;
  /** Called with each started process, before it is ready. */
  onStart(record: ProcessRecord): void;
  progress(line: string): void;
  signal: AbortSignal | undefined;
}

interface ChildPlan extends Omit<StartPlan, 'localDir'> {
  /** The program's name in messages. */
  name: string;
  command: string;
  args: readonly string[];
  /** The folder that the program runs in; undefined: the root. */
  folder?: string;
  /** Variables beside those that every program gets. */
  env?: Readonly<Record<string, string>>;
  /** The user that the program runs as; undefined: the user of this process. */
  user?: { uid: number; gid: number } | undefined;
  /** The file of the program's output. It is not a pipe, since the program may run longer than this process. */
  logFile: string;
  stopSignal: NodeJS.Signals;
  /** Called before each start, including restarts. */
  beforeStart?(): void;
  /** Resolves if the program responds, rejects if it does not respond yet. */
  ping(): Promise<unknown>;
  /** What the end of the log says if only a new process can respond again; undefined: a program heals by itself. */
  isStuck?: { logs: string; checkEvery: number };
}

export type Child = Awaited<ReturnType<typeof startChild>>;

const READY_WITHIN = 60_000;
const STOP_WITHIN = 15_000;
const PAUSE = 1_000;
/** A program is stuck if it is so at this many checks in a row. */
const STUCK_CHECKS = 3;

/**
 * Starts a program and keeps it running. A program that ends by itself is started again after a second. The program
 * has its own process group: Ctrl-C at the terminal reaches only this process, which ends its programs in the right
 * order.
 * @throws Error of one line if the program does not start, with the last line of its log
 */
export async function startChild(plan: ChildPlan) {
  let stopping = false;
  let checks: NodeJS.Timeout | undefined;
  let current = launch(plan, 'w');

  const killAtExit = () => current.process.kill(plan.stopSignal);
  /** Ends the program without a restart. Resolves when its process has ended. */
  const stop = async () => {
    stopping = true;
    clearInterval(checks);
    if (isAlive(current.process)) await endProcess(current.record, plan.stopSignal, STOP_WITHIN);
    process.off('exit', killAtExit);
  };
  const keepRunning = async () => {
    for (;;) {
      const { process: child } = current;
      if (isAlive(child)) await once(child, 'exit');
      if (stopping) return;
      plan.progress(`${plan.name} ended (${child.signalCode ?? `exit code ${child.exitCode}`}); starting it again`);
      await sleep(PAUSE, undefined, { ref: false });
      if (stopping) return;
      try {
        current = launch(plan, 'a');
        await untilReady(plan, current.process);
        plan.progress(`${plan.name} is back`);
      } catch (error) {
        plan.progress(error instanceof Error ? error.message : String(error));
      }
    }
  };

  process.once('exit', killAtExit);
  try {
    await untilReady(plan, current.process);
  } catch (error) {
    await stop();
    throw error;
  }
  void keepRunning();
  let stuck = 0;
  const endIfStuck = async () => {
    const { record, logFrom } = current;
    const responds = await plan.ping().then(
      () => true,
      () => false,
    );
    if (stopping) return;
    stuck = !responds && endOfLog(plan, logFrom).includes(plan.isStuck?.logs ?? '') ? stuck + 1 : 0;
    if (stuck < STUCK_CHECKS || !isRunning(record)) return;
    stuck = 0;
    plan.progress(`${plan.name} cannot respond any more: ${plan.isStuck?.logs}`);
    killGroup(record.pid);
  };
  if (plan.isStuck) checks = setInterval(() => void endIfStuck(), plan.isStuck.checkEvery).unref();
  return { stop };
}

function launch(
  plan: ChildPlan,
  logMode: 'w' | 'a',
): { process: ChildProcess; record: ProcessRecord; logFrom: number } {
  plan.beforeStart?.();
  const log = openSync(plan.logFile, logMode, 0o600);
  try {
    const logFrom = fstatSync(log).size;
    const child = spawn(plan.command, plan.args, {
      detached: true,
      cwd: plan.folder ?? '/',
      // The program does not get this process's environment, which has MASTER_KEY and other secrets.
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TZ: 'UTC', LC_ALL: 'C', ...plan.env },
      stdio: ['ignore', log, log],
      ...plan.user,
    });
    child.on('error', () => {});
    if (child.pid === undefined) throw new Error(`${plan.name} cannot be started: ${plan.command} cannot be executed`);
    const record = recordProcess(child.pid);
    try {
      plan.onStart(record);
    } catch (error) {
      // An unrecorded process would run on after this process has ended.
      child.kill('SIGKILL');
      throw error;
    }
    return { process: child, record, logFrom };
  } finally {
    closeSync(log);
  }
}

async function untilReady(plan: ChildPlan, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + READY_WITHIN;
  for (;;) {
    plan.signal?.throwIfAborted();
    if (!isAlive(child)) throw new Error(`${plan.name} ended during its start: ${lastLogLine(plan)}`);
    const responded = await plan.ping().then(
      () => true,
      () => false,
    );
    if (responded && isAlive(child)) return;
    if (Date.now() > deadline) {
      throw new Error(`${plan.name} did not respond within ${READY_WITHIN / 1000} s: ${lastLogLine(plan)}`);
    }
    await sleep(50);
  }
}

const isAlive = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;

/** The last KiB of the program's log, from `from` on, where this process of it began. */
function endOfLog({ logFile }: ChildPlan, from: number): string {
  const file = openSync(logFile, 'r');
  try {
    const bytes = Buffer.alloc(1_024);
    const read = readSync(file, bytes, 0, bytes.length, Math.max(from, fstatSync(file).size - bytes.length));
    return bytes.toString('latin1', 0, read);
  } finally {
    closeSync(file);
  }
}

/** The last line of the program's log that names an error, or else the last line. */
function lastLogLine(plan: ChildPlan): string {
  const lines = readFileSync(plan.logFile, 'utf8').trim().split('\n');
  const fatal = lines.findLast((line) => /FATAL|PANIC|error/i.test(line)) ?? lines.at(-1);
  return `${fatal?.trim() || 'its log is empty'} (${plan.logFile})`;
}

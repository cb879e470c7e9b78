import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../platform/config/config.js';
import { holdPort } from '../platform/free-port.js';
import { migrateTemporal } from '../temporal/namespace.js';
import type { Child, ProcessRecord, StartPlan } from './child.js';
import type { StackState } from './stack-state.js';
import { startTemporal } from './temporal.js';
import { findTemporal } from './temporal-program.js';

interface BesidePlan extends Omit<StartPlan, 'onStart'> {
  port: number;
  uiPort: number;
  temporal: Config['temporal'];
  cacheDir: string;
  path: string | undefined;
  /** Keeps what the commands and the next start must know. */
  record(change: Partial<StackState>): void;
}

/** What works until then, for people. */
const MEANWHILE =
  '. Transfers, deliveries and retries already work; checks of receivers, recoveries and the Temporal UI do not yet';

const [FIRST_PAUSE, LONGEST_PAUSE] = [1_000, 60_000];

/**
 * Brings Temporal up beside the service, which serves meanwhile and connects by itself: finds or makes the program,
 * starts it, and prepares the namespace as `migrate` does. Its ports are taken from the beginning, so that no other
 * stack gets them.
 */
export async function startBeside(plan: BesidePlan) {
  const { temporal, progress, record } = plan;
  const stopping = new AbortController();
  const { signal } = stopping;
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const free = await Promise.all([holdPort(plan.port), holdPort(plan.uiPort)]);
  let child: Child | undefined;
  let failed = false;

  const tell = (line: string, more = '') => {
    progress(`${line}${more}`);
    try {
      record({ temporalStart: { failed, line } });
    } catch {
      // The disk is full, say. Only `doctor` reads it.
    }
  };
  const onWait = (line: string) => tell(line, MEANWHILE);
  const start = async () => {
    const onStart = (building: ProcessRecord) => record({ building });
    // A server that has started ends only with `stop`: the worker that connects to it drains first.
    const searching = AbortSignal.any([signal, ...(plan.signal ? [plan.signal] : [])]);
    const search = { ...plan, signal: searching, progress: tell, onWait, onStart };
    const command = await findTemporal(search).finally(async () => {
      for (const give of free) await give();
    });
    let last = '';
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      try {
        const { namespace } = temporal;
        child ??= await startTemporal({
          ...{ ...plan, signal, command, namespace },
          onStart: (process) => record({ temporal: process }),
        });
        await Promise.race([migrateTemporal(temporal), stopped]);
        return;
      } catch (error) {
        signal.throwIfAborted();
        const { message } = error as Error;
        if (message !== last) tell(`${message}; trying again`);
        last = message;
        await sleep(pause, undefined, { signal });
      }
    }
  };
  const ready = start().then(
    () => record({ temporalStart: undefined }),
    (error) => {
      signal.throwIfAborted();
      plan.signal?.throwIfAborted();
      failed = true;
      tell((error as Error).message, '. Transfers, deliveries and retries work without it');
      throw error;
    },
  );
  for (const promise of [stopped, ready]) promise.catch(() => {});
  return {
    /** Resolves when Temporal serves. Rejects when it will not, after a line that says why. */
    ready,
    get failed(): boolean {
      return failed;
    },
    /** Ends Temporal, or what downloads or builds it. */
    async stop(): Promise<void> {
      stopping.abort();
      await ready.catch(() => {});
      await child?.stop();
    },
  };
}

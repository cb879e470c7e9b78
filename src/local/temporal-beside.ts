import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../platform/config/config.js';
import { migrateTemporal } from '../temporal/namespace.js';
import type { Child, StartPlan } from './child.js';
import type { StackState } from './stack-state.js';
import { startTemporal } from './temporal.js';
import { findTemporal } from './temporal-program.js';

interface BesidePlan extends Pick<StartPlan, 'localDir' | 'progress'> {
  port: number;
  uiPort: number;
  temporal: Config['temporal'];
  cacheDir: string;
  path: string | undefined;
  /** Keeps what the commands and the next start must know. */
  record(change: Partial<StackState>): void;
}

const PAUSE = 10_000;

/**
 * Brings Temporal up beside the service, which serves meanwhile and connects by itself: finds or makes the program,
 * starts it, and prepares the namespace as `migrate` does.
 */
export function startBeside({ temporal, record, ...plan }: BesidePlan) {
  const stopping = new AbortController();
  const { signal } = stopping;
  let child: Child | undefined;
  let failed = false;

  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
  // Keeps the port until Temporal begins, so that another stack does not choose it, and work on this Temporal.
  const holder = createServer((socket) => socket.destroy()).on('error', () => {});
  holder.listen({ port: plan.port, host: '127.0.0.1', exclusive: true }).unref();
  const held = once(holder, 'listening').catch(() => {});

  const tell = (line: string) => {
    plan.progress(line);
    try {
      record({ temporalStart: { failed, line } });
    } catch {
      // The disk is full. Temporal starts when it has room again.
    }
  };
  const start = async () => {
    const command = await findTemporal({
      ...{ ...plan, signal, progress: tell },
      onStart: (building) => record({ building }),
    });
    const { namespace } = temporal;
    for (;;) {
      try {
        await held;
        await holder[Symbol.asyncDispose]();
        child ??= await startTemporal({
          ...{ ...plan, signal, command, namespace },
          onStart: (process) => record({ temporal: process }),
        });
        return await Promise.race([migrateTemporal(temporal), stopped]);
      } catch (error) {
        signal.throwIfAborted();
        tell(`${(error as Error).message}; trying again`);
        await sleep(PAUSE, undefined, { signal });
      }
    }
  };
  const ready = start().then(
    () => record({ temporalStart: undefined }),
    (error) => {
      failed = !signal.aborted;
      if (failed) tell(`${(error as Error).message}. Transfers, deliveries and retries work without it`);
      throw error;
    },
  );
  for (const promise of [ready, stopped]) promise.catch(() => {});
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

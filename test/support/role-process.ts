import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Failpoint } from '../../src/failpoints.js';

const DIE_AT_FAILPOINT = fileURLToPath(new URL('./die-at-failpoint.js', import.meta.url));

/** `start`, `api` or `worker` as a process of its own, which a test may kill. */
export interface RoleProcess {
  process: ChildProcess;
  /** Its log so far, a line each. */
  said: string[];
  /** Resolves when it serves; rejects where it ends before. */
  ready: Promise<void>;
  /** Resolves with the signal that ended it, null where it ended by itself. */
  ended: Promise<NodeJS.Signals | null>;
  /** SIGTERM, and waits for its end. */
  stop(): Promise<void>;
}

export function startRole(role: string, env: Record<string, string>, nodeOptions: string[] = []): RoleProcess {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [...nodeOptions, 'dist/src/cli.js', role], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const said: string[] = [];
  if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
  const ended = once(child, 'close').then(() => child.signalCode);
  const line = child.stdout ? once(createInterface({ input: child.stdout }), 'line') : Promise.resolve();
  const ready = Promise.race([
    line.then(() => undefined),
    ended.then((signal) => Promise.reject(new Error(`ended by ${signal ?? child.exitCode}: ${said.at(-1)}`))),
  ]);
  ready.catch(() => undefined);
  return {
    process: child,
    said,
    ready,
    ended,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

export interface MortalRole extends RoleProcess {
  /** From now on it dies, as by `kill -9`, when it passes this place for the n-th time. */
  dieAt(name: Failpoint, passes?: number): Promise<void>;
}

/** A role that can be told where to die (src/failpoints.ts). */
export function startMortalRole(role: string, env: Record<string, string>): MortalRole {
  const started = startRole(role, env, ['--import', DIE_AT_FAILPOINT]);
  return {
    ...started,
    async dieAt(name, passes = 1) {
      const armed = once(started.process, 'message');
      started.process.send({ name, passes });
      await armed;
    },
  };
}

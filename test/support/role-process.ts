import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** As the entry file: of the working directory, since the built crash run has no copy of it. */
const DIE_AT_FAILPOINT = './test/support/die-at-failpoint.js';

/** A process of the role `start`, `api` or `worker`, which a test may kill. */
export interface RoleProcess {
  process: ChildProcess;
  /** The lines of its log so far. */
  said: string[];
  /** Resolves when the process serves, rejects if it ends before. */
  ready: Promise<void>;
  /** Resolves at the end of the process with the signal that ended it; null if it exited on its own. */
  ended: Promise<NodeJS.Signals | null>;
  /** Sends SIGTERM and waits for the end of the process. */
  stop(): Promise<void>;
}

export function startRole(
  role: string,
  env: Record<string, string>,
  nodeOptions: string[] = [],
  cwd = '.',
): RoleProcess {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(process.execPath, [...nodeOptions, 'dist/src/cli.js', role], {
    cwd,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const said: string[] = [];
  if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
  const ended = once(child, 'close').then(() => child.signalCode);
  const line = child.stdout ? once(createInterface({ input: child.stdout }), 'line') : Promise.resolve();
  const ready = Promise.race([
    line.then(() => undefined),
    ended.then((signal) =>
      Promise.reject(new Error(`ended by ${signal ?? child.exitCode}: ${said.slice(-20).join('\n')}`)),
    ),
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
  /** Makes the process die, as by `kill -9`, when it passes the failpoint for the `passes`-th time. */
  dieAt(name: string, passes?: number): Promise<void>;
}

/** Starts a role that can die at a failpoint (src/platform/failpoints.ts). */
export function startMortalRole(role: string, env: Record<string, string>): MortalRole {
  const started = startRole(role, env, ['--import', DIE_AT_FAILPOINT]);
  return {
    ...started,
    async dieAt(name, passes = 1) {
      const armed = once(started.process, 'message');
      started.process.send({ name, passes }, () => undefined);
      await armed;
    },
  };
}

import { setTimeout as sleep } from 'node:timers/promises';
import { readState } from '../../src/local/stack-state.js';
import { type RoleProcess, startRole } from '../support/role-process.js';
import { waitFor } from '../support/wait-for.js';
import type { Kill, Target } from './schedule.js';

/** A process that can be killed alone, and that its supervisor starts again. */
export interface Part {
  name: string;
  /** Sends the signal to the current process. A supervisor of this test restarts it after `pause` ms. */
  kill(signal: NodeJS.Signals, pause: number): Promise<number>;
}

/** A role of the service under a small supervisor. */
export class SupervisedRole implements Part {
  #current: RoleProcess;
  #pause = 0;
  #stopping = false;
  readonly #loop: Promise<void>;
  /** Processes that ended without a kill by this test. */
  readonly failures: string[] = [];
  /** Log lines of level `error` of processes that have ended. */
  readonly #errors: string[] = [];
  killed = 0;

  constructor(
    readonly name: string,
    private readonly role: string,
    private readonly env: Record<string, string>,
  ) {
    this.#current = startRole(role, env);
    this.#loop = this.#keepRunning();
  }

  /** Resolves when the role serves, after any number of restarts. */
  untilReady(): Promise<void> {
    return this.#current.ready.catch(() => sleep(100).then(() => this.untilReady()));
  }

  async kill(signal: NodeJS.Signals, pause: number): Promise<number> {
    const { process: child } = await waitFor(`${this.name} to run`, () => isAlive(this.#current) && this.#current);
    this.#pause = pause;
    this.killed++;
    child.kill(signal);
    return child.pid ?? 0;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#current.stop();
    await this.#loop;
  }

  /** Log lines of level `error` so far, each at most 2,000 characters. */
  get errors(): string[] {
    return [...this.#errors, ...errorsIn(this.#current)];
  }

  async #keepRunning(): Promise<void> {
    for (;;) {
      const signal = await this.#current.ended;
      this.#errors.push(...errorsIn(this.#current));
      if (this.#stopping) return;
      if (signal !== 'SIGKILL')
        this.failures.push(`${this.name} ended by itself: ${this.#current.said.slice(-60).join('\n    ')}`);
      await sleep(this.#pause);
      if (this.#stopping) return;
      this.#current = startRole(this.role, this.env);
    }
  }
}

const isAlive = ({ process: child }: RoleProcess) => child.exitCode === null && child.signalCode === null;

/** Postgres or Temporal of the embedded stack, which its own supervisor (src/local/child.ts) starts again. */
export function embeddedPart(localDir: string, name: 'postgres' | 'temporal'): Part {
  return {
    name,
    kill: (signal) =>
      waitFor(`${name} to run`, () => {
        const { pid } = readState(localDir)?.[name] ?? { pid: 0 };
        try {
          // Between a death and the next start the file names the dead process. The kill waits for the next process.
          return pid > 0 && process.kill(pid, signal) && pid;
        } catch {
          return false;
        }
      }),
  };
}

export interface Parts {
  apis: readonly Part[];
  workers: readonly Part[];
  temporal: Part;
  postgres: Part;
}

/** The processes that a kill hits. */
export function partsOf(parts: Parts, { target, which }: Pick<Kill, 'target' | 'which'>): Part[] {
  const { apis, workers, temporal, postgres } = parts;
  const api = apis.slice(which % apis.length).slice(0, 1);
  const worker = workers.slice(which % workers.length).slice(0, 1);
  const hit: { [T in Target]: Part[] } = {
    api,
    worker,
    'api and worker': [...api, ...worker],
    'all workers': [...workers],
    temporal: [temporal],
    postgres: [postgres],
    everything: [...apis, ...workers, temporal, postgres],
  };
  return hit[target];
}

/** pino's levels from `error` (50) on. */
function errorsIn({ said }: RoleProcess): string[] {
  return said.filter((line) => /^\{"level":[56]0,/.test(line)).map((line) => line.slice(0, 2_000));
}

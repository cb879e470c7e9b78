import { setTimeout as sleep } from 'node:timers/promises';
import { readState } from '../../src/local/stack-state.js';
import { type RoleProcess, startRole } from '../support/role-process.js';
import { waitFor } from '../support/wait-for.js';
import type { Kill, Target } from './schedule.js';

/** A process that can be killed alone, and that somebody starts again. */
export interface Part {
  name: string;
  /** Sends the signal to whatever process it is now, and leaves it dead for `pause` ms (where its supervisor asks us). */
  kill(signal: NodeJS.Signals, pause: number): Promise<number>;
}

/** A role of the service under a small supervisor. */
export class SupervisedRole implements Part {
  #current: RoleProcess;
  #pause = 0;
  #stopping = false;
  readonly #loop: Promise<void>;
  /** Starts that did not come to serve, and were not ours to kill. */
  readonly failures: string[] = [];
  killed = 0;

  constructor(
    readonly name: string,
    private readonly role: string,
    private readonly env: Record<string, string>,
  ) {
    this.#current = startRole(role, env);
    this.#loop = this.#keepRunning();
  }

  /** Serves, however often it has to be started for that. */
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

  async #keepRunning(): Promise<void> {
    for (;;) {
      const signal = await this.#current.ended;
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
          // Between a death and the next start the file names the dead: that is refused, and waited for.
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

/** What a kill hits, of what there is. */
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

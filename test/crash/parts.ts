import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { readState } from '../../src/local/stack-state.js';
import { type MortalRole, type RoleProcess, startMortalRole } from '../support/role-process.js';
import { waitFor } from '../support/wait-for.js';
import { withDatabase } from './record.js';
import type { Kill, Target } from './schedule.js';

/** A process that can be killed alone, and that its supervisor starts again. */
export interface Part {
  name: string;
  /**
   * Ends the current process. A supervisor of this test restarts it after `pause` ms; the embedded stack's own
   * supervisor decides the pause itself.
   * @returns the id of the process
   */
  kill(how: Kill['how'], pause: number): Promise<number>;
}

const signalOf = (how: Kill['how']): NodeJS.Signals => (how === 'immediate stop' ? 'SIGQUIT' : 'SIGKILL');

/** A role of the service under a small supervisor. */
export class SupervisedRole implements Part {
  #current: MortalRole;
  #pause = 0;
  #stopping = false;
  readonly #loop: Promise<void>;
  /** Processes that ended without a kill by this test. */
  readonly failures: string[] = [];
  /** Log lines of level `error` of processes that have ended. */
  readonly #errors: string[] = [];

  constructor(
    readonly name: string,
    private readonly role: string,
    private readonly env: Record<string, string>,
  ) {
    this.#current = startMortalRole(role, env);
    this.#loop = this.#keepRunning();
  }

  /** Resolves when the role serves, after any number of kills. @throws if it has ended by itself */
  async untilReady(): Promise<void> {
    for (;;) {
      const failure = this.failures.at(-1);
      if (failure) throw new Error(failure);
      if (await this.#current.ready.then(() => true).catch(() => false)) return;
      await sleep(100);
    }
  }

  async kill(how: Kill['how'], pause: number): Promise<number> {
    const { process } = await this.#running(pause);
    process.kill(signalOf(how));
    return process.pid ?? 0;
  }

  /** Makes the current process die when it passes the failpoint. @returns the process */
  async arm(failpoint: string, pause: number): Promise<MortalRole> {
    const role = await this.#running(pause);
    await Promise.race([role.dieAt(failpoint), role.ended]);
    return role;
  }

  /** Lets the current process pass all failpoints. */
  async disarm(): Promise<void> {
    if (isAlive(this.#current)) await Promise.race([this.#current.dieAt(''), this.#current.ended]);
  }

  async #running(pause: number): Promise<MortalRole> {
    const role = await waitFor(`${this.name} to run`, () => isAlive(this.#current) && this.#current);
    this.#pause = pause;
    return role;
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
      this.#current = startMortalRole(this.role, this.env);
    }
  }
}

const isAlive = ({ process: child }: RoleProcess) => child.exitCode === null && child.signalCode === null;

/** Postgres or Temporal of the embedded stack, which its own supervisor (src/local/child.ts) starts again. */
export function embeddedPart(localDir: string, name: 'postgres' | 'temporal'): Part {
  return { name, kill: (how) => killRecorded(name, () => readState(localDir)?.[name]?.pid, signalOf(how)) };
}

/** Kills a process whose supervisor records its id. */
function killRecorded(name: string, pidOf: () => number | undefined, signal: NodeJS.Signals): Promise<number> {
  return waitFor(`${name} to run`, () => {
    const pid = pidOf() ?? 0;
    try {
      // Between a death and the next start the record names the dead process. The kill waits for the next process.
      return pid > 0 && process.kill(pid, signal) && pid;
    } catch {
      return false;
    }
  });
}

/**
 * The Postgres of production's Temporal, which scripts/temporal-on-postgres starts and supervises; undefined where the
 * run has Temporal's dev server.
 */
export function temporalsPostgres(): Part | undefined {
  const { TEMPORAL_POSTGRES_PID_FILE: pidFile, TEMPORAL_POSTGRES_URL: url } = process.env;
  if (!pidFile || !url) return undefined;
  const name = "Temporal's Postgres";
  const kill = (pidOf: () => number | undefined) => killRecorded(name, pidOf, 'SIGKILL');
  return {
    name,
    async kill(how) {
      if (how !== 'kill -9 of a backend') return kill(() => Number(readFileSync(pidFile, 'utf8')));
      const backend = await waitFor(`${name} to have a backend`, () => backendOf(url).catch(() => undefined));
      return kill(() => backend);
    },
  };
}

/** The id of a process that serves one of Temporal's connections. */
async function backendOf(url: string): Promise<number | undefined> {
  const { rows } = await withDatabase(url, (database) =>
    database.query(
      `select pid from pg_stat_activity
        where backend_type = 'client backend' and datname like 'temporal%' order by random() limit 1`,
    ),
  );
  return rows[0]?.pid;
}

export interface Parts {
  apis: readonly SupervisedRole[];
  workers: readonly SupervisedRole[];
  temporal: Part;
  postgres: Part;
  /** Only on production's Temporal. */
  temporalsPostgres: Part | undefined;
}

/** The processes that a kill hits. */
export function partsOf(parts: Parts, { target, which }: { target: Target; which: number }): Part[] {
  const { apis, workers, temporal, postgres } = parts;
  const temporals = parts.temporalsPostgres ? [parts.temporalsPostgres] : [];
  const api = apis.slice(which % apis.length).slice(0, 1);
  const worker = workers.slice(which % workers.length).slice(0, 1);
  const hit: { [T in Target]: Part[] } = {
    api,
    worker,
    'api and worker': [...api, ...worker],
    'all workers': [...workers],
    temporal: [temporal],
    postgres: [postgres],
    "Temporal's Postgres": temporals,
    everything: [...apis, ...workers, temporal, postgres, ...temporals],
  };
  return hit[target];
}

/** pino's levels from `error` (50) on. */
function errorsIn({ said }: RoleProcess): string[] {
  return said.filter((line) => /^\{"level":[56]0,/.test(line)).map((line) => line.slice(0, 2_000));
}

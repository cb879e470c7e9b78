import type { Config } from '../platform/config/config.js';
import type { Database } from '../platform/database/database.js';
import { pendingMigrations } from '../platform/database/migrate.js';
import { shareReading } from '../platform/deadline.js';
import { probeClient, temporalState } from '../temporal/connection.js';

/** Whether this process can serve, and the state of each dependency in a word, such as `ok` or `unreachable`. */
export interface Readiness {
  ready: boolean;
  checks: { postgres: string; migrations: string; temporal: string };
}

/** Callers within a second share one reading. A reading ends before a probe times out (3 s in deploy/). In ms. */
const READING = { keep: 1_000, limit: 2_000 };
/** Postgres may be unreachable for this long before the process becomes unready, ms. */
const TOLERATED_OUTAGE = 30_000;

/** Reads the state of the dependencies. */
export interface Probes {
  /** The missing migrations. Rejects when Postgres cannot be reached. */
  pendingMigrations: () => Promise<readonly string[]>;
  /** When statements of requests began to fail, on the clock `now`; undefined: they do not. */
  unreachableSince: () => number | undefined;
  /** `ok`, or a short reason why Temporal cannot be used. */
  temporal: () => Promise<string>;
}

/**
 * Whether this process can serve, and should (contract, `/readyz`). Three conditions make it unready:
 * - `signalled`: for good and at once, also for callers that still wait, because load balancers must remove the process
 *   within SHUTDOWN_DELAY.
 * - Migrations are missing, or it is not known yet whether any is: a new version with a wrong DATABASE_URL must not
 *   replace an old one.
 * - Postgres has been unreachable for 30 s. During a shorter outage clients get this API's 503, and not a proxy's.
 *
 * Temporal's state is reported and does not affect readiness: first attempts do not need Temporal.
 * @param now in ms
 * @param shared how long a reading is kept and may take, ms
 */
export function createReadiness(
  probes: Probes,
  signalled: Promise<void>,
  now: () => number = () => performance.now(),
  shared = READING,
): () => Promise<Readiness> {
  const readPending = shareReading(() => probes.pendingMigrations().catch(() => undefined), shared);
  const readTemporal = shareReading(probes.temporal, shared);
  const waiting = new Set<() => void>();
  let ending = false;
  void signalled.then(() => {
    ending = true;
    for (const respond of waiting) respond();
  });
  /** Of the last reading. */
  let checks = { postgres: 'unknown', migrations: 'unknown', temporal: 'unknown' };
  let migrated = false;
  let unreachableSince: number | undefined;
  const readAll = async (): Promise<Readiness> => {
    const [pending, temporal = 'unreachable'] = await Promise.all([readPending(), readTemporal()]);
    if (pending) {
      migrated = pending.length === 0;
      unreachableSince = undefined;
    } else {
      // Probes may begin long after the outage.
      unreachableSince ??= probes.unreachableSince() ?? now();
    }
    checks = {
      postgres: pending ? 'ok' : 'unreachable',
      migrations: pending ? (migrated ? 'applied' : `missing: ${pending.join(', ')}`) : 'unknown',
      temporal,
    };
    const outage = unreachableSince === undefined ? 0 : now() - unreachableSince;
    return { ready: migrated && outage < TOLERATED_OUTAGE, checks };
  };
  return () =>
    new Promise((resolve, reject) => {
      const unready = () => resolve({ ready: false, checks });
      if (ending) return unready();
      waiting.add(unready);
      readAll()
        .then(resolve, reject)
        .finally(() => waiting.delete(unready));
    });
}

/**
 * The readiness of a process of any role.
 * @param isConnected whether a worker has its own connection to Temporal
 */
export function readinessOf(
  { config, database }: { config: Pick<Config, 'temporal'>; database: Database },
  signalled: Promise<void>,
  isConnected: () => boolean = () => true,
): () => Promise<Readiness> {
  const probe = probeClient(config.temporal);
  const temporal = async () => {
    const state = await temporalState(probe, config.temporal.namespace);
    return state === 'ok' && !isConnected() ? 'connecting' : state;
  };
  const probes = {
    pendingMigrations: () => pendingMigrations(database),
    unreachableSince: () => database.unreachableSince,
    temporal,
  };
  return createReadiness(probes, signalled);
}

import type { Config } from '../platform/config/config.js';
import type { Database } from '../platform/database/database.js';
import { isReadOnly } from '../platform/database/faults.js';
import { encodingFault, pendingMigrations, readEncoding } from '../platform/database/migrate.js';
import { shareReading } from '../platform/deadline.js';
import { probeClient, temporalState } from '../temporal/connection.js';
import type { TemporalWorker } from '../temporal/worker.js';

/** Whether this process can serve, and the state of each dependency in a word, such as `ok` or `unreachable`. */
export interface Readiness {
  ready: boolean;
  checks: { postgres: string; migrations: string; temporal: string };
}

/** Callers within a second share one reading. A reading ends before a probe times out (3 s in deploy/). In ms. */
const READING = { keep: 1_000, limit: 2_000 };
/** Postgres may be unreachable or read-only for this long before the process becomes unready, ms. */
const TOLERATED_OUTAGE = 5_000;

/**
 * Whether this process can serve, and should. Three conditions make it unready:
 * - `signalled`: for good and at once, also for callers that still wait, because load balancers must remove the process
 *   within SHUTDOWN_DELAY.
 * - Migrations are missing, or it is not known yet whether any is: a new version with a wrong DATABASE_URL must not
 *   replace an old one.
 * - Postgres has been unreachable or read-only for 5 s, or the database's encoding has not been UTF8 for as long.
 *   During a shorter outage clients get this API's 503, and not a proxy's. A pool that has no connection free for a
 *   probe is no outage while its statements succeed.
 *
 * Temporal's state is reported and does not affect readiness: attempts do not need Temporal. Until this process has
 * reached Temporal for the first time, an unreachable Temporal is `starting`.
 * @param now in ms
 * @param shared how long a reading is kept and may take, ms
 */
export function createReadiness(
  probes: Probes,
  signalled: Promise<void>,
  now: () => number = () => performance.now(),
  shared = READING,
): () => Promise<Readiness> {
  const readPostgres = shareReading(() => statePostgres(probes).catch(() => undefined), shared);
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
  let outageSince: number | undefined;
  let reached = false;
  const readAll = async (): Promise<Readiness> => {
    const begun = now();
    const [read, temporal = 'unreachable'] = await Promise.all([readPostgres(), readTemporal()]);
    if (read) {
      migrated = read.pending.length === 0;
      checks.migrations = migrated ? 'applied' : `missing: ${read.pending.join(', ')}`;
    }
    const postgres = read?.state ?? (probes.reach.at >= begun ? 'ok' : 'unreachable');
    // Probes may begin long after the outage.
    outageSince = postgres === 'ok' ? undefined : (outageSince ?? probes.reach.failedSince ?? begun);
    reached ||= temporal === 'ok' || probes.wasConnected();
    checks = {
      postgres,
      migrations: postgres === 'unreachable' ? 'unknown' : checks.migrations,
      temporal: temporal === 'unreachable' && !reached ? 'starting' : temporal,
    };
    const outage = outageSince === undefined ? 0 : now() - outageSince;
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

async function statePostgres({ pendingMigrations, readEncoding, requireWritable }: Probes) {
  const pending = await pendingMigrations();
  const encoding = await readEncoding();
  if (encodingFault(encoding)) return { pending, state: `encoding ${encoding}` };
  const state = await requireWritable().then(
    () => 'ok',
    (error) => {
      if (isReadOnly(error)) return 'read-only';
      throw error;
    },
  );
  return { pending, state };
}

/** What a process knows of Temporal without asking it. */
export interface KnownTemporal {
  /** The process's own connection. An API has none. */
  worker?: Pick<TemporalWorker, 'client' | 'wasConnected'>;
  /** Whether this service will have no Temporal: the embedded stack can neither find nor build it. */
  isMissing?: () => boolean;
}

interface Dependencies {
  config: Pick<Config, 'temporal'>;
  database: Database;
  signalled: Promise<void>;
}

/** The readiness of a process of any role. */
export function readinessOf({ config, database, signalled }: Dependencies, known: KnownTemporal = {}) {
  return createReadiness(probesOf(config, database, known), signalled);
}

/** Reads the state of the dependencies. */
type Probes = ReturnType<typeof probesOf>;

function probesOf({ temporal }: Pick<Config, 'temporal'>, database: Database, { worker, isMissing }: KnownTemporal) {
  const probe = probeClient(temporal);
  return {
    /** The missing migrations. Rejects when Postgres cannot be reached. */
    pendingMigrations: () => pendingMigrations(database),
    readEncoding: () => readEncoding(database),
    /** Rejects when Postgres is read-only (`isReadOnly`) or cannot be reached. */
    requireWritable: () => database.requireWritable(),
    /** What the statements of requests found, on the clock `now`. */
    reach: database.reach,
    /** `ok`, or a short reason why Temporal cannot be used, such as `unreachable`. */
    async temporal(): Promise<string> {
      const state = await temporalState(probe, temporal.namespace);
      if (state === 'unreachable' && isMissing?.()) return 'missing';
      return state === 'ok' && worker && !worker.client ? 'connecting' : state;
    },
    wasConnected: () => worker?.wasConnected === true,
  };
}

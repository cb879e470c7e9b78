import type { Client } from '@temporalio/client';
import type { Config } from '../config.js';
import type { Database } from '../database/database.js';
import { pendingMigrations } from '../database/migrate.js';
import { shareReading } from '../shared-reading.js';
import { lazyClient, temporalState } from '../temporal/connection.js';

/** Whether this process can serve, and how its dependencies stand: one word each, such as `ok` or `unreachable`. */
export interface Readiness {
  ready: boolean;
  checks: { postgres: string; migrations: string; temporal: string };
}

/** Everybody who asks within a second shares one look; a look ends before a probe gives up (3 s in deploy/). In ms. */
const LOOK = { keep: 1_000, limit: 2_000 };
/** ms that Postgres may be unreachable before the process turns unready. */
const OUTAGE_BORNE = 30_000;

/** Asks the dependencies. */
export interface Probes {
  /** The migrations that are missing; rejects where Postgres cannot be reached. */
  pendingMigrations: () => Promise<readonly string[]>;
  /** `ok`, or in a word why Temporal cannot be used. */
  temporal: () => Promise<string>;
}

/**
 * Whether this process can serve, and is to (contract, `/readyz`). Three things make it unready:
 * - `signalled`: for good and at once, also for callers that asked before and still wait, since load balancers must turn
 *   away within SHUTDOWN_DELAY.
 * - Migrations are missing, or nobody knows yet whether they are: a new version with a wrong DATABASE_URL must not replace
 *   an old one.
 * - Postgres has been unreachable for 30 s. During a shorter outage clients get this API's 503, and not a proxy's.
 * Temporal's state is reported and changes nothing: first attempts go on without it.
 * @param now in ms; `shared`: how long a look counts and may take
 */
export function createReadiness(
  probes: Probes,
  signalled: Promise<void>,
  now: () => number = () => performance.now(),
  shared = LOOK,
): () => Promise<Readiness> {
  const readPending = shareReading(() => probes.pendingMigrations().catch(() => undefined), shared);
  const readTemporal = shareReading(probes.temporal, shared);
  const asking = new Set<() => void>();
  let ending = false;
  void signalled.then(() => {
    ending = true;
    for (const answer of asking) answer();
  });
  /** As seen last. */
  let checks = { postgres: 'unknown', migrations: 'unknown', temporal: 'unknown' };
  let migrated = false;
  let unreachableSince: number | undefined;
  const look = async (): Promise<Readiness> => {
    const [pending, temporal = 'unreachable'] = await Promise.all([readPending(), readTemporal()]);
    if (pending) {
      migrated = pending.length === 0;
      unreachableSince = undefined;
    } else {
      unreachableSince ??= now();
    }
    checks = {
      postgres: pending ? 'ok' : 'unreachable',
      migrations: pending ? (migrated ? 'applied' : `missing: ${pending.join(', ')}`) : 'unknown',
      temporal,
    };
    const outage = unreachableSince === undefined ? 0 : now() - unreachableSince;
    return { ready: migrated && outage < OUTAGE_BORNE, checks };
  };
  return () =>
    new Promise((resolve, reject) => {
      const unready = () => resolve({ ready: false, checks });
      if (ending) return unready();
      asking.add(unready);
      look()
        .then(resolve, reject)
        .finally(() => asking.delete(unready));
    });
}

/** The readiness of a process of any role. @param temporal its connection; undefined while it has none */
export function readinessOf(
  { config, database }: { config: Pick<Config, 'temporal'>; database: Database },
  temporal: () => Client | undefined,
  signalled: Promise<void>,
): () => Promise<Readiness> {
  const probes = {
    pendingMigrations: () => pendingMigrations(database),
    temporal: () => stateOfTemporal(temporal(), config.temporal),
  };
  return createReadiness(probes, signalled);
}

/** Of a worker that has no connection now, a look of its own says why. */
async function stateOfTemporal(client: Client | undefined, temporal: Config['temporal']): Promise<string> {
  if (client) return temporalState(client, temporal.namespace);
  const probe = lazyClient(temporal);
  try {
    const state = await temporalState(probe, temporal.namespace);
    return state === 'ok' ? 'connecting' : state;
  } finally {
    await probe.connection.close();
  }
}

import type { Client } from '@temporalio/client';
import { untilSignalled } from './cli/signals.js';
import { type Config, loadConfig } from './config.js';
import { type Database, openDatabase } from './database/database.js';
import { MasterKeys } from './database/encryption.js';
import { pendingMigrations } from './database/migrate.js';
import type { Readiness } from './http/dependencies.js';
import { createLog, type Log } from './telemetry/log.js';
import { createMetrics, type Metrics } from './telemetry/metrics.js';
import { type StopTracing, startTracing } from './telemetry/start-tracing.js';
import { isReachable } from './temporal/connection.js';

/** What every role of the service begins with. */
export interface Foundations {
  config: Config;
  log: Log;
  database: Database;
  masterKeys: MasterKeys;
  metrics: Metrics;
  /** To be called last: sends the spans that wait. */
  stopTracing: StopTracing;
}

/** @throws ConfigError */
export async function layFoundations(env: NodeJS.ProcessEnv, role: string): Promise<Foundations> {
  const config = loadConfig(env);
  const log = createLog(config.logLevel, role);
  const stopTracing = await startTracing(config, role, log);
  const database = openDatabase({
    url: config.databaseUrl,
    poolSize: config.databasePoolSize,
    onFault: (error) => log.warn({ err: error }, 'lost an idle connection to Postgres'),
  });
  const masterKeys = new MasterKeys(config.masterKey, config.masterKeyPrevious);
  return { config, log, database, masterKeys, metrics: createMetrics(), stopTracing };
}

/** Whether this process can serve. Temporal's state is told; it makes `needsTemporal` (a worker) alone unready. */
export function readinessOf(
  { config, database }: Pick<Foundations, 'config' | 'database'>,
  temporal: () => Client | undefined,
  needsTemporal: boolean,
): () => Promise<Readiness> {
  return async () => {
    const [pending, reachable] = await Promise.all([
      pendingMigrations(database).catch(() => undefined),
      temporalReachable(temporal(), config.temporal.namespace),
    ]);
    const checks = {
      postgres: pending ? 'ok' : 'unreachable',
      migrations: pending ? (pending.length === 0 ? 'applied' : `missing: ${pending.join(', ')}`) : 'unknown',
      temporal: reachable ? 'ok' : 'unreachable',
    };
    return { ready: pending?.length === 0 && (reachable || !needsTemporal), checks };
  };
}

async function temporalReachable(client: Client | undefined, namespace: string): Promise<boolean> {
  return client !== undefined && (await isReachable(client, namespace));
}

/** Ends the parts one after the other, what runs is finished first; a signal from now on ends the process at once. */
export async function stopInOrder(log: Log, parts: readonly (() => Promise<unknown>)[]): Promise<void> {
  log.info('stopping: what runs is finished first; a second signal ends at once');
  void untilSignalled().then(() => process.exit(130));
  for (const stop of parts) {
    await stop().catch((error: unknown) => log.error({ err: error }, 'a part did not end well'));
  }
}

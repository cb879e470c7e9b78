import { type Config, loadConfig } from '../config.js';
import { type Database, openDatabase } from '../database/database.js';
import { MasterKeys } from '../database/encryption.js';
import { freePort } from '../free-port.js';
import { createLog, type Log } from '../telemetry/log.js';
import { createMetrics, type Metrics } from '../telemetry/metrics.js';
import type { StopTracing } from '../telemetry/open-telemetry.js';
import { startTracing } from '../telemetry/start-tracing.js';
import { cautionsOf } from './cautions.js';
import { isSupportedNode, SUPPORTED_NODE } from './runtime.js';
import { untilSignalled } from './signals.js';

/** What every role of the service begins with. */
export interface RoleContext {
  config: Config;
  log: Log;
  database: Database;
  masterKeys: MasterKeys;
  metrics: Metrics;
  /** To be called last: sends the spans that wait. */
  stopTracing: StopTracing;
}

/** @throws ConfigError */
export async function bootstrap(env: NodeJS.ProcessEnv, role: string): Promise<RoleContext> {
  const config = loadConfig(await withPort(env));
  const log = createLog(config.logLevel, role);
  endWithReason(log);
  for (const caution of cautionsOf(config)) log.warn(caution);
  if (!isSupportedNode(process.versions.node)) {
    log.warn(
      { node: process.versions.node, supported: SUPPORTED_NODE },
      'this release of Node.js is not supported and may get no security fixes: run the service on Node.js 24',
    );
  }
  const stopTracing = await startTracing(config, role, log);
  const database = connectDatabase(config, log);
  const masterKeys = new MasterKeys(config.masterKey, config.masterKeyPrevious);
  return { config, log, database, masterKeys, metrics: createMetrics(), stopTracing };
}

/** With a free port where any will do and no address is given, since the address that clients know names the port. */
async function withPort(env: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  return Number(env.PORT || Number.NaN) === 0 && !env.BASE_URL ? { ...env, PORT: String(await freePort()) } : env;
}

/**
 * What nobody caught ends the process, with a line in its log like any other: Node's own words would show every field of the
 * error, and what a statement's parameters were.
 */
function endWithReason(log: Log): void {
  process.once('uncaughtException', (error, origin) => {
    log.fatal({ err: error, origin }, 'a fault that nobody caught: this process ends');
    process.exit(1);
  });
}

/** Connections to Postgres of one role. */
export function connectDatabase(config: Config, log: Log): Database {
  return openDatabase({
    url: config.databaseUrl,
    poolSize: config.databasePoolSize,
    onFault: (error) => log.warn({ err: error }, 'lost an idle connection to Postgres'),
  });
}

/** Ends the parts one after the other, what runs is finished first; a signal from now on ends the process at once. */
export async function stopInOrder(log: Log, parts: readonly (() => Promise<unknown>)[]): Promise<void> {
  log.info('stopping: what runs is finished first; a second signal ends at once');
  void untilSignalled().then(() => process.exit(130));
  for (const stop of parts) {
    await stop().catch((error: unknown) => log.error({ err: error }, 'a part did not end well'));
  }
}

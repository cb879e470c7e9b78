import { setFlagsFromString } from 'node:v8';
import { type Config, loadConfig } from '../platform/config/config.js';
import { unknownSettings } from '../platform/config/environment.js';
import { type Database, limitsWithin, openDatabase } from '../platform/database/database.js';
import { MasterKeys } from '../platform/database/encryption.js';
import { findRoleFault } from '../platform/database/roles.js';
import { freePort } from '../platform/free-port.js';
import { createLog, type Log } from '../platform/telemetry/log.js';
import { createMetrics, type Metrics } from '../platform/telemetry/metrics.js';
import { cautionsOf, nodeFault } from './cautions.js';
import { type Announce, endDespiteStalledLog, untilSignalled, untilSignalledAgain } from './lifecycle.js';

/** The dependencies that every role starts with. */
export type RoleContext = Awaited<ReturnType<typeof bootstrap>>;

/** Ends a part of a role. */
export type Stop = () => Promise<unknown>;

/**
 * Runs a role until a signal, and stops its parts one after the other. Each finishes its running work. Another signal
 * ends the process at once.
 * @param start starts the parts, and puts what stops them before the other `stops`. @returns the URL to announce
 * @throws ConfigError
 */
export async function runRole(
  env: NodeJS.ProcessEnv,
  role: string,
  announce: Announce,
  start: (context: RoleContext, stops: Stop[]) => Promise<string | null>,
  signalled = untilSignalled(),
): Promise<void> {
  const context = await bootstrap(env, role, signalled);
  const { log, database, stopTracing } = context;
  const stops: Stop[] = [() => database.close(), stopTracing];
  try {
    announce(await start(context, stops));
    await signalled;
  } finally {
    log.info('stopping after running work is finished; a second signal ends the process at once');
    void untilSignalledAgain().then(() => process.exit(130));
    for (const stop of stops) {
      await stop().catch((error: unknown) => log.error({ err: error }, 'a part of the service could not be stopped'));
    }
  }
}

/** Reads the configuration and opens the dependencies of a role. @throws ConfigError */
async function bootstrap(env: NodeJS.ProcessEnv, role: string, signalled: Promise<void>) {
  configureGarbageCollection();
  const config = loadConfig(await withPort(env));
  const metrics = createMetrics();
  const log = createLog(config.logLevel, role, () => metrics.logLineDropped());
  logWhatNodeSays(log);
  for (const line of [...unknownSettings(env), ...cautionsOf(config), nodeFault()]) if (line) log.warn(line);
  // Without an endpoint for traces OpenTelemetry's SDK is not loaded.
  const stopTracing = config.tracing
    ? await (await import('../platform/telemetry/open-telemetry.js')).startOpenTelemetry(config, role, log)
    : async () => {};
  // The variable of libpq, which `pg` reads too: every connection of the process says whose it is in pg_stat_activity.
  process.env.PGAPPNAME ??= `transfer-service ${role}`;
  const database = connectDatabase(config, log, metrics, role);
  if (config.environment === 'production') {
    // Postgres may be unreachable at the start.
    findRoleFault(database).then(
      (fault) => fault && log.warn(fault),
      () => {},
    );
  }
  const masterKeys = new MasterKeys(config.masterKey, config.masterKeyPrevious);
  return { config, log, database, masterKeys, metrics, stopTracing, signalled };
}

/**
 * Chooses the port for PORT=0 without BASE_URL, before the configuration is read: the default BASE_URL contains the
 * port.
 */
async function withPort(env: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  return Number(env.PORT || Number.NaN) === 0 && !env.BASE_URL ? { ...env, PORT: String(await freePort()) } : env;
}

/**
 * Every line of a process is JSON, warnings of Node.js included. An uncaught error ends the process with a line in its
 * log: Node's own output would show every field of the error, such as the parameters of a statement.
 */
function logWhatNodeSays(log: Log): void {
  process.removeAllListeners('warning');
  process.on('warning', (warning) => log.warn({ err: warning }, 'warning of Node.js'));
  // Each line that cannot be written is counted. The event would end the process.
  process.stderr.on('error', () => {});
  process.on('uncaughtException', (error, origin) => {
    log.fatal({ err: error, origin }, 'uncaught error; the process ends');
    process.exitCode = 1;
    process.stderr.write('', () => process.exit());
    endDespiteStalledLog();
  });
}

/** Opens a role's connections to Postgres. `pool` names them in the metrics. */
export function connectDatabase(config: Config, log: Log, metrics: Metrics, pool: string): Database {
  const database = openDatabase({
    url: config.databaseUrl,
    pooled: config.databasePooled,
    poolSize: config.databasePoolSize,
    ...(pool !== 'worker' && { limits: limitsWithin(config.requestDeadline) }),
    onFault: (error) => log.warn({ err: error }, 'lost an idle connection to Postgres'),
  });
  metrics.poolOpened(pool, () => {
    const { totalCount, idleCount } = database.pool;
    return { busy: totalCount - idleCount, idle: idleCount, waiting: database.waiting };
  });
  return database;
}

/**
 * Options of `node` that V8 reads only at its start: cli.ts, package.json and the Dockerfile give them. Young
 * objects take 24 MiB at most. V8's default is 96 MiB on a machine with much memory.
 */
export const NODE_OPTIONS = ['--max-semi-space-size=8'];

const FLAGS = [
  // V8 collects garbage while idle. By default it then also discards every hidden class that no object has at that
  // moment, and with it the optimised code that relies on it. Between two requests these are most of them.
  '--no-memory-reducer-favors-memory',
  // The number of collections after which V8 discards a hidden class of optimised code that no object had meanwhile.
  // The default is 2.
  '--retain-maps-for-n-gc=1000',
  // V8 collects garbage when old objects have grown by this share, %. By default they may grow to three times their
  // size, and a collection while idle no longer returns that memory.
  '--heap-growing-percent=30',
  // For the heaps of threads that start after this, which run workflows: 6 MiB of young objects each. The main thread
  // has read its own size from NODE_OPTIONS.
  '--max-semi-space-size=2',
];

/**
 * Lets V8 collect garbage without a loss of optimised code, and bounds its heaps. Without these flags an event costs up
 * to twice the CPU after some idle seconds, until some 15,000 events are handled
 * (docs/decisions/0010-keep-optimised-code-and-bound-memory.md).
 */
export function configureGarbageCollection(): void {
  for (const flag of FLAGS) setFlagsFromString(flag);
}

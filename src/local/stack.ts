import { mkdirSync, realpathSync } from 'node:fs';
import { type Environment, readEnvironment, temporalAt } from '../platform/config/config.js';
import { ConfigError } from '../platform/config/config-error.js';
import { choosePort } from '../platform/free-port.js';
import { startPostgres } from './postgres.js';
import {
  endLeftovers,
  makeSecrets,
  masterKeyIdOf,
  readSecrets,
  releaseLock,
  type StackState,
  stackEnvironment,
  takeLock,
  writeState,
} from './stack-state.js';
import { startBeside } from './temporal-beside.js';

/** The embedded Postgres and Temporal, for a sandbox on one machine. */
export type Stack = Awaited<ReturnType<typeof startStack>>;

/**
 * Starts the embedded stack under LOCAL_DIR, on 127.0.0.1. Returns when Postgres is up; Temporal follows beside the
 * service. `progress` gets a line for people for each slow step and each later fault. `signal` aborts the start.
 * @throws ConfigError (a port in use, an invalid setting), or an Error of one line
 */
export async function startStack(env: NodeJS.ProcessEnv, progress: (line: string) => void, signal?: AbortSignal) {
  const settings = readEnvironment(env);
  if (settings.ENVIRONMENT === 'production') {
    throw new ConfigError(['DATABASE_URL: is not set; production never runs on the embedded stack']);
  }
  const localDir = makeFolder(settings.LOCAL_DIR);
  takeLock(localDir);
  const running: { stop(): Promise<void> }[] = [];
  const stop = async () => {
    for (const part of running.splice(0).reverse()) await part.stop();
    releaseLock(localDir);
  };
  try {
    await endLeftovers(localDir, progress);
    const secrets = readSecrets(localDir) ?? makeSecrets(localDir);
    const state: StackState = {
      ...(await assignPorts(env, settings)),
      masterKeyId: masterKeyIdOf(settings.MASTER_KEY, secrets),
      temporalStart: { failed: false, line: 'Temporal is starting' },
    };
    const record = (change: Partial<StackState>) => writeState(localDir, Object.assign(state, change));
    const common = { localDir, progress, signal };
    const temporal = await startBeside({
      ...common,
      port: state.ports.temporal,
      uiPort: state.ports.temporalUi,
      temporal: temporalAt(`127.0.0.1:${state.ports.temporal}`, settings),
      cacheDir: settings.CACHE_DIR,
      path: env.PATH,
      record,
    });
    running.push(temporal);
    const postgres = await startPostgres({
      ...common,
      port: state.ports.postgres,
      password: secrets.postgresPassword,
      onStart: (postgres) => record({ postgres }),
    });
    // Temporal ends first.
    running.unshift(postgres);
    return {
      /** The given environment with the further variables that `loadConfig` needs. No port is 0. */
      env: stackEnvironment(env, state, secrets),
      /** The absolute path of LOCAL_DIR. */
      localDir,
      temporalUiUrl: `http://localhost:${state.ports.temporalUi}`,
      temporal,
      /** Ends Temporal, then Postgres. Call it when the service has drained. */
      stop,
    };
  } catch (error) {
    await stop();
    signal?.throwIfAborted();
    throw error;
  }
}

function makeFolder(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    return realpathSync(path);
  } catch (error) {
    throw new ConfigError([`LOCAL_DIR: ${(error as Error).message}; give a writable folder`]);
  }
}

/** Assigns free ports, and the settings that depend on them. */
async function assignPorts(env: NodeJS.ProcessEnv, settings: Environment): Promise<Pick<StackState, 'ports' | 'env'>> {
  const host = env.HOST || '127.0.0.1';
  const port = await choosePort('PORT', settings.PORT, host);
  const ports = {
    postgres: await choosePort('POSTGRES_PORT', settings.POSTGRES_PORT),
    temporal: await choosePort('TEMPORAL_PORT', settings.TEMPORAL_PORT),
    temporalUi: await choosePort('TEMPORAL_UI_PORT', settings.TEMPORAL_UI_PORT),
  };
  const metrics = settings.METRICS_PORT;
  const baseUrl = settings.BASE_URL ?? `http://localhost:${port}`;
  return {
    ports,
    env: {
      ENVIRONMENT: 'sandbox',
      HOST: host,
      PORT: String(port),
      BASE_URL: baseUrl,
      AUTH_URL: settings.AUTH_URL ?? baseUrl,
      TEMPORAL_ADDRESS: `127.0.0.1:${ports.temporal}`,
      TEMPORAL_NAMESPACE: settings.TEMPORAL_NAMESPACE,
      ALLOW_PRIVATE_RECEIVERS: env.ALLOW_PRIVATE_RECEIVERS || 'true',
      SHUTDOWN_DELAY: env.SHUTDOWN_DELAY || '0s',
      // A command that starts a workflow (`deliveries retry`) needs the ladder.
      ...(env.DELIVERY_RETRY_DELAYS && { DELIVERY_RETRY_DELAYS: env.DELIVERY_RETRY_DELAYS }),
      ...(metrics !== undefined && { METRICS_PORT: String(await choosePort('METRICS_PORT', metrics, host)) }),
    },
  };
}

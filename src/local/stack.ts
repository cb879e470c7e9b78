import { mkdirSync, realpathSync } from 'node:fs';
import { type Environment, readEnvironment, temporalAt } from '../platform/config/config.js';
import { ConfigError } from '../platform/config/config-error.js';
import { choosePort } from '../platform/free-port.js';
import { Secret } from '../platform/secret.js';
import { startPostgres } from './postgres.js';
import {
  endLeftovers,
  forgetOtherServers,
  masterKeyIdOf,
  provideSecrets,
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
export async function startStack(given: NodeJS.ProcessEnv, progress: (line: string) => void, signal?: AbortSignal) {
  const env = forgetOtherServers(given);
  const settings = readEnvironment(env);
  if (settings.ENVIRONMENT === 'production') {
    throw new ConfigError(['DATABASE_URL: is not set; production never runs on the embedded stack']);
  }
  const localDir = makeFolder(settings.LOCAL_DIR);
  takeLock(localDir);
  try {
    await endLeftovers(localDir, progress);
    const secrets = provideSecrets(localDir);
    const password = new Secret(secrets.postgres_password);
    const ports = await choosePorts(env, settings);
    const own = stackEnvironment(env, ports, secrets);
    const state: StackState = {
      temporalStart: { failed: false, line: 'Temporal is starting' },
      masterKeyId: masterKeyIdOf(own),
      env: ports.env,
    };
    const record = (change: Partial<StackState>) => writeState(localDir, Object.assign(state, change));
    const postgres = await startPostgres({
      ...{ localDir, progress, signal, password },
      port: ports.postgres,
      onStart: (postgres) => record({ postgres }),
    });
    const temporal = startBeside({
      ...{ localDir, progress, record },
      port: ports.temporal,
      uiPort: ports.temporalUi,
      temporal: temporalAt(`127.0.0.1:${ports.temporal}`, settings),
      cacheDir: settings.CACHE_DIR,
      path: env.PATH,
    });
    return {
      /** The given environment with the further variables that `loadConfig` needs. No port is 0. */
      env: own,
      /** The absolute path of LOCAL_DIR. */
      localDir,
      temporalUiUrl: `http://localhost:${ports.temporalUi}`,
      temporal,
      /** Ends Temporal, then Postgres. Call it when the service has drained. */
      async stop(): Promise<void> {
        await temporal.stop();
        await postgres.stop();
        releaseLock(localDir);
      },
    };
  } catch (error) {
    releaseLock(localDir);
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

/** Chooses free ports, and the settings that depend on them. */
async function choosePorts(env: NodeJS.ProcessEnv, settings: Environment) {
  const host = env.HOST || '127.0.0.1';
  const port = await choosePort('PORT', settings.PORT, host);
  const postgres = await choosePort('POSTGRES_PORT', settings.POSTGRES_PORT);
  const temporal = await choosePort('TEMPORAL_PORT', settings.TEMPORAL_PORT);
  const temporalUi = await choosePort('TEMPORAL_UI_PORT', settings.TEMPORAL_UI_PORT);
  const metrics = settings.METRICS_PORT;
  const baseUrl = settings.BASE_URL ?? `http://localhost:${port}`;
  return {
    ...{ postgres, temporal, temporalUi },
    env: {
      ENVIRONMENT: 'sandbox',
      HOST: host,
      PORT: String(port),
      POSTGRES_PORT: String(postgres),
      BASE_URL: baseUrl,
      AUTH_URL: settings.AUTH_URL ?? baseUrl,
      TEMPORAL_ADDRESS: `127.0.0.1:${temporal}`,
      TEMPORAL_NAMESPACE: settings.TEMPORAL_NAMESPACE,
      ALLOW_PRIVATE_RECEIVERS: env.ALLOW_PRIVATE_RECEIVERS || 'true',
      SHUTDOWN_DELAY: env.SHUTDOWN_DELAY || '0s',
      // A command that starts a workflow (`deliveries retry`) needs the ladder.
      DELIVERY_RETRY_DELAYS: env.DELIVERY_RETRY_DELAYS,
      METRICS_PORT: metrics === undefined ? undefined : String(await choosePort('METRICS_PORT', metrics, host)),
    },
  };
}

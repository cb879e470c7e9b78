import { type Actor, type By, personHere } from '../platform/audit.js';
import { baseUrlOf, type Environment, isConfigured, readEnvironment } from '../platform/config/config.js';
import { ConfigError } from '../platform/config/config-error.js';
import { type Database, openDatabase } from '../platform/database/database.js';
import { MasterKeys } from '../platform/database/encryption.js';
import { isUnreachable } from '../platform/database/faults.js';
import type { Secret } from '../platform/secret.js';
import { oneLine } from '../process/lifecycle.js';

/**
 * The variables of the environment to work on: `env` itself if it names a database, else those of the embedded stack
 * that runs under LOCAL_DIR.
 * @throws Error of one line if no embedded stack runs
 */
export async function findEnvironment(env: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  if (isConfigured(env)) return env;
  const { findStack } = await import('../local/stack-state.js');
  return findStack(env);
}

/** How far the start of the embedded stack's Temporal is; undefined: it serves, or no embedded stack is used. */
export async function embeddedTemporalStart() {
  if (isConfigured(process.env)) return undefined;
  const { readState } = await import('../local/stack-state.js');
  return readState(readEnvironment(process.env).LOCAL_DIR)?.temporalStart;
}

/** @throws ConfigError if a setting that a command needs is not set */
function required<T>(name: string, value: T | undefined, hint: string): T {
  if (value === undefined) throw new ConfigError([`${name}: is not set; ${hint}`]);
  return value;
}

interface Context {
  database: Database;
  url: Secret;
  environment: Environment;
  /** The person at this machine, for the audit. */
  actor: Actor;
}

/** An action on the database. Its connection is opened for the command and closed afterwards. */
export function onDatabase<Args extends unknown[], Result>(
  action: (context: Context, ...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    const environment = readEnvironment(await findEnvironment(process.env));
    const { DATABASE_URL, DATABASE_DIRECT_URL } = environment;
    // A command uses no pooler: it has few connections, and `migrate` needs a session.
    const url =
      DATABASE_DIRECT_URL ??
      required('DATABASE_URL', DATABASE_URL, 'give postgresql://user:password@host:5432/database');
    const database = openDatabase({ url, poolSize: 2 });
    try {
      return await action({ database, url, environment, actor: personHere() }, ...args);
    } catch (error) {
      if (isUnreachable(error)) throw new Error(`Postgres cannot be reached: ${oneLine(error)}`, { cause: error });
      throw error;
    } finally {
      await database.close();
    }
  };
}

/** Removes what is older than a setting says. */
export const expiring = (
  setting: 'AUDIT_RETENTION' | 'TRANSFER_RETENTION',
  expire: (database: Database, by: By, retention: number) => Promise<number>,
) =>
  onDatabase(async ({ database, environment, actor }) => {
    const retention = required(setting, environment[setting], 'give a duration such as 3650d');
    return { json: { removed: await expire(database, { actor }, retention) } };
  });

/** @throws ConfigError if MASTER_KEY is not set */
export function masterKeysOf({ MASTER_KEY, MASTER_KEY_PREVIOUS }: Environment): MasterKeys {
  const key = required('MASTER_KEY', MASTER_KEY, 'give 32 bytes in base64 (openssl rand -base64 32)');
  return new MasterKeys(key, MASTER_KEY_PREVIOUS);
}

/** The public URL of the environment's API. @throws ConfigError if BASE_URL is not set in production */
export const baseUrlIn = (environment: Environment): string =>
  required('BASE_URL', baseUrlOf(environment), 'give the https address of the API');

/** Signs as the API does. @throws ConfigError if MASTER_KEY is not set */
export async function authorityIn(database: Database, environment: Environment) {
  const [{ openAuthority }, { createLog }] = await Promise.all([
    import('../auth/authority.js'),
    import('../platform/telemetry/log.js'),
  ]);
  const baseUrl = baseUrlIn(environment);
  const { AUTH_URL: authUrl = baseUrl, ACCESS_TOKEN_LIFETIME: accessTokenLifetime } = environment;
  const config = { authUrl, baseUrl, accessTokenLifetime };
  return openAuthority({ config, database, masterKeys: masterKeysOf(environment), log: createLog('silent', 'cli') });
}

import { ConfigError, type Environment, readEnvironment } from '../config.js';
import { type Database, openDatabase } from '../database/database.js';
import { MasterKeys } from '../database/encryption.js';
import { isUnreachable } from '../database/faults.js';
import { findStack } from '../local/find-stack.js';
import { oneLine } from '../process/explain.js';

/** The settings of the database to work on: the one named, or the embedded stack's. @throws ConfigError, Error in one line */
export function environmentInReach(): Environment & { DATABASE_URL: NonNullable<Environment['DATABASE_URL']> } {
  const environment = readEnvironment(findStack(process.env));
  const { DATABASE_URL } = environment;
  if (!DATABASE_URL) {
    throw new ConfigError(['DATABASE_URL: is not set; give postgresql://user:password@host:5432/database']);
  }
  return { ...environment, DATABASE_URL };
}

/** Lends a connection for one command. */
export async function withDatabase<T>(work: (database: Database, environment: Environment) => Promise<T>): Promise<T> {
  const environment = environmentInReach();
  const database = openDatabase({ url: environment.DATABASE_URL, poolSize: 2 });
  try {
    return await reachingPostgres(() => work(database, environment));
  } finally {
    await database.close();
  }
}

/** Says of a fault that is Postgres's that it is. */
export async function reachingPostgres<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isUnreachable(error)) throw new Error(`Postgres cannot be reached: ${oneLine(error)}`, { cause: error });
    throw error;
  }
}

/** @throws ConfigError where MASTER_KEY is not set */
export function masterKeysOf(environment: Environment): MasterKeys {
  const { MASTER_KEY, MASTER_KEY_PREVIOUS } = environment;
  if (!MASTER_KEY) throw new ConfigError(['MASTER_KEY: is not set; give 32 bytes in base64 (openssl rand -base64 32)']);
  return new MasterKeys(MASTER_KEY, MASTER_KEY_PREVIOUS);
}

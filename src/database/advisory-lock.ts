import pg from 'pg';
import type { Secret } from '../secret.js';
import type { Handle } from './database.js';
import { SERVICE_SETTINGS, withServerSettings } from './server-settings.js';

export interface AdvisoryLock {
  /** False once the connection is lost, and the lock with it. */
  readonly held: boolean;
  release(): Promise<void>;
}

/**
 * Takes a lock that one process of the environment holds at a time. The lock has its own connection and ends with that
 * connection, also if the process dies. Undefined if another process holds the lock.
 */
export async function tryAdvisoryLock(url: Secret, name: string): Promise<AdvisoryLock | undefined> {
  const connectionString = withServerSettings(url, SERVICE_SETTINGS).reveal();
  const client = new pg.Client({ connectionString, keepAlive: true, connectionTimeoutMillis: 5_000 });
  let held = false;
  const lose = () => {
    held = false;
  };
  client.on('error', lose);
  client.on('end', lose);
  const release = () => client.end().catch(() => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ taken: boolean }>(TRY_LOCK, [name]);
    held = rows[0]?.taken === true;
  } catch (error) {
    await release();
    throw error;
  }
  if (!held) {
    await release();
    return undefined;
  }
  return {
    get held() {
      return held;
    },
    release,
  };
}

/** Waits for the lock of this name, which ends with the transaction `tx`. Equal names exclude each other. */
export async function lockInTransaction(tx: Handle, name: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1::text, 0))::text', [name]);
}

/** Takes the lock of this name, which ends with the transaction `tx`. False if another transaction holds it. */
export async function tryLockInTransaction(tx: Handle, name: string): Promise<boolean> {
  const [row] = await tx.query<{ taken: boolean }>(
    'select pg_try_advisory_xact_lock(hashtextextended($1::text, 0)) as taken',
    [name],
  );
  return row?.taken === true;
}

const TRY_LOCK = 'select pg_try_advisory_lock(hashtextextended($1::text, 0)) as taken';

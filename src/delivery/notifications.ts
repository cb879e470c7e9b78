import { randomInt } from 'node:crypto';
import pg from 'pg';
import type { Database } from '../platform/database/database.js';
import { SERVICE_SETTINGS, withServerSettings } from '../platform/database/server-settings.js';
import type { Secret } from '../platform/secret.js';
import type { Log } from '../platform/telemetry/log.js';
import type { Handover } from './handover.js';

const CHANNEL = 'queue';
/**
 * ms within which events share one NOTIFY. It is sent after the commits: as a part of them it would serialise the
 * commits of the whole server.
 */
const COALESCE = 20;
const RECONNECT = 1_000;
/**
 * ms after which a worker polls for a notification that wakes another worker first. A worker that is dead or has no room
 * thus delays an attempt by little, and the other workers poll at most ten times a second.
 */
const AFTER_OTHERS = 100;
/** A notification carries a whole number below this. */
const WAKE_UPS = 65_536;

/** The handover of a process without a dispatcher: attempts stay free in the queue, and workers are notified. */
export function notifyHandover(
  database: Database,
  retryDelays: readonly number[],
  log?: Log,
): Handover & { flush(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  const notify = async () => {
    clearTimeout(timer);
    timer = undefined;
    // Without a notification a worker polls within a second.
    await database
      .query('select pg_notify($1, $2)::text', [CHANNEL, String(randomInt(WAKE_UPS))])
      .catch((error) => log?.warn({ err: error }, 'workers could not be notified'));
  };
  const notifySoon = () => {
    timer ??= setTimeout(notify, COALESCE);
  };
  return {
    retryDelays,
    lease: () => null,
    committed({ deliveries }) {
      if (deliveries.length > 0) notifySoon();
    },
    queued: notifySoon,
    async flush() {
      if (timer) await notify();
    },
  };
}

/**
 * Polls at each notification, at once if it wakes this worker first and else a little later: workers that poll at the same
 * moment compete for the same rows, and all but one find none. It polls after each reconnection too, because
 * notifications may have been missed.
 * @param wakesFirst whether a notification wakes this worker first
 */
export function listenForAttempts(url: Secret, wakesFirst: (wakeUp: number) => boolean, poll: () => void, log: Log) {
  const connectionString = withServerSettings(url, SERVICE_SETTINGS).reveal();
  let stopped = false;
  let client: pg.Client | undefined;
  let reconnecting: NodeJS.Timeout | undefined;
  let later: NodeJS.Timeout | undefined;
  const onNotified = (payload: string | undefined) => {
    if (stopped) return;
    const wakeUp = Number(payload || Number.NaN);
    if (Number.isNaN(wakeUp) || wakesFirst(wakeUp)) {
      poll();
      return;
    }
    later ??= setTimeout(() => {
      later = undefined;
      poll();
    }, AFTER_OTHERS);
  };
  const reconnect = () => {
    if (!stopped) reconnecting = setTimeout(connect, RECONNECT);
  };
  const connect = async () => {
    const connection = new pg.Client({ connectionString, keepAlive: true });
    client = connection;
    connection.on('notification', ({ payload }) => onNotified(payload));
    connection.on('error', (error) => log.warn({ err: error }, 'lost the connection that listens for attempts'));
    connection.once('end', reconnect);
    try {
      await connection.connect();
      await connection.query(`listen ${CHANNEL}`);
      if (!stopped) poll();
    } catch {
      await connection.end().catch(() => undefined);
    }
  };
  void connect();
  return {
    async stop() {
      stopped = true;
      clearTimeout(reconnecting);
      clearTimeout(later);
      await client?.end().catch(() => undefined);
    },
  };
}

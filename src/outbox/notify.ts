import { randomInt } from 'node:crypto';
import pg from 'pg';
import type { Database } from '../database/database.js';
import { SERVICE_SETTINGS, withServerSettings } from '../database/server-settings.js';
import type { Secret } from '../secret.js';
import type { Log } from '../telemetry/log.js';
import type { Handover } from './handover.js';
import { ANYTHING, mergeNotices, type Notice, readNotice, TURNS, writeNotice } from './notice.js';

const CHANNEL = 'outbox';
/**
 * ms within which events share one NOTIFY. It is sent after the commits: as a part of them it would serialise the
 * commits of the whole server.
 */
const COALESCE = 20;
const RECONNECT = 1_000;

/** The handover of a process without a lane: the rows stay free, and workers are notified at most once in 20 ms. */
export function notifyHandover(
  database: Database,
  retryDelays: readonly number[],
  log?: Log,
): Handover & { flush(): Promise<void> } {
  let timer: NodeJS.Timeout | undefined;
  let due: Notice | undefined;
  const notify = async () => {
    clearTimeout(timer);
    timer = undefined;
    const notice = { ...(due ?? ANYTHING), turn: randomInt(TURNS) };
    due = undefined;
    try {
      await database.query('select pg_notify($1, $2)::text', [CHANNEL, writeNotice(notice)]);
    } catch (error) {
      // Without a notification a worker's sweep finds the event within a second.
      log?.warn({ err: error }, 'workers could not be notified');
    }
  };
  return {
    leases: false,
    retryDelays,
    committed({ deliveries }) {
      const notice = { attempt: deliveries.length > 0, start: deliveries.length === 0, turn: null };
      due = due ? mergeNotices(due, notice) : notice;
      timer ??= setTimeout(notify, COALESCE);
    },
    async flush() {
      if (timer) await notify();
    },
  };
}

/** Calls `onNotice` at each notification, and after each reconnection, because notifications may have been missed. */
export function listenForEvents(url: Secret, onNotice: (notice: Notice) => void, log: Log): { stop(): Promise<void> } {
  const connectionString = withServerSettings(url, SERVICE_SETTINGS).reveal();
  let stopped = false;
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  const reconnect = () => {
    if (!stopped) timer = setTimeout(connect, RECONNECT);
  };
  const connect = async () => {
    const connection = new pg.Client({ connectionString, keepAlive: true });
    client = connection;
    connection.on('notification', ({ payload }) => onNotice(readNotice(payload)));
    connection.on('error', (error) => log.warn({ err: error }, 'lost the connection that listens for events'));
    connection.once('end', reconnect);
    try {
      await connection.connect();
      await connection.query(`listen ${CHANNEL}`);
      onNotice(ANYTHING);
    } catch {
      await connection.end().catch(() => undefined);
    }
  };
  void connect();
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await client?.end().catch(() => undefined);
    },
  };
}

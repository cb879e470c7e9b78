import pg from 'pg';
import type { Database } from '../platform/database/database.js';
import { SERVICE_SETTINGS, withServerSettings } from '../platform/database/server-settings.js';
import type { Secret } from '../platform/secret.js';
import type { Log } from '../platform/telemetry/log.js';
import type { Handover } from './handover.js';
import { CHANNEL, receiveWakeUps, sendWakeUps, type WakeUpReceiver, type WakeUps } from './wake-ups.js';

const RECONNECT = 1_000;
/** The handover of a process without a dispatcher: attempts stay free in the queue, and workers are notified. */
export function notifyHandover(
  database: Database,
  retryDelays: readonly number[],
  log?: Log,
): Handover & Pick<WakeUps, 'flush'> {
  const wakeUps = sendWakeUps(database, log);
  return {
    retryDelays,
    lease: () => null,
    committed: ({ clientId, deliveries }) => wakeUps.send(deliveries.map((delivery) => ({ clientId, ...delivery }))),
    queued: (attempt) => wakeUps.send([attempt]),
    flush: () => wakeUps.flush(),
  };
}

/**
 * Listens for notifications. It polls after each reconnection, because notifications may have been missed.
 */
export function listenForAttempts(url: Secret, receiver: WakeUpReceiver, log: Log) {
  const connectionString = withServerSettings(url, SERVICE_SETTINGS).reveal();
  let stopped = false;
  let client: pg.Client | undefined;
  let reconnecting: NodeJS.Timeout | undefined;
  const wakeUps = receiveWakeUps(receiver);
  const reconnect = () => {
    if (!stopped) reconnecting = setTimeout(connect, RECONNECT);
  };
  const connect = async () => {
    const connection = new pg.Client({ connectionString, keepAlive: true });
    client = connection;
    connection.on('notification', ({ payload }) => {
      if (!stopped) wakeUps.receive(payload);
    });
    connection.on('error', (error) => log.warn({ err: error }, 'lost the connection that listens for attempts'));
    connection.once('end', reconnect);
    try {
      await connection.connect();
      await connection.query(`listen ${CHANNEL}`);
      if (!stopped) receiver.poll();
    } catch {
      await connection.end().catch(() => undefined);
    }
  };
  void connect();
  return {
    async stop() {
      stopped = true;
      clearTimeout(reconnecting);
      wakeUps.stop();
      await client?.end().catch(() => undefined);
    },
  };
}

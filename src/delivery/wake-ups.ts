import { randomInt } from 'node:crypto';
import { z } from 'zod';
import type { Database } from '../platform/database/database.js';
import type { Log } from '../platform/telemetry/log.js';
import type { QueuedAt } from './handover.js';
import type { Cursor } from './lease.js';
import type { LiveWorkers } from './live-workers.js';

export const CHANNEL = 'queue';
/**
 * ms within which events share one NOTIFY. It is sent after the commits: as a part of them it would serialise the
 * commits of the whole server.
 */
const COALESCE = 20;
/**
 * ms after which a second worker leases at a notification, in case the first is dead or has no slot. It does so at most
 * ten times a second.
 */
const AFTER_FIRST = 100;
/** Random numbers are below this. */
const NUMBERS = 65_536;
/** Endpoints that a notification names: Postgres takes 8,000 bytes. */
const NAMED = 50;

const NOTIFICATION = z.union([
  /**
   * Which endpoints have attempts in the queue. `number`: random, so that the workers are woken first in turn; null:
   * all are.
   */
  z.object({
    number: z.int().nullable(),
    endpoints: z.array(z.object({ endpointId: z.guid(), clientId: z.guid(), maxConcurrency: z.int().nullable() })),
  }),
  /** How far a worker has scanned the queue; null: to its end. */
  z.object({ scanned: z.object({ endpointId: z.guid(), line: z.enum(['fresh', 'late']) }).nullable() }),
]);
type Notification = z.infer<typeof NOTIFICATION>;

/** The schema leaves out what else the caller's objects have, such as the secret of an attempt. */
const encode = (notification: Notification) => JSON.stringify(NOTIFICATION.parse(notification));

/** @returns undefined: it is not understood */
function decode(payload = ''): Notification | undefined {
  try {
    return NOTIFICATION.parse(JSON.parse(payload));
  } catch {
    return undefined;
  }
}

/** Tells the workers which endpoints have attempts in the queue. */
export interface WakeUps {
  /** Wakes a worker with slots of each endpoint, later a second one. Neither throws nor waits. */
  send(at: readonly QueuedAt[]): void;
  /** Wakes every worker with slots of these endpoints: their attempts have waited. */
  sendToAll(at: readonly QueuedAt[]): void;
  /** Tells all workers up to which line the queue was scanned; null: to its end. */
  sendScanned(upTo: Cursor | null): void;
  /** Sends what waits. */
  flush(): Promise<void>;
}

export function sendWakeUps(database: Pick<Database, 'query'>, log?: Log): WakeUps {
  const waiting = { one: new Map<string, QueuedAt>(), all: new Map<string, QueuedAt>() };
  let timer: NodeJS.Timeout | undefined;
  const take = (endpoints: Map<string, QueuedAt>, next: () => number | null): Notification[] => {
    const all = [...endpoints.values()];
    endpoints.clear();
    const count = Math.ceil(all.length / NAMED);
    return Array.from({ length: count }, () => ({ number: next(), endpoints: all.splice(0, NAMED) }));
  };
  const flush = async () => {
    if (!timer) return;
    clearTimeout(timer);
    timer = undefined;
    await notify([...take(waiting.one, () => randomInt(NUMBERS)), ...take(waiting.all, () => null)]);
  };
  // Without a notification a worker finds the attempts by its polls.
  const notify = (notifications: readonly Notification[]) =>
    database
      .query('select pg_notify($1, payload)::text from unnest($2::text[]) as payload', [
        CHANNEL,
        notifications.map(encode),
      ])
      .catch((error) => log?.warn({ err: error }, 'workers could not be notified'));
  const add = (to: Map<string, QueuedAt>, at: readonly QueuedAt[]) => {
    for (const one of at) to.set(one.endpointId, one);
    if (at.length > 0) timer ??= setTimeout(flush, COALESCE);
  };
  return {
    send: (at) => add(waiting.one, at),
    sendToAll: (at) => add(waiting.all, at),
    sendScanned: (scanned) => void notify([{ scanned }]),
    flush,
  };
}

/** What a worker does with notifications. */
export interface WakeUpReceiver {
  workers: Pick<LiveWorkers, 'of' | 'placeAt'>;
  /** ENDPOINT_CONCURRENCY */
  perEndpoint: number;
  /** The endpoint has attempts in the queue, and slots in this process. */
  expect: (at: QueuedAt) => void;
  /** The queue may have attempts of any endpoint. */
  poll: () => void;
  /** Another worker has scanned the queue up to this line; null: to its end. */
  scanned: (upTo: Cursor | null) => void;
}

/**
 * Receives notifications. Of the workers with slots of an endpoint, one is woken first and a second one a little later.
 * All at once, they would compete for the same rows, and most would read the queue for nothing. If neither of the two
 * leases the rows, the next scan wakes all.
 */
export function receiveWakeUps({ workers, perEndpoint, expect, poll, scanned }: WakeUpReceiver) {
  let later: NodeJS.Timeout | undefined;
  const endpointsLater = new Map<string, QueuedAt>();
  const run = () => {
    later = undefined;
    for (const at of endpointsLater.values()) expect(at);
    endpointsLater.clear();
  };
  const wake = (at: QueuedAt, number: number | null) => {
    const max = at.maxConcurrency ?? perEndpoint;
    if (workers.of(at.endpointId, max) === 0) return;
    const place = number === null ? 0 : workers.placeAt(at.endpointId, max, number);
    if (place === 0) expect(at);
    if (place !== 1) return;
    endpointsLater.set(at.endpointId, at);
    later ??= setTimeout(run, AFTER_FIRST);
  };
  return {
    receive(payload: string | undefined): void {
      const notification = decode(payload);
      if (!notification) poll();
      else if ('scanned' in notification) scanned(notification.scanned);
      else for (const at of notification.endpoints) wake(at, notification.number);
    },
    stop(): void {
      clearTimeout(later);
    },
  };
}

import { randomInt } from 'node:crypto';
import { z } from 'zod';
import type { Database } from '../platform/database/database.js';
import type { Log } from '../platform/telemetry/log.js';
import type { QueuedAt } from './handover.js';
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

/** Which endpoints have attempts in the queue. `number`: random, so that the workers are woken first in turn. */
const NOTIFICATION = z.object({
  number: z.int(),
  endpoints: z.array(z.object({ endpointId: z.guid(), clientId: z.guid(), maxConcurrency: z.int().nullable() })),
});
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
  /** Sends what waits. */
  flush(): Promise<void>;
}

export function sendWakeUps(database: Pick<Database, 'query'>, log?: Log): WakeUps {
  const waiting = new Map<string, QueuedAt>();
  let timer: NodeJS.Timeout | undefined;
  const flush = async () => {
    if (!timer) return;
    clearTimeout(timer);
    timer = undefined;
    const all = [...waiting.values()];
    waiting.clear();
    const notifications: string[] = [];
    while (all.length > 0) notifications.push(encode({ number: randomInt(NUMBERS), endpoints: all.splice(0, NAMED) }));
    await database
      .query('select pg_notify($1, payload)::text from unnest($2::text[]) as payload', [CHANNEL, notifications])
      // Without a notification a worker finds the attempts by its polls.
      .catch((error) => log?.warn({ err: error }, 'workers could not be notified'));
  };
  return {
    send(at) {
      for (const one of at) waiting.set(one.endpointId, one);
      if (at.length > 0) timer ??= setTimeout(flush, COALESCE);
    },
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
  expectAny: () => void;
}

/**
 * Receives notifications. Of the workers with slots of an endpoint, one is woken first and a second one a little later.
 * All at once, they would compete for the same rows, and most would read the queue for nothing. If neither of the two
 * leases the rows, the next scan wakes two again.
 */
export function receiveWakeUps({ workers, perEndpoint, expect, expectAny }: WakeUpReceiver) {
  let later: NodeJS.Timeout | undefined;
  const endpointsLater = new Map<string, QueuedAt>();
  const run = () => {
    later = undefined;
    for (const at of endpointsLater.values()) expect(at);
    endpointsLater.clear();
  };
  const wake = (at: QueuedAt, number: number) => {
    const max = at.maxConcurrency ?? perEndpoint;
    if (workers.of(at.endpointId, max) === 0) return;
    const place = workers.placeAt(at.endpointId, max, number);
    if (place === 0) expect(at);
    if (place !== 1) return;
    endpointsLater.set(at.endpointId, at);
    later ??= setTimeout(run, AFTER_FIRST);
  };
  return {
    receive(payload: string | undefined): void {
      const notification = decode(payload);
      if (!notification) expectAny();
      else for (const at of notification.endpoints) wake(at, notification.number);
    },
    stop(): void {
      clearTimeout(later);
    },
  };
}

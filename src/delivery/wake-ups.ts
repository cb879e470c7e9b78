import { randomInt } from 'node:crypto';
import type { Database } from '../platform/database/database.js';
import { isId } from '../platform/ids.js';
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
const NAMED = 80;
/** Instead of a number: every worker with slots leases at once. */
const ALL = 'all';
/** The first word of another notification: how far a worker has scanned the queue. */
const SCANNED = 'scanned';

/** A notification: which endpoints have attempts in the queue. */
interface WakeUp {
  /** Chosen at random for each notification, so that the workers are woken first in turn. */
  number: number | typeof ALL;
  endpoints: readonly QueuedAt[];
}

function encode({ number, endpoints }: WakeUp): string {
  const named = endpoints.map(({ endpointId, clientId, maxConcurrency }) =>
    [endpointId, clientId, maxConcurrency ?? ''].join(),
  );
  return [number, ...named].join(' ');
}

/** @returns undefined: it is not understood */
function decode(payload = ''): WakeUp | undefined {
  const [number = '', ...named] = payload.split(' ');
  const endpoints = named.map((text) => {
    const [endpointId = '', clientId = '', max = ''] = text.split(',');
    return { endpointId, clientId, maxConcurrency: max === '' ? null : Number(max) };
  });
  const isValid =
    endpoints.length > 0 && endpoints.every(({ endpointId, clientId }) => isId(endpointId) && isId(clientId));
  if (!isValid || !/^(\d+|all)$/.test(number)) return undefined;
  return { number: number === ALL ? ALL : Number(number), endpoints };
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
  const take = (endpoints: Map<string, QueuedAt>, next: () => WakeUp['number']) => {
    const all = [...endpoints.values()];
    endpoints.clear();
    const parts = Array.from({ length: Math.ceil(all.length / NAMED) }, (_, i) =>
      all.slice(i * NAMED, (i + 1) * NAMED),
    );
    return parts.map((part) => encode({ number: next(), endpoints: part }));
  };
  const flush = async () => {
    if (!timer) return;
    clearTimeout(timer);
    timer = undefined;
    await notify([...take(waiting.one, () => randomInt(NUMBERS)), ...take(waiting.all, () => ALL)]);
  };
  // Without a notification a worker finds the attempts by its polls.
  const notify = (payloads: readonly string[]) =>
    database
      .query('select pg_notify($1, payload)::text from unnest($2::text[]) as payload', [CHANNEL, payloads])
      .catch((error) => log?.warn({ err: error }, 'workers could not be notified'));
  const add = (to: Map<string, QueuedAt>, at: readonly QueuedAt[]) => {
    for (const one of at) to.set(one.endpointId, one);
    if (at.length > 0) timer ??= setTimeout(flush, COALESCE);
  };
  return {
    send: (at) => add(waiting.one, at),
    sendToAll: (at) => add(waiting.all, at),
    sendScanned: (upTo) => void notify([upTo ? `${SCANNED} ${upTo.endpointId} ${upTo.line}` : SCANNED]),
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
 * Receives notifications. Of the workers with slots of an endpoint, one is woken first and a second one a little later. All
 * at once, they would compete for the same rows, and most would read the queue for nothing. If neither of the two leases the
 * rows, the next scan wakes all.
 */
export function receiveWakeUps({ workers, perEndpoint, expect, poll, scanned }: WakeUpReceiver) {
  let later: NodeJS.Timeout | undefined;
  const endpointsLater = new Map<string, QueuedAt>();
  const run = () => {
    later = undefined;
    for (const at of endpointsLater.values()) expect(at);
    endpointsLater.clear();
  };
  return {
    receive(payload: string | undefined): void {
      const [kind, endpointId = '', line] = payload?.split(' ') ?? [];
      if (kind === SCANNED) {
        scanned(isId(endpointId) ? { endpointId, line: line === 'late' ? 'late' : 'fresh' } : null);
        return;
      }
      const wakeUp = decode(payload);
      if (!wakeUp) poll();
      for (const at of wakeUp?.endpoints ?? []) {
        const max = at.maxConcurrency ?? perEndpoint;
        if (workers.of(at.endpointId, max) === 0) continue;
        const place = wakeUp?.number === ALL ? 0 : workers.placeAt(at.endpointId, max, wakeUp?.number ?? 0);
        if (place === 0) expect(at);
        if (place !== 1) continue;
        endpointsLater.set(at.endpointId, at);
        later ??= setTimeout(run, AFTER_FIRST);
      }
    },
    stop(): void {
      clearTimeout(later);
    },
  };
}

import { randomInt } from 'node:crypto';
import type { Database } from '../platform/database/database.js';
import { isId } from '../platform/ids.js';
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
 * ms after which a worker leases at a notification that wakes another worker first. A worker that is dead or has no slot
 * thus delays an attempt by little, and the other workers do so at most ten times a second.
 */
const AFTER_OTHERS = 100;
/** Random numbers are below this. */
const NUMBERS = 65_536;
/** Endpoints that a notification names: Postgres takes 8,000 bytes. With more of them, workers scan the queue. */
const NAMED = 80;

/** A notification: which endpoints have attempts in the queue. Null: too many to be named. */
interface WakeUp {
  /** Chosen at random for each notification, so that the workers are woken first in turn. */
  number: number;
  endpoints: readonly QueuedAt[] | null;
}

function encode({ number, endpoints }: WakeUp): string {
  const named = endpoints?.map(({ endpointId, clientId, maxConcurrency }) =>
    [endpointId, clientId, maxConcurrency ?? ''].join(),
  );
  return [number, ...(named ?? [])].join(' ');
}

/** What is not understood wakes every worker. */
function decode(payload = ''): WakeUp {
  const [number, ...named] = payload.split(' ');
  const endpoints = named.map((text) => {
    const [endpointId = '', clientId = '', max = ''] = text.split(',');
    return { endpointId, clientId, maxConcurrency: max === '' ? null : Number(max) };
  });
  const isValid =
    endpoints.length > 0 && endpoints.every(({ endpointId, clientId }) => isId(endpointId) && isId(clientId));
  return { number: Number(number || Number.NaN), endpoints: isValid ? endpoints : null };
}

/** Tells the workers which endpoints have attempts in the queue. */
export interface WakeUps {
  /** Neither throws nor waits. */
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
    const endpoints = [...waiting.values()];
    waiting.clear();
    const wakeUp = { number: randomInt(NUMBERS), endpoints: endpoints.length > NAMED ? null : endpoints };
    // Without a notification a worker finds the attempts by its polls.
    await database
      .query('select pg_notify($1, $2)::text', [CHANNEL, encode(wakeUp)])
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
  workers: Pick<LiveWorkers, 'of' | 'wakesFirst' | 'wakesFirstAt'>;
  /** ENDPOINT_CONCURRENCY */
  perEndpoint: number;
  /** The endpoint has attempts in the queue, and slots in this process. */
  expect: (at: QueuedAt) => void;
  /** The queue may have attempts of any endpoint. */
  poll: () => void;
}

/**
 * Receives notifications. Of the workers with slots of an endpoint one is woken first, the others a little later: workers
 * that lease at the same moment compete for the same rows. A worker without a slot of it leaves it to them.
 */
export function receiveWakeUps({ workers, perEndpoint, expect, poll }: WakeUpReceiver) {
  let later: NodeJS.Timeout | undefined;
  const endpointsLater = new Map<string, QueuedAt>();
  let polls = false;
  const run = () => {
    later = undefined;
    for (const at of endpointsLater.values()) expect(at);
    endpointsLater.clear();
    if (polls) poll();
    polls = false;
  };
  const wakeLater = () => {
    later ??= setTimeout(run, AFTER_OTHERS);
  };
  return {
    receive(payload: string | undefined): void {
      const { number, endpoints } = decode(payload);
      if (endpoints === null) {
        polls = !(Number.isNaN(number) || workers.wakesFirst(number));
        if (polls) wakeLater();
        else poll();
      }
      for (const at of endpoints ?? []) {
        const max = at.maxConcurrency ?? perEndpoint;
        if (workers.of(at.endpointId, max) === 0) continue;
        if (workers.wakesFirstAt(at.endpointId, max, number)) expect(at);
        else {
          endpointsLater.set(at.endpointId, at);
          wakeLater();
        }
      }
    },
    stop(): void {
      clearTimeout(later);
    },
  };
}

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Database } from '../platform/database/database.js';
import { SERVICE_SETTINGS, withServerSettings } from '../platform/database/server-settings.js';
import { within } from '../platform/deadline.js';
import type { Secret } from '../platform/secret.js';
import type { Log } from '../platform/telemetry/log.js';
import { type Handover, NOTHING_LEASED } from './handover.js';
import { CHANNEL, receiveWakeUps, sendWakeUps, type WakeUpReceiver, type WakeUps } from './wake-ups.js';

/** Times of a listener, ms. */
const TIMES = {
  /** Between two connections. */
  reconnect: 1_000,
  /** Between two checks. */
  check: 2_000,
  /** Longest time to connect, and from the notification of a check to its arrival. */
  limit: 5_000,
};

/** A connection that is closed may take this long, ms. */
const CLOSE = 1_000;

/** The handover of a process without a dispatcher: attempts stay free in the queue, and workers are notified. */
export function notifyHandover(
  database: Database,
  retryDelays: readonly number[],
  log?: Log,
): Handover & Pick<WakeUps, 'flush'> {
  const wakeUps = sendWakeUps(database, log);
  return {
    retryDelays,
    leaseTerms: () => NOTHING_LEASED,
    committed({ clientId, deliveries }) {
      wakeUps.send(deliveries.map((delivery) => ({ clientId, ...delivery })));
      return undefined;
    },
    queued: (attempt) => wakeUps.send([attempt]),
    flush: () => wakeUps.flush(),
  };
}

export interface ListenerOptions {
  /** Leads past a transaction pooler, whose sessions hear nothing. */
  url: Secret;
  /** The pool, through which notifications are sent. */
  database: Pick<Database, 'query'>;
  receiver: WakeUpReceiver;
  log: Log;
  times?: typeof TIMES;
}

/**
 * Listens for notifications on a connection of its own. It polls after each reconnection, because notifications may
 * have been missed.
 *
 * A connection can be deaf for hours without an error: the network drops its packets, its name has come to mean another
 * server, or it leads to a transaction pooler. So every two seconds the listener notifies itself through the pool, and
 * connects again if it does not hear that within five.
 */
export class AttemptListener {
  readonly #own = `listener_${randomUUID()}`;
  readonly #wakeUps;
  readonly #times;
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #isUp = false;
  /** Called when a notification to itself arrives. */
  #heard = () => {};

  constructor(private readonly options: ListenerOptions) {
    this.#wakeUps = receiveWakeUps(options.receiver);
    this.#times = options.times ?? TIMES;
  }

  /** Whether it heard its last notification to itself. */
  get isUp(): boolean {
    return this.#isUp;
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wakeUps.stop();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    let wasLost = false;
    const onListening = () => {
      this.options.receiver.expectAny();
      if (wasLost) this.options.log.info('listens for attempts again');
      wasLost = false;
    };
    while (!signal.aborted) {
      await this.#listen(onListening).catch((error: unknown) => {
        if (signal.aborted) return;
        wasLost = true;
        this.options.log.warn({ err: error }, 'no connection that listens for attempts; connects again in a second');
      });
      this.#isUp = false;
      await sleep(this.#times.reconnect, undefined, { signal }).catch(() => undefined);
    }
  }

  /** @throws when the connection is lost or deaf, or when the listener stops */
  async #listen(onListening: () => void): Promise<void> {
    const connectionString = withServerSettings(this.options.url, SERVICE_SETTINGS).reveal();
    const connection = new pg.Client({ connectionString, keepAlive: true });
    const { promise: lost, reject: lose } = Promise.withResolvers<never>();
    connection.on('error', lose);
    this.#stopping.signal.addEventListener('abort', lose, { once: true });
    connection.on('notification', ({ channel, payload }) => {
      if (channel === this.#own) this.#heard();
      else if (!this.#stopping.signal.aborted) this.#wakeUps.receive(payload);
    });
    const connect = async () => {
      await connection.connect();
      await connection.query(`listen ${pg.escapeIdentifier(this.#own)}`);
      await connection.query(`listen ${CHANNEL}`);
    };
    let isOpen = true;
    const use = async () => {
      await within(this.#times.limit, connect(), () => new Error('no connection in time'));
      onListening();
      while (isOpen) {
        await this.#check();
        await sleep(this.#times.check, undefined, { signal: this.#stopping.signal });
      }
    };
    try {
      await Promise.race([use(), lost]);
    } finally {
      isOpen = false;
      this.#stopping.signal.removeEventListener('abort', lose);
      // A connection whose packets are dropped never ends by itself.
      await within(CLOSE, connection.end()).catch(() => connection.connection.stream.destroy());
    }
  }

  /** @throws when its notification to itself does not arrive */
  async #check(): Promise<void> {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    this.#heard = resolve;
    const sent = await this.options.database
      .query('select pg_notify($1, $2)::text', [this.#own, ''])
      .then(() => true)
      // If the pool does not reach Postgres, the others do not notify either.
      .catch(() => false);
    if (sent)
      await within(this.#times.limit, arrived, () => new Error('a notification through the pool did not arrive'));
    this.#isUp = sent;
  }
}

import type { TransferServiceClient } from './client.js';
import { transferWebhooks as forExpress } from './express.js';
import { type FastifyInstanceLike, transferWebhooks as forFastify } from './fastify.js';
import { transferWebhooks as forFetch } from './fetch.js';
import { databaseOf, type InboxDatabase, type PgClient, type PgPool } from './inbox/database.js';
import { type Poll, poll, type Reading, rows } from './inbox/feed.js';
import { handle, type InboxContext } from './inbox/handle.js';
import { type Proof, type ProofWindow, prove } from './inbox/prove.js';
import { statementsOf } from './inbox/schema.js';
import type { WebhookOptions, WebhookSecret } from './receiver/receive.js';
import { sleep } from './time-limit.js';
import type { DeliveredEvent } from './types.js';

export type { InboxDatabase, PgClient, PgPool } from './inbox/database.js';
export type { Poll } from './inbox/feed.js';
export type { InboxContext } from './inbox/handle.js';
export type { Proof, ProofWindow } from './inbox/prove.js';

interface Options<Tx> {
  client: TransferServiceClient;
  /** The endpoint's secret, or several while you switch to a new one. Unset: the inbox only reads the feed. */
  secrets?: WebhookSecret | readonly WebhookSecret[];
  /**
   * The effect of an event. Write it with `tx`: it is committed together with the event's id, exactly once. If it
   * throws, all is rolled back and the event comes again. Ignore a `type` that you do not know.
   */
  onEvent(event: DeliveredEvent, context: InboxContext<Tx>): void | Promise<void>;
  /** Told of each failed event, and of a feed that cannot be read; default: `console.error`. */
  onError?(error: unknown, event?: DeliveredEvent): void;
  /** Called with the reason of each rejected request, which gets 400. */
  onRejected?: NonNullable<WebhookOptions['onRejected']>;
  /** Where the first poll begins; default: the oldest event that there is. */
  since?: Date;
  /** Tries after which an event is parked; default: 7, as many as the service makes. */
  maxTries?: number;
  /** Days after which handled events are removed from the table, 2 or more; default: 90. */
  keepDays?: number;
  /** The endpoint whose statements `prove` compares. */
  webhookId?: string;
  /** The schema of the inbox's tables; default: the first of the `search_path`. */
  schema?: string;
}

/** With a pool of `pg`. */
export interface PgInboxOptions<Client extends PgClient = PgClient> extends Options<Client> {
  pool: PgPool<Client>;
}

/** With Prisma, Drizzle or another library. */
export interface InboxOptions<Tx> extends Options<Tx> {
  database: InboxDatabase<Tx>;
}

/** An event that has failed too often. */
export interface ParkedEvent {
  event: DeliveredEvent;
  tries: number;
  lastError: string;
  parkedAt: Date;
}

/** ms between two polls; between them while events fail; before a missing event is looked for. */
const [EVERY, WHILE_FAILING, WHEN_MISSING] = [3_600_000, 60_000, 5_000];
/** ms after a failed read, doubled by each. */
const [SHORTEST_PAUSE, LONGEST_PAUSE] = [1_000, 60_000];
const LISTED = 100;

/**
 * Makes an inbox: a receiver in your Postgres that misses no event and gives each its effect exactly once, whatever is
 * repeated, late or killed.
 *
 * ```ts
 * const inbox = createInbox({
 *   pool,
 *   client,
 *   secrets: secret,
 *   async onEvent(event, { tx, isLate }) {
 *     if (isLate) return;
 *     await tx.query('update orders set status = $2 where transfer_id = $1', [event.data.id, event.data.status]);
 *   },
 * });
 * await inbox.migrate();
 * app.post('/hooks', inbox.express());
 * void inbox.run({ signal });
 * ```
 */
export function createInbox<Client extends PgClient>(options: PgInboxOptions<Client>): Inbox;
export function createInbox<Tx>(options: InboxOptions<Tx>): Inbox;
export function createInbox<Tx>(options: InboxOptions<Tx> | PgInboxOptions): Inbox {
  const { maxTries = 7, keepDays = 90 } = options;
  if (!Number.isInteger(maxTries) || maxTries < 1) throw new TypeError('maxTries must be a whole number, 1 or more');
  if (!Number.isInteger(keepDays) || keepDays < 2) throw new TypeError('keepDays must be a whole number, 2 or more');
  const { onError = (error, event) => console.error(event ? `event ${event.id}:` : 'inbox:', error) } = options;
  const database = 'pool' in options ? databaseOf(options.pool) : options.database;
  const { client, since, webhookId, secrets, onRejected, onEvent } = options;
  const sql = statementsOf(options.schema);
  const reading = { client, database, sql, onEvent, onError, maxTries, keepDays, since, webhookId };
  return new Inbox(reading as unknown as Reading<unknown> & { webhookId: string | undefined }, {
    secret: secrets ?? [],
    ...(onRejected && { onRejected }),
  });
}

export class Inbox {
  readonly #reading: Reading<unknown> & { webhookId: string | undefined };
  readonly #webhooks: WebhookOptions;
  /** Aborts when a push shows that an event is missing, which the poll of `run` that began last may not have read. */
  #missed = new AbortController();

  /** @internal */
  constructor(
    reading: Reading<unknown> & { webhookId: string | undefined },
    webhooks: Omit<WebhookOptions, 'onEvent'>,
  ) {
    this.#reading = reading;
    this.#webhooks = { ...webhooks, onEvent: (event) => this.#receive(event) };
  }

  /** Creates the tables unless they exist. Safe to call at each start, from several processes. */
  async migrate(): Promise<void> {
    const { database, sql } = this.#reading;
    await database.transaction(async (tx) => {
      await database.query(tx, sql.lock, ['migrate']);
      for (const table of sql.tables) await database.query(tx, table, []);
    });
  }

  /** A handler for Express and `node:http`; see `transfer-service-client/express`. */
  express(): ReturnType<typeof forExpress> {
    return forExpress(this.#webhooks);
  }

  /** A plugin for Fastify: `app.register(inbox.fastify(), { path: '/hooks' })`. */
  fastify(): (app: FastifyInstanceLike, options: { path: string }) => Promise<void> {
    return (app, { path }) => forFastify(app, { ...this.#webhooks, path });
  }

  /** A handler of standard requests, such as those of Next.js and Hono; see `transfer-service-client/fetch`. */
  fetch(): ReturnType<typeof forFetch> {
    return forFetch(this.#webhooks);
  }

  /**
   * Reads the feed once, from where the last poll ended, and tries again what has failed. Call it from a cron job if
   * nothing can reach you from outside. Several processes may poll at the same time.
   */
  poll({ signal }: { signal?: AbortSignal } = {}): Promise<Poll> {
    return poll(this.#reading, signal);
  }

  /**
   * Polls at once, each hour, and when a push shows that an earlier one is missing, until `signal` aborts. What goes
   * wrong goes to `onError`, and it polls again.
   * @param every ms between two polls
   */
  async run({ signal, every = EVERY }: { signal: AbortSignal; every?: number }): Promise<void> {
    for (let faults = 0; !signal.aborted; ) {
      let pause = every;
      this.#missed = new AbortController();
      try {
        const { failed } = await this.poll({ signal });
        faults = 0;
        if (failed > 0 || (await this.#failing())) pause = Math.min(every, WHILE_FAILING);
      } catch (error) {
        if (signal.aborted) return;
        this.#reading.onError(error);
        pause = Math.min(every, LONGEST_PAUSE, SHORTEST_PAUSE * 2 ** faults++);
      }
      await this.#pause(pause, signal);
    }
  }

  /** Events that have failed too often, oldest first, 100 at most. They hold up no other event. */
  async parked(): Promise<ParkedEvent[]> {
    const parked = await rows(this.#reading, this.#reading.sql.parked, [LISTED]);
    return parked.map(({ body, tries, last_error, parked_at }) => ({
      event: JSON.parse(String(body)) as DeliveredEvent,
      tries: Number(tries),
      lastError: String(last_error),
      parkedAt: new Date(String(parked_at)),
    }));
  }

  /**
   * Handles an event that failed or is parked, now.
   * @returns whether it was handled; false: it was not there, or handled meanwhile
   * @throws what `onEvent` throws; the event stays
   */
  async retry(id: string): Promise<boolean> {
    const [row] = await rows(this.#reading, this.#reading.sql.unhandled, [id]);
    if (!row) return false;
    const { outcome, error } = await handle(this.#reading, JSON.parse(String(row.body)) as DeliveredEvent, true);
    if (error !== undefined) throw error;
    return outcome === 'handled';
  }

  /**
   * Proves that exactly the events of a window have been handled here: compares the ids with the digest of the
   * service's signed statement. Handles those that are missing.
   */
  prove(window: ProofWindow = {}): Promise<Proof> {
    return prove(this.#reading, window);
  }

  async #receive(event: DeliveredEvent): Promise<void> {
    const { outcome, error, misses } = await handle(this.#reading, event);
    if (misses) this.#missed.abort();
    // The response is 500, so the service sends it again. It need not send a parked event again.
    if (outcome === 'failed') throw error;
    if (error !== undefined) this.#reading.onError(error, event);
  }

  async #failing(): Promise<boolean> {
    const [row] = await rows(this.#reading, this.#reading.sql.failing, []);
    return Number(row?.failing) > 0;
  }

  /** Waits for `ms`, or until shortly after a push has shown that an event is missing. */
  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { signal: missed } = this.#missed;
    const woken = new AbortController();
    const wake = () => woken.abort();
    missed.addEventListener('abort', wake);
    signal.addEventListener('abort', wake);
    // Either may have aborted during the poll.
    if (missed.aborted || signal.aborted) wake();
    await sleep(ms, woken.signal).catch(() => {});
    signal.removeEventListener('abort', wake);
    // The missing one may be on its way.
    if (missed.aborted && !signal.aborted) await sleep(Math.min(ms, WHEN_MISSING), signal).catch(() => {});
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Handle } from '../platform/database/database.js';
import { isRefusedData, isUnreachable } from '../platform/database/faults.js';
import { failpoint } from '../platform/failpoints.js';
import type { Log } from '../platform/telemetry/log.js';
import {
  type MadeAttempt,
  type RecordedAttempt,
  type RecordOptions,
  recordAttempts,
  recordAttemptsAgain,
} from './record.js';

/** Rows of one statement. More rows gain nothing and hold locks for longer. */
const BATCH = 200;
/** A process that ends waits this long for Postgres to take its records, ms. Then the attempts are made again. */
const GIVE_UP_AFTER = 10_000;
const RETRY_DELAY = 200;

interface Entry {
  made: MadeAttempt;
  resolve: (recorded: RecordedAttempt | undefined) => void;
  reject: (error: unknown) => void;
}

/**
 * Records attempts in batches that clock themselves: while a statement runs, the next batch gathers; a lone attempt is
 * written at once. While Postgres is unreachable the attempts wait: a record counts by delivery and number, however late
 * it is.
 */
export class Recorder {
  readonly #waiting: Entry[] = [];
  #running: Promise<void> | undefined;
  #giveUpAt = Number.POSITIVE_INFINITY;

  constructor(
    private readonly db: Handle,
    private readonly options: RecordOptions,
    private readonly log: Log,
  ) {}

  /** Number of rows that wait to be written, without the rows of the running statement. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Writes an attempt.
   * @returns the delivery after the write; undefined if this attempt was not recorded, because another one has its number
   * @throws if the process ends while Postgres is unreachable, or if Postgres refuses the row even without the response's
   * headers and body
   */
  record(made: MadeAttempt): Promise<RecordedAttempt | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ made, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /**
   * Waits until all rows are written. From 10 s after this call on, a row is given up when Postgres is unreachable, so that
   * the attempts that end meanwhile hold up no process either.
   */
  async drain(): Promise<void> {
    this.#giveUpAt = performance.now() + GIVE_UP_AFTER;
    await this.#running;
  }

  async #run(): Promise<void> {
    // Callers in the same turn of the event loop share a batch.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0, BATCH));
    this.#running = undefined;
  }

  async #write(batch: Entry[]): Promise<void> {
    const made = batch.map((entry) => entry.made);
    for (let record = recordAttempts; ; record = recordAttemptsAgain) {
      try {
        failpoint('before-record');
        const recorded = await record(this.db, this.options, made);
        failpoint('after-record');
        return resolveAll(batch, recorded);
      } catch (error) {
        if (isRefusedData(error)) return this.#oneByOne(batch, error);
        if (!isUnreachable(error)) this.log.error({ err: error }, 'attempts could not be recorded');
        if (performance.now() > this.#giveUpAt) {
          for (const { reject } of batch) reject(error);
          return;
        }
        await sleep(RETRY_DELAY);
      }
    }
  }

  /**
   * Writes the rows one by one, so that a row that Postgres refuses does not prevent the others from being recorded.
   */
  async #oneByOne(batch: Entry[], error: unknown): Promise<void> {
    const [only] = batch;
    if (batch.length > 1) {
      for (const entry of batch) await this.#write([entry]);
    } else if (only?.made.outcome.responseHeaders || only?.made.outcome.responseBody) {
      this.log.warn(
        { err: error, delivery_id: only.made.attempt.deliveryId },
        'recorded an attempt without its response headers and body: Postgres refused them',
      );
      const outcome = { ...only.made.outcome, responseHeaders: null, responseBody: null };
      await this.#write([{ ...only, made: { ...only.made, outcome } }]);
    } else {
      only?.reject(error);
    }
  }
}

function resolveAll(batch: readonly Entry[], recorded: readonly RecordedAttempt[]): void {
  const byDelivery = new Map(recorded.map((row) => [row.deliveryId, row]));
  for (const { made, resolve } of batch) resolve(byDelivery.get(made.attempt.deliveryId));
}

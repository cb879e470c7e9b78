import { setTimeout as sleep } from 'node:timers/promises';
import type { Handle } from '../database/database.js';
import { isRefusedData, isUnreachable } from '../database/faults.js';
import { failpoint } from '../failpoints.js';
import type { Log } from '../telemetry/log.js';
import { type MadeAttempt, type RecordedAttempt, recordAttempts, type Settlement } from './record.js';

/** Rows of one statement. More rows gain nothing and hold locks for longer. */
const BATCH = 200;
/**
 * How long the recorder retries while Postgres is unreachable, ms. It is shorter than the claim, after which another
 * process may make the attempt.
 */
const GIVE_UP_AFTER = 25_000;
const RETRY_DELAY = 200;

interface Entry {
  attempt: MadeAttempt | undefined;
  settlement: Settlement | undefined;
  since: number;
  resolve: (recorded: RecordedAttempt | undefined) => void;
  reject: (error: unknown) => void;
}

/**
 * Records attempts in batches that clock themselves: while a statement runs, the next batch gathers; a lone attempt is
 * written at once. Statements run one at a time and in order, so that a settlement never overtakes its event's
 * attempts.
 */
export class Recorder {
  readonly #waiting: Entry[] = [];
  #running: Promise<void> | undefined;

  constructor(
    private readonly db: Handle,
    private readonly log: Log,
  ) {}

  /** Number of rows that wait to be written, without the rows of the running statement. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Writes an attempt, or a settlement, or both.
   * @returns the delivery's state after the write; undefined if this attempt was already recorded
   * @throws if Postgres could not be reached in time, or refuses the row even without its response body
   */
  record(attempt: MadeAttempt | undefined, settlement?: Settlement): Promise<RecordedAttempt | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ attempt, settlement, since: performance.now(), resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Waits until all rows are written. */
  async drain(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // Callers in the same turn of the event loop share a batch.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#write(this.#waiting.splice(0, BATCH));
    this.#running = undefined;
  }

  async #write(batch: Entry[]): Promise<void> {
    for (;;) {
      try {
        failpoint('before-record');
        const recorded = await this.#statement(batch);
        failpoint('after-record');
        return resolveAll(batch, recorded);
      } catch (error) {
        if (isRefusedData(error)) return this.#oneByOne(batch, error);
        if (!isUnreachable(error)) this.log.error({ err: error }, 'attempts could not be recorded');
        const late = (entry: Entry) => performance.now() - entry.since > GIVE_UP_AFTER;
        for (const entry of batch.filter(late)) entry.reject(error);
        batch = batch.filter((entry) => !late(entry));
        if (batch.length === 0) return;
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
    } else if (only?.attempt?.outcome.responseHeaders || only?.attempt?.outcome.responseBody) {
      this.log.warn(
        { err: error, delivery_id: only.attempt.deliveryId },
        'recorded an attempt without its response headers and body: Postgres refused them',
      );
      const outcome = { ...only.attempt.outcome, responseHeaders: null, responseBody: null };
      await this.#write([{ ...only, attempt: { ...only.attempt, outcome } }]);
    } else {
      only?.reject(error);
    }
  }

  #statement(batch: Entry[]): Promise<RecordedAttempt[]> {
    return recordAttempts(
      this.db,
      // The order in which a cancellation locks the deliveries (cancel-pending.ts).
      batch.flatMap((entry) => entry.attempt ?? []).sort((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1)),
      batch.flatMap((entry) => entry.settlement ?? []),
    );
  }
}

function resolveAll(batch: readonly Entry[], recorded: readonly RecordedAttempt[]): void {
  const byDelivery = new Map(recorded.map((row) => [row.deliveryId, row]));
  for (const { attempt, resolve } of batch) resolve(attempt && byDelivery.get(attempt.deliveryId));
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { Handle } from '../database/database.js';
import { isRefusedData, isUnreachable } from '../database/faults.js';
import { failpoint } from '../failpoints.js';
import type { Log } from '../telemetry/log.js';
import { type MadeAttempt, type RecordedAttempt, recordAttempts, type Settlement } from './record.js';

/** Rows of one statement: more gain nothing and hold locks for longer. */
const BATCH = 200;
/** How long a record is tried again while Postgres is away: within the claim, after which another may make the attempt, ms. */
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
 * Records attempts in batches that clock themselves: while one statement runs, the next batch gathers; alone, an attempt
 * is written at once. One statement at a time, in order, so that a settlement never overtakes its event's attempts.
 */
export class Recorder {
  readonly #waiting: Entry[] = [];
  #running: Promise<void> | undefined;

  constructor(
    private readonly db: Handle,
    private readonly log: Log,
  ) {}

  /** How many rows wait to be written, beside those of the statement that runs. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Writes an attempt, or a settlement, or both. Answers how the delivery stands then; undefined where this attempt was
   * recorded before. Throws where Postgres could not be reached in time or refuses the row whatever is left out.
   */
  record(attempt: MadeAttempt | undefined, settlement?: Settlement): Promise<RecordedAttempt | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ attempt, settlement, since: performance.now(), resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Waits until all that was handed in has been written. */
  async drain(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // The callers of this turn of the event loop share a batch.
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
        return answer(batch, recorded);
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

  /** One row that Postgres refuses must not keep the others from being recorded. */
  async #oneByOne(batch: Entry[], error: unknown): Promise<void> {
    const [only] = batch;
    if (batch.length > 1) {
      for (const entry of batch) await this.#write([entry]);
    } else if (only?.attempt?.outcome.responseBody) {
      this.log.warn({ err: error, delivery_id: only.attempt.deliveryId }, 'recorded without its response body');
      const outcome = { ...only.attempt.outcome, responseBody: null };
      await this.#write([{ ...only, attempt: { ...only.attempt, outcome } }]);
    } else {
      only?.reject(error);
    }
  }

  #statement(batch: Entry[]): Promise<RecordedAttempt[]> {
    return recordAttempts(
      this.db,
      // In the order in which a cancellation locks them (disable-endpoint.ts).
      batch.flatMap((entry) => entry.attempt ?? []).sort((a, b) => (a.deliveryId < b.deliveryId ? -1 : 1)),
      batch.flatMap((entry) => entry.settlement ?? []),
    );
  }
}

function answer(batch: readonly Entry[], recorded: readonly RecordedAttempt[]): void {
  const byDelivery = new Map(recorded.map((row) => [row.deliveryId, row]));
  for (const { attempt, resolve } of batch) resolve(attempt && byDelivery.get(attempt.deliveryId));
}

import { LRUCache } from 'lru-cache';
import type { Handle } from './database/database.js';
import { describeLimit, type Rate } from './limits.js';
import { Refusal, type RefusalCode } from './refusal.js';

/** @param left ms until uses are free again */
function exceeded(limit: Rate, left: number): Refusal {
  const retryAfter = retryAfterOf(left);
  const detail = `Limit: ${describeLimit(limit)}. Try again in ${retryAfter} s.`;
  return new Refusal(limit.code as RefusalCode, detail, [], { retryAfter });
}

/** The whole seconds in `ms`, at least 1: the value of `Retry-After` (RFC 9110 §10.2.3). */
export function retryAfterOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}

/** What a key has used in its window. */
export interface Usage {
  points: number;
  /** ms until the window ends. */
  left: number;
}

/** Keys that a process counts at once: the memory of a flood of addresses is bounded. */
const COUNTED_KEYS = 100_000;

/** Counts what a key, such as a client or an address, uses in this process. A window begins with the first use. */
export class MemoryLimit {
  readonly #windows: LRUCache<string, { points: number }>;

  constructor(private readonly limit: Rate) {
    // With `max` instead, it would take its memory for all keys at once.
    const bounds = { maxSize: COUNTED_KEYS, sizeCalculation: () => 1 };
    this.#windows = new LRUCache({ ...bounds, ttl: limit.seconds * 1_000, ttlResolution: 0 });
  }

  /** Counts points, also those that exceed the limit. */
  use(key: string, points = 1): Usage {
    const window = this.#windows.get(key) ?? { points: 0 };
    if (window.points === 0) this.#windows.set(key, window);
    window.points += points;
    return { points: window.points, left: this.#windows.getRemainingTTL(key) };
  }

  /** @throws Refusal with the limit's code, if the use exceeded it */
  refuseExceeded({ points, left }: Usage): void {
    if (points > this.limit.amount) throw exceeded(this.limit, left);
  }
}

/** Seconds whose points a key may have saved. Within a second, it gets those of a further one. */
const SAVED_SECONDS = 2;

/**
 * Gives each key its points a second in this process, and lets it save them: where a balancer spreads requests at
 * random, a process gets more than its share in one second and less in another. A new key has the points of a second.
 */
export class SavingLimit {
  readonly #saved = new LRUCache<string, { points: number; at: number }>({
    maxSize: COUNTED_KEYS,
    sizeCalculation: () => 1,
  });

  constructor(private readonly limit: Omit<Rate, 'amount'>) {}

  /**
   * Takes points of the key, at most those of a second.
   * @param rate points a second
   * @returns how many whole points are left
   * @throws Refusal with the limit's code, if there are too few; then it takes none
   */
  take(key: string, rate: number, points = 1): number {
    const second = Math.ceil(rate);
    const taken = Math.min(points, second);
    const now = performance.now();
    const saved = this.#saved.get(key) ?? { points: second, at: now };
    const most = Math.max(second, SAVED_SECONDS * rate);
    saved.points = Math.min(most, saved.points + (rate * (now - saved.at)) / 1_000);
    saved.at = now;
    this.#saved.set(key, saved);
    if (saved.points < taken) {
      throw exceeded({ ...this.limit, amount: second }, ((taken - saved.points) / rate) * 1_000);
    }
    return this.charge(key, rate, taken);
  }

  /** Takes further points for what the key has taken some before; it may then owe the points of a second. */
  charge(key: string, rate: number, points: number): number {
    const saved = this.#saved.get(key);
    if (!saved) return 0;
    saved.points = Math.max(-Math.ceil(rate), saved.points - points);
    return Math.max(0, Math.floor(saved.points));
  }
}

/** Keys over their limit that a process remembers, and for how long, ms. Further keys cost a statement each. */
const REMEMBERED = { max: 10_000, ttl: 1_000 };

/** A process removes keys whose window has ended this often, ms, so that the table stays small without Temporal. */
const REMOVAL = 1_000;

/**
 * Counts what a key uses in all processes, in a rolling window in Postgres. For rare and costly requests: each costs a
 * statement, a key over its limit one a second. A use counts when its transaction commits; until then
 * other uses of the key wait.
 */
export class PostgresLimit {
  /** When a key that is over its limit may try again, in ms of this process's clock. */
  readonly #exceeded = new LRUCache<string, number>(REMEMBERED);
  #removedAt = Number.NEGATIVE_INFINITY;

  /** @param name of the limit in the table */
  constructor(
    private readonly name: string,
    private readonly limit: Rate,
  ) {}

  /** Counts a use. @throws Refusal with the limit's code, if it exceeds the limit */
  async consume(db: Handle, key: string): Promise<void> {
    await this.#ask(db, CONSUME, key);
    // Inside a transaction the removed rows would stay locked, and with them the clients whose keys they are.
    if (db.sharing && !db.sharing.inTransaction) await this.#removeEnded(db);
  }

  /** Counts nothing. @throws Refusal with the limit's code, if no use is left */
  check(db: Handle, key: string): Promise<void> {
    return this.#ask(db, CHECK, key);
  }

  /** A fault changes nothing for the caller: a later use removes them. */
  async #removeEnded(db: Handle): Promise<void> {
    if (performance.now() - this.#removedAt < REMOVAL) return;
    this.#removedAt = performance.now();
    await db.query(REMOVE_ENDED, []).catch(() => undefined);
  }

  async #ask(db: Handle, statement: string, key: string): Promise<void> {
    const { amount, seconds } = this.limit;
    const known = this.#exceeded.get(key) ?? 0;
    if (known > performance.now()) throw exceeded(this.limit, known - performance.now());
    const [row] = await db.query<Row>(statement, [this.name, key, amount, seconds]);
    if (!row || row.admitted) return;
    const left = Math.min(row.left, seconds * 1_000);
    this.#exceeded.set(key, performance.now() + left);
    throw exceeded(this.limit, left);
  }
}

interface Row {
  admitted: boolean;
  /** ms until the oldest use leaves the window. */
  left: number;
}

/**
 * The uses in the window at a time, oldest first. A use more than a window ahead was counted by another clock, before
 * Postgres was restored or failed over.
 */
const usesAt = (time: string) => `array(
    select at from unnest(u.uses) at
     where at > ${time} - $4::int * interval '1 second' and at < ${time} + $4::int * interval '1 second' order by at)`;
const left = (uses: string) =>
  `coalesce(ceil(extract(epoch from (${uses})[1] + $4::int * interval '1 second' - clock_timestamp()) * 1000), 0)::int as left`;

/** Not a part of `CONSUME`, so that no statement holds a key that it removes while it waits for its own. */
const REMOVE_ENDED = `
delete from limit_uses where (name, key) in (
  select name, key from limit_uses where ends_at < now() order by ends_at limit 100 for update skip locked)`;

const CONSUME = `
insert into limit_uses as u (name, key, uses, admitted, ends_at)
select $1::text, $2::text, array[at], true, at + $4::int * interval '1 second' from clock_timestamp() at
on conflict (name, key) do update set (uses, admitted, ends_at) = (
  select case when free then kept || excluded.uses else kept end, free,
         case when free then excluded.ends_at else u.ends_at end
    from (select kept, cardinality(kept) < $3::int as free from (select ${usesAt('excluded.uses[1]')} as kept) k) f)
returning u.admitted, ${left('u.uses')}`;

const CHECK = `
select cardinality(kept) < $3::int as admitted, ${left('kept')}
  from (select ${usesAt('clock_timestamp()')} as kept from limit_uses u
         where u.name = $1::text and u.key = $2::text) k`;

import { LRUCache } from 'lru-cache';
import { retryAfterOf } from '../limiter.js';
import type { Handle } from './database.js';

export interface SharedLimitOptions {
  /** Names the limit in the table. */
  name: string;
  /** At most so many points in each `duration`, which is in seconds. */
  points: number;
  duration: number;
}

/** Keys that are known to be refused. Further keys cost a statement each. */
const REFUSED_KEYS = 10_000;

/**
 * Counts what a key, such as a client or an address, uses in all processes, in Postgres, and refuses what exceeds the
 * limit. For rare and costly requests: each costs a statement. A key that is refused costs none until its window ends.
 * While Postgres is away every request fails.
 */
export class SharedLimit {
  /** The ends of the windows of refused keys, in ms of this process's clock. */
  readonly #refused = new LRUCache<string, number>({ max: REFUSED_KEYS });

  constructor(private readonly options: SharedLimitOptions) {}

  /**
   * Counts one point. In a transaction that rolls back, the point is not counted.
   * @param refusal makes the error; its argument is the number of seconds for `Retry-After`
   * @throws the error that `refusal` makes, if the point exceeds the limit
   */
  async consume(db: Handle, key: string, refusal: (retryAfter: number) => Error): Promise<void> {
    const { name, points, duration } = this.options;
    this.#refuseKnown(key, refusal);
    const [row] = await db.query<Row>(CONSUME, [name, key, points, duration]);
    if (row && row.points > points) throw this.#refuse(key, row.left, refusal);
  }

  /**
   * Counts nothing.
   * @throws the error that `refusal` makes, if no point is left
   */
  async check(db: Handle, key: string, refusal: (retryAfter: number) => Error): Promise<void> {
    const { name, points, duration } = this.options;
    this.#refuseKnown(key, refusal);
    const [row] = await db.query<Row>(READ, [name, key, duration]);
    if (row && row.points >= points) throw this.#refuse(key, row.left, refusal);
  }

  /** Returns a point whose use was refused for another reason. */
  async giveBack(db: Handle, key: string): Promise<void> {
    await db.query(GIVE_BACK, [this.options.name, key]);
    this.#refused.delete(key);
  }

  #refuse(key: string, left: number, refusal: (retryAfter: number) => Error): Error {
    const msBeforeNext = Math.min(left, this.options.duration * 1_000);
    this.#refused.set(key, performance.now() + msBeforeNext);
    return refusal(retryAfterOf({ msBeforeNext }));
  }

  #refuseKnown(key: string, refusal: (retryAfter: number) => Error): void {
    const left = (this.#refused.get(key) ?? 0) - performance.now();
    if (left > 0) throw refusal(retryAfterOf({ msBeforeNext: left }));
  }
}

interface Row {
  points: number;
  /** ms until the window ends. */
  left: number;
}

const LEFT = `greatest(0, ceil(extract(epoch from c.ends_at - now()) * 1000))::int`;

/**
 * SQL: whether the kept window is valid. A window that ends two durations ahead was begun by another clock, before
 * Postgres was restored or failed over. `now()` is the start of the transaction: a window that a later transaction has
 * begun ends a little more than one duration ahead.
 */
const isValid = (duration: string) =>
  `c.ends_at > now() and c.ends_at <= now() + 2 * ${duration}::int * interval '1 second'`;

/**
 * A new window begins in place of one that is not valid. Each statement removes up to two windows that have ended, so
 * that the table stays small without Temporal.
 */
const CONSUME = `
with removed as (
  delete from limit_counts where (name, key) in (
    select name, key from limit_counts
     where ends_at < now() and (name, key) <> ($1::text, $2::text)
     order by ends_at limit 2 for update skip locked)
)
insert into limit_counts as c (name, key, points, ends_at)
values ($1::text, $2::text, 1, now() + $4::int * interval '1 second')
on conflict (name, key) do update set
  points = case when ${isValid('$4')} then least(c.points, $3::int) + 1 else 1 end,
  ends_at = case when ${isValid('$4')} then c.ends_at else excluded.ends_at end
returning c.points, ${LEFT} as left`;

const READ = `
select c.points, ${LEFT} as left from limit_counts c
 where c.name = $1::text and c.key = $2::text and ${isValid('$3')}`;

const GIVE_BACK = `
update limit_counts set points = points - 1 where name = $1::text and key = $2::text and points > 0 and ends_at > now()`;

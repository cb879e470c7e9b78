import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { Refusal, type RefusalCode } from '../refusal.js';
import type { Handle } from './database.js';

/** A limit on what a key, such as a client or an address, uses. */
export interface Limit {
  /** At most so many points in each `duration`, which is in seconds. */
  points: number;
  duration: number;
  /** Who exceeds the limit is told so. */
  detail: string;
  /** By default `rate_limited`. */
  code?: RefusalCode;
}

function refusalOf({ detail, code = 'rate_limited' }: Limit, msBeforeNext: number): Refusal {
  return new Refusal(code, detail, [], { retryAfter: retryAfterOf({ msBeforeNext }) });
}

/** Counts what a key uses in this process, and refuses what exceeds the limit. */
export class Limiter {
  readonly #limiter: RateLimiterMemory;

  constructor(private readonly limit: Limit) {
    this.#limiter = new RateLimiterMemory(limit);
  }

  /** Counts one point. @throws Refusal with the limit's code, if the point exceeds it */
  async consume(key: string): Promise<void> {
    try {
      await this.#limiter.consume(key);
    } catch (rejection) {
      throw rejection instanceof RateLimiterRes ? refusalOf(this.limit, rejection.msBeforeNext) : rejection;
    }
  }
}

/** The whole seconds until points are free again, at least 1: the value of `Retry-After` (RFC 9110 §10.2.3). */
export function retryAfterOf({ msBeforeNext }: Pick<RateLimiterRes, 'msBeforeNext'>): number {
  return Math.max(1, Math.ceil(msBeforeNext / 1_000));
}

/** Keys that are known to be refused. Further keys cost a statement each. */
const REFUSED_KEYS = 10_000;

/**
 * Counts what a key, such as a client or an address, uses in all processes, in Postgres, and refuses what exceeds the
 * limit. For rare and costly requests: each costs a statement. A key over its limit costs none until its window ends.
 * While Postgres is unavailable every request fails.
 */
export class SharedLimit {
  /** The ends of the windows of refused keys, in ms of this process's clock. */
  readonly #refused = new LRUCache<string, number>({ max: REFUSED_KEYS });

  /** @param limit with its name in the table */
  constructor(private readonly limit: Limit & { name: string }) {}

  /**
   * Counts one point. In a transaction that rolls back, the point is not counted.
   * @throws Refusal with the limit's code, if the point exceeds it
   */
  async consume(db: Handle, key: string): Promise<void> {
    const { name, points, duration } = this.limit;
    this.#refuseKnown(key);
    const [row] = await db.query<Row>(CONSUME, [name, key, points, duration]);
    if (row && row.points > points) this.#refuse(key, row.left);
  }

  /** Counts nothing. @throws Refusal with the limit's code, if no point is left */
  async check(db: Handle, key: string): Promise<void> {
    const { name, points, duration } = this.limit;
    this.#refuseKnown(key);
    const [row] = await db.query<Row>(READ, [name, key, duration]);
    if (row && row.points >= points) this.#refuse(key, row.left);
  }

  /** Returns a point whose use was refused for another reason. */
  async giveBack(db: Handle, key: string): Promise<void> {
    await db.query(GIVE_BACK, [this.limit.name, key]);
    this.#refused.delete(key);
  }

  #refuse(key: string, left: number): never {
    const msBeforeNext = Math.min(left, this.limit.duration * 1_000);
    this.#refused.set(key, performance.now() + msBeforeNext);
    throw refusalOf(this.limit, msBeforeNext);
  }

  #refuseKnown(key: string): void {
    const left = (this.#refused.get(key) ?? 0) - performance.now();
    if (left > 0) throw refusalOf(this.limit, left);
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

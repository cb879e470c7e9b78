import { setTimeout as sleep } from 'node:timers/promises';
import { type Handle, rowOf } from './database.js';

/** The longest for which a transaction stays open after it has inserted an event: a statement, and then idle, ms. */
export const LATEST_COMMIT = 60_000;
/** A result further back than this is read again a few times, since most transactions end within milliseconds, ms. */
const FRESH = 1_000;
const PAUSE = 20;
const MOST_READINGS = 10;

/** A transaction that may have inserted an event. `start` null: Postgres does not show it to this role. */
type Transaction = { id: string; start: number | null };

/**
 * Tells up to which time every event is committed, so that a feed that ends there never skips one.
 *
 * An event's id has the time at which its statement ran. Postgres locks `events` before it runs a statement that
 * inserts into it, and unlocks it after the commit is visible. So an event of a time before now is visible, or its
 * transaction is among the open ones that hold such a lock, and then no older than the transaction. Sessions of another
 * role hide their start: `read` waits until they have ended, or relies on the time limits of every session
 * (`SERVICE_SETTINGS`).
 */
export class CommittedUntil {
  #until = 0;
  #reading: Promise<number> | undefined;

  /** @returns ms since 1970: every event with an earlier time is visible to later statements, or never will be */
  read(db: Pick<Handle, 'query'>): Promise<number> {
    this.#reading ??= this.#read(db).finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #read(db: Pick<Handle, 'query'>): Promise<number> {
    const { at, open } = await readOpen(db);
    let left = open;
    for (let readings = 1; at - oldest(left, at) > FRESH && readings < MOST_READINGS; readings++)
      left = await stillOpen(db, left);
    this.#until = Math.max(this.#until, oldest(left, at));
    return this.#until;
  }
}

/** Which of these transactions are open a moment later. */
async function stillOpen(db: Pick<Handle, 'query'>, before: readonly Transaction[]): Promise<Transaction[]> {
  await sleep(PAUSE);
  const ids = new Set((await readOpen(db)).open.map(({ id }) => id));
  return before.filter(({ id }) => ids.has(id));
}

const oldest = (open: readonly Transaction[], at: number): number =>
  Math.min(at, ...open.map(({ start }) => start ?? at - LATEST_COMMIT));

async function readOpen(db: Pick<Handle, 'query'>): Promise<{ at: number; open: Transaction[] }> {
  const { at, open } = await rowOf<{ at: string; open: Transaction[] }>(db, OPEN, []);
  return { at: Number(at), open };
}

const ms = (time: string) => `floor(extract(epoch from ${time}) * 1000)::bigint`;

/** `statement_timestamp()` is the time at which the statement arrived, before it reads the locks. */
const OPEN = `
select ${ms('statement_timestamp()')}::text as at, coalesce(json_agg(json_build_object(
         'id', l.virtualtransaction, 'start', ${ms('a.xact_start')})) filter (where l.virtualtransaction is not null), '[]') as open
  from pg_locks l left join pg_stat_activity a on a.pid = l.pid
 where l.locktype = 'relation' and l.relation = 'events'::regclass and l.granted
   and l.database = (select oid from pg_database where datname = current_database())
   and l.mode = 'RowExclusiveLock'`;

import { type Handle, rowOf } from './database/database.js';
import { reportTo } from './database/faults.js';
import { Periodic } from './periodic.js';
import type { Log } from './telemetry/log.js';

/** ms between two heartbeats. */
const INTERVAL = 2_000;
/** A process whose last heartbeat is older than this, ms, is dead for the others. */
const LIFETIME = 10_000;

interface HeartbeatOptions {
  db: Handle;
  table: keyof typeof BEATS;
  /** A UUID that is new for each process. */
  id: string;
  /** Called when other processes have joined or left, and when this one is no longer cut off. */
  onChange?: () => void;
  log: Log;
}

/**
 * Tells which processes of one kind live. Each writes a row every 2 s. After a process has joined, the others count it
 * within 2 s. One that ended is gone within 2 s, one that was killed within 12 s.
 */
export class Heartbeat {
  #others: readonly string[] = [];
  /** When the last heartbeat was sent that Postgres has answered; undefined: none was. */
  #beatAt: number | undefined;
  /** Postgres's clock less `performance.now()`, ms. */
  #offset = 0;
  readonly #heart: Periodic;

  constructor(private readonly options: HeartbeatOptions) {
    this.#heart = new Periodic({
      interval: INTERVAL,
      run: () => this.#beat(),
      onFault: reportTo(options.log, 'the heartbeat of this process failed; next try in 2 s'),
    });
  }

  /** The ids of the other live processes. */
  get others(): readonly string[] {
    return this.#others;
  }

  /** The number of live processes, with this one. */
  get count(): number {
    return this.#others.length + 1;
  }

  /** Whether the others may count this process as dead. */
  get isCutOff(): boolean {
    return this.#beatAt === undefined || performance.now() - this.#beatAt > LIFETIME;
  }

  /** Postgres's clock, ms since 1970; before the first heartbeat, any time. */
  get now(): number {
    return performance.now() + this.#offset;
  }

  start(): void {
    this.#heart.start();
  }

  /** The others no longer count this process. */
  async stop(): Promise<void> {
    const { db, table, id, log } = this.options;
    await this.#heart.stop();
    if (this.#beatAt === undefined) return;
    await db
      .query(`delete from ${table} where id = $1::uuid`, [id])
      .catch((error) => log.warn({ err: error }, 'this process could not sign off'));
  }

  async #beat(): Promise<void> {
    const { db, table, id, onChange } = this.options;
    const sentAt = performance.now();
    const { others, now } = await rowOf<{ others: string[]; now: string }>(db, BEATS[table], [id, LIFETIME]);
    this.#offset = Number(now) - performance.now();
    const wasCutOff = this.isCutOff;
    this.#beatAt = sentAt;
    if (!wasCutOff && others.join() === this.#others.join()) return;
    this.#others = others;
    onChange?.();
  }
}

/** A row whose time lies far ahead was written by another clock, as before a failover, and does not count. */
const beat = (table: string) => `
with alive as (
  insert into ${table} (id, alive_until) values ($1::uuid, now() + $2::int * interval '1 millisecond')
  on conflict (id) do update set alive_until = excluded.alive_until
)
select coalesce(json_agg(id order by id), '[]') as others,
       (extract(epoch from clock_timestamp()) * 1000)::bigint::text as now
  from ${table} where id <> $1::uuid and alive_until > now() and alive_until <= now() + interval '60 seconds'`;

const BEATS = { workers: beat('workers'), apis: beat('apis') };

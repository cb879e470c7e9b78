import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import { throwIfLate } from '../deadline.js';
import { failpoint } from '../failpoints.js';
import type { BatcherOptions } from './batcher.js';
import { type Prisma, PrismaClient } from './generated/client.js';
import { type DatabaseLimits, type DatabaseOptions, openPool, type Reach, requireWritable } from './pool.js';
import { transactionsAtOnce, transactionTurns } from './transaction-turns.js';

/** A statement has at most this many names. From the last one on it has run 4,096 times. */
const MOST_NAMES = 13;

/**
 * Names of the hot statements. Each connection parses a named statement once, and Postgres keeps its plan from the
 * sixth run on (unless a plan for the values would be cheaper). No other statement has a name: a kept plan of a list
 * does not know how many rows a client or a status has.
 *
 * Such a plan lasts until the statistics of its tables change. If a table is small when Postgres makes the plan, the
 * plan scans the table, also when a burst has filled the table since. So a statement gets a further name, and with it
 * a new plan, whenever the number of its runs has doubled, up to 4,096 runs.
 */
export class StatementNames {
  readonly #statements = new Map<string, { id: number; runs: number }>();

  /** Makes a statement known, so that its runs have a name. It is a constant: names are never removed. */
  add(text: string): void {
    if (!this.#statements.has(text)) this.#statements.set(text, { id: this.#statements.size, runs: 0 });
  }

  /**
   * The name for the next run. A statement that was not added has the empty name: Postgres parses and plans each run.
   */
  next(text: string): string {
    const statement = this.#statements.get(text);
    if (!statement) return '';
    statement.runs = Math.min(statement.runs + 1, 2 ** (MOST_NAMES - 1));
    return `s${statement.id}_${31 - Math.clz32(statement.runs)}`;
  }
}

/**
 * The database handle of a domain verb: Prisma's models and raw statements on one connection or transaction, and
 * callbacks that run after the commit.
 */
export interface Handle {
  prisma: Prisma.TransactionClient;
  /**
   * Runs one statement with `$1…` parameters through Prisma, for what Prisma's models cannot say: Postgres's clock,
   * locks, several tables in one statement. Select only text, int4, boolean, uuid and json, which are read alike on
   * every path.
   */
  query<Row>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /**
   * Like `query`, for the statements that every event runs (change, record), a lease by id, and what an attempt that
   * waited reads. Outside of a transaction it is the only way around Prisma, on the same pool. Prisma serialises and
   * copies the values of a batch several times (docs/decisions/0007-hot-statements-bypass-prisma.md).
   */
  hot<Row>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /** Statements of one kind share a statement where they have the same `sharing`. Unset: each is alone. */
  sharing?: Sharing;
  /**
   * Runs `callback` after the commit, or at once outside of a transaction. After a rollback it never runs. What it
   * returns is awaited before `transaction` returns, or by the caller.
   */
  afterCommit(callback: () => Promise<void> | undefined): Promise<void> | undefined;
}

/** How statements of one kind share a statement: in a transaction of several requests, or each with its own commit. */
export interface Sharing {
  inTransaction: boolean;
  /** Of the batches of such statements; unset: none. */
  limits?: BatchLimits;
}

export type BatchLimits = Required<Pick<BatcherOptions<never, never>, 'wait' | 'longest'>>;

export interface Database extends Handle {
  prisma: PrismaClient;
  pool: pg.Pool;
  /** Statements and transactions that wait for a connection. */
  readonly waiting: number;
  readonly limits: DatabaseLimits;
  /** Whether statements reach a Postgres that can be written. */
  readonly reach: Readonly<Reach>;
  /** @throws an error for which `isReadOnly` holds, where Postgres is read-only */
  requireWritable(): Promise<void>;
  /**
   * Runs `work` in a transaction (read committed). An error inside rolls the transaction back. A fifth of the
   * connections stays free of transactions, so do not begin one inside another.
   */
  transaction<T>(work: (handle: Handle) => Promise<T>): Promise<T>;
  /**
   * Like `transaction`, for work that uses no model of Prisma's (`prisma` throws): Prisma would cost the keyed changes
   * that share a transaction a tenth of their CPU.
   */
  hotTransaction<T>(work: (handle: Handle) => Promise<T>): Promise<T>;
  /** The same database for the requests of one client, whose transactions hold at most its share of the connections. */
  forClient(clientId: string): Database;
  close(): Promise<void>;
}

/** No statement of the service takes a tenth of this, and Prisma ends a transaction after 15 s. */
const LIMITS: DatabaseLimits = { wait: 5_000, hold: 20_000 };

/**
 * The limits of a process that answers requests. A request that waits, for at most 1.2 times `wait`, and then finds
 * that Postgres hangs, has time left to be answered; so has one that waits for a batch before.
 * @param deadline of a request, ms
 */
export function limitsWithin(deadline: number): DatabaseLimits {
  return { wait: Math.round(deadline / 4), hold: Math.round(deadline * 0.4) };
}

/** The limits of batches that run in a transaction or a statement of this database. */
export function batchLimits({ wait, hold }: DatabaseLimits): BatchLimits {
  return { wait, longest: wait * 1.2 + hold };
}

/**
 * Opens the one pool of the process, which Prisma and the hot statements share. It connects on first use. No session
 * has a setting of its own: see `SERVICE_SETTINGS` for what every connection starts with.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const { limits = LIMITS } = options;
  const { pool, reach } = openPool(options, limits);
  const names = new StatementNames();
  const turns = transactionTurns(transactionsAtOnce(options.poolSize), limits.wait);
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool, { statementNameGenerator: ({ sql }) => names.next(sql) }),
    // Every other format records a stack trace for each query.
    errorFormat: 'minimal',
  });
  const through =
    (client: Prisma.TransactionClient) =>
    // Without `async` the statement would begin only when its result is awaited.
    async <Row>(text: string, values: readonly unknown[]): Promise<Row[]> =>
      client.$queryRawUnsafe<Row[]>(text, ...values);
  const named =
    (query: Handle['query']): Handle['hot'] =>
    (text, values) => {
      names.add(text);
      return query(text, values);
    };
  const direct =
    (connection: Pick<pg.PoolClient, 'query'>): Handle['query'] =>
    async <Row>(text: string, values: readonly unknown[]) =>
      (await connection.query({ name: names.next(text), text, values: values as unknown[] })).rows as Row[];

  type Begin = <T>(work: (tx: Pick<Handle, 'prisma' | 'query'>) => Promise<T>, maxWait: number) => Promise<T>;
  const transactionOf =
    (begin: Begin, client?: string): Database['transaction'] =>
    async (work) => {
      throwIfLate();
      const committed: (() => Promise<void> | undefined)[] = [];
      const run = (maxWait: number) =>
        begin(async ({ prisma, query }) => {
          const afterCommit: Handle['afterCommit'] = (callback) => {
            committed.push(callback);
            return undefined;
          };
          const result = await work({ prisma, query, hot: named(query), afterCommit });
          throwIfLate();
          failpoint('before-commit');
          return result;
        }, maxWait);
      const result = await turns.runInTurn(run, client);
      await Promise.all(committed.map((callback) => callback()));
      return result;
    };
  const begin: Begin = (work, maxWait) =>
    prisma.$transaction((tx) => work({ prisma: tx, query: through(tx) }), { maxWait, timeout: 15_000 });
  const beginHot: Begin = async (work) => {
    const connection = await pool.connect();
    try {
      await connection.query('begin');
      const result = await work({ prisma: NO_PRISMA, query: direct(connection) });
      await connection.query('commit');
      return result;
    } catch (error) {
      // The pool closes a session that is still in a transaction.
      await connection.query('rollback').catch(() => undefined);
      throw error;
    } finally {
      connection.release();
    }
  };
  // One for all clients: each handle that had its own would share no statement.
  const sharing: Sharing = { inTransaction: false, limits: batchLimits(limits) };
  const open = (client?: string): Database => ({
    prisma,
    pool,
    sharing,
    limits,
    reach,
    requireWritable: () => requireWritable(pool),
    get waiting() {
      return pool.waitingCount + turns.waiting;
    },
    query: through(prisma),
    hot: named(direct(pool)),
    afterCommit: (callback) => callback(),
    transaction: transactionOf(begin, client),
    hotTransaction: transactionOf(beginHot, client),
    forClient: open,
    async close() {
      await prisma.$disconnect();
      await pool.end();
    },
  });
  return open();
}

const NO_PRISMA = new Proxy({} as Prisma.TransactionClient, {
  get() {
    throw new Error('hotTransaction has no models of Prisma');
  },
});

/** Runs `work` in the transaction of `db`, or in a new one if `db` is no transaction. */
export function atomically<T>(db: Handle, work: (handle: Handle) => Promise<T>): Promise<T> {
  return 'transaction' in db ? (db as Database).transaction(work) : work(db);
}

/** Reads in a transaction of which Postgres ends each statement after `limit` ms. */
export function timeLimited<T>(db: Handle, limit: number, read: (tx: Handle) => Promise<T>): Promise<T> {
  return atomically(db, async (tx) => {
    await tx.query(`select set_config('statement_timeout', $1, true)`, [String(limit)]);
    return read(tx);
  });
}

/** The row of a statement that always has one, such as a count. */
export async function rowOf<Row>(db: Pick<Handle, 'query'>, text: string, values: readonly unknown[]): Promise<Row> {
  const [row] = await db.query<Row>(text, values);
  if (!row) throw new Error('a statement that always has a row has none');
  return row;
}

/** Postgres's clock, ms since 1970: the clock of events and of whatever is compared with them. */
export async function readClock(db: Pick<Handle, 'query'>): Promise<number> {
  const text = 'select (extract(epoch from clock_timestamp()) * 1000)::bigint::text as now';
  return Number((await rowOf<{ now: string }>(db, text, [])).now);
}

/** Waits for the lock of this name, which ends with the transaction `tx`. Equal names exclude each other. */
export async function lockInTransaction(tx: Handle, name: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1::text, 0))::text', [name]);
}

/** Takes the lock of this name, which ends with the transaction `tx`. False if another transaction holds it. */
export async function tryLockInTransaction(tx: Handle, name: string): Promise<boolean> {
  const lock = 'select pg_try_advisory_xact_lock(hashtextextended($1::text, 0)) as taken';
  const { taken } = await rowOf<{ taken: boolean }>(tx, lock, [name]);
  return taken;
}

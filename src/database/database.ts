import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { failpoint } from '../failpoints.js';
import type { Secret } from '../secret.js';
import { type Prisma, PrismaClient } from './generated/client.js';
import { SERVICE_SETTINGS, withServerSettings } from './server-settings.js';
import { StatementNames } from './statement-names.js';
import { transactionsAtOnce, transactionTurns } from './transaction-turns.js';

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
   * Like `query`, for the two statements that every event runs (change, record). Outside of a transaction it is the
   * only way around Prisma, on the same pool. Prisma serialises and copies the values of a batch several times: at full
   * speed the service delivered 0.87 of its events/s with these two through Prisma (docs/measurements.md, Statements and
   * Prisma).
   */
  hot<Row>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /** Runs `callback` after the commit, or at once outside of a transaction. After a rollback it never runs. */
  afterCommit(callback: () => void): void;
}

export interface Database extends Handle {
  prisma: PrismaClient;
  pool: pg.Pool;
  /** Statements and transactions that wait for a connection. */
  readonly waiting: number;
  /**
   * Runs `work` in a transaction (read committed). An error inside rolls the transaction back. A fifth of the connections
   * stays free of transactions, so do not begin one inside another.
   */
  transaction<T>(work: (handle: Handle) => Promise<T>): Promise<T>;
  /** The same database for the requests of one client, whose transactions hold at most its share of the connections. */
  forClient(clientId: string): Database;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: Secret;
  /** `url` names a transaction pooler, which refuses startup options. The role's own settings then apply. */
  pooled?: boolean;
  poolSize: number;
  /** Called with a fault of an idle connection. The pool replaces the connection. */
  onFault?: (error: Error) => void;
}

/** How long a statement or a transaction waits for a free connection, ms. */
const CONNECTION_WAIT = 5_000;

/**
 * Opens the one pool of the process, which Prisma and the hot statements share. It connects on first use. No session
 * has a setting of its own: see `SERVICE_SETTINGS` for what every connection starts with.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = openPool(options);
  const names = new StatementNames();
  const inTurn = transactionTurns(transactionsAtOnce(options.poolSize), CONNECTION_WAIT);
  const prisma = new PrismaClient({
    adapter: new PrismaPg(pool, { statementNameGenerator: ({ sql }) => names.next(sql) }),
    // Every other format records a stack trace for each query.
    errorFormat: 'minimal',
  });
  const through =
    (client: Prisma.TransactionClient) =>
    async <Row>(text: string, values: readonly unknown[]): Promise<Row[]> => {
      names.add(text);
      return client.$queryRawUnsafe<Row[]>(text, ...values);
    };
  const transactionOf =
    (client?: string): Database['transaction'] =>
    async (work) => {
      const committed: (() => void)[] = [];
      const run = (maxWait: number) =>
        prisma.$transaction(
          async (tx) => {
            const query = through(tx);
            const result = await work({
              prisma: tx,
              query,
              hot: query,
              afterCommit: (callback) => committed.push(callback),
            });
            failpoint('before-commit');
            return result;
          },
          { maxWait, timeout: 15_000 },
        );
      const result = await inTurn(run, client);
      for (const callback of committed) callback();
      return result;
    };
  return {
    prisma,
    pool,
    get waiting() {
      return pool.waitingCount + inTurn.waiting;
    },
    query: through(prisma),
    async hot<Row>(text: string, values: readonly unknown[]) {
      names.add(text);
      const { rows } = await pool.query({ name: names.next(text), text, values: values as unknown[] });
      return rows as Row[];
    },
    afterCommit: (callback) => callback(),
    transaction: transactionOf(),
    forClient(clientId) {
      return Object.assign(Object.create(this) as Database, { transaction: transactionOf(clientId) });
    },
    async close() {
      await prisma.$disconnect();
      await pool.end();
    },
  };
}

function openPool(options: DatabaseOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: (options.pooled ? options.url : withServerSettings(options.url, SERVICE_SETTINGS)).reveal(),
    max: options.poolSize,
    connectionTimeoutMillis: CONNECTION_WAIT,
    // A server that hangs must not block requests without end. No statement of the service takes a tenth of this.
    query_timeout: 20_000,
    keepAlive: true,
    // After a failover, or when a server joins, connections spread again without a restart.
    maxLifetimeSeconds: 900,
  });
  pool.on('error', (error) => options.onFault?.(error));
  // A connection may break during checkout, before its user listens. The user's next statement then fails.
  pool.on('connect', (client) => client.on('error', () => undefined));
  // A connection whose ROLLBACK got no response is still in that transaction. The next statement must not join it.
  pool.on('release', (_error, client) => {
    if (client.getTransactionStatus() !== 'I') void client.end();
  });
  return pool;
}

/** Runs `work` in the transaction of `db`, or in a new one if `db` is no transaction. */
export function atomically<T>(db: Handle, work: (handle: Handle) => Promise<T>): Promise<T> {
  return 'transaction' in db ? (db as Database).transaction(work) : work(db);
}

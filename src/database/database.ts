import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { failpoint } from '../failpoints.js';
import type { Secret } from '../secret.js';
import { type Prisma, PrismaClient } from './generated/client.js';
import { SERVICE_SETTINGS, withServerSettings } from './server-settings.js';

/**
 * The database handle of a domain verb: Prisma's models and raw statements on one connection or transaction, and
 * callbacks that run after the commit.
 */
export interface Handle {
  prisma: Prisma.TransactionClient;
  /**
   * Runs one statement with `$1…` parameters. Select only text, int4, boolean, uuid and json: every driver path reads
   * these types alike.
   */
  query<Row>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /** Like `query`, for the few statements that every event runs (change, record, claim). Postgres plans them once. */
  hot<Row>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /** Runs `callback` after the commit, or at once outside of a transaction. After a rollback it never runs. */
  afterCommit(callback: () => void): void;
}

export interface Database extends Handle {
  prisma: PrismaClient;
  pool: pg.Pool;
  /** Runs `work` in a transaction (read committed). An error inside rolls the transaction back. */
  transaction<T>(work: (handle: Handle) => Promise<T>): Promise<T>;
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

/** One in this many connections serves the hot statements, which are few and short. */
const HOT_SHARE = 4;

/**
 * Opens the pool that Prisma and the raw statements share, and a small pool for the hot statements. Both connect on
 * first use.
 */
export function openDatabase(options: DatabaseOptions): Database {
  const hotSize = Math.max(1, Math.round(options.poolSize / HOT_SHARE));
  const pool = openPool(options, Math.max(2, options.poolSize - hotSize));
  const hotPool = openPool(options, hotSize, HOT_SETTINGS);
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  const on =
    (connections: pg.Pool) =>
    async <Row>(text: string, values: readonly unknown[]) => {
      const { rows } = await connections.query({ name: statementName(text), text, values: values as unknown[] });
      return rows as Row[];
    };
  return {
    prisma,
    pool,
    query: on(pool),
    hot: on(hotPool),
    afterCommit: (callback) => callback(),
    async transaction(work) {
      const committed: (() => void)[] = [];
      const result = await prisma.$transaction(
        async (tx) => {
          const query = <Row>(text: string, values: readonly unknown[]) => tx.$queryRawUnsafe<Row[]>(text, ...values);
          const result = await work({
            prisma: tx,
            query,
            hot: query,
            afterCommit: (callback) => committed.push(callback),
          });
          failpoint('before-commit');
          return result;
        },
        { maxWait: 5_000, timeout: 15_000 },
      );
      for (const callback of committed) callback();
      return result;
    },
    async close() {
      await prisma.$disconnect();
      await Promise.all([pool.end(), hotPool.end()]);
    },
  };
}

/**
 * Planning a hot statement takes as long as running it for a few events. Without statistics of a fresh table, the
 * planner may also choose to scan a table that a burst is filling.
 */
const HOT_SETTINGS = ['set plan_cache_mode = force_generic_plan', 'set enable_seqscan = off'].join('; ');

function openPool(options: DatabaseOptions, max: number, settings?: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: (options.pooled ? options.url : withServerSettings(options.url, SERVICE_SETTINGS)).reveal(),
    max,
    connectionTimeoutMillis: 5_000,
    // A server that hangs must not block requests without end. No statement of the service takes a tenth of this.
    query_timeout: 20_000,
    keepAlive: true,
    ...(settings !== undefined && { onConnect: (client: pg.ClientBase) => client.query(settings) }),
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

const names = new Map<string, string>();

/**
 * One name for each text, so that a connection plans a statement once. The map stays small, since the statements are
 * constants.
 */
function statementName(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `s${names.size}`;
    names.set(text, name);
  }
  return name;
}

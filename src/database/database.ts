import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { failpoint } from '../failpoints.js';
import type { Secret } from '../secret.js';
import { type Prisma, PrismaClient } from './generated/client.js';
import { SERVICE_SETTINGS, withServerSettings } from './server-settings.js';

/**
 * What a domain verb is given: Prisma's models and raw statements on one connection or transaction, and a place for
 * what must wait for the commit.
 */
export interface Handle {
  prisma: Prisma.TransactionClient;
  /** Runs one statement with `$1…` parameters. Select only text, int4, boolean, uuid and json: every driver path reads those alike. */
  query<Row>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /** The same for the few statements of every event (change, record, claim): planned once, whatever the parameters. */
  hot<Row>(text: string, values: readonly unknown[]): Promise<Row[]>;
  /** Runs `callback` once what was written is durable: now, outside of a transaction. Never runs after a rollback. */
  afterCommit(callback: () => void): void;
}

export interface Database extends Handle {
  prisma: PrismaClient;
  pool: pg.Pool;
  /** One transaction (read committed); an error thrown inside rolls back. */
  transaction<T>(work: (handle: Handle) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: Secret;
  poolSize: number;
  /** Told of a fault on an idle connection; the pool replaces it. */
  onFault?: (error: Error) => void;
}

/** Of the connections, one in so many is for the hot statements: they are few and short. */
const HOT_SHARE = 4;

/**
 * Opens the pool that Prisma and the raw statements share, and a small one for the hot statements. Connects on first use.
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
 * Planning a hot statement takes as long as running it for a few events, and with the rows of a fresh table unknown yet
 * it may choose to scan one that a burst is just filling.
 */
const HOT_SETTINGS = ['set plan_cache_mode = force_generic_plan', 'set enable_seqscan = off'].join('; ');

function openPool(options: DatabaseOptions, max: number, settings?: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: withServerSettings(options.url, SERVICE_SETTINGS).reveal(),
    max,
    connectionTimeoutMillis: 5_000,
    // A server that hangs must not hold requests without end; no statement of ours takes a tenth of this.
    query_timeout: 20_000,
    keepAlive: true,
    ...(settings !== undefined && { onConnect: (client: pg.ClientBase) => client.query(settings) }),
  });
  pool.on('error', (error) => options.onFault?.(error));
  // One that breaks as it is handed over, before its holder listens: he learns of it by his next statement.
  pool.on('connect', (client) => client.on('error', () => undefined));
  // One whose ROLLBACK got no answer is still in that transaction, and nobody's next statement may be part of it.
  pool.on('release', (_error, client) => {
    if (client.getTransactionStatus() !== 'I') void client.end();
  });
  return pool;
}

/** Runs `work` in a transaction: the one that `db` is already, or one of its own. */
export function atomically<T>(db: Handle, work: (handle: Handle) => Promise<T>): Promise<T> {
  return 'transaction' in db ? (db as Database).transaction(work) : work(db);
}

const names = new Map<string, string>();

/** One name for each text, so that a connection plans a statement once (the statements are constants: the map stays small). */
function statementName(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `s${names.size}`;
    names.set(text, name);
  }
  return name;
}

import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { failpoint } from '../failpoints.js';
import type { Secret } from '../secret.js';
import { type Prisma, PrismaClient } from './generated/client.js';

/**
 * What a domain verb is given: Prisma's models and raw statements on one connection or transaction, and a place for
 * what must wait for the commit.
 */
export interface Handle {
  prisma: Prisma.TransactionClient;
  /** Runs one statement with `$1…` parameters. Select only text, int4, boolean, uuid and json: every driver path reads those alike. */
  query<Row>(text: string, values: readonly unknown[]): Promise<Row[]>;
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

/** Opens the pool that Prisma and the raw statements share. Connects on first use. */
export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url.reveal(),
    max: options.poolSize,
    connectionTimeoutMillis: 5_000,
    // A server that hangs must not hold requests without end; no statement of ours takes a tenth of this.
    query_timeout: 20_000,
    keepAlive: true,
  });
  pool.on('error', (error) => options.onFault?.(error));
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool) });
  return {
    prisma,
    pool,
    async query<Row>(text: string, values: readonly unknown[]) {
      const { rows } = await pool.query({ name: statementName(text), text, values: values as unknown[] });
      return rows as Row[];
    },
    afterCommit: (callback) => callback(),
    async transaction(work) {
      const committed: (() => void)[] = [];
      const result = await prisma.$transaction(
        async (tx) => {
          const result = await work({
            prisma: tx,
            query: <Row>(text: string, values: readonly unknown[]) => tx.$queryRawUnsafe<Row[]>(text, ...values),
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
      await pool.end();
    },
  };
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

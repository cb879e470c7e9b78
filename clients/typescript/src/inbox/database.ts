/** A row of a statement of the inbox: texts, integers and booleans, which every driver reads alike. */
export type Row = Record<string, string | number | boolean | null>;

/**
 * How the inbox reaches your database. With `pg`, give `pool` instead. With Prisma:
 *
 * ```ts
 * const database = {
 *   transaction: (work) => prisma.$transaction(work),
 *   query: (tx, text, values) => tx.$queryRawUnsafe(text, ...values),
 * };
 * ```
 */
export interface InboxDatabase<Tx> {
  /** Runs `work` in a transaction: commits when it resolves, rolls back when it rejects. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Runs one statement with `$1…` parameters, which are texts, numbers or null. */
  query(tx: Tx, text: string, values: readonly (string | number | null)[]): Promise<readonly unknown[]>;
}

/** A connection of `pg` in a transaction. */
export interface PgClient {
  // biome-ignore lint/suspicious/noExplicitAny: as pg declares it
  query(text: string, values?: any[]): Promise<{ rows: any[] }>;
}

/** A pool of `pg`. */
export interface PgPool<Client extends PgClient = PgClient> {
  connect(): Promise<Client & Pooled>;
}

interface Pooled {
  release(broken?: boolean): void;
  on(event: 'error', listener: () => void): unknown;
  off(event: 'error', listener: () => void): unknown;
}

/** The transactions of a pool of `pg`. */
export function databaseOf<Client extends PgClient>(pool: PgPool<Client>): InboxDatabase<Client> {
  return {
    query: async (client, text, values) => (await client.query(text, [...values])).rows,
    async transaction(work) {
      const client = await pool.connect();
      // The statement that meets a broken connection rejects; the event would end the process.
      const onError = () => {};
      client.on('error', onError);
      let broken = true;
      try {
        await client.query('begin');
        const result = await work(client);
        await client.query('commit');
        broken = false;
        return result;
      } catch (error) {
        await client.query('rollback').then(
          () => {
            broken = false;
          },
          () => {},
        );
        throw error;
      } finally {
        client.off('error', onError);
        client.release(broken);
      }
    },
  };
}

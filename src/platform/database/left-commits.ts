import pg from 'pg';

/** Between two looks, ms, and the time of one. */
const [INTERVAL, LIMIT] = [1_000, 2_000];

const READ = `select pid from pg_stat_activity where pid = any($1::int[]) and wait_event = 'SyncRep'`;

/**
 * Commits whose session this process has closed and whose backend is left: one that waits for a synchronous standby
 * ends neither with its client nor at `statement_timeout`.
 * @param changed called with their number
 */
export function leftCommits(connectionString: string, changed: (count: number) => void) {
  let left: readonly number[] = [];
  let closed: readonly number[] = [];
  let timer: NodeJS.Timeout | undefined;

  async function look(): Promise<void> {
    const asked = [...left, ...closed];
    closed = [];
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: LIMIT, query_timeout: LIMIT });
    client.on('error', () => undefined);
    try {
      await client.connect();
      left = (await client.query<{ pid: number }>(READ, [asked])).rows.map(({ pid }) => pid);
    } catch (error) {
      // Postgres has no free session: the commits are still there. If it does not respond at all, they are forgotten.
      left = error instanceof pg.DatabaseError ? asked : [];
    }
    void client.end().catch(() => undefined);
    changed(left.length);
    timer = left.length + closed.length > 0 ? setTimeout(look, INTERVAL).unref() : undefined;
  }

  return {
    /** @param pid of the backend whose session was closed */
    add(pid: number): void {
      closed = [...closed, pid];
      timer ??= setTimeout(look, 0).unref();
    },
    /** Ends the looks. */
    stop: () => clearTimeout(timer),
  };
}

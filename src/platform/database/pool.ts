import pg from 'pg';
import type { Secret } from '../secret.js';
import { READ_ONLY_STATE } from './faults.js';
import { leftCommits } from './left-commits.js';
import { POOLED_SETTINGS, SERVICE_SETTINGS, type ServerSettings, withServerSettings } from './server-settings.js';
import { NoTurn } from './transaction-turns.js';

export interface DatabaseOptions {
  url: Secret;
  /**
   * `url` names a transaction pooler, which refuses startup options. The role's own settings then apply to the rest.
   */
  pooled?: boolean;
  poolSize: number;
  limits?: DatabaseLimits;
  /** Called with a fault of an idle connection. The pool replaces the connection. */
  onFault?: (error: Error) => void;
}

/** Time limits of what uses a connection, in ms. */
export interface DatabaseLimits {
  /** How long a statement or a transaction waits for its turn and for a connection. */
  wait: number;
  /** How long it may keep the connection, after which the connection is destroyed. */
  hold: number;
}

/** How the statements of a pool reach Postgres. All times are by `performance.now()`. */
export interface Reach {
  /**
   * When a session could not be opened, or could not write, for the first time since `at`; undefined: none since then.
   */
  failedSince: number | undefined;
  /** When a session that can write was last used without a fault of the connection. */
  at: number;
}

/** After a failover, or when a server joins, connections spread again without a restart. In s. */
const LIFETIME = 900;
/**
 * Lifetime of a session that began read-only, s: it stays so after the server has become writable, or after the name in
 * DATABASE_URL has come to mean another server. Longer than a statement, so that reads during such a time share
 * sessions.
 */
const READ_ONLY_LIFETIME = 1;

/** What `pg` sends to start a session. It has no option for further parameters. */
const { getStartupConf } = pg.Client.prototype as unknown as { getStartupConf(): ServerSettings };

type Connecting = (error?: Error, client?: pg.PoolClient, release?: (error?: Error) => void) => void;
type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** Opens a pool that closes sessions which hang, are still in a transaction, or cannot write. */
export function openPool(options: DatabaseOptions, limits: DatabaseLimits): { pool: pg.Pool; reach: Readonly<Reach> } {
  const { pooled } = options;
  const reach: Reach = { failedSince: undefined, at: Number.NEGATIVE_INFINITY };
  const failed = () => {
    reach.failedSince ??= performance.now();
  };

  class Session extends pg.Client {
    /** The modes in which it cannot write. */
    readonly readOnlyModes = new Set<string>();
    /** It rejected a statement because it is read-only. */
    hasRefused = false;
    timeLimit: NodeJS.Timeout | undefined;
    /** Of its backend; `pg` sets it. */
    declare readonly processID: number;

    constructor(config?: pg.ClientConfig) {
      super(config);
      this.connection.on('parameterStatus', ({ parameterName: mode, parameterValue }: Parameter) => {
        // A pooler repeats what its first session reported.
        if (pooled || !READ_ONLY_MODES.includes(mode)) return;
        if (parameterValue !== 'on') return void this.readOnlyModes.delete(mode);
        this.readOnlyModes.add(mode);
        failed();
      });
      this.connection.on('errorMessage', ({ code }: { code?: string }) => {
        if (code !== READ_ONLY_STATE) return;
        this.hasRefused = true;
        if (pooled) void pool.query(END_SESSION).catch(() => undefined);
      });
    }

    getStartupConf(): ServerSettings {
      return { ...getStartupConf.call(this), ...(pooled && POOLED_SETTINGS) };
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      if (!callback) return super.connect();
      super.connect((error: Error) => {
        if (error) failed();
        // The pool reads it next, for this session.
        else pool.options.maxLifetimeSeconds = this.readOnlyModes.size > 0 ? READ_ONLY_LIFETIME : LIFETIME;
        (callback as (error: Error) => void)(error);
      });
      return undefined;
    }
  }

  const settings = options.limits
    ? { ...SERVICE_SETTINGS, statement_timeout: `${options.limits.hold}ms` }
    : SERVICE_SETTINGS;
  const connectionString = (pooled ? options.url : withServerSettings(options.url, settings)).reveal();
  const pool: pg.Pool = new pg.Pool({
    Client: Session,
    connectionString,
    max: options.poolSize,
    connectionTimeoutMillis: limits.wait,
    keepAlive: true,
  });
  // Commits that are left count in the size of the pool, so that this process has at most twice as many sessions.
  const left = leftCommits(connectionString, (count) => {
    pool.options.max = Math.max(0, options.poolSize - count);
  });
  const connect = pool.connect.bind(pool) as (callback?: Connecting) => unknown;
  const connectOrRefuse = (callback?: Connecting) => {
    if (pool.options.max > 0) return connect(callback);
    failed();
    const error = new NoTurn('all sessions of this process wait for a synchronous standby');
    return callback ? void setImmediate(callback, error) : Promise.reject(error);
  };
  const end = pool.end.bind(pool) as (callback?: () => void) => unknown;
  Object.assign(pool, {
    connect: connectOrRefuse,
    end(callback?: () => void) {
      left.stop();
      return end(callback);
    },
  });
  pool.on('error', (error) => options.onFault?.(error));
  // A connection may break during checkout, before its user listens. The user's next statement then fails.
  pool.on('connect', (client) => client.on('error', failed));
  // A server that hangs must not block requests without end. Destroying the connection ends a transaction for certain,
  // and a ROLLBACK or a statement that waits behind the one that hangs.
  pool.on('acquire', (client: unknown) => {
    const session = client as Session;
    const { stream } = session.connection;
    session.timeLimit = setTimeout(() => {
      stream.destroy();
      // A pooler bounds its sessions itself.
      if (!pooled) left.add(session.processID);
    }, limits.hold);
  });
  pool.on('release', (error, client: unknown) => {
    const session = client as Session;
    clearTimeout(session.timeLimit);
    // A connection whose ROLLBACK got no response is still in that transaction. The next statement must not join it.
    if (session.getTransactionStatus() !== 'I' || session.hasRefused) void session.end();
    else if (!error && session.readOnlyModes.size === 0) {
      Object.assign(reach, { failedSince: undefined, at: performance.now() });
    }
  });
  return { pool, reach };
}

/** Fails on a read-only session, also on a hot standby, without a lock and without a write. */
const REQUIRE_WRITABLE = `do $$ begin
  if current_setting('transaction_read_only') = 'on' then
    raise 'this session is read-only' using errcode = '${READ_ONLY_STATE}';
  end if;
end $$`;

export async function requireWritable(pool: pg.Pool): Promise<void> {
  await pool.query(REQUIRE_WRITABLE);
}

/** Ends a read-only session, which a pooler would keep after its client disconnects. */
const END_SESSION = `select pg_terminate_backend(pg_backend_pid()) where current_setting('transaction_read_only') = 'on'`;

/** What Postgres reports of a session that cannot write: at the start, and whenever it changes. */
const READ_ONLY_MODES = ['in_hot_standby', 'default_transaction_read_only'];

type Parameter = Record<'parameterName' | 'parameterValue', string>;

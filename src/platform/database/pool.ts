import pg from 'pg';
import type { Secret } from '../secret.js';
import { READ_ONLY_STATE } from './faults.js';
import { POOLED_SETTINGS, SERVICE_SETTINGS, type ServerSettings, withServerSettings } from './server-settings.js';

export interface DatabaseOptions {
  url: Secret;
  /** `url` names a transaction pooler, which refuses startup options. The role's own settings then apply to the rest. */
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
  /** When a session could not be opened, or could not write, for the first time since `at`; undefined: none since then. */
  failedSince: number | undefined;
  /** When a session that can write was last used without a fault of the connection. */
  at: number;
}

/** After a failover, or when a server joins, connections spread again without a restart. In s. */
const LIFETIME = 900;
/**
 * Lifetime of a session that began read-only, s: it stays so after the server has become writable, or after the name in
 * DATABASE_URL has come to mean another server. Longer than a statement, so that reads during such a time share sessions.
 */
const READ_ONLY_LIFETIME = 1;

/** Opens a pool that closes sessions which hang, are still in a transaction, or cannot write. */
export function openPool(options: DatabaseOptions, limits: DatabaseLimits): { pool: pg.Pool; reach: Readonly<Reach> } {
  const reach: Reach = { failedSince: undefined, at: Number.NEGATIVE_INFINITY };
  const failed = () => {
    reach.failedSince ??= performance.now();
  };
  /** Sessions that rejected a statement because they are read-only. */
  const refusing = new WeakSet<pg.ClientBase>();
  const readOnlyModes = new WeakMap<pg.ClientBase, Set<string>>();
  const cannotWrite = (session: pg.ClientBase) => (readOnlyModes.get(session)?.size ?? 0) > 0;
  const settings = options.limits
    ? { ...SERVICE_SETTINGS, statement_timeout: `${options.limits.hold}ms` }
    : SERVICE_SETTINGS;
  const pool: pg.Pool = new pg.Pool({
    Client: watchedClient(options.pooled ? POOLED_SETTINGS : {}, {
      failed,
      opened(session) {
        // The pool reads it next, for this session.
        pool.options.maxLifetimeSeconds = cannotWrite(session) ? READ_ONLY_LIFETIME : LIFETIME;
      },
      reported(session, mode, on) {
        // A pooler repeats what its first session reported.
        if (options.pooled || !READ_ONLY_MODES.includes(mode)) return;
        const modes = readOnlyModes.get(session) ?? new Set();
        readOnlyModes.set(session, modes);
        if (!on) return void modes.delete(mode);
        modes.add(mode);
        failed();
      },
      refused(session) {
        refusing.add(session);
        if (options.pooled) void pool.query(END_SESSION).catch(() => undefined);
      },
    }),
    connectionString: (options.pooled ? options.url : withServerSettings(options.url, settings)).reveal(),
    max: options.poolSize,
    connectionTimeoutMillis: limits.wait,
    keepAlive: true,
  });
  pool.on('error', (error) => options.onFault?.(error));
  // A connection may break during checkout, before its user listens. The user's next statement then fails.
  pool.on('connect', (client) => client.on('error', failed));
  // A server that hangs must not block requests without end. Destroying the connection ends a transaction for certain,
  // and a ROLLBACK or a statement that waits behind the one that hangs.
  const held = new WeakMap<pg.PoolClient, NodeJS.Timeout>();
  pool.on('acquire', (client) => {
    const { stream } = client.connection;
    held.set(
      client,
      setTimeout(() => stream.destroy(), limits.hold),
    );
  });
  pool.on('release', (error, client) => {
    clearTimeout(held.get(client));
    // A connection whose ROLLBACK got no response is still in that transaction. The next statement must not join it.
    if (client.getTransactionStatus() !== 'I' || refusing.has(client)) void client.end();
    else if (!error && !cannotWrite(client)) Object.assign(reach, { failedSince: undefined, at: performance.now() });
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

/** What the pool has no event for. */
interface Watch {
  /** A session could not be opened. */
  failed(): void;
  opened(session: pg.Client): void;
  /** Postgres has reported a setting. */
  reported(session: pg.Client, setting: string, on: boolean): void;
  /** A statement failed because the session is read-only. */
  refused(session: pg.Client): void;
}

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

type Parameter = Record<'parameterName' | 'parameterValue', string>;

/** What `pg` sends to start a session. It has no option for further parameters. */
const { getStartupConf } = pg.Client.prototype as unknown as { getStartupConf(): ServerSettings };

const watchedClient = (parameters: ServerSettings, watch: Watch) =>
  class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(config);
      this.connection.on('parameterStatus', ({ parameterName, parameterValue }: Parameter) => {
        watch.reported(this, parameterName, parameterValue === 'on');
      });
      this.connection.on('errorMessage', ({ code }: { code?: string }) => {
        if (code === READ_ONLY_STATE) watch.refused(this);
      });
    }

    getStartupConf(): ServerSettings {
      return { ...getStartupConf.call(this), ...parameters };
    }

    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      if (!callback) return super.connect();
      super.connect((error: Error) => {
        if (error) watch.failed();
        else watch.opened(this);
        (callback as (error: Error) => void)(error);
      });
      return undefined;
    }
  };

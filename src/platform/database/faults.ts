interface Fault {
  cause?: unknown;
  code?: unknown;
  /** Of Prisma's driver adapter: the SQLSTATE. */
  originalCode?: unknown;
  /** Of Prisma's driver adapter: for errors without an SQLSTATE. */
  kind?: unknown;
  message?: unknown;
  errors?: unknown;
  meta?: { driverAdapterError?: unknown };
}

/**
 * An error, the error of Prisma's driver adapter that it wraps, and its causes, innermost first at each step: Prisma
 * hides what a raw statement failed with in its own P2010.
 */
function* faultsOf(error: unknown): Generator<Fault> {
  for (let fault = error; fault instanceof Object; fault = (fault as Fault).cause) {
    yield* faultsOf((fault as Fault).meta?.driverAdapterError);
    yield fault as Fault;
  }
}

function sqlState(error: unknown): string | undefined {
  return [...faultsOf(error)]
    .flatMap(({ originalCode, code }) => [originalCode, code])
    .find((code): code is string => typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code));
}

/** Postgres refuses the data (classes 22 and 23). A retry has the same result. */
export function isRefusedData(error: unknown): boolean {
  return /^(22|23)/.test(sqlState(error) ?? '');
}

/** Two transactions conflicted and Postgres rolled this one back (class 40). It may be retried. */
export function isConflict(error: unknown): boolean {
  return /^(40|P2034)/.test(sqlState(error) ?? '');
}

/** The SQLSTATE read_only_sql_transaction. */
export const READ_ONLY_STATE = '25006';

/** The session that ran the statement cannot write: Postgres is read-only, or a hot standby. */
export function isReadOnly(error: unknown): boolean {
  return sqlState(error) === READ_ONLY_STATE;
}

/** Of Prisma's codes, all of its connection (P1…), no free connection (P2024), and a transaction that was ended. */
const PRISMA_UNREACHABLE = /^P(1\d{3}|20(24|28|37))$/;
/** Kinds of error of Prisma's driver adapter that have no SQLSTATE. */
const ADAPTER_UNREACHABLE = new Set([
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TooManyConnections',
  'TlsConnectionError',
]);
/**
 * Codes of the operating system and its resolver, of which libuv has no name for some, and of Node.js for a certificate
 * that it does not accept and for a failed handshake. A statement uses them for its connection alone.
 */
const CONNECTION_CODES =
  /^(E(?!RR_)\w+$|Unknown system error|ERR_TLS_|ERR_SSL_|UNABLE_TO_|CERT_|SELF_SIGNED_CERT_|DEPTH_ZERO_|HOSTNAME_MISMATCH$|INVALID_(CA|PURPOSE)$)/;

const UNREACHABLE_MESSAGES =
  /connection terminated|query read timeout|timeout exceeded when trying to connect|client has encountered a connection error|can't reach database|does not support SSL|establishing an SSL connection|cannot use a pool after|is not queryable/i;

/** Of a hot standby, where it is not 25006: an unlogged table (0A000), a lock of a table (55000). */
const IN_RECOVERY = /during recovery|recovery is in progress/;

/**
 * Postgres is temporarily unusable: unreachable, connection lost, shutting down, out of connections or space, read-only
 * (classes 08, 53, 57, 58, 25006), a time limit of the session ended the transaction (25P03, 25P04, 55P03), a table is
 * missing because the migrations are (42P01), or no connection of the pool was free in time. The same applies to a
 * server that does not let this process in: a changed password, pg_hba.conf, a missing database (28, 3D000), or a
 * certificate that is not accepted.
 */
export function isUnreachable(error: unknown): boolean {
  const faults = [...faultsOf(error)];
  if (faults.some(({ kind, message }) => ADAPTER_UNREACHABLE.has(String(kind)) || IN_RECOVERY.test(String(message)))) {
    return true;
  }
  const state = sqlState(error);
  if (state !== undefined && !PRISMA_UNREACHABLE.test(state))
    return /^(08|28|3D|53|57|58|25006|25P03|25P04|42P01|55P03)/.test(state);
  return faults.some(
    ({ code, message, errors }) =>
      PRISMA_UNREACHABLE.test(String(code)) ||
      CONNECTION_CODES.test(String(code)) ||
      UNREACHABLE_MESSAGES.test(String(message)) ||
      (Array.isArray(errors) && errors.some(isUnreachable)),
  );
}

type Reporter = Record<'warn' | 'error', (fields: { err: unknown }, message: string) => void>;

/** Reports the fault of a loop, which runs again: a warning where Postgres is unreachable. */
export function reportTo(log: Reporter, message: string): (error: unknown) => void {
  return (error) => log[isUnreachable(error) ? 'warn' : 'error']({ err: error }, message);
}

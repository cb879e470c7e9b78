import { getSystemErrorMap } from 'node:util';

/** The SQLSTATE of an error of `pg` or of Prisma's driver adapter, which keeps it in the error's cause or meta. */
function sqlState(error: unknown): string | undefined {
  for (let fault = error; fault instanceof Object; fault = (fault as { cause?: unknown }).cause) {
    const { code, originalCode, meta } = fault as { code?: unknown; originalCode?: unknown; meta?: unknown };
    // The nested error comes first: Prisma wraps a raw statement's SQLSTATE in its own P2010.
    const nested = sqlState((meta as { driverAdapterError?: unknown } | undefined)?.driverAdapterError);
    if (nested !== undefined) return nested;
    for (const candidate of [originalCode, code]) {
      if (typeof candidate === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(candidate)) return candidate;
    }
  }
  return undefined;
}

/** Postgres refuses the data (classes 22 and 23). A retry has the same result. */
export function isRefusedData(error: unknown): boolean {
  return /^(22|23)/.test(sqlState(error) ?? '');
}

/** Two transactions conflicted and Postgres rolled this one back (class 40). It may be retried. */
export function isConflict(error: unknown): boolean {
  return /^(40|P2034)/.test(sqlState(error) ?? '');
}

const PRISMA_UNREACHABLE = new Set([
  ...['P1000', 'P1001', 'P1002', 'P1003', 'P1008', 'P1010', 'P1011', 'P1017'],
  ...['P2024', 'P2028', 'P2037'],
]);
/** Kinds of error of Prisma's driver adapter that have no SQLSTATE. A raw statement hides them in its own P2010. */
const ADAPTER_UNREACHABLE = new Set([
  'DatabaseNotReachable',
  'ConnectionClosed',
  'SocketTimeout',
  'TooManyConnections',
  'TlsConnectionError',
]);
/** Every code of the operating system and its resolver: a statement uses them for its connection alone. */
const SYSTEM_CODES = new Set([...getSystemErrorMap().values()].map(([code]) => code)).add('ENOTFOUND');
/** libuv has a name for most codes, and this form for the others. */
const isSystemCode = (code: string) => SYSTEM_CODES.has(code) || code.startsWith('Unknown system error');
/** Codes of Node.js for a certificate that it does not accept, and for a failed handshake. */
const TLS_ERRORS =
  /^(ERR_TLS_|ERR_SSL_|UNABLE_TO_|CERT_|SELF_SIGNED_CERT_|DEPTH_ZERO_|HOSTNAME_MISMATCH$|INVALID_(CA|PURPOSE)$)/;

/**
 * Postgres is temporarily unusable: unreachable, connection lost, shutting down, out of connections or space, read-only
 * (classes 08, 53, 57, 58, 25006), a time limit of the session ended the transaction (25P03, 25P04, 55P03), or no
 * connection of the pool was free in time. The same applies to a server that does not let this process in: a changed
 * password, pg_hba.conf, a missing database (28, 3D000), or a certificate that is not accepted.
 */
export function isUnreachable(error: unknown): boolean {
  if (ADAPTER_UNREACHABLE.has(adapterKind(error) ?? '')) return true;
  const state = sqlState(error);
  if (state !== undefined && !PRISMA_UNREACHABLE.has(state))
    return /^(08|28|3D|53|57|58|25006|25P03|25P04|55P03)/.test(state);
  for (let fault = error; fault instanceof Object; fault = (fault as { cause?: unknown }).cause) {
    const { code: given, message, errors } = fault as { code?: unknown; message?: unknown; errors?: unknown };
    const code = String(given);
    if (PRISMA_UNREACHABLE.has(code) || isSystemCode(code) || TLS_ERRORS.test(code)) return true;
    if (Array.isArray(errors) && errors.some(isUnreachable)) return true;
    if (
      /connection terminated|query read timeout|timeout exceeded when trying to connect|client has encountered a connection error|can't reach database|does not support SSL|establishing an SSL connection|cannot use a pool after|is not queryable/i.test(
        String(message),
      )
    ) {
      return true;
    }
  }
  return false;
}

/** The kind of an error of Prisma's driver adapter. */
function adapterKind(error: unknown): string | undefined {
  for (let fault = error; fault instanceof Object; fault = (fault as { cause?: unknown }).cause) {
    const { kind, meta } = fault as { kind?: unknown; meta?: unknown };
    const nested = adapterKind((meta as { driverAdapterError?: unknown } | undefined)?.driverAdapterError);
    if (nested !== undefined) return nested;
    if (typeof kind === 'string') return kind;
  }
  return undefined;
}

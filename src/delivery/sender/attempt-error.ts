import { errors } from 'undici';
import type { AttemptError } from '../../platform/vocabulary.js';

/** The connection failed, for the given reason. The error contains no address and no URL, so that it may be logged. */
export class ConnectFailure extends Error {
  override readonly name = 'ConnectFailure';

  constructor(readonly reason: AttemptError) {
    super(reason);
  }
}

/** The response exceeds a limit (response-meter.ts), or would change the protocol. */
export class ProtocolFailure extends Error {
  override readonly name = 'ProtocolFailure';
  /**
   * With this code undici fails only the running request. With another it would also fail requests that wait for a
   * connection.
   */
  readonly code = 'UND_ERR_SOCKET';
}

/**
 * Faults of this process or machine, not of the receiver: too many open files, no memory, a closing sender, a request
 * that undici refuses to write.
 */
const OWN_FAULTS = new Set([
  'EMFILE',
  'ENFILE',
  'ENOBUFS',
  'ENOMEM',
  'UND_ERR_CLOSED',
  'UND_ERR_DESTROYED',
  'UND_ERR_INVALID_ARG',
]);

const NO_CONNECTION = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'EACCES',
  'EPERM',
  'EINVAL',
]);

/**
 * Errors of a response that is not valid HTTP. undici also raises the last one for a broken head that announces a
 * length.
 */
const NO_HTTP = [
  ProtocolFailure,
  errors.HTTPParserError,
  errors.HeadersOverflowError,
  errors.ResponseContentLengthMismatchError,
];

/** Whether the fault is this process's own, so that the attempt says nothing about the receiver. */
export function isOwnFault(error: Error): boolean {
  return OWN_FAULTS.has(codeOf(error));
}

/** The attempt error for a TCP connection that failed. */
export function reasonOfTcp(error: Error): AttemptError {
  const code = codeOf(error);
  if (NO_CONNECTION.has(code)) return 'refused';
  return code === 'ETIMEDOUT' ? 'timeout' : 'reset';
}

/** The attempt error for a TLS handshake that failed: `tls`, unless the connection broke. */
export function reasonOfTls(error: Error): AttemptError {
  const code = codeOf(error);
  if (code === 'ETIMEDOUT') return 'timeout';
  return code === 'ECONNRESET' || code === 'EPIPE' ? 'reset' : 'tls';
}

/**
 * The attempt error for a failure between the connection and the response. `reset` includes a kept connection that the
 * receiver closes while the request is written: the sender cannot tell whether the receiver has read the request.
 */
export function reasonOfExchange(error: Error): AttemptError {
  if (error instanceof ConnectFailure) return error.reason;
  if (NO_HTTP.some((kind) => error instanceof kind)) return 'protocol';
  const code = codeOf(error);
  if (code === 'ETIMEDOUT') return 'timeout';
  return code.startsWith('ERR_SSL') ? 'tls' : 'reset';
}

function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

import { errors } from 'undici';
import type { AttemptError } from '../../platform/vocabulary.js';

/** The connection failed, for the given reason. The error contains no address and no URL, so that it may be logged. */
export class ConnectFailure extends Error {
  override readonly name = 'ConnectFailure';

  /** @param detail what was wrong, in one sentence */
  constructor(
    readonly reason: AttemptError,
    readonly detail: string | null = null,
  ) {
    super(reason);
  }
}

/**
 * There is no status line, or the response exceeds a limit (response-meter.ts). The message is a sentence for the
 * client.
 */
export class ProtocolFailure extends Error {
  override readonly name = 'ProtocolFailure';
  /**
   * With this code undici fails only the running request. With another it would also fail requests that wait for a
   * connection.
   */
  readonly code = 'UND_ERR_SOCKET';
}

/** A fault of this process or machine, `cause`, before a byte of the request was sent. */
export class NotSent extends Error {
  override readonly name = 'NotSent';

  constructor(override readonly cause: Error) {
    super(`the request was not sent: ${cause.message}`);
  }
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
 * The attempt error for a failure between the connection and the status line. `reset` includes a kept connection that
 * the receiver closes while the request is written: the sender cannot tell whether the receiver has read the request.
 */
export function reasonOfExchange(error: Error): AttemptError {
  if (error instanceof ConnectFailure) return error.reason;
  if (error instanceof ProtocolFailure) return 'protocol';
  const code = codeOf(error);
  if (code === 'ETIMEDOUT') return 'timeout';
  return code.startsWith('ERR_SSL') ? 'tls' : 'reset';
}

/** Names the cause of a failed TLS handshake, such as `CERT_HAS_EXPIRED`. */
export function detailOfTls(error: Error): string | null {
  return reasonOfTls(error) === 'tls' ? `The TLS handshake failed: ${codeOf(error)}.` : null;
}

/** Errors of undici about a head. It raises the last one for a faulty head that announces a length. */
const NO_HTTP = [errors.HTTPParserError, errors.HeadersOverflowError, errors.ResponseContentLengthMismatchError];

/** What was wrong, in one sentence, if the error knows more than the attempt error says. */
export function detailOf(error: Error): string | null {
  if (error instanceof ConnectFailure) return error.detail;
  if (error instanceof ProtocolFailure) return error.message;
  return NO_HTTP.some((kind) => error instanceof kind) ? 'The HTTP parser rejects the head of the response.' : null;
}

function codeOf(error: Error): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

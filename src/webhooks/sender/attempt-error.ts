import { errors } from 'undici';
import type { AttemptError } from '../../attempts.js';

/** Why there was no connection. Carries no address and no URL: it may be logged. */
export class ConnectFailure extends Error {
  override readonly name = 'ConnectFailure';

  constructor(readonly reason: AttemptError) {
    super(reason);
  }
}

/** The answer exceeds a limit (response-meter.ts), or would change the protocol. */
export class ProtocolFailure extends Error {
  override readonly name = 'ProtocolFailure';
  /** undici fails the request that runs and no other: with another code it would fail those that wait for a connection. */
  readonly code = 'UND_ERR_SOCKET';
}

/**
 * Faults of this process or machine, not of the receiver: too many open files, no memory, a sender that is closing, a
 * request that undici would not write.
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

/** The last one is also what undici makes of a broken head that announces a length. */
const NO_HTTP = [
  ProtocolFailure,
  errors.HTTPParserError,
  errors.HeadersOverflowError,
  errors.ResponseContentLengthMismatchError,
];

/** True where the error is our own: the attempt says nothing about the receiver. */
export function isOwnFault(error: Error): boolean {
  return OWN_FAULTS.has(codeOf(error));
}

/** What the error of a TCP connection that was not made means. */
export function reasonOfTcp(error: Error): AttemptError {
  const code = codeOf(error);
  if (NO_CONNECTION.has(code)) return 'refused';
  return code === 'ETIMEDOUT' ? 'timeout' : 'reset';
}

/** What the error of a TLS handshake means: all but a connection that broke is a matter of TLS. */
export function reasonOfTls(error: Error): AttemptError {
  const code = codeOf(error);
  if (code === 'ETIMEDOUT') return 'timeout';
  return code === 'ECONNRESET' || code === 'EPIPE' ? 'reset' : 'tls';
}

/**
 * What an error between the connection and the answer means. `reset` is also a kept connection that the receiver closes
 * just as we write: nobody can tell whether it has read the request.
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

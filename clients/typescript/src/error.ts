import type { components } from './generated/openapi.js';

/** One invalid field of a request: `pointer` names a member of the body, `parameter` a parameter of the query. */
export interface FieldError {
  pointer?: string;
  parameter?: string;
  code: string;
  detail: string;
}

/** The codes of failures that have no response of the service. */
export type ConnectionErrorCode =
  /** No complete response arrived: refused, reset, or no such host. */
  | 'connection_failed'
  /** The time limit of the call ended first. */
  | 'timeout'
  /** The server responded with a redirect, which is never followed: it would take the secret elsewhere. */
  | 'redirected'
  /** The response is not what the service sends; a proxy may have made it. */
  | 'invalid_response';

/** The stable code of an error: of the API, of the token endpoint (RFC 6749), or of the connection. */
export type ErrorCode =
  | components['schemas']['Problem']['code']
  | 'invalid_client'
  | 'invalid_scope'
  | 'invalid_target'
  | 'access_denied'
  | 'temporarily_unavailable'
  | ConnectionErrorCode
  // A later release of the service has more codes.
  | (string & {});

/** The facts of a {@link TransferServiceError}. */
export interface ErrorFacts {
  code: ErrorCode;
  status?: number | undefined;
  requestId?: string | undefined;
  errors?: readonly FieldError[] | undefined;
  idempotencyKey?: string | undefined;
}

/**
 * Every failure of a call, except an abort by your own signal, which rejects with the signal's reason. No error
 * contains the client secret, an access token or a webhook secret, and none has a `cause` that could.
 */
export class TransferServiceError extends Error {
  override readonly name = 'TransferServiceError';
  /** Stable: branch on this code. */
  readonly code: ErrorCode;
  /** The HTTP status; undefined if no response arrived. */
  readonly status: number | undefined;
  /** The service's id of the request; give it to the operator with a question. */
  readonly requestId: string | undefined;
  /** What is invalid in the request; empty for other failures. */
  readonly errors: readonly FieldError[];
  /** The key of a POST. Repeat the same call with it when you do not know whether the request took effect. */
  readonly idempotencyKey: string | undefined;

  /** @internal */
  constructor(message: string, { code, status, requestId, errors = [], idempotencyKey }: ErrorFacts) {
    super(message);
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.errors = errors;
    this.idempotencyKey = idempotencyKey;
  }
}

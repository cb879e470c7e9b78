/** One error in a request, at a `pointer` (RFC 6901) into the body or a `parameter` of the query. */
export interface ValidationError {
  pointer?: string;
  parameter?: string;
  code: string;
  detail: string;
}

/** The stable codes of expected refusals. `src/http/problem.ts` gives each its status and title. */
export type RefusalCode =
  | 'malformed_request'
  | 'invalid_request'
  | 'too_many_parameters'
  | 'unauthorized'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'network_not_allowed'
  | 'not_found'
  | 'method_not_allowed'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'rate_limited'
  | 'invalid_transition'
  | 'secret_immutable'
  | 'blocked_address'
  | 'sandbox_account'
  | 'unknown_sandbox_account'
  | 'endpoint_limit_reached'
  | 'endpoint_not_active'
  | 'disabled_by_operator'
  | 'cancellation_in_progress'
  | 'endpoint_changed'
  | 'recover_in_progress'
  | 'check_in_progress'
  | 'secret_erased'
  | 'retry_limit_reached'
  | 'recover_limit_reached'
  | 'console_link_limit_reached'
  | 'statement_limit_reached'
  | 'outside_retention'
  | 'sandbox_limit_reached'
  | 'check_limit_reached'
  | 'idempotency_key_reused'
  | 'idempotency_key_in_use'
  | 'internal_error'
  | 'unavailable';

/**
 * An expected outcome that refuses a request (not found, invalid transition, a limit): the only domain error. A fault
 * (a bug, a broken dependency) throws any other error.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  /** Seconds after which the client may try again; undefined: not known. */
  readonly retryAfter: number | undefined;
  /** The request was larger than any valid request. It takes more of the client's rate limit. */
  readonly oversized: boolean;

  constructor(
    readonly code: RefusalCode,
    detail: string,
    readonly errors: readonly ValidationError[] = [],
    { retryAfter, oversized = false, ...options }: ErrorOptions & { retryAfter?: number; oversized?: boolean } = {},
  ) {
    super(detail, options);
    this.retryAfter = retryAfter;
    this.oversized = oversized;
  }
}

import { LIMITS } from './limits.js';

/** One error in a request, at a `pointer` (RFC 6901) into the body or a `parameter` of the query. */
export interface ValidationError {
  pointer?: string;
  parameter?: string;
  code: string;
  detail: string;
}

interface Kind {
  status: number;
  /** Further statuses of the code, for requests that the application never sees (src/http/server.ts). */
  otherStatuses: readonly number[];
  title: string;
  /** The meaning and the remedy, for the docs. */
  meaning: string;
}

/** Every problem code with its status (contract, Errors, limits, paging). The docs list this table. */
export const PROBLEMS = {
  malformed_request: kind(
    400,
    'Malformed request',
    'The request is not valid HTTP, its body is empty or not valid JSON, or its path cannot be decoded.',
    [408, 417, 431],
  ),
  unauthorized: kind(401, 'Not authenticated', 'No access token was given; send `Authorization: Bearer …`.'),
  invalid_token: kind(401, 'Invalid access token', 'The token is unknown, expired or revoked; get a new one.'),
  insufficient_scope: kind(
    403,
    'Insufficient scope',
    'The access token lacks the scope that `WWW-Authenticate` names.',
  ),
  network_not_allowed: kind(403, 'Network not allowed', 'The request comes from outside the allowed networks.'),
  not_found: kind(404, 'Not found', 'The resource does not exist or belongs to another client.'),
  method_not_allowed: kind(405, 'Method not allowed', '`Allow` lists the methods of this path.'),
  invalid_transition: kind(
    409,
    'Invalid transition',
    'The transfer cannot change from its current status to the requested one.',
  ),
  endpoint_not_active: kind(
    409,
    'Endpoint not active',
    'The webhook endpoint is disabled or deleted; enable it first.',
  ),
  disabled_by_operator: kind(409, 'Disabled by the operator', 'Only the operator can enable this webhook endpoint.'),
  cancellation_in_progress: kind(
    409,
    'Cancellation in progress',
    'The pending deliveries of the disabled webhook endpoint are still being cancelled; try again in a few seconds.',
  ),
  endpoint_changed: kind(
    409,
    'Endpoint changed',
    'The webhook endpoint was changed after the console showed this form; reload it before you save.',
  ),
  recover_in_progress: kind(
    409,
    'Recovery in progress',
    'A recovery of this endpoint is running, or the client already has two running; wait until one ends.',
  ),
  check_in_progress: kind(
    409,
    'Check in progress',
    `A check of this endpoint is running, or the client already has ${LIMITS.checksAtOnce.amount} running; wait until one ends.`,
  ),
  secret_erased: kind(409, 'Secret erased', 'The webhook endpoint was deleted, and its secret erased.'),
  idempotency_key_in_use: kind(
    409,
    'Idempotency key in use',
    'The first request with this key is still running; repeat the request after `Retry-After`.',
  ),
  payload_too_large: kind(413, 'Payload too large', 'A body may have at most 64 KiB.'),
  unsupported_media_type: kind(
    415,
    'Unsupported media type',
    'Send the body as `Content-Type: application/json` in UTF-8, uncompressed.',
  ),
  invalid_request: kind(
    422,
    'Invalid request',
    '`errors` lists what is invalid: `pointer` names a field of the body, `parameter` a parameter of the query.',
  ),
  too_many_parameters: kind(
    422,
    'Too many parameters',
    'A query may have at most 20 parameters, a console form hardly more than its fields; each repetition counts.',
  ),
  outside_retention: kind(
    422,
    'Outside the retention period',
    'The window starts before the oldest retained event; choose a later `since`.',
  ),
  secret_immutable: kind(
    422,
    'Secret immutable',
    'The secret of an endpoint cannot be changed; register a new endpoint with the new secret, then delete the old one.',
  ),
  blocked_address: kind(422, 'Blocked address', 'The service does not deliver to this address; use a public one.'),
  sandbox_account: kind(422, 'Sandbox account', 'An account that begins with `SANDBOX-` exists in the sandbox only.'),
  unknown_sandbox_account: kind(
    422,
    'Unknown sandbox account',
    'There is no sandbox account with this name; `errors` lists the accounts.',
  ),
  endpoint_limit_reached: kind(
    422,
    'Endpoint limit reached',
    'The client has the maximum number of webhook endpoints; delete one first.',
  ),
  idempotency_key_reused: kind(
    422,
    'Idempotency key reused',
    'This key was used for another request in the last 24 hours.',
  ),
  rate_limited: kind(
    429,
    'Too many requests',
    'Wait for `Retry-After`. A request rejected for its size counts as five requests, a console page as up to 25.',
  ),
  retry_limit_reached: kind(
    429,
    'Retry limit reached',
    `A delivery can be retried manually at most ${LIMITS.retries.amount} times an hour; wait for \`Retry-After\`.`,
  ),
  recover_limit_reached: kind(
    429,
    'Recover limit reached',
    `An endpoint can be recovered at most ${LIMITS.recoveries.amount} times an hour; wait for \`Retry-After\`.`,
  ),
  console_link_limit_reached: kind(
    429,
    'Sign-in link limit reached',
    `A client may have at most ${LIMITS.signInLinks.amount} console sign-in links that are neither used nor expired; wait for \`Retry-After\`.`,
  ),
  statement_limit_reached: kind(
    429,
    'Statement limit reached',
    `A client can request one statement, list with \`missing_from\` or recovery count at a time, and ${LIMITS.statements.amount} a minute; wait for \`Retry-After\`.`,
  ),
  sandbox_limit_reached: kind(
    429,
    'Sandbox limit reached',
    `A client can create at most ${LIMITS.sandboxTransfers.amount} simulated transfers a second, and have ${LIMITS.unfinishedSandboxTransfers.amount} unfinished; wait for \`Retry-After\`.`,
  ),
  check_limit_reached: kind(
    429,
    'Check limit reached',
    `An endpoint can be checked once in ${LIMITS.checksOfEndpoint.seconds} s, and a client can run ${LIMITS.checks.amount} checks a minute; wait for \`Retry-After\`.`,
  ),
  internal_error: kind(500, 'Internal error', 'The service failed; report the `request_id` to the operator.'),
  unavailable: kind(
    503,
    'Unavailable',
    'A dependency is down. Try again after `Retry-After`; repeat a change with the same `Idempotency-Key`.',
  ),
};

function kind(status: number, title: string, meaning: string, otherStatuses: readonly number[] = []): Kind {
  return { status, otherStatuses, title, meaning };
}

/** The stable codes of expected errors. */
export type RefusalCode = keyof typeof PROBLEMS;

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

import { isConflict, isUnreachable } from '../database/faults.js';
import { Refusal, type RefusalCode, type ValidationError } from '../refusal.js';
import { RECOVERS_AN_HOUR } from '../webhooks/recovers.js';
import { RETRIES_AN_HOUR } from '../webhooks/retry-limit.js';

interface Kind {
  status: number;
  title: string;
  /** What it means and what to do, for the docs. */
  meaning: string;
}

/** Every problem code with its status (contract, Errors, limits, paging). The docs list this table. */
export const PROBLEMS: Readonly<Record<RefusalCode, Kind>> = {
  malformed_request: kind(400, 'Malformed request', 'The body is empty or no JSON, or the path cannot be decoded.'),
  unauthorized: kind(401, 'Not authenticated', 'No access token was given; send `Authorization: Bearer …`.'),
  invalid_token: kind(401, 'Invalid access token', 'The token is unknown, expired or revoked; get a new one.'),
  insufficient_scope: kind(403, 'Insufficient scope', 'The token lacks the scope that `WWW-Authenticate` names.'),
  network_not_allowed: kind(403, 'Network not allowed', 'The request comes from outside of the allowed networks.'),
  not_found: kind(404, 'Not found', 'There is no such thing, or it belongs to another client.'),
  method_not_allowed: kind(405, 'Method not allowed', '`Allow` lists the methods of this path.'),
  invalid_transition: kind(409, 'Invalid transition', 'The transfer may not go from its status to the one asked for.'),
  endpoint_not_active: kind(
    409,
    'Endpoint not active',
    'The webhook endpoint is disabled or deleted; enable it first.',
  ),
  disabled_by_operator: kind(409, 'Disabled by the operator', 'Only the operator can enable this webhook endpoint.'),
  recover_in_progress: kind(
    409,
    'Recover in progress',
    'A recover of this endpoint is still under way, or two of other endpoints of this client are.',
  ),
  idempotency_key_in_use: kind(
    409,
    'Idempotency key in use',
    'The first request with this key is still running; ask again in a moment.',
  ),
  payload_too_large: kind(413, 'Payload too large', 'A body may have 64 KiB.'),
  unsupported_media_type: kind(
    415,
    'Unsupported media type',
    'Send `Content-Type: application/json` in UTF-8, not compressed.',
  ),
  invalid_request: kind(
    422,
    'Invalid request',
    '`errors` says what is wrong: `pointer` into the body, or `parameter` of the query.',
  ),
  too_many_parameters: kind(
    422,
    'Too many parameters',
    'A query may have at most 20 parameters, repeated ones counted each.',
  ),
  secret_immutable: kind(
    422,
    'Secret immutable',
    'The secret of an endpoint never changes; register a new endpoint with the new secret and switch over.',
  ),
  blocked_address: kind(422, 'Blocked address', 'The URL names an address that nothing is delivered to.'),
  endpoint_limit_reached: kind(
    422,
    'Endpoint limit reached',
    'The client has as many webhook endpoints as it may have.',
  ),
  idempotency_key_reused: kind(
    422,
    'Idempotency key reused',
    'This key was used for another request in the last 24 hours.',
  ),
  rate_limited: kind(
    429,
    'Too many requests',
    'Wait for as long as `Retry-After` says. A request that is refused for its size counts as five.',
  ),
  retry_limit_reached: kind(
    429,
    'Retry limit reached',
    `A delivery is retried by hand at most ${RETRIES_AN_HOUR} times in an hour; wait for as long as \`Retry-After\` says.`,
  ),
  recover_limit_reached: kind(
    429,
    'Recover limit reached',
    `An endpoint is recovered at most ${RECOVERS_AN_HOUR} times in an hour; wait for as long as \`Retry-After\` says.`,
  ),
  internal_error: kind(500, 'Internal error', 'A fault of the service; tell the operator the `request_id`.'),
  unavailable: kind(
    503,
    'Unavailable',
    'A dependency is down and nothing is half done; ask again after `Retry-After`, a change with the same `Idempotency-Key`.',
  ),
};

function kind(status: number, title: string, meaning: string): Kind {
  return { status, title, meaning };
}

/** The members of an RFC 9457 problem. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: RefusalCode;
  request_id: string;
  errors?: readonly ValidationError[];
}

/** @param where the API's address as clients know it, the path asked for, and the request's id */
export function toProblem(refusal: Refusal, where: { baseUrl: string; path: string; requestId: string }): Problem {
  const { status, title } = PROBLEMS[refusal.code];
  return {
    type: `${where.baseUrl}/docs#${refusal.code}`,
    title,
    status,
    detail: refusal.message,
    // A path that cannot be decoded is no URI reference (RFC 3986 §2.1) until its stray % are escaped.
    instance: where.path.replace(/%(?![0-9a-f]{2})/gi, '%25'),
    code: refusal.code,
    request_id: where.requestId,
    ...(refusal.errors.length > 0 && { errors: refusal.errors }),
  };
}

/**
 * What a client is told of a fault: nothing but whether it is worth asking again. Where Postgres hung or the connection broke in mid
 * commit nobody knows yet whether it was done, only that it was not done in half.
 */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (isUnreachable(error) || isConflict(error)) {
    return new Refusal('unavailable', 'The service cannot do this right now; nothing is half done. Ask again.');
  }
  return new Refusal('internal_error', 'Something went wrong on our side.');
}

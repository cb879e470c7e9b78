import { PROBLEMS, refusalOf } from '../problem.js';

/** An error response of the token endpoint (RFC 6749 §5.2). Descriptions never repeat any part of the request. */
export abstract class OAuthError extends Error {
  abstract readonly code: string;
  readonly headers: Readonly<Record<string, string>> = {};

  constructor(
    description: string,
    readonly status = 400,
  ) {
    super(description);
  }
}

/** A field is missing, repeated or not a string, or the body cannot be read. */
export class InvalidRequest extends OAuthError {
  readonly code = 'invalid_request';
}

/** The same response for an unknown client and for a wrong secret, so that it does not reveal which clients exist. */
export class InvalidClient extends OAuthError {
  readonly code = 'invalid_client';
  override readonly headers = { 'WWW-Authenticate': 'Basic realm="transfer-service", charset="UTF-8"' };

  constructor() {
    super('The client is unknown or its secret is wrong.', 401);
  }
}

export class UnsupportedGrantType extends OAuthError {
  readonly code = 'unsupported_grant_type';
}

export class InvalidScope extends OAuthError {
  readonly code = 'invalid_scope';
}

/** RFC 8707 §2 */
export class InvalidTarget extends OAuthError {
  readonly code = 'invalid_target';
}

/** Valid credentials from an address outside the client's networks. */
export class AccessDenied extends OAuthError {
  readonly code = 'access_denied';

  constructor() {
    super('The request comes from outside the allowed networks.', 403);
  }
}

export class ServerError extends OAuthError {
  readonly code = 'server_error';
}

/** Too many failed authentications or tokens (429), or a dependency is down (503). `retryAfter`: seconds. */
export class TemporarilyUnavailable extends OAuthError {
  readonly code = 'temporarily_unavailable';
  override readonly headers: Readonly<Record<string, string>>;

  constructor(description: string, status: 429 | 503, retryAfter: number) {
    super(description, status);
    this.headers = { 'Retry-After': String(retryAfter) };
  }
}

/** Any thrown error as an OAuth error. */
export function toOAuthError(error: unknown): OAuthError {
  if (error instanceof OAuthError) return error;
  const refusal = refusalOf(error);
  switch (refusal.code) {
    case 'network_not_allowed':
      return new AccessDenied();
    case 'rate_limited':
      return new TemporarilyUnavailable(refusal.message, 429, refusal.retryAfter ?? 1);
    case 'unavailable':
      return new TemporarilyUnavailable('The service cannot issue tokens at the moment; repeat the request.', 503, 1);
    case 'internal_error':
      return new ServerError('The service failed to process the request.', 500);
    case 'payload_too_large':
    case 'method_not_allowed':
      return new InvalidRequest(refusal.message, PROBLEMS[refusal.code].status);
    default:
      return new InvalidRequest(refusal.message);
  }
}

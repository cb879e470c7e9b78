/** One error in a request, at a `pointer` (RFC 6901) into the body or a `parameter` of the query. */
export interface ValidationError {
  pointer?: string;
  parameter?: string;
  code: string;
  detail: string;
}

/** The remedy for a client that has reached a limit. */
const WAIT = 'Wait ([limits](#limits)).';

/** The meaning and the remedy of each problem code, by status. */
const MEANINGS = {
  400: {
    malformed_request: 'The request is not valid HTTP, its body is not valid JSON, or its path cannot be decoded.',
  },
  401: {
    unauthorized: 'No access token was given; send `Authorization: Bearer …`.',
    invalid_token: 'The token is unknown, expired or revoked; get a new one.',
  },
  403: {
    insufficient_scope: 'The access token lacks the scope that `WWW-Authenticate` names.',
    network_not_allowed: 'The request comes from outside the allowed networks.',
  },
  404: { not_found: 'The resource does not exist or belongs to another client.' },
  405: { method_not_allowed: '`Allow` lists the methods of this path.' },
  409: {
    invalid_transition: 'The transfer cannot change from its current status to the requested one.',
    endpoint_not_active: 'The endpoint is deleted, or is disabled and must be enabled first.',
    disabled_by_operator: 'Only the operator can enable this endpoint.',
    cancellation_in_progress: 'Pending deliveries of the disabled endpoint are still being cancelled.',
    recover_in_progress: 'A recovery of this endpoint is running, or the client has reached its [limit](#limits).',
    recovery_ended: 'The recovery has completed or was cancelled.',
    check_in_progress: 'A check of this endpoint is running, or the client has reached its [limit](#limits).',
    two_secrets: 'The client already has two active secrets; revoke one first.',
    no_keys: 'The client has no public key; set its keys first.',
    secret_erased: 'The endpoint was deleted, and its secret erased.',
    idempotency_key_in_use: 'The first request with this key is still running.',
  },
  412: {
    changed_meanwhile: '`If-Match` is not the current `ETag`, or not a strong one.',
  },
  413: { payload_too_large: 'A body may have at most 64 KiB.' },
  415: { unsupported_media_type: 'Send the body as `Content-Type: application/json` in UTF-8, uncompressed.' },
  422: {
    invalid_request: '`errors` lists what is invalid.',
    too_many_parameters: 'A query may have at most 20 parameters; each repetition counts.',
    outside_retention:
      'The window or cursor is older than the oldest retained event; choose a later `since`, or read the feed anew.',
    secret_immutable: 'A secret cannot be changed: [switch to a new endpoint](guide.md#change-the-secret).',
    url_not_canonical: 'A client would rewrite this URL; `detail` ends with the form to register.',
    blocked_address: 'The service does not deliver to this address; use a public one.',
    header_not_allowed: 'The service sets this header itself, or it occurs twice.',
    sandbox_account: 'An account that begins with `SANDBOX-` exists in the sandbox only.',
    unknown_sandbox_account: 'There is no sandbox account with this name; `errors` lists the accounts.',
    endpoint_limit_reached:
      'The client has reached its [limit](#limits) of endpoints. One more is accepted at the URL of an enabled one, to switch its secret.',
    idempotency_key_not_supported: 'The response holds a secret or a link; send the request without `Idempotency-Key`.',
    idempotency_key_reused: 'This key belongs to another request of the last 24 hours, or to a transfer.',
  },
  429: {
    rate_limited: WAIT,
    retry_limit_reached: WAIT,
    recover_limit_reached: WAIT,
    console_link_limit_reached: WAIT,
    statement_limit_reached: WAIT,
    sandbox_limit_reached: WAIT,
    check_limit_reached: WAIT,
  },
  500: { internal_error: 'The service failed.' },
  503: {
    unavailable: 'A dependency is down, or the request took too long.',
  },
} as const;

type Meanings = typeof MEANINGS;
/** The stable codes of expected errors. */
export type RefusalCode = { [Status in keyof Meanings]: keyof Meanings[Status] }[keyof Meanings];

interface Kind {
  status: number;
  /** Further statuses of the code, for requests that the application never sees (src/http/server.ts). */
  otherStatuses: readonly number[];
  title: string;
  /** The meaning and the remedy, for the docs. */
  meaning: string;
}

/** Every problem code. The docs list this table. */
export const PROBLEMS = Object.fromEntries(
  Object.entries(MEANINGS).flatMap(([status, meanings]) =>
    Object.entries<string>(meanings).map(([code, meaning]): [string, Kind] => {
      const title = code.charAt(0).toUpperCase() + code.slice(1).replaceAll('_', ' ');
      const otherStatuses = code === 'malformed_request' ? [408, 417, 431] : [];
      return [code, { status: Number(status), otherStatuses, title, meaning }];
    }),
  ),
) as Readonly<Record<RefusalCode, Kind>>;

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

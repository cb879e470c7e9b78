import type { Attempt } from '../types.js';
import { CHECK_CASES, type CheckCase } from './cases.js';

/** Why a request failed, as in the attempts of a delivery. */
export type CaseError = NonNullable<Attempt['error']>;

/** The receiver's response to one case. */
export interface CaseOutcome {
  /** Null if no response came. */
  responseStatus: number | null;
  /** By lower-case name. */
  responseHeaders: Readonly<Record<string, string | undefined>> | null;
  error: CaseError | null;
  /** What was odd about the response. */
  detail: string | null;
}

/** Whether the receiver did what the case expects. `refused` needs a response: no response proves nothing. */
export function hasPassed(name: CheckCase, { responseStatus, error }: CaseOutcome): boolean {
  return CHECK_CASES[name] === '2xx' ? error === null : responseStatus !== null && error !== null;
}

/**
 * What is wrong with the receiver and what to change; null: nothing.
 * @param validPassed whether the case `valid` passed; null: this is the case `valid`
 */
export function hintFor(name: CheckCase, outcome: CaseOutcome, validPassed: boolean | null): string | null {
  const { responseStatus, detail } = outcome;
  const oddity = detail && responseStatus !== null ? `${detail} Other HTTP clients and proxies may reject it.` : detail;
  const mistake = hasPassed(name, outcome) ? null : mistakeOf(name, outcome, validPassed);
  return [oddity, mistake].filter(Boolean).join(' ') || null;
}

function mistakeOf(name: CheckCase, outcome: CaseOutcome, validPassed: boolean | null): string {
  const { responseStatus, responseHeaders, error } = outcome;
  if (responseStatus === null) return noResponse(name, error);
  const begin = `The receiver responded with ${responseStatus}.`;
  if (CHECK_CASES[name] === 'refused') return `${begin} ${ACCEPTED[name] ?? ''}`;
  if (error === 'redirect') return `${begin} ${REDIRECTED}`;
  const known = OF_STATUS[responseStatus];
  if (known) return `${begin} ${known}`;
  if (responseStatus >= 500) return `${begin} The receiver failed on this request: check its log.`;
  if (validPassed === false)
    return `${begin} The receiver rejected the case valid too: fix that first, then check again.`;
  const isPage = responseHeaders?.['content-type']?.startsWith('text/html');
  const inFront = responseStatus === 401 ? isPage && LOGIN : name === 'valid' && IN_FRONT[responseStatus];
  return [begin, inFront, REFUSED[name]].filter(Boolean).join(' ');
}

const LOGIN =
  'If a login page responded, exempt the route from authentication (Django: no @login_required; Rails: skip_before_action; Laravel: no auth middleware; Spring: permitAll()); the signature takes its place.';

const REDIRECTED = `Deliveries follow no redirect: register the final URL, with its final slash, or accept it without (Django's APPEND_SLASH, Flask's strict_slashes). ${LOGIN}`;

/** What may have rejected the request before the receiver's own code ran, by status. */
const IN_FRONT: Readonly<Record<number, string>> = {
  400: 'If a CSRF or antiforgery check responded, exempt the route (ASP.NET: [IgnoreAntiforgeryToken]; Flask-WTF: @csrf.exempt). If your code responded:',
  403: 'If a CSRF check or a firewall responded, exempt the route (Django: @csrf_exempt; Spring: csrf.ignoringRequestMatchers and permitAll(); Sinatra: disable :protection; Hono: no csrf()), and allow the addresses that deliveries come from (GET /meta). If your code responded:',
  422: 'If a CSRF check responded, exempt the route (Rails: skip_forgery_protection); if a validator did, read the raw body instead of a model (FastAPI: await request.body()). If your code responded:',
};

const RAW_BYTES =
  'Compute HMAC-SHA256 over t, a dot and the body exactly as received, before any JSON parser: reserialised JSON has different bytes.';

/** The mistake behind a rejected case that expects a 2xx. */
const REFUSED: Partial<Record<CheckCase, string>> = {
  valid: `It rejects an event with a valid signature. Verify with the secret of this endpoint. ${RAW_BYTES} Write the digest in lower-case hexadecimal.`,
  duplicate:
    'It rejects an event that it already has. A delivery may be repeated: respond with 2xx to a known event id, and process the event only once.',
  out_of_order:
    'It rejects an event that is older than another of the same transfer. Order is not guaranteed: respond with 2xx, and ignore the event if you have a newer created_at.',
  unknown_type: 'It rejects an unknown event type. New types may be added: respond with 2xx, and ignore the event.',
  unknown_field: `It rejects an event with an unknown field. New fields may be added: ignore unknown fields. If it rejected the signature, it signs reserialised JSON. ${RAW_BYTES}`,
};

/** The mistake behind an accepted case that must be rejected. */
const ACCEPTED: Partial<Record<CheckCase, string>> = {
  stale_timestamp:
    'It accepts an old timestamp, so a recorded request can be replayed. Respond with 400 if t is more than 5 minutes older than your clock.',
  wrong_secret:
    'It accepts any signature: this request was signed with random bytes. Compute the HMAC with the secret of this endpoint, compare it with v0 in constant time, and respond with 401 if they differ. Verify before you respond.',
  changed_body: `It accepts a body that was changed after signing. The signature must cover the body. ${RAW_BYTES}`,
  missing_signature:
    'It accepts a request without Service-Signature. Respond with 401 when the header is missing or has no t or no v0.',
};

/** Statuses whose meaning does not depend on the case. */
const OF_STATUS: Readonly<Record<number, string>> = {
  404: 'The path of the URL does not exist at the receiver: correct the URL, or add the route.',
  405: "The path does not allow POST: add a route for POST (Flask: methods=['POST']; Spring: @PostMapping; Next.js: export POST; Hono: app.post).",
  410: '410 means that the endpoint is gone: a delivery with this response disables the endpoint. Respond with 2xx.',
  413: 'The receiver or a proxy allows only smaller bodies: raise the limit, such as client_max_body_size of nginx.',
  415: 'The receiver does not accept Content-Type: application/json: accept it (Spring: consumes; ASP.NET: [Consumes]; Fastify: addContentTypeParser).',
  419: "Laravel's CSRF check rejected the request: put the route into routes/api.php, or exempt it in bootstrap/app.php by validateCsrfTokens(except: ['hooks']).",
  429: 'The receiver limits the rate of requests: raise the limit for the addresses that deliveries come from (GET /meta).',
};

/** The remedy if there was no response. */
const OF_ERROR: Readonly<Record<CaseError, string>> = {
  dns: 'The host name of the URL does not resolve. Correct the URL, or publish the name.',
  refused:
    'Nothing accepts connections at the host and port of the URL. Start the receiver, and open its firewall to the addresses that deliveries come from (GET /meta).',
  tls: 'The TLS handshake failed. Install a certificate for this host name, issued by a public authority, with its intermediate certificates.',
  timeout: 'No response came in time (5 s to connect, 15 s in all). Respond first, then process the event.',
  reset: 'The connection was closed before a response. Read the whole request, then respond.',
  protocol: 'Look for another service on this port, and respond over HTTP/1.1.',
  blocked_address: 'The host of the URL is at a private or special address. Deliveries go to public addresses only.',
  redirect: 'Deliveries follow no redirect.',
  status: 'The receiver rejected the request.',
};

function noResponse(name: CheckCase, error: CaseError | null): string {
  const reason = OF_ERROR[error ?? 'reset'];
  if (CHECK_CASES[name] === '2xx') return reason;
  return `${reason} To reject a request, respond, such as with 401: a delivery without a response is retried.`;
}

/**
 * Whether a made case says anything about the receiver. One that rejects every request also rejects wrong signatures,
 * but may not verify them at all.
 */
export function isConclusive(name: string, cases: readonly { name: string; passed: boolean }[]): boolean {
  const expected = (one: string) => CHECK_CASES[one as CheckCase];
  return expected(name) === '2xx' || cases.some((one) => expected(one.name) === '2xx' && one.passed);
}

import { createHmac, timingSafeEqual } from 'node:crypto';
import { EXPLANATIONS, type Explanation, explainRequest } from './explain.js';

export type { Explanation } from './explain.js';

/** The reason for rejecting a delivery. The codes are stable: code may branch on them. */
export type SignatureErrorCode =
  | 'missing_header'
  | 'malformed_header'
  | 'bad_timestamp'
  | 'signature_mismatch'
  | 'too_old'
  | 'too_new';

/** The delivery must be rejected. The message names the difference, never the secret or the expected signature. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';

  constructor(
    readonly code: SignatureErrorCode,
    message: string,
    /** The mistake behind a `signature_mismatch`. */
    readonly explanation?: Explanation,
  ) {
    super(message);
  }
}

export interface Verifiable {
  /** The `Service-Signature` header as received: `t=<iso-8601-timestamp>,v0=<hex-hmac>`. */
  header: string | readonly string[] | null | undefined;
  /** The request's body exactly as received, before any JSON parser. */
  body: string | Uint8Array;
  /** The endpoint's secret as it was registered. */
  secret: string | Uint8Array;
  /** The receiver's time; the current time by default. */
  now?: Date;
  /** How far `t` may be from `now`, before or after it, in seconds: 0 or more, 300 by default (spec §8). */
  toleranceSeconds?: number;
}

/**
 * Verifies a delivery as spec §5 requires of a receiver. In addition to the spec, a `t` too far in the future is
 * rejected: a delivery signed for next year could be replayed until then. It is synchronous: a forgotten `await` of a
 * check by WebCrypto would accept every delivery.
 * @returns the time at which the delivery was signed
 * @throws SignatureError; TypeError if an option is not what its type says, because a comparison with `NaN` would
 * accept a delivery of any age
 */
export function verify(delivery: Verifiable): { t: Date } {
  const { body, secret, now = new Date(), toleranceSeconds = 300 } = delivery;
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw new TypeError('body must be the raw request body, a string or bytes: not the parsed JSON');
  }
  if (secret.length === 0) throw new TypeError('secret is empty');
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0) {
    throw new TypeError('toleranceSeconds must be a number of seconds, 0 or more');
  }
  if (!Number.isFinite(now?.getTime?.())) throw new TypeError('now must be a valid Date');
  const { t, signature } = parseHeader(delivery.header);
  const signedAt = parseTime(t);
  if (!timingSafeEqual(hmac(secret, t, body), signature)) {
    const explanation = explainRequest({ t, body, secret }, signature.toString('hex'));
    const message = `the signature does not match: ${EXPLANATIONS[explanation]}`;
    throw new SignatureError('signature_mismatch', message, explanation);
  }
  const age = (now.getTime() - signedAt.getTime()) / 1000;
  if (age > toleranceSeconds) {
    throw new SignatureError(
      'too_old',
      `the delivery was signed ${Math.round(age)} s before this machine's time, more than ${toleranceSeconds} s: a replay, or a clock that is ahead`,
    );
  }
  if (-age > toleranceSeconds) {
    throw new SignatureError(
      'too_new',
      `the delivery was signed ${Math.round(-age)} s after this machine's time, more than ${toleranceSeconds} s: set this machine's clock by NTP`,
    );
  }
  return { t: signedAt };
}

/** The header's parts. @throws SignatureError missing_header | malformed_header */
export function parseHeader(header: Verifiable['header']): { t: string; signature: Buffer } {
  if (header === undefined || header === null || header === '' || (typeof header !== 'string' && header.length === 0)) {
    throw new SignatureError('missing_header', 'there is no Service-Signature header');
  }
  if (typeof header !== 'string' && header.length > 1) {
    throw new SignatureError('malformed_header', 'there is more than one Service-Signature header');
  }
  const fields = new Map<string, string>();
  for (const field of String(header).split(',')) {
    const [, name, value] = /^\s*([a-z][a-z0-9]*)=(\S+)\s*$/.exec(field) ?? [];
    if (name === undefined || value === undefined || fields.has(name)) {
      throw new SignatureError('malformed_header', 'the header is not t=<iso-8601-timestamp>,v0=<hex-hmac>');
    }
    fields.set(name, value);
  }
  const t = fields.get('t');
  const v0 = fields.get('v0');
  if (t === undefined) throw new SignatureError('malformed_header', 'the header has no t');
  if (v0 === undefined) throw new SignatureError('malformed_header', 'the header has no v0');
  if (!/^[0-9a-f]{64}$/i.test(v0)) {
    throw new SignatureError('malformed_header', `v0 is not 64 hexadecimal digits but ${v0.length} characters`);
  }
  return { t, signature: Buffer.from(v0, 'hex') };
}

function parseTime(t: string): Date {
  const form = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?$/.exec(t);
  const time = new Date(form && !form[2] ? `${t}Z` : t);
  if (!form || Number.isNaN(time.getTime())) {
    throw new SignatureError('bad_timestamp', 't is not an ISO 8601 timestamp such as 2026-11-21T10:00:00.123Z');
  }
  return time;
}

/** What a signature is made of. */
export interface Signable {
  /** The endpoint's secret; the key is its bytes. */
  secret: string | Uint8Array;
  /** The time of signing as sent: ISO 8601, UTC, with milliseconds, such as `2026-11-21T10:00:00.123Z`. */
  t: string;
  /** The body exactly as sent. */
  body: string | Uint8Array;
}

/** The value of the `Service-Signature` header (spec §4). Use it to test a receiver. */
export function signatureHeader({ secret, t, body }: Signable): string {
  return `t=${t},v0=${hmac(secret, t, body).toString('hex')}`;
}

function hmac(secret: string | Uint8Array, t: string, body: string | Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`${t}.`).update(body).digest();
}

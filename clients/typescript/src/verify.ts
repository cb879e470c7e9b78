import { createHmac, timingSafeEqual } from 'node:crypto';
import { EXPLANATIONS, type Explanation, explainRequest } from './explain.js';
import { standardSignature } from './standard.js';

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
  /** How far `t` may be from `now`, before or after it, in seconds: 0 or more, 300 by default. */
  toleranceSeconds?: number;
}

/**
 * Verifies a delivery as a receiver must. A `t` too far in the future is
 * rejected: a delivery signed for next year could be replayed until then. It is synchronous: a forgotten `await` of a
 * check by WebCrypto would accept every delivery.
 * @returns the time at which the delivery was signed
 * @throws SignatureError; TypeError if an option is not what its type says, because a comparison with `NaN` would
 * accept a delivery of any age
 */
export function verify(delivery: Verifiable): { t: Date } {
  const { body, secret } = delivery;
  requireTypes(delivery);
  const { t, signature } = parseHeader(delivery.header);
  const signedAt = parseTime(t);
  if (!timingSafeEqual(hmac(secret, t, body), signature)) {
    const explanation = explainRequest({ t, body, secret }, signature.toString('hex'));
    const message = `the signature does not match: ${EXPLANATIONS[explanation]}`;
    throw new SignatureError('signature_mismatch', message, explanation);
  }
  requireRecent(signedAt, delivery);
  return { t: signedAt };
}

type Header = string | readonly string[] | null | undefined;

export interface StandardVerifiable extends Omit<Verifiable, 'header'> {
  /** `webhook-id`, `webhook-timestamp` and `webhook-signature` as received, such as Node's `request.headers`. */
  headers: Readonly<Record<string, Header>>;
}

/**
 * Verifies the signature of Standard Webhooks, which an endpoint with `signatures: ["standard"]` gets too.
 * @returns the time at which the delivery was signed, to the second
 * @throws SignatureError; TypeError, as `verify` does
 */
export function verifyStandard(delivery: StandardVerifiable): { t: Date } {
  const { body, secret, headers } = delivery;
  requireTypes(delivery);
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => {
    const value = headers[`webhook-${name}`];
    const [one, more] = typeof value === 'string' ? [value] : (value ?? []);
    if (!one) throw new SignatureError('missing_header', `there is no webhook-${name} header`);
    if (more !== undefined)
      throw new SignatureError('malformed_header', `there is more than one webhook-${name} header`);
    return one;
  }) as [string, string, string];
  if (!/^\d{1,12}$/.test(timestamp)) {
    throw new SignatureError('bad_timestamp', 'webhook-timestamp is not in Unix seconds, such as 1795255200');
  }
  const given = signatures.split(' ').flatMap((one) => (one.startsWith('v1,') ? [Buffer.from(one.slice(3))] : []));
  if (given.length === 0) throw new SignatureError('malformed_header', 'webhook-signature has no v1,<base64>');
  const right = Buffer.from(standardSignature({ secret, id, timestamp, body }).toString('base64'));
  if (!given.some((one) => one.length === right.length && timingSafeEqual(one, right))) {
    throw new SignatureError('signature_mismatch', 'the signature is of another secret, id, timestamp or body');
  }
  const signedAt = new Date(Number(timestamp) * 1_000);
  requireRecent(signedAt, delivery);
  return { t: signedAt };
}

type Options = Omit<Verifiable, 'header'>;

function requireTypes({ body, secret, now = new Date(), toleranceSeconds = TOLERANCE }: Options): void {
  if (typeof body !== 'string' && !(body instanceof Uint8Array)) {
    throw new TypeError('body must be the raw request body, a string or bytes: not the parsed JSON');
  }
  if (secret.length === 0) throw new TypeError('secret is empty');
  if (!Number.isFinite(toleranceSeconds) || toleranceSeconds < 0) {
    throw new TypeError('toleranceSeconds must be a number of seconds, 0 or more');
  }
  if (!Number.isFinite(now?.getTime?.())) throw new TypeError('now must be a valid Date');
}

/** The largest difference between a signature's time and the receiver's, s. */
const TOLERANCE = 300;

function requireRecent(signedAt: Date, { now = new Date(), toleranceSeconds = TOLERANCE }: Options): void {
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

/** The value of the `Service-Signature` header. Use it to test a receiver. */
export function signatureHeader({ secret, t, body }: Signable): string {
  return `t=${t},v0=${hmac(secret, t, body).toString('hex')}`;
}

function hmac(secret: string | Uint8Array, t: string, body: string | Uint8Array): Buffer {
  return createHmac('sha256', secret).update(`${t}.`).update(body).digest();
}

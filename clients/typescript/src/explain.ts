import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { standardSignature, whsecKey } from './standard.js';

/** The mistakes that give another digest, in the order in which they are tried, and what a receiver changes. */
export const DIGEST_EXPLANATIONS = {
  match:
    'The digest is correct: compare it with `v0` as text, in constant time, and check the age of `t`. Compare a digest ' +
    'of Standard Webhooks, in base64, with what follows `v1,` in `webhook-signature`.',
  upper_case_digest: 'The digest is in upper case; write it in lower case, or compare the bytes.',
  base64_digest: 'The digest is in base64; write it in hexadecimal.',
  reserialized_body: 'The body was parsed and written again; use the raw bytes of the request, before any parser.',
  body_with_newline: 'White space or a line break was added around the body; use the exact bytes of the request.',
  body_without_timestamp: 'Only the body was signed; the signed text is `t`, a dot, and the body.',
  missing_dot: 'The dot between `t` and the body is missing.',
  timestamp_changed: '`t` was parsed and written again; use its exact text from the header.',
  secret_with_newline:
    "Your receiver's secret has a line break or white space around it, as files often do; remove it there.",
  secret_trimmed: 'The secret was trimmed; use it exactly as registered.',
  secret_base64_decoded: 'The secret was decoded from base64; the key is its text as bytes.',
  secret_hex_decoded: 'The secret was decoded from hexadecimal; the key is its text as bytes.',
  empty_secret: 'The secret was empty; set the variable or the file that your receiver reads it from.',
  other_endpoint: 'The secret belongs to another of your endpoints; use that of the endpoint that got the delivery.',
  wrong_algorithm: 'Another algorithm was used; use HMAC-SHA256 with the secret as its key.',
  unknown:
    'No common mistake explains this digest: another secret, `t` or body was signed. Is it of this attempt (each has ' +
    'its own `t`), with all 64 hexadecimal digits? Then compare secret, `t` and raw body byte by byte.',
} as const;

/** And those that show only in the request as a receiver has it. */
export const EXPLANATIONS = {
  ...DIGEST_EXPLANATIONS,
  empty_body: 'The body is empty: a parser may have read it already; verify before any parser.',
  byte_order_mark: 'A byte order mark was added to the body; use the exact bytes of the request.',
  latin1_body: 'The body was read as Latin-1; it is UTF-8.',
} as const;

export type DigestExplanation = keyof typeof DIGEST_EXPLANATIONS;
export type Explanation = keyof typeof EXPLANATIONS;

export interface SignedAttempt {
  /** As sent in `Service-Signature`. */
  t: string;
  /** The body as sent. */
  body: string;
  secret: string;
  /** The event's id, if the attempt was signed by Standard Webhooks too. */
  standardId?: string | undefined;
  /** Secrets of the client's other endpoints. */
  otherSecrets?: readonly string[];
}

/**
 * Names the first common mistake that gives the digest which a receiver computed.
 * @param v0 any text, with or without the `v0=` of the header; only its length is relied on, which the caller bounds
 */
export function explainDigest(attempt: SignedAttempt, v0: string): DigestExplanation {
  const given = v0.trim().replace(/^v0=/, '');
  const right = signature(attempt);
  if (same(given, right.toString('hex'))) return 'match';
  if (same(given, right.toString('hex').toUpperCase())) return 'upper_case_digest';
  if (isStandard(attempt, given)) return 'match';
  if (base64Forms(right).some((form) => same(given, form))) return 'base64_digest';
  const digest = given.toLowerCase();
  for (const [name, digests] of Object.entries(MISTAKES)) {
    if (digests(attempt).some((wrong) => same(digest, wrong.toString('hex')))) return name as DigestExplanation;
  }
  return 'unknown';
}

/** Whether it is the right signature of Standard Webhooks, with or without the `v1,` of the header. */
function isStandard({ standardId: id, t, body, secret }: SignedAttempt, given: string): boolean {
  if (id === undefined) return false;
  const timestamp = String(Math.floor(Date.parse(t) / 1_000));
  return same(given.replace(/^v1,/, ''), standardSignature({ secret, id, timestamp, body }).toString('base64'));
}

/** A request as a receiver has it: body and secret may already carry the mistake. */
export interface ReceivedRequest {
  t: string;
  body: string | Uint8Array;
  secret: string | Uint8Array;
}

/**
 * The longest body of a request that is explained, in characters: a forgery must not cost much. A delivery has 1 KiB.
 */
const LONGEST_BODY = 4_096;

/**
 * Names the mistake by which a receiver rejects a request.
 * @param sent `v0` of the request's header
 * @param computed the digest that the receiver computed; without it, the body and the secret at hand are what the
 * receiver used
 */
export function explainRequest(request: ReceivedRequest, sent: string, computed?: string): Explanation {
  const attempt = { t: request.t, body: textOf(request.body), secret: textOf(request.secret) };
  if (attempt.body.length > LONGEST_BODY) return 'unknown';
  const isSentBy = (changed: Partial<SignedAttempt>) =>
    same(sent.toLowerCase(), signature({ ...attempt, ...changed }).toString('hex'));
  const genuine = isSentBy({});
  if (computed !== undefined) {
    const explanation = explainDigest(attempt, computed);
    // A right digest of a request that is not genuine here: the receiver has the same wrong secret or body.
    if (genuine || (explanation !== 'match' && explanation !== 'unknown')) return explanation;
  }
  if (!genuine && attempt.body === '') return 'empty_body';
  const mistake = genuine ? undefined : Object.entries(UNDONE).find(([, undo]) => isSentBy(undo(attempt)))?.[0];
  return (mistake as Explanation | undefined) ?? explainDigest(attempt, sent);
}

/** The request before a mistake. `explainDigest` makes mistakes and cannot undo these. */
const UNDONE = {
  byte_order_mark: ({ body }) => ({ body: body.replace(/^\uFEFF/, '') }),
  body_with_newline: ({ body }) => ({ body: body.trim() }),
  latin1_body: ({ body }) => ({ body: Buffer.from(body, 'latin1').toString() }),
  secret_with_newline: ({ secret }) => ({ secret: secret.trim() }),
} satisfies Partial<Record<Explanation, (attempt: SignedAttempt) => Partial<SignedAttempt>>>;

type Mistake = Exclude<DigestExplanation, 'match' | 'upper_case_digest' | 'base64_digest' | 'unknown'>;

/** The digests that each mistake gives, in the order in which they are tried. */
const MISTAKES: Readonly<Record<Mistake, (attempt: SignedAttempt) => Buffer[]>> = {
  reserialized_body: (a) => rewritten(a.body).map((body) => signature({ ...a, body })),
  body_with_newline: (a) => LINE_BREAKS.map((end) => signature({ ...a, body: a.body + end })),
  body_without_timestamp: ({ secret, body }) => [hmac(secret, body)],
  missing_dot: ({ secret, t, body }) => [hmac(secret, t + body)],
  timestamp_changed: (a) => otherForms(a.t).map((t) => signature({ ...a, t })),
  secret_with_newline: (a) => LINE_BREAKS.map((end) => signature(a, a.secret + end)),
  secret_trimmed: (a) => [signature(a, a.secret.trim())],
  secret_base64_decoded: (a) => fromBase64(a.secret).map((key) => signature(a, key)),
  secret_hex_decoded: (a) => fromHex(a.secret).map((key) => signature(a, key)),
  empty_secret: (a) => [signature(a, '')],
  other_endpoint: (a) => (a.otherSecrets ?? []).map((other) => signature(a, other)),
  wrong_algorithm: ({ secret, t, body }) => [
    createHmac('sha1', secret).update(`${t}.${body}`).digest(),
    createHmac('sha512', secret).update(`${t}.${body}`).digest(),
    createHash('sha256').update(`${t}.${body}`).digest(),
  ],
};

const LINE_BREAKS = ['\n', '\r\n'];

function signature({ t, body, secret }: SignedAttempt, key: string | Buffer = secret): Buffer {
  return hmac(key, `${t}.${body}`);
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/**
 * The bytes that a whole secret encodes. `Buffer.from` decodes as far as it can, to no byte or to one: such a key
 * would confirm a guess of the secret's first characters.
 */
function fromBase64(secret: string): Buffer[] {
  const bytes = Buffer.from(secret, 'base64');
  const standard = whsecKey(secret);
  return [...(base64Forms(bytes).includes(secret) ? [bytes] : []), ...(standard ? [standard] : [])];
}

function fromHex(secret: string): Buffer[] {
  const bytes = Buffer.from(secret, 'hex');
  return bytes.toString('hex') === secret.toLowerCase() ? [bytes] : [];
}

/** Both alphabets, with padding and without (RFC 4648 §4 and §5). */
function base64Forms(bytes: Buffer): string[] {
  const padded = bytes.toString('base64');
  const url = bytes.toString('base64url');
  return [padded, padded.replace(/=+$/, ''), url, url.padEnd(padded.length, '=')];
}

/**
 * The body as other writers of JSON put it: with spaces (Python's `json.dumps`), indented, with sorted keys (a Go map),
 * and each of these with a line end (Go's `Encoder`). A body that is no JSON, or too deep, has no such forms.
 */
function rewritten(body: string): string[] {
  try {
    const value: unknown = JSON.parse(body);
    return [value, sorted(value)]
      .flatMap((json) => [spaced(json), ...['', 2, 4, '\t'].map((indent) => JSON.stringify(json, null, indent))])
      .filter((text) => text !== body)
      .flatMap((text) => [text, `${text}\n`]);
  } catch {
    return [];
  }
}

function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([name, member]) => [name, sorted(member)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A space after each `,` and `:`. */
function spaced(value: unknown): string {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`);
  return `{${members.join(', ')}}`;
}

/**
 * `t` without milliseconds, in Unix seconds and milliseconds, without the zeros at their end (Go's `RFC3339Nano`), and
 * with microseconds and an offset (Python's `isoformat`).
 */
function otherForms(t: string): string[] {
  const milliseconds = Date.parse(t);
  return [
    t.replace(/\.\d+/, ''),
    String(Math.floor(milliseconds / 1_000)),
    String(milliseconds),
    t.replace(/\.?0+Z$/, 'Z'),
    t.replace(/(\.\d{3})Z$/, '$1000+00:00'),
  ].filter((form) => form !== t);
}

function same(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function textOf(bytes: string | Uint8Array): string {
  return typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString();
}

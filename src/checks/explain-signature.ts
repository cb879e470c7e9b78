import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { sign } from '../delivery/sender/headers.js';
import type { Handle } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import type { Attempt } from '../platform/database/generated/client.js';
import { Refusal } from '../platform/refusal.js';

/** The mistakes that are tried, in this order, and what a receiver changes (contract, Why was my signature refused?). */
export const EXPLANATIONS = {
  match: 'The digest is correct: compare it with `v0` as text, in constant time, and check the age of `t`.',
  upper_case_digest: 'The digest is in upper case; write it in lower case, or compare the bytes.',
  base64_digest: 'The digest is in base64; write it in hexadecimal.',
  reserialized_body: 'The body was parsed and written again; use the raw bytes of the request, before any parser.',
  body_with_newline: 'A line break was added to the body; use the exact bytes of the request.',
  body_without_timestamp: 'Only the body was signed; the signed text is `t`, a dot, and the body.',
  missing_dot: 'The dot between `t` and the body is missing.',
  timestamp_changed: '`t` was parsed and written again; use its exact text from the header.',
  secret_with_newline: "Your receiver's secret ends with a line break, as files often do; remove it there.",
  secret_trimmed: 'The secret was trimmed; use it exactly as registered.',
  secret_base64_decoded: 'The secret was decoded from base64; the key is its text as bytes.',
  secret_hex_decoded: 'The secret was decoded from hexadecimal; the key is its text as bytes.',
  empty_secret: 'The secret was empty; set the variable or the file that your receiver reads it from.',
  other_endpoint: 'The secret belongs to another of your endpoints; use that of the endpoint that got the delivery.',
  wrong_algorithm: 'Another algorithm was used; use HMAC-SHA256 with the secret as its key.',
  unknown:
    'No common mistake produces this digest. Is it of this attempt (each has its own `t`), with all 64 hexadecimal ' +
    'digits? Then compare secret, `t` and raw body byte by byte.',
} as const;

export type Explanation = keyof typeof EXPLANATIONS;
export const EXPLANATION_NAMES = Object.keys(EXPLANATIONS) as [Explanation, ...Explanation[]];

export interface SignedAttempt {
  /** As sent in `Service-Signature`. */
  t: string;
  /** The body as sent. */
  body: string;
  secret: string;
  /** Secrets of the client's other endpoints. */
  otherSecrets: readonly string[];
}

/**
 * Names the first usual mistake that gives the digest which a receiver computed.
 * @param v0 any text, with or without the `v0=` of the header; only its length is relied on, which the caller bounds
 */
export function explainSignature(attempt: SignedAttempt, v0: string): Explanation {
  const given = v0.trim().replace(/^v0=/, '');
  const right = hmac(attempt.secret, signedText(attempt)).toString('hex');
  if (same(given, right)) return 'match';
  if (same(given, right.toUpperCase())) return 'upper_case_digest';
  if (base64Forms(Buffer.from(right, 'hex')).some((form) => same(given, form))) return 'base64_digest';
  const digest = given.toLowerCase();
  for (const [name, digests] of Object.entries(MISTAKES)) {
    if (digests(attempt).some((wrong) => same(digest, wrong.toString('hex')))) return name as Explanation;
  }
  return 'unknown';
}

type Mistake = Exclude<Explanation, 'match' | 'upper_case_digest' | 'base64_digest' | 'unknown'>;

/** The digests that each mistake gives, in the order in which they are tried. */
const MISTAKES: Readonly<Record<Mistake, (attempt: SignedAttempt) => Buffer[]>> = {
  reserialized_body: ({ secret, t, body }) =>
    rewritten(body).map((text) => hmac(secret, signedText({ t, body: text }))),
  body_with_newline: ({ secret, t, body }) =>
    ['\n', '\r\n'].map((end) => hmac(secret, signedText({ t, body: body + end }))),
  body_without_timestamp: ({ secret, body }) => [hmac(secret, body)],
  missing_dot: ({ secret, t, body }) => [hmac(secret, t + body)],
  timestamp_changed: ({ secret, t, body }) => otherForms(t).map((form) => hmac(secret, signedText({ t: form, body }))),
  secret_with_newline: ({ secret, ...signed }) => ['\n', '\r\n'].map((end) => hmac(secret + end, signedText(signed))),
  secret_trimmed: ({ secret, ...signed }) => [hmac(secret.trim(), signedText(signed))],
  secret_base64_decoded: ({ secret, ...signed }) => fromBase64(secret).map((key) => hmac(key, signedText(signed))),
  secret_hex_decoded: ({ secret, ...signed }) => fromHex(secret).map((key) => hmac(key, signedText(signed))),
  empty_secret: (signed) => [hmac('', signedText(signed))],
  other_endpoint: ({ otherSecrets, ...signed }) => otherSecrets.map((other) => hmac(other, signedText(signed))),
  wrong_algorithm: ({ secret, ...signed }) => [
    createHmac('sha1', secret).update(signedText(signed)).digest(),
    createHmac('sha512', secret).update(signedText(signed)).digest(),
    createHash('sha256').update(signedText(signed)).digest(),
  ],
};

function signedText({ t, body }: Pick<SignedAttempt, 't' | 'body'>): string {
  return `${t}.${body}`;
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
  return base64Forms(bytes).includes(secret) ? [bytes] : [];
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
 * and each of these with a line end (Go's `Encoder`). A body that is no JSON has no such forms.
 */
function rewritten(body: string): string[] {
  const value = parsed(body);
  if (value === undefined) return [];
  return [value, sorted(value)]
    .flatMap((json) => [spaced(json), ...['', 2, 4, '\t'].map((indent) => JSON.stringify(json, null, indent))])
    .filter((text) => text !== body)
    .flatMap((text) => [text, `${text}\n`]);
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
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

/** A delivery as a receiver has it: its body and secret may already carry the mistake. */
export type DeliveryAtHand = Omit<SignedAttempt, 'otherSecrets'>;

/**
 * Names the mistake by which a receiver refuses a delivery, where only the secret and the delivery are at hand.
 * @param sent `v0` of the delivery's header
 * @param computed the digest that the receiver computed; without it, the body and the secret at hand are what the
 * receiver used
 */
export function explainMismatch(delivery: DeliveryAtHand, sent: string, computed?: string): Explanation {
  const attempt = { ...delivery, otherSecrets: [] };
  const genuine = explainSignature(attempt, sent) === 'match';
  if (computed !== undefined) {
    const explanation = explainSignature(attempt, computed);
    // A right digest of a delivery that is not genuine here: the receiver has the same wrong secret or body.
    if (genuine || (explanation !== 'match' && explanation !== 'unknown')) return explanation;
  }
  for (const [mistake, undone] of Object.entries(UNDONE)) {
    if (!genuine && explainSignature({ ...attempt, ...undone(delivery) }, sent) === 'match') {
      return mistake as Explanation;
    }
  }
  return explainSignature(attempt, sent);
}

/** What a delivery at hand was before a mistake. `explainSignature` makes these mistakes and cannot undo them. */
const UNDONE = {
  body_with_newline: ({ body }) => ({ body: body.replace(/[\r\n]+$/, '') }),
  secret_with_newline: ({ secret }) => ({ secret: secret.replace(/[\r\n]+$/, '') }),
} satisfies Partial<Record<Explanation, (delivery: DeliveryAtHand) => Partial<DeliveryAtHand>>>;

export interface AttemptName {
  deliveryId: string;
  number: number;
}

/** Other endpoints whose secrets are tried: more than a client has by default. */
const MAX_OTHER_ENDPOINTS = 100;

/**
 * Explains why a receiver's digest of one attempt differs (contract, Why was my signature refused?). The digest is neither
 * kept nor logged.
 * @param clientId null: any client's, for the operator
 * @throws Refusal not_found | secret_erased
 */
export async function explainAttempt(
  db: Handle,
  masterKeys: MasterKeys,
  clientId: string | null,
  name: AttemptName,
  v0: string,
): Promise<Explanation> {
  const { t, delivery } = await readWithRequest(db, clientId, name);
  const { endpoint, event, clientId: owner } = delivery;
  if (endpoint.secretEnvelope === null) {
    throw new Refusal('secret_erased', 'The webhook endpoint is deleted and its secret is erased.');
  }
  const others = await db.prisma.endpoint.findMany({
    where: { clientId: owner, id: { not: endpoint.id }, deletedAt: null, secretEnvelope: { not: null } },
    select: { id: true, secretEnvelope: true },
    orderBy: { id: 'desc' },
    take: MAX_OTHER_ENDPOINTS,
  });
  const open = (envelope: string, id: string) => masterKeys.open(envelope, id).reveal();
  const secret = open(endpoint.secretEnvelope, endpoint.id);
  const otherSecrets = others.flatMap(({ id, secretEnvelope }) => (secretEnvelope ? [open(secretEnvelope, id)] : []));
  return explainSignature({ t, body: event.body, secret, otherSecrets }, v0);
}

/** An attempt with the request as it was sent. */
export interface SentAttempt {
  attempt: Attempt;
  /** The body's text. */
  body: string;
  /** The signature as sent, computed again from the secret; null: the secret is erased, or `masterKeys` is null. */
  v0: string | null;
}

/**
 * Reads one attempt and what was sent. The attempt's record holds no signature: the secret of an endpoint never changes,
 * so that the same bytes and `t` give it again.
 * @param masterKeys null: for a reader who may not see the signature
 * @throws Refusal not_found
 */
export async function readSentAttempt(
  db: Handle,
  masterKeys: MasterKeys | null,
  clientId: string,
  name: AttemptName,
): Promise<SentAttempt> {
  const { delivery, ...attempt } = await readWithRequest(db, clientId, name);
  const { event, endpoint } = delivery;
  const secret = masterKeys && endpoint.secretEnvelope ? masterKeys.open(endpoint.secretEnvelope, endpoint.id) : null;
  const v0 = secret && sign({ secret, t: attempt.t, body: event.body });
  return { attempt, body: event.body, v0 };
}

async function readWithRequest(db: Handle, clientId: string | null, { deliveryId, number }: AttemptName) {
  const attempt = await db.prisma.attempt.findFirst({
    where: { deliveryId, number, ...(clientId !== null && { delivery: { clientId } }) },
    include: {
      delivery: {
        select: {
          clientId: true,
          event: { select: { id: true, body: true } },
          endpoint: { select: { id: true, secretEnvelope: true } },
        },
      },
    },
  });
  if (!attempt) throw new Refusal('not_found', 'There is no such attempt.');
  return attempt;
}

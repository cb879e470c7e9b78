import { createHash, createPublicKey, type JsonWebKey, verify as verifySignature } from 'node:crypto';

/** Why a statement proves nothing. The codes are stable: code may branch on them. */
export type StatementErrorCode =
  | 'not_signed'
  | 'malformed_signature'
  | 'unknown_key'
  | 'signature_mismatch'
  | 'other_issuer'
  | 'changed_field'
  | 'other_events';

export class StatementError extends Error {
  override readonly name = 'StatementError';

  constructor(
    readonly code: StatementErrorCode,
    message: string,
  ) {
    super(message);
  }
}

/** What the service has signed. */
export interface SignedStatement {
  /** The service: its AUTH_URL. */
  iss: string;
  /** The client. */
  sub: string;
  /** When it was signed, in seconds since 1970. */
  iat: number;
  webhookId: string;
  since: string;
  until: string;
  events: number;
  succeeded: number;
  pending: number;
  failed: number;
  cancelled: number;
  missing: number;
  complete: boolean;
  digest: string;
}

export interface StatementEvidence {
  /** The statement as the API returned it, or its `signature` alone. */
  statement: string | object;
  /** The keys: `{authUrl}/.well-known/jwks.json?retired=true`, read now or kept. */
  jwks: { keys: readonly object[] };
  /** The AUTH_URL of the service that you expect; without it, read `iss` of the result. */
  issuer?: string;
  /** The ids of the window's events as you have them, in any order. */
  ids?: Iterable<string>;
}

/** SHA-256 over the ids, sorted, each followed by a line feed, in lower-case hexadecimal. */
export function digestOf(ids: Iterable<string>): string {
  const hash = createHash('sha256');
  for (const id of [...new Set([...ids].map((one) => one.toLowerCase()))].sort()) hash.update(`${id}\n`);
  return hash.digest('hex');
}

/**
 * Verifies a statement of an endpoint without the service: its signature, that the fields beside the signature are the
 * signed ones, and that it counts exactly the events of `ids`.
 * @throws StatementError
 */
export function verifyStatement({ statement, jwks, issuer, ids }: StatementEvidence): SignedStatement {
  const fields: Record<string, unknown> = typeof statement === 'string' ? { signature: statement } : { ...statement };
  const { signature } = fields;
  if (signature === null || signature === undefined) {
    const message = 'the statement has no signature: request it again a minute after the end of its window';
    throw new StatementError('not_signed', message);
  }
  const signed = verifyJws(String(signature), jwks.keys as readonly JsonWebKey[]);
  if (issuer !== undefined && signed.iss !== issuer) {
    throw new StatementError('other_issuer', `the statement is of ${signed.iss}, not of ${issuer}`);
  }
  for (const [name, value] of Object.entries(signed)) {
    if (Object.hasOwn(fields, name) && fields[name] !== value) {
      throw new StatementError('changed_field', `${name} is ${fields[name]}, but ${value} was signed`);
    }
  }
  if (ids !== undefined) compareIds(signed, new Set(ids));
  return signed;
}

function compareIds({ digest, events }: SignedStatement, ids: ReadonlySet<string>): void {
  if (digestOf(ids) === digest) return;
  const message =
    ids.size === events
      ? `the ${events} ids are not those of the events that the statement counts`
      : `the statement counts ${events} events, and there are ${ids.size} ids`;
  throw new StatementError('other_events', message);
}

function verifyJws(jws: string, keys: readonly JsonWebKey[]): SignedStatement {
  const [head = '', payload = '', signature = '', ...others] = jws.trim().split('.');
  const header = parsePart(head);
  if (others.length > 0 || header.alg !== 'RS256' || header.typ !== 'statement+jwt' || 'crit' in header) {
    throw new StatementError('malformed_signature', 'the signature is no JWS with RS256 and typ statement+jwt');
  }
  const key = keys.find(({ kid, kty, alg = 'RS256' }) => kid === header.kid && kty === 'RSA' && alg === 'RS256');
  if (!key) {
    const message = `there is no key ${header.kid} in the key set: read it with ?retired=true; a revoked key proves nothing`;
    throw new StatementError('unknown_key', message);
  }
  const publicKey = createPublicKey({ key, format: 'jwk' });
  const data = Buffer.from(`${head}.${payload}`);
  if (!verifySignature('sha256', data, publicKey, Buffer.from(signature, 'base64url'))) {
    throw new StatementError('signature_mismatch', 'the signature is not that of this key over this statement');
  }
  return parsePart(payload) as unknown as SignedStatement;
}

function parsePart(part: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString());
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // As below.
  }
  throw new StatementError('malformed_signature', 'the signature is no JWS');
}

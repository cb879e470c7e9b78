import { createHash } from 'node:crypto';
import { compactVerify, decodeJwt, decodeProtectedHeader, errors, importJWK, type JWK } from 'jose';
import { z } from 'zod';
import type { Handle } from '../platform/database/database.js';
import { isId, NIL_ID } from '../platform/ids.js';
import { ASSERTION_ALGORITHMS } from './client-keys.js';
import type { ClientRecord, KeyRecord } from './client-record.js';

/** In seconds. An assertion lasts 5 minutes at most, for clocks that differ by a minute. */
const [MAX_LIFETIME, SKEW] = [300, 60];
/** Time that a used `jti` is kept after its assertion has expired, s: longer than processes' clocks differ. */
const KEPT_AFTER = 600;

/** An assertion, and the `client_id` beside it. */
export interface Assertion {
  assertion: string;
  clientId: string | undefined;
}

/** Why an assertion is rejected. It tells nothing about the client that the sender could not know. */
export class AssertionFault extends Error {}

const text = z.string().min(1);
const CLAIMS = z.object({
  iss: text,
  sub: text,
  aud: z.union([text, z.array(text)]),
  exp: z.number(),
  nbf: z.number().optional(),
  jti: text,
});

/** An assertion whose claims are right. Its signature and whether it was used are not known yet. */
interface Read {
  clientId: string;
  jti: string;
  /** s since 1970 */
  exp: number;
  alg: string;
  kid: string | undefined;
}

/**
 * Reads a client's assertion (RFC 7523 §3).
 * @param audiences any of which it must name
 * @param now ms since 1970
 * @throws AssertionFault
 */
export function readAssertion(assertion: string, audiences: readonly string[], now: number): Read {
  const { header, payload } = decode(assertion);
  const claims = CLAIMS.safeParse(payload);
  if (!claims.success) {
    const names = [...new Set(claims.error.issues.map(({ path }) => String(path[0])))];
    throw new AssertionFault(`lacks a valid ${names.join(', ')}`);
  }
  const { iss, sub, aud, exp, nbf, jti } = claims.data;
  const seconds = now / 1_000;
  if (iss !== sub) throw new AssertionFault('must have the client_id as iss and as sub');
  if (![aud].flat().some((each) => audiences.includes(each))) {
    throw new AssertionFault(`must have the aud ${audiences.join(' or ')}`);
  }
  if (exp + SKEW <= seconds) throw new AssertionFault('has expired');
  if (exp > seconds + MAX_LIFETIME + SKEW) throw new AssertionFault('has an exp more than 5 minutes ahead');
  if (nbf !== undefined && nbf > seconds + SKEW) throw new AssertionFault('is not valid yet (nbf)');
  if ([...jti].length > 255) throw new AssertionFault('has a jti of more than 255 characters');
  const { alg, kid } = header;
  if (alg === undefined || !ASSERTION_ALGORITHMS.includes(alg)) {
    throw new AssertionFault(`must be signed with ${ASSERTION_ALGORITHMS.join(', ')}`);
  }
  return { clientId: iss, jti, exp, alg, kid };
}

function decode(assertion: string) {
  try {
    return { header: decodeProtectedHeader(assertion), payload: decodeJwt(assertion) };
  } catch {
    throw new AssertionFault('is not a signed JWT');
  }
}

/** The same for an unknown client and for a wrong key. */
const NOT_SIGNED = 'is not signed by a key of a known client';

/**
 * The client that signed an assertion, and its key.
 * @throws AssertionFault
 */
export async function findSigner(
  assertion: string,
  { clientId, alg, kid }: Read,
  find: (clientId: string) => Promise<ClientRecord | undefined>,
): Promise<{ client: ClientRecord; key: KeyRecord }> {
  const client = await find(isId(clientId) ? clientId : NIL_ID);
  const key = client && chooseKey(client.keys, kid);
  if (!client || client.revoked || !key || !(await isSignedBy(assertion, key, alg)))
    throw new AssertionFault(NOT_SIGNED);
  return { client, key };
}

/** With several keys, the header must name one. An only key without a `kid` is meant whatever the header says. */
function chooseKey(keys: readonly KeyRecord[], kid: string | undefined): KeyRecord | undefined {
  const [first, ...more] = keys;
  if (first && more.length === 0 && (kid === undefined || first.kid === null)) return first;
  return kid === undefined ? undefined : keys.find((key) => key.kid === kid);
}

/** The type of the key, by `importJWK`, and its own `alg` decide which algorithms it verifies. */
async function isSignedBy(assertion: string, key: KeyRecord, alg: string): Promise<boolean> {
  if (key.alg !== null && key.alg !== alg) return false;
  try {
    await compactVerify(assertion, await importJWK(key.publicJwk as JWK, alg), { algorithms: [alg] });
    return true;
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return false;
    throw error;
  }
}

/**
 * Uses up the assertion's `jti`, once over all processes.
 * @throws AssertionFault if it was used before
 */
export async function useOnce(db: Handle, { clientId, jti, exp }: Read): Promise<void> {
  const digest = createHash('sha256').update(jti).digest('hex');
  const [used] = await db.query(USE, [clientId, digest, exp + KEPT_AFTER]);
  if (!used) throw new AssertionFault('was used before: make a new one, with a new jti, for each request');
}

const USE = `
insert into used_assertions as u (client_id, jti_hash, expires_at)
values ($1::uuid, decode($2::text, 'hex'), to_timestamp($3::float8))
on conflict (client_id, jti_hash) do update set expires_at = excluded.expires_at where u.expires_at < now()
returning 1 as used`;

import { createHash, createPublicKey } from 'node:crypto';
import type { JWK } from 'jose';
import { type Actor, recordAudit } from '../platform/audit.js';
import { atomically, type Handle } from '../platform/database/database.js';
import { takeId } from '../platform/ids.js';
import { Refusal, type ValidationError } from '../platform/refusal.js';
import { type ClientWithSecrets, lockClient } from './clients.js';

/** The algorithms of assertions (RFC 7518 §3.1, RFC 8037 §3.1), by the type of their key. */
const ALGORITHMS_OF = { RSA: ['RS256', 'PS256'], EC: ['ES256'], OKP: ['EdDSA'] } as const;
export const ASSERTION_ALGORITHMS: readonly string[] = Object.values(ALGORITHMS_OF).flat();
/** Keys of a client: enough for a rotation in two systems. */
export const MAX_CLIENT_KEYS = 4;

/** A public key of a client as it is stored. */
export interface NewClientKey {
  kid: string | null;
  /** Null: RS256 and PS256. */
  alg: string | null;
  /** The key alone, in its canonical form. */
  publicJwk: JWK;
  /** RFC 7638 */
  thumbprint: string;
}

type Given = Readonly<Record<string, unknown>>;
export type Fault = Omit<ValidationError, 'parameter' | 'pointer'> & { member: string };

const fault = (member: string, detail: string, code = 'invalid_key'): Fault => ({ member, detail, code });

/** The members of a private or symmetric key (RFC 7518 §6). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];
/** In bits. A longer modulus makes each check slow. */
const [MIN_MODULUS, MAX_MODULUS] = [2_048, 8_192];
/** An exponent of 1 lets anybody sign, and a long one makes each check slow. */
const EXPONENTS = { min: 3n, max: 2n ** 32n };

/** Reads a JWK (RFC 7517) as a client's public key. Members that say nothing about the key are ignored. */
export function readClientKey(jwk: Given): NewClientKey | Fault {
  const secret = PRIVATE_MEMBERS.find((member) => jwk[member] !== undefined);
  if (secret) return fault(secret, 'is a member of a private key: give the public key only', 'private_key');
  const { kty, crv, use, alg, kid } = jwk;
  const algorithms = Object.entries(ALGORITHMS_OF).find(([type]) => type === kty)?.[1];
  if (!algorithms) return fault('kty', 'must be RSA, EC or OKP');
  if (kty === 'EC' && crv !== 'P-256') return fault('crv', 'must be P-256');
  if (kty === 'OKP' && crv !== 'Ed25519') return fault('crv', 'must be Ed25519');
  if (use !== undefined && use !== 'sig') return fault('use', 'must be sig');
  if (alg !== undefined && !algorithms.some((known) => known === alg)) {
    return fault('alg', `must be ${algorithms.join(' or ')} for this key`);
  }
  if (kid !== undefined && (typeof kid !== 'string' || !/^[^\0\p{Cs}]{1,255}$/u.test(kid))) {
    return fault('kid', 'must be a text of 1 to 255 characters');
  }
  const publicJwk = canonical(jwk);
  if (!publicJwk) return fault('', 'is not a public key');
  const weakness = findWeakness(publicJwk);
  if (weakness) return weakness;
  const [only] = algorithms.length === 1 ? algorithms : [];
  return {
    kid: kid ?? null,
    alg: typeof alg === 'string' ? alg : (only ?? null),
    publicJwk,
    thumbprint: thumbprintOf(publicJwk),
  };
}

function canonical({ kty, crv, x, y, n, e }: Given): JWK | undefined {
  try {
    const key = JSON.parse(JSON.stringify({ kty, crv, x, y, n, e }));
    return createPublicKey({ key, format: 'jwk' }).export({ format: 'jwk' }) as JWK;
  } catch {
    return undefined;
  }
}

function findWeakness({ kty, n = '', e = '', x = '' }: JWK): Fault | undefined {
  if (kty === 'OKP')
    return hasLowOrder(Buffer.from(x, 'base64url')) ? fault('x', 'is a weak key', 'weak_key') : undefined;
  if (kty !== 'RSA') return undefined;
  const bits = BigInt(`0x${Buffer.from(n, 'base64url').toString('hex') || '0'}`).toString(2).length;
  if (bits < MIN_MODULUS) return fault('n', `must have at least ${MIN_MODULUS} bits`, 'weak_key');
  if (bits > MAX_MODULUS) return fault('n', `may have at most ${MAX_MODULUS} bits`);
  const exponent = BigInt(`0x${Buffer.from(e, 'base64url').toString('hex') || '0'}`);
  const isGood = exponent >= EXPONENTS.min && exponent < EXPONENTS.max && exponent % 2n === 1n;
  return isGood ? undefined : fault('e', 'must be odd, at least 3 and below 2^32; use 65537', 'weak_key');
}

/** The points of Ed25519 with an order of 8 or less, without the sign of x: under them, anybody can sign. */
const LOW_ORDER = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
];

function hasLowOrder(point: Buffer): boolean {
  const y = Buffer.from(point);
  y[31] = (y[31] ?? 0) & 0x7f;
  return LOW_ORDER.includes(y.toString('hex'));
}

/** RFC 7638 §3: the required members, in the order of their names. */
function thumbprintOf({ kty, crv, x, y, n, e }: JWK): string {
  const members = kty === 'RSA' ? { e, kty, n } : kty === 'EC' ? { crv, kty, x, y } : { crv, kty, x };
  return createHash('sha256').update(JSON.stringify(members)).digest('base64url');
}

/** What is wrong with a list of keys, each of which is right; `index`: of the key. */
export function findSetFault(keys: readonly NewClientKey[]): (Fault & { index: number }) | undefined {
  for (const [index, { kid, thumbprint }] of keys.entries()) {
    if (keys.length > 1 && kid === null)
      return { index, ...fault('kid', 'is required where there are several keys', 'required') };
    const before = keys.slice(0, index);
    if (kid !== null && before.some((other) => other.kid === kid)) {
      return { index, ...fault('kid', 'is the kid of another key', 'repeated_kid') };
    }
    if (before.some((other) => other.thumbprint === thumbprint)) {
      return { index, ...fault('', 'is in the list twice', 'repeated_key') };
    }
  }
  return undefined;
}

/** The keys of a client as a JWK set has them, oldest first. @param without the thumbprint of a key to leave out */
export async function readClientJwks(db: Handle, clientId: string, without = ''): Promise<Given[]> {
  const orderBy = [{ createdAt: 'asc' }, { id: 'asc' }] as const;
  const keys = await db.prisma.clientKey.findMany({
    where: { clientId, thumbprint: { not: without } },
    orderBy: [...orderBy],
  });
  return keys.map(({ publicJwk, kid, alg }) => ({
    ...(publicJwk as JWK),
    ...(kid !== null && { kid }),
    ...(alg !== null && { alg }),
  }));
}

/**
 * Replaces a client's keys. A key that stays keeps its id and its tokens; tokens of a key that goes end within 5 s.
 * @throws Refusal not_found; invalid_request if the client is revoked
 */
export function setClientKeys(
  db: Handle,
  actor: Actor,
  clientId: string,
  wanted: readonly NewClientKey[],
): Promise<ClientWithSecrets> {
  return atomically(db, async (tx) => {
    const { keys: before, revokedAt } = await lockClient(tx, clientId);
    if (revokedAt) throw new Refusal('invalid_request', 'The client is revoked.');
    const known = new Map(before.map((key) => [key.thumbprint, key]));
    const removed = before.filter((key) => !wanted.some(({ thumbprint }) => thumbprint === key.thumbprint));
    await tx.prisma.clientKey.deleteMany({ where: { id: { in: removed.map(({ id }) => id) } } });
    for (const { publicJwk, ...key } of wanted) {
      const old = known.get(key.thumbprint);
      const data = { kid: key.kid, alg: key.alg };
      if (old) await tx.prisma.clientKey.update({ where: { id: old.id }, data });
      else {
        const { id, at: createdAt } = await takeId(tx);
        await tx.prisma.clientKey.create({ data: { ...key, id, clientId, publicJwk: { ...publicJwk }, createdAt } });
      }
    }
    const details = { keys: wanted.map(({ kid, thumbprint }) => kid ?? thumbprint), removed: removed.length };
    await recordAudit(tx, { actor, action: 'clients.set-keys', target: clientId, details });
    return lockClient(tx, clientId);
  });
}

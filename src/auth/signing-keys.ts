import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, exportJWK, type JWK } from 'jose';
import { type Actor, recordAudit } from '../platform/audit.js';
import { type Database, type Handle, lockInTransaction, readClock } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import { Refusal } from '../platform/refusal.js';
import { Secret } from '../platform/secret.js';
import { endLinkedSessions } from './console-sessions.js';
import { type Clock, Fresh } from './fresh.js';

export const SIGNING_ALGORITHM = 'RS256';

/**
 * ms between making a key and signing with it: longer than the keys are cached, so that every process knows the key
 * then.
 */
const SIGNS_AFTER = 8_000;
/** ms that a retired key keeps verifying after its last token has expired. Longer than `SIGNS_AFTER`. */
const RETIREMENT_MARGIN = 60_000;

/** A signing key as it is stored. Its age comes from Postgres's clock, so that all processes agree on it. */
export interface StoredKey {
  kid: string;
  publicJwk: JWK;
  privateKeyEnvelope: string;
  /** Whether every process knows the key. */
  isKnown: boolean;
}

type NewKey = Omit<StoredKey, 'isKnown'>;

/** The signing keys whose tokens may still be valid, newest first. @param lifetime of a token, ms */
async function readSigningKeys(db: Handle, lifetime: number): Promise<StoredKey[]> {
  const rows = await db.hot<{ key: StoredKey }>(
    `select json_build_object(
       'kid', kid, 'publicJwk', public_jwk, 'privateKeyEnvelope', private_key_envelope,
       'isKnown', created_at <= clock_timestamp() - $1::float8 * interval '1 millisecond') as key
     from signing_keys
     where retired_at is null or retired_at > clock_timestamp() - $2::float8 * interval '1 millisecond'
     order by created_at desc, kid`,
    [SIGNS_AFTER, lifetime + RETIREMENT_MARGIN],
  );
  return rows.map((row) => row.key);
}

/** The public keys of the last 13 months, also of statements that were signed then, newest first. */
export async function readRetiredKeys(db: Handle): Promise<JWK[]> {
  const rows = await db.query<{ key: JWK }>(
    `select public_jwk as key from signing_keys
      where retired_at is null or retired_at > clock_timestamp() - interval '13 months'
      order by created_at desc, kid limit ${MOST_KEYS}`,
    [],
  );
  return rows.map((row) => row.key);
}

/** Keys that are published at most: half a megabyte. */
const MOST_KEYS = 1_000;

/** As `readSigningKeys`. Makes the first key if there is none; of concurrent processes, only one makes it. */
export async function readOrMakeSigningKeys(
  database: Database,
  masterKeys: MasterKeys,
  lifetime: number,
): Promise<StoredKey[]> {
  const keys = await readSigningKeys(database, lifetime);
  if (keys.length > 0) return keys;
  const first = await makeSigningKey(masterKeys);
  return database.transaction(async (handle) => {
    await lockSigningKeys(handle);
    if ((await readSigningKeys(handle, lifetime)).length === 0) await addSigningKey(handle, first);
    return readSigningKeys(handle, lifetime);
  });
}

/**
 * Makes a new signing key. Every process signs with it within 15 s, after all processes have had the time to read it
 * (`KeyRing`). The previous key verifies until the last token that it signed has expired.
 */
export async function rotateSigningKey(database: Database, actor: Actor, masterKeys: MasterKeys) {
  const key = await makeSigningKey(masterKeys);
  await database.transaction(async (handle) => {
    await lockSigningKeys(handle);
    const retired = await handle.query<{ kid: string }>(
      'update signing_keys set retired_at = clock_timestamp() where retired_at is null returning kid',
      [],
    );
    await addSigningKey(handle, key);
    const details = { retired: retired.map(({ kid }) => kid) };
    await recordAudit(handle, { actor, action: 'keys.rotate', target: key.kid, details });
  });
  return { kid: key.kid };
}

/**
 * Removes a stolen signing key. Every process refuses the key's tokens within 5 s (`KeyRing`). Sessions of
 * the console by a link end, since a forged token may have made the link. If it is the newest key, the same transaction
 * adds a new key.
 * @throws Refusal not_found
 */
export async function revokeSigningKey(database: Database, actor: Actor, masterKeys: MasterKeys, kid: string) {
  const replacement = await makeSigningKey(masterKeys);
  return database.transaction(async (handle) => {
    await lockSigningKeys(handle);
    const [revoked] = await handle.query<{ newest: boolean }>(
      'delete from signing_keys where kid = $1::text returning retired_at is null as newest',
      [kid],
    );
    if (!revoked) throw new Refusal('not_found', 'There is no such signing key.');
    await endLinkedSessions(handle);
    if (revoked.newest) await addSigningKey(handle, replacement);
    const newKid = revoked.newest ? replacement.kid : null;
    await recordAudit(handle, { actor, action: 'keys.revoke', target: kid, details: { new_kid: newKid } });
    return { newKid };
  });
}

/**
 * Lists the signing keys without their key material, newest first. `verifying`: it signs no more, and tokens that it
 * signed may still be valid.
 * @param lifetime of a token, ms
 */
export async function listSigningKeys(db: Handle, lifetime: number) {
  const keys = await db.prisma.signingKey.findMany({
    select: { kid: true, createdAt: true, retiredAt: true },
    orderBy: [{ createdAt: 'desc' }, { kid: 'asc' }],
  });
  const now = await readClock(db);
  return keys.map((key) => {
    const verifiesUntil = key.retiredAt && new Date(key.retiredAt.getTime() + lifetime + RETIREMENT_MARGIN);
    const state = verifiesUntil === null ? 'signing' : verifiesUntil.getTime() > now ? 'verifying' : 'expired';
    return { ...key, state, verifiesUntil };
  });
}

/** An RSA key of 2048 bits (RFC 7518 §3.3). `kid` is its thumbprint (RFC 7638) and the envelope's associated data. */
async function makeSigningKey(masterKeys: MasterKeys): Promise<NewKey> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  const bare = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(bare);
  // `keys revoke` would parse a kid with a leading dash as an option.
  if (kid.startsWith('-')) return makeSigningKey(masterKeys);
  const pem = new Secret(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  return {
    kid,
    publicJwk: { ...bare, kid, alg: SIGNING_ALGORITHM, use: 'sig' },
    privateKeyEnvelope: masterKeys.seal(pem, kid),
  };
}

/** Serialises the processes that make a signing key. */
const lockSigningKeys = (tx: Handle) => lockInTransaction(tx, 'signing keys');

/**
 * `created_at` is `clock_timestamp()`: of two racing transactions, the one that waited for the lock adds the newer key.
 */
async function addSigningKey(db: Handle, key: NewKey): Promise<void> {
  await db.query(
    `insert into signing_keys (kid, public_jwk, private_key_envelope, created_at)
     values ($1::text, $2::text::jsonb, $3::text, clock_timestamp()) returning kid`,
    [key.kid, JSON.stringify(key.publicJwk), key.privateKeyEnvelope],
  );
}

/**
 * The age, ms, from which keys are read again for an unknown kid, and to be published. An unknown kid may be forged, so
 * it must not cause a read each time.
 */
const READ_INTERVAL = 1_000;

/** The signing keys that this process knows. */
export class KeyRing {
  readonly #keys: Fresh<(StoredKey & { privateKey?: KeyObject })[]>;

  constructor(
    read: () => Promise<StoredKey[]>,
    private readonly masterKeys: MasterKeys,
    clock: Clock,
  ) {
    this.#keys = new Fresh(read, clock);
  }

  /** The newest key that every process knows; if all keys are too new, the oldest. @throws EnvelopeError */
  async signingKey(): Promise<{ kid: string; key: KeyObject }> {
    const keys = await this.#keys.get();
    const chosen = keys.find((key) => key.isKnown) ?? keys.at(-1);
    if (!chosen) throw new Error('there is no signing key');
    const { kid, privateKeyEnvelope } = chosen;
    chosen.privateKey ??= createPrivateKey(this.masterKeys.open(privateKeyEnvelope, kid).reveal());
    return { kid, key: chosen.privateKey };
  }

  /** Undefined if no key has that id, or if the last token of the key has expired. */
  async verificationKey(kid: string): Promise<JWK | undefined> {
    const find = (keys: readonly StoredKey[]) => keys.find((key) => key.kid === kid)?.publicJwk;
    return find(await this.#keys.get()) ?? find(await this.#keys.get(READ_INTERVAL));
  }

  /** The keys for `/.well-known/jwks.json`, including every key that another process may sign with. */
  async publicKeys(): Promise<JWK[]> {
    return (await this.#keys.get(READ_INTERVAL)).map((key) => key.publicJwk);
  }
}

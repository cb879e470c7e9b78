import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { calculateJwkThumbprint, exportJWK, type JWK } from 'jose';
import { type Actor, recordAudit } from '../platform/audit.js';
import { type Database, type Handle, lockInTransaction } from '../platform/database/database.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import type { SigningKey } from '../platform/database/generated/client.js';
import { within } from '../platform/deadline.js';
import { Refusal } from '../platform/refusal.js';
import { Secret } from '../platform/secret.js';
import { type Clock, READ_LIMIT } from './client-record.js';
import { endLinkedSessions } from './console-sessions.js';

export const SIGNING_ALGORITHM = 'RS256';

/** A signing key as it is stored. The ages come from Postgres's clock, so that all processes agree on them. */
export interface StoredKey {
  kid: string;
  publicJwk: JWK;
  privateKeyEnvelope: string;
  /** ms since the key was made. */
  age: number;
  /** ms since a newer key was made; null for the newest. */
  retiredFor: number | null;
}

type NewKey = Omit<StoredKey, 'age' | 'retiredFor'>;

/** Every signing key, newest first. */
async function readSigningKeys(db: Handle): Promise<StoredKey[]> {
  const rows = await db.hot<{ key: StoredKey }>(
    `select json_build_object(
       'kid', kid, 'publicJwk', public_jwk, 'privateKeyEnvelope', private_key_envelope,
       'age', extract(epoch from clock_timestamp() - created_at) * 1000,
       'retiredFor', extract(epoch from clock_timestamp() - retired_at) * 1000) as key
     from signing_keys order by created_at desc, kid`,
    [],
  );
  return rows.map((row) => row.key);
}

/**
 * Every signing key, newest first. Makes the first key if there is none; of concurrent processes, only one makes it.
 */
export async function readOrMakeSigningKeys(database: Database, masterKeys: MasterKeys): Promise<StoredKey[]> {
  const keys = await within(READ_LIMIT, readSigningKeys(database));
  if (keys.length > 0) return keys;
  const first = await makeSigningKey(masterKeys);
  return database.transaction(async (handle) => {
    await lockSigningKeys(handle);
    if ((await readSigningKeys(handle)).length === 0) await addSigningKey(handle, first);
    return readSigningKeys(handle);
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

/** A signing key without its key material. `verifying`: it signs no more, and tokens that it signed may still be valid. */
interface ListedKey extends Pick<SigningKey, 'kid' | 'createdAt' | 'retiredAt'> {
  state: 'signing' | 'verifying' | 'expired';
  /** Null for the signing key. */
  verifiesUntil: Date | null;
}

/** Lists the signing keys, newest first. @param lifetime of a token, ms */
export async function listSigningKeys(db: Handle, lifetime: number): Promise<ListedKey[]> {
  const keys = await db.prisma.signingKey.findMany({
    select: { kid: true, createdAt: true, retiredAt: true },
    orderBy: [{ createdAt: 'desc' }, { kid: 'asc' }],
  });
  return keys.map((key) => {
    const verifiesUntil = key.retiredAt && new Date(key.retiredAt.getTime() + lifetime + RETIREMENT_MARGIN);
    const state = verifiesUntil === null ? 'signing' : verifiesUntil.getTime() > Date.now() ? 'verifying' : 'expired';
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

/** ms after which the keys are read again before the next use. */
const REREAD_AFTER = 4_000;
/**
 * ms after which a verification starts to read the keys again without waiting for the result. It waits after 4 s, so that
 * a slow read on a busy machine refuses no request.
 */
const REFRESH_AFTER = 2_000;
/** ms after which keys that could not be read again stop verifying, so that a revoked key is refused within 5 s. */
const TRUSTED_FOR = 5_000;
/**
 * ms between making a key and signing with it: longer than `REREAD_AFTER`, so that every process knows the key then.
 */
const SIGNS_AFTER = 8_000;
/** ms that a retired key keeps verifying after its last token has expired. Longer than `SIGNS_AFTER`. */
const RETIREMENT_MARGIN = 60_000;
/**
 * Least ms between two reads for an unknown kid, and after a failed read. An unknown kid may be forged, so it must not
 * cause a read each time.
 */
const READ_INTERVAL = 1_000;

interface RingKey extends NewKey {
  publicKey: KeyObject;
  /** Decrypted at its first use: `keys rotate-master` changes the envelope, not the key. */
  privateKey: KeyObject | undefined;
  /** `Clock.steady()` at the time at which the key was made. */
  madeAt: number;
}

interface KeyRingOptions {
  read: () => Promise<StoredKey[]>;
  masterKeys: MasterKeys;
  /** Lifetime of a token, ms. */
  lifetime: number;
  clock: Clock;
  /** Called if the keys cannot be read again. The known keys go on signing, and go on verifying for 5 s. */
  onFault: (error: unknown) => void;
}

/** The signing keys that this process knows. They are at most `REREAD_AFTER` old at each use. */
export class KeyRing {
  #keys: readonly RingKey[] = [];
  #readAt: number | undefined;
  #failedAt: number | undefined;
  #reading: Promise<void> | undefined;

  constructor(private readonly options: KeyRingOptions) {}

  /** The newest key that every process knows; if all keys are too new, the oldest. @throws EnvelopeError */
  async signingKey(): Promise<{ kid: string; key: KeyObject }> {
    await this.#reread(REREAD_AFTER);
    const now = this.options.clock.steady();
    const chosen = this.#keys.find((key) => now - key.madeAt >= SIGNS_AFTER) ?? this.#keys.at(-1);
    if (!chosen) throw new Error('there is no signing key');
    return { kid: chosen.kid, key: this.#open(chosen) };
  }

  /**
   * Undefined if no key has that id, or if the last token of the key has expired.
   * @throws Error if the keys could not be read for 5 s, since the key may be revoked by now
   */
  async verificationKey(kid: string): Promise<KeyObject | undefined> {
    const refreshed = this.#reread(REFRESH_AFTER);
    if (this.#isWithin(REREAD_AFTER, this.#readAt)) refreshed.catch(() => undefined);
    else await refreshed;
    if (!this.#find(kid)) await this.#reread(READ_INTERVAL);
    if (!this.#isWithin(TRUSTED_FOR, this.#readAt)) {
      throw new Error('the signing keys were read too long ago to verify a token');
    }
    return this.#find(kid)?.publicKey;
  }

  /** The keys for `/.well-known/jwks.json`, including every key that another process may sign with. */
  async publicKeys(): Promise<JWK[]> {
    await this.#reread(READ_INTERVAL);
    return this.#keys.map((key) => key.publicJwk);
  }

  #isWithin(limit: number, at: number | undefined): boolean {
    return at !== undefined && this.options.clock.steady() - at < limit;
  }

  #find(kid: string): RingKey | undefined {
    return this.#keys.find((key) => key.kid === kid);
  }

  /** Reads the keys again if the last read is older than `maxAge` (ms). Concurrent calls share one read. */
  async #reread(maxAge: number): Promise<void> {
    const { clock, onFault } = this.options;
    if (this.#isWithin(maxAge, this.#readAt)) return;
    if (this.#keys.length > 0 && this.#isWithin(READ_INTERVAL, this.#failedAt)) return;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined;
    });
    try {
      await this.#reading;
    } catch (error) {
      this.#failedAt = clock.steady();
      if (this.#keys.length === 0) throw error;
      onFault(error);
    }
  }

  async #read(): Promise<void> {
    const { clock, lifetime, read } = this.options;
    const begun = clock.steady();
    const stored = await read();
    const useful = stored.filter((key) => key.retiredFor === null || key.retiredFor < lifetime + RETIREMENT_MARGIN);
    this.#keys = useful.map((key) => {
      const known = this.#find(key.kid);
      const publicKey = known?.publicKey ?? createPublicKey({ key: { ...key.publicJwk }, format: 'jwk' });
      return { ...key, publicKey, privateKey: known?.privateKey, madeAt: begun - key.age };
    });
    this.#readAt = begun;
  }

  #open(key: RingKey): KeyObject {
    const { kid, privateKeyEnvelope } = key;
    key.privateKey ??= createPrivateKey(this.options.masterKeys.open(privateKeyEnvelope, kid).reveal());
    return key.privateKey;
  }
}

import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import type { MasterKeys } from '../database/encryption.js';
import type { Secret } from '../secret.js';
import type { Clock } from './clock.js';
import type { StoredKey } from './keys.js';

/** ms after which the keys are read again before the next use. */
const REREAD_AFTER = 4_000;
/**
 * ms after which a verification starts to read the keys again without waiting for the result. The 3 s until
 * `TRUSTED_FOR` are the time for slow reads, of which each may take 1.5 s, so that a busy machine refuses no request.
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

interface RingKey {
  kid: string;
  publicJwk: JWK;
  publicKey: KeyObject;
  privateKeyEnvelope: string;
  /** `Clock.steady()` at the time at which the key was made. */
  madeAt: number;
}

export interface KeyRingOptions {
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
  readonly #options: KeyRingOptions;
  readonly #privateKeys = new Map<string, KeyObject>();
  #keys: readonly RingKey[] = [];
  #readAt: number | undefined;
  #failedAt: number | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: KeyRingOptions) {
    this.#options = options;
  }

  /** The newest key that every process knows; if all keys are too new, the oldest. @throws EnvelopeError */
  async signingKey(): Promise<{ kid: string; key: KeyObject }> {
    await this.#reread(REREAD_AFTER);
    const now = this.#options.clock.steady();
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
    return at !== undefined && this.#options.clock.steady() - at < limit;
  }

  #find(kid: string): RingKey | undefined {
    return this.#keys.find((key) => key.kid === kid);
  }

  /** Reads the keys again if the last read is older than `maxAge` (ms). Concurrent calls share one read. */
  async #reread(maxAge: number): Promise<void> {
    const { clock, onFault } = this.#options;
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
    const { clock, lifetime, read } = this.#options;
    const begun = clock.steady();
    const stored = await read();
    const useful = stored.filter((key) => key.retiredFor === null || key.retiredFor < lifetime + RETIREMENT_MARGIN);
    this.#keys = useful.map((key) => ({
      kid: key.kid,
      publicJwk: key.publicJwk,
      publicKey: this.#find(key.kid)?.publicKey ?? createPublicKey({ key: { ...key.publicJwk }, format: 'jwk' }),
      privateKeyEnvelope: key.privateKeyEnvelope,
      madeAt: begun - key.age,
    }));
    this.#readAt = begun;
  }

  /** Decrypts each key once per process: `keys rotate-master` changes the envelope, not the key. */
  #open(key: RingKey): KeyObject {
    const known = this.#privateKeys.get(key.kid);
    if (known) return known;
    const pem: Secret = this.#options.masterKeys.open(key.privateKeyEnvelope, key.kid);
    const opened = createPrivateKey(pem.reveal());
    this.#privateKeys.set(key.kid, opened);
    return opened;
  }
}

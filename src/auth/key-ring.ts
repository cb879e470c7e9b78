import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import type { JWK } from 'jose';
import type { MasterKeys } from '../database/encryption.js';
import type { Secret } from '../secret.js';
import type { Clock } from './clock.js';
import type { StoredKey } from './keys.js';

/** ms after which the keys are read again before one is used. */
const REREAD_AFTER = 4_000;
/** ms after which a key verifies no more without having been read again: a revoked one is refused within 5 s. */
const TRUSTED_FOR = 5_000;
/** ms from a key's making until it signs: longer than `REREAD_AFTER`, so that every process can verify with it by then. */
const SIGNS_AFTER = 8_000;
/** ms that a retired key verifies beyond the lifetime of its last token; covers `SIGNS_AFTER`. */
const RETIREMENT_MARGIN = 60_000;
/** ms between reads for the sake of a kid that nobody knows (a stranger can make those up), and after a failed one. */
const PAUSE = 1_000;

interface RingKey {
  kid: string;
  publicJwk: JWK;
  publicKey: KeyObject;
  privateKeyEnvelope: string;
  /** `Clock.steady()` when it was made. */
  madeAt: number;
}

export interface KeyRingOptions {
  read: () => Promise<StoredKey[]>;
  masterKeys: MasterKeys;
  /** Of a token, ms. */
  lifetime: number;
  clock: Clock;
  /** Told that the keys could not be read again; those known stay in use for signing, and for 5 s for verifying. */
  onFault: (error: unknown) => void;
}

/** The signing keys as this process knows them, at most `REREAD_AFTER` old whenever one is used. */
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

  /** The newest key that every process knows by now, the oldest where none is that old. @throws EnvelopeError */
  async signingKey(): Promise<{ kid: string; key: KeyObject }> {
    await this.#reread(REREAD_AFTER);
    const now = this.#options.clock.steady();
    const chosen = this.#keys.find((key) => now - key.madeAt >= SIGNS_AFTER) ?? this.#keys.at(-1);
    if (!chosen) throw new Error('there is no signing key');
    return { kid: chosen.kid, key: this.#open(chosen) };
  }

  /**
   * Undefined where no key has that id, or its last token has expired.
   * @throws where the keys could not be read for 5 s: the key may have been revoked since
   */
  async verificationKey(kid: string): Promise<KeyObject | undefined> {
    await this.#reread(REREAD_AFTER);
    if (!this.#find(kid)) await this.#reread(PAUSE);
    if (this.#readAt === undefined || this.#options.clock.steady() - this.#readAt >= TRUSTED_FOR) {
      throw new Error('the signing keys were read too long ago to verify a token');
    }
    return this.#find(kid)?.publicKey;
  }

  /** What `/.well-known/jwks.json` publishes: a key that another process may sign with is never missing. */
  async publicKeys(): Promise<JWK[]> {
    await this.#reread(PAUSE);
    return this.#keys.map((key) => key.publicJwk);
  }

  #find(kid: string): RingKey | undefined {
    return this.#keys.find((key) => key.kid === kid);
  }

  /** Reads the keys where they were read longer than `maxAge` (ms) ago; all who ask meanwhile wait for that one read. */
  async #reread(maxAge: number): Promise<void> {
    const { clock, onFault } = this.#options;
    const isRecent = (at: number | undefined, limit: number) => at !== undefined && clock.steady() - at < limit;
    if (isRecent(this.#readAt, maxAge)) return;
    if (this.#keys.length > 0 && isRecent(this.#failedAt, PAUSE)) return;
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

  /** Opened once for each process: `keys rotate-master` changes the envelope, not the key. */
  #open(key: RingKey): KeyObject {
    const known = this.#privateKeys.get(key.kid);
    if (known) return known;
    const pem: Secret = this.#options.masterKeys.open(key.privateKeyEnvelope, key.kid);
    const opened = createPrivateKey(pem.reveal());
    this.#privateKeys.set(key.kid, opened);
    return opened;
  }
}

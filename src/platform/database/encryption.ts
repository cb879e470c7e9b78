import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { Secret } from '../secret.js';
import { withinMemory } from '../within-memory.js';

const VERSION = 'v1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/**
 * Opened envelopes in the cache, for a minute: opening takes a twentieth of an attempt, and busy endpoints repeat. 16
 * MiB hold those of 40,000 endpoints.
 */
const OPENED = { ...withinMemory<Secret>(16), ttl: 60_000 };

/**
 * An envelope that does not open: another key, another row, or damage. The message names the key, never the content.
 */
export class EnvelopeError extends Error {
  override readonly name = 'EnvelopeError';
}

/** The first 8 hexadecimal digits of the key's SHA-256. They distinguish keys and reveal nothing. */
export function keyId(key: Secret<Uint8Array>): string {
  return createHash('sha256').update(key.reveal()).digest('hex').slice(0, 8);
}

/**
 * Encryption at rest: AES-256-GCM with a random 96-bit nonce (NIST SP 800-38D) and the row's id as associated data, so
 * that an envelope moved to another row does not open. Envelope: `v1:<key id>:<base64url(nonce | ciphertext | tag)>`.
 */
export class MasterKeys {
  readonly #current: { id: string; key: Secret<Uint8Array> };
  readonly #keys: Map<string, Secret<Uint8Array>>;
  /** By row and envelope, so that a changed envelope or one of another row is never found. */
  readonly #opened = new LRUCache<string, Secret>(OPENED);
  /** The keys of `digests`, by purpose. */
  readonly #derived = new Map<string, readonly KeyObject[]>();

  /** `current` seals every new envelope. `previous` opens the envelopes from before a rotation. */
  constructor(current: Secret<Uint8Array>, previous?: Secret<Uint8Array>) {
    this.#current = { id: keyId(current), key: current };
    this.#keys = new Map([[this.#current.id, current]]);
    if (previous) this.#keys.set(keyId(previous), previous);
  }

  /** The current key's id, as envelopes name it. */
  get currentId(): string {
    return this.#current.id;
  }

  seal(secret: Secret, rowId: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#current.key.reveal(), nonce).setAAD(Buffer.from(rowId));
    const sealed = Buffer.concat([nonce, cipher.update(secret.reveal(), 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${VERSION}:${this.#current.id}:${sealed.toString('base64url')}`;
  }

  /** @throws EnvelopeError */
  open(envelope: string, rowId: string): Secret {
    const name = `${rowId} ${envelope}`;
    const known = this.#opened.get(name);
    if (known) return known;
    const opened = this.#decrypt(envelope, rowId);
    this.#opened.set(name, opened);
    return opened;
  }

  #decrypt(envelope: string, rowId: string): Secret {
    const [version, id, text] = envelope.split(':');
    if (version !== VERSION || !id || !text) throw new EnvelopeError('is not a v1 envelope');
    const key = this.#keys.get(id);
    if (!key) {
      throw new EnvelopeError(`was sealed with the master key ${id}; MASTER_KEY is ${this.#current.id}`);
    }
    const sealed = Buffer.from(text, 'base64url');
    try {
      const decipher = createDecipheriv('aes-256-gcm', key.reveal(), sealed.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
        .setAAD(Buffer.from(rowId))
        .setAuthTag(sealed.subarray(-TAG_BYTES));
      const opened =
        decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      return new Secret(opened);
    } catch {
      throw new EnvelopeError('does not open: it was changed, or belongs to another row');
    }
  }

  /**
   * Keyed digests of a value that may hold a secret: HMAC-SHA256 (RFC 2104) under a key that is derived for `purpose`
   * (RFC 5869). The first digest is the one to store. The others match digests that were stored before a rotation.
   */
  digests(purpose: string, parts: readonly (string | Uint8Array)[]): [Buffer<ArrayBuffer>, ...Buffer<ArrayBuffer>[]] {
    const keys = this.#derived.get(purpose) ?? this.#derive(purpose);
    this.#derived.set(purpose, keys);
    const [current, ...previous] = keys.map((key) => {
      const hmac = createHmac('sha256', key);
      for (const part of parts) hmac.update(part);
      return Buffer.from(hmac.digest());
    });
    if (!current) throw new Error('there is no master key');
    return [current, ...previous];
  }

  /** The keys of a purpose, the current one first. */
  #derive(purpose: string): readonly KeyObject[] {
    const previous = [...this.#keys.values()].filter((key) => key !== this.#current.key);
    return [this.#current.key, ...previous].map((key) =>
      createSecretKey(Buffer.from(hkdfSync('sha256', key.reveal(), '', purpose, 32))),
    );
  }

  /** Whether the envelope is sealed with the current key. */
  isCurrent(envelope: string): boolean {
    return envelope.startsWith(`${VERSION}:${this.#current.id}:`);
  }
}

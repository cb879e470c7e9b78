import { createHash, randomBytes } from 'node:crypto';
import { Secret } from '../secret.js';

const SECRET_BYTES = 32;

/** 32 random bytes in base64url (43 characters), with the hash that is stored. */
export function makeRandomSecret(): { secret: Secret; hash: Buffer<ArrayBuffer> } {
  const secret = new Secret(randomBytes(SECRET_BYTES).toString('base64url'));
  return { secret, hash: hashSecret(secret) };
}

/** SHA-256 of the text's UTF-8 bytes. A slow hash is not needed: 256 random bits cannot be guessed at any speed. */
export function hashSecret(secret: Secret): Buffer<ArrayBuffer> {
  return Buffer.from(createHash('sha256').update(secret.reveal(), 'utf8').digest());
}

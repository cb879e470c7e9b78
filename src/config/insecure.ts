import type { Secret } from '../secret.js';

/** What production guards. A value that is missing is reported elsewhere. */
export interface GuardedConfig {
  baseUrl: string | undefined;
  authUrl: string | undefined;
  masterKey: Secret<Uint8Array> | undefined;
  receivers: { allowPrivate: boolean };
}

/** The settings that production must not start with (contract, Environments). */
export function insecureIn(config: GuardedConfig): string[] {
  const lines: string[] = [];
  if (config.baseUrl?.startsWith('http:')) lines.push('BASE_URL: is http: in production; give an https: address');
  if (config.authUrl?.startsWith('http:')) lines.push('AUTH_URL: is http: in production; give an https: address');
  if (config.masterKey && isWellKnown(config.masterKey.reveal())) {
    lines.push('MASTER_KEY: is easy to guess; make a random key (openssl rand -base64 32)');
  }
  if (config.receivers.allowPrivate) {
    lines.push('ALLOW_PRIVATE_RECEIVERS: is true in production; it is for the sandbox only');
  }
  return lines;
}

/** 32 random bytes have 30 distinct values on average, and fewer than 16 in one of 10^16 keys. */
const LEAST_DISTINCT_BYTES = 16;

/**
 * Whether a key is easy to guess: few distinct bytes, a count, or text. 32 random bytes are text in one of 10^13 keys.
 * MASTER_KEY_PREVIOUS is not checked: it only opens existing envelopes, and a weak key must remain replaceable.
 */
function isWellKnown(key: Uint8Array): boolean {
  if (new Set(key).size < LEAST_DISTINCT_BYTES) return true;
  const step = ((key[1] ?? 0) - (key[0] ?? 0)) & 0xff;
  const regular = key.every((byte, i) => i === 0 || ((byte - (key[i - 1] ?? 0)) & 0xff) === step);
  return regular || key.every((byte) => byte >= 0x20 && byte <= 0x7e);
}

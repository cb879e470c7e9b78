import { createHmac } from 'node:crypto';
import type { Secret } from '../../secret.js';

export interface Signable {
  /** The endpoint's secret; the key is its bytes. */
  secret: Secret | Secret<Uint8Array>;
  /** The time of signing as sent: ISO 8601, UTC, with milliseconds, such as `2026-11-21T10:00:00.123Z`. */
  t: string;
  /** The body exactly as sent. */
  body: string | Uint8Array;
}

/** The signature of a delivery (spec §5): lowercase hexadecimal HMAC-SHA256 over `t`, a dot and the body. */
export function sign({ secret, t, body }: Signable): string {
  return createHmac('sha256', secret.reveal()).update(`${t}.`).update(body).digest('hex');
}

/** The value of the `Service-Signature` header (spec §4): `t=<t>,v0=<signature>`. */
export function signatureHeader(signable: Signable): string {
  return `t=${signable.t},v0=${sign(signable)}`;
}

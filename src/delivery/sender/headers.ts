import { createHmac } from 'node:crypto';
import type { Secret } from '../../platform/secret.js';

/** The headers that every delivery has, beside its signature. Gateways suspect a request without `Accept`. */
export const DELIVERY_HEADERS = [
  ['Content-Type', 'application/json'],
  ['User-Agent', 'Service-Webhooks/1.0'],
  ['Accept', '*/*'],
] as const;

/** The header of the signature. */
export const SIGNATURE_HEADER = 'Service-Signature';

const FIXED_HEADERS = Object.fromEntries(DELIVERY_HEADERS);

/**
 * All headers of a delivery.
 * @param signature null: the header is missing
 * @param standard of `standardHeaders`
 * @param own of the endpoint's owner, none of which has a name of the others
 */
export function deliveryHeaders(
  signature: string | null,
  standard?: Record<string, string>,
  own: readonly OwnHeader[] = [],
): Record<string, string> {
  const signed = { ...FIXED_HEADERS, ...(signature !== null && { [SIGNATURE_HEADER]: signature }), ...standard };
  return own.length === 0
    ? signed
    : { ...signed, ...Object.fromEntries(own.map(({ name, value }) => [name, value.reveal()])) };
}

/** A header that the endpoint's owner adds. */
export interface OwnHeader {
  name: string;
  value: Secret;
}

export interface Signable {
  /** The endpoint's secret; the key is its bytes. */
  secret: Secret<string | Uint8Array>;
  /** The time of signing as sent: ISO 8601, UTC, with milliseconds, such as `2026-11-21T10:00:00.123Z`. */
  t: string;
  /** The body exactly as sent. */
  body: string | Uint8Array;
}

/** The signature of a delivery: lowercase hexadecimal HMAC-SHA256 over `t`, a dot and the body. */
export function sign({ secret, t, body }: Signable): string {
  return createHmac('sha256', secret.reveal()).update(`${t}.`).update(body).digest('hex');
}

/** The value of the `Service-Signature` header: `t=<t>,v0=<signature>`. */
export function signatureHeader(signable: Signable): string {
  return `t=${signable.t},v0=${sign(signable)}`;
}

/** A shorter value could be any word of a response: it is hidden beside its header's name alone. */
const ECHOED_LENGTH = 8;

/** A receiver's text without the values of the owner's headers, which an echo would put into the record. */
export function withoutEchoes(text: string, own: readonly OwnHeader[]): string {
  return own.reduce((shown, { name, value }) => {
    const echoed = value.reveal();
    if (echoed.length < ECHOED_LENGTH) {
      const beside = new RegExp(`(${literal(name)}["']?\\s*[:=]\\s*\\[?["']?)${literal(echoed)}`, 'gi');
      return shown.replace(beside, '$1***');
    }
    return shown.replaceAll(echoed, '***').replaceAll(JSON.stringify(echoed).slice(1, -1), '***');
  }, text);
}

const literal = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** The headers of a receiver's response that the record keeps. */
export const KEPT_HEADERS = [
  'content-type',
  'retry-after',
  'date',
  'server',
  'location',
  'via',
  'x-request-id',
  'traceparent',
] as const;

export type KeptHeaders = Partial<Record<(typeof KEPT_HEADERS)[number], string>>;

const MAX_LENGTH = 256;

/**
 * Picks the kept headers. Control characters are removed, and a value is cut to 256 characters. User name, password,
 * query and fragment of `location` are removed, since they may contain a credential of the receiver.
 * @param headers by lower-case name, as undici passes them
 */
export function keepHeaders(headers: Readonly<Record<string, string | readonly string[] | undefined>>): KeptHeaders {
  const kept: KeptHeaders = {};
  for (const name of KEPT_HEADERS) {
    const value = headers[name];
    if (value === undefined) continue;
    const text = withoutControls(typeof value === 'string' ? value : value.join(', '));
    const shown = name === 'location' ? withoutCredentials(text) : text;
    // The value is cut by code points. Postgres refuses half of a surrogate pair, which is not valid Unicode.
    kept[name] = [...shown].slice(0, MAX_LENGTH).join('');
  }
  return kept;
}

/** Removes C0, DEL and C1, because they control terminals and Postgres does not accept U+0000. */
function withoutControls(text: string): string {
  return text.replace(/\p{Cc}/gu, '');
}

function withoutCredentials(location: string): string {
  const address = location.replace(/[?#].*$/s, '');
  // By the WHATWG URL standard, a backslash is a slash, and the last @ of the authority ends the user information.
  return address.replace(/^([a-z][a-z0-9+.-]*:)?([\\/]{2,})[^\\/]*@/i, '$1$2');
}

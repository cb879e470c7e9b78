import { randomBytes } from 'node:crypto';
import { signatureHeader } from '../verify.js';
import type { CheckCase } from './cases.js';

/** The request of one case, ready to be sent. */
export interface CaseRequest {
  body: string;
  /** The value of `Service-Signature`; null: no such header. */
  signature: string | null;
  /** What the signature is of; null: no signature. */
  signed: { secret: string | Uint8Array; t: string; body: string } | null;
}

/** The id of the event in a body: that of both signatures, which are right or wrong together. */
export const eventId = (body: string): string => (JSON.parse(body) as { id: string }).id;

/** Version of the event format. */
const EVENT_VERSION = '2026-11-21';
/** The age of the signed time in the case `stale_timestamp`, ms. A receiver rejects more than five minutes. */
const STALE = 6 * 60_000;
/** How much older the event of the case `out_of_order` is than that of `valid`, ms. */
const OLDER = 60_000;

/**
 * Makes the request of a case. Each call makes a new event, but `duplicate` repeats the event of `valid`, and
 * `out_of_order` tells an earlier status of the same transfer.
 * @param secret of the endpoint
 * @param validBody the body that the case `valid` sent; null: that case is still to be sent
 */
export function caseRequest(
  name: CheckCase,
  { secret, validBody }: { secret: string | Uint8Array; validBody: string | null },
  now = Date.now(),
): CaseRequest {
  const signedAt = (at: number, body: string, key = secret): CaseRequest => {
    const signed = { secret: key, t: new Date(at).toISOString(), body };
    return { body, signature: signatureHeader(signed), signed };
  };
  const signed = (body: string) => signedAt(now, body);
  const body = event(now);
  const requests: Record<CheckCase, () => CaseRequest> = {
    valid: () => signed(body),
    duplicate: () => signed(validBody ?? body),
    out_of_order: () => signed(olderThan(validBody ?? body)),
    unknown_type: () => signed(JSON.stringify({ ...JSON.parse(body), type: 'receiver_check.unknown_type' })),
    unknown_field: () => signed(withUnknownField(body)),
    stale_timestamp: () => signedAt(now - STALE, event(now - STALE)),
    wrong_secret: () => signedAt(now, body, randomBytes(32)),
    changed_body: () => ({ ...signed(body), body: changeOneByte(body) }),
    missing_signature: () => ({ body, signature: null, signed: null }),
  };
  return requests[name]();
}

/** An event of a transfer that does not exist: see `isCheckEvent`. */
function event(at: number, transfer = idAt(0), status: 'PROCESSING' | 'SENT' = 'SENT'): string {
  const created_at = new Date(at).toISOString().slice(0, -1);
  const data = { id: transfer, status };
  return JSON.stringify({ id: idAt(at), version: EVENT_VERSION, type: 'transfer.status_changed', data, created_at });
}

/** A UUID of version 7 (RFC 9562). */
function idAt(at: number): string {
  const hex = at.toString(16).padStart(12, '0') + randomBytes(10).toString('hex');
  const variant = '89ab'.charAt(Number.parseInt(hex.charAt(16), 16) & 3);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
}

function olderThan(body: string): string {
  const { data, created_at } = JSON.parse(body) as { data: { id: string }; created_at: string };
  return event(Date.parse(`${created_at}Z`) - OLDER, data.id, 'PROCESSING');
}

/**
 * Adds a field that no JSON writer repeats byte for byte: a number with a fraction of zero, an escaped letter, a slash
 * and a `<`. A receiver that verifies reserialised JSON gives itself away here, in any language.
 */
function withUnknownField(body: string): string {
  return `${body.slice(0, -1)},"unknown_field":{"number":1.0,"text":"caf\\u00e9 / <"}}`;
}

/** Changes the last digit of the transfer's id, so that the body stays valid JSON of the same length. */
function changeOneByte(body: string): string {
  const { id } = (JSON.parse(body) as { data: { id: string } }).data;
  return body.replace(id, id.slice(0, -1) + (id.endsWith('0') ? '1' : '0'));
}

import { randomBytes } from 'node:crypto';
import { eventBody } from '../delivery/event-catalogue.js';
import { signatureHeader } from '../delivery/sender/headers.js';
import { newId } from '../platform/ids.js';
import { Secret } from '../platform/secret.js';
import type { CheckCase } from '../platform/vocabulary.js';

/** The request of one case, ready to be sent. */
export interface CaseRequest {
  body: string;
  /** The value of `Service-Signature`; null: no such header. */
  signature: string | null;
}

export interface CaseSource {
  /** The endpoint's secret. */
  secret: Secret;
  /** The body that the case `valid` sent; null: that case is still to be sent. */
  validBody: string | null;
}

/** The age of the signed time in the case `stale_timestamp`, ms. A receiver refuses more than five minutes (spec §5). */
const STALE = 6 * 60_000;
/** How much older the event of the case `out_of_order` is than that of `valid`, ms. */
const OLDER = 60_000;

/**
 * Makes the request of a case. Each call makes a new event, but `duplicate` repeats the event of `valid`, and
 * `out_of_order` tells an earlier status of the same transfer.
 */
export function caseRequest(name: CheckCase, { secret, validBody }: CaseSource, now = Date.now()): CaseRequest {
  const t = new Date(now).toISOString();
  const signed = (body: string) => ({ body, signature: signatureHeader({ secret, t, body }) });
  const body = event(now);
  switch (name) {
    case 'valid':
      return signed(body);
    case 'duplicate':
      return signed(validBody ?? body);
    case 'out_of_order':
      return signed(olderThan(validBody ?? body));
    case 'unknown_type':
      return signed(JSON.stringify({ ...JSON.parse(body), type: 'receiver_check.unknown_type' }));
    case 'unknown_field':
      return signed(withUnknownField(body));
    case 'stale_timestamp': {
      const old = { t: new Date(now - STALE).toISOString(), body: event(now - STALE) };
      return { body: old.body, signature: signatureHeader({ secret, ...old }) };
    }
    case 'wrong_secret':
      return { body, signature: signatureHeader({ secret: new Secret(randomBytes(32)), t, body }) };
    case 'changed_body':
      return { body: changeOneByte(body), signature: signed(body).signature };
    case 'missing_signature':
      return { body, signature: null };
  }
}

/** An event of a transfer that does not exist. */
function event(at: number, id = newId(), status: 'PROCESSING' | 'SENT' = 'SENT'): string {
  return eventBody({ id: newId(at), type: 'transfer.status_changed', data: { id, status }, createdAt: at });
}

function olderThan(body: string): string {
  const { data, created_at } = JSON.parse(body) as { data: { id: string }; created_at: string };
  return event(Date.parse(`${created_at}Z`) - OLDER, data.id, 'PROCESSING');
}

/**
 * Adds a field that no JSON writer repeats byte for byte: a number with a fraction of zero, an escaped letter, a slash
 * and a `<`. A receiver that verifies re-serialised JSON gives itself away here, whatever its language.
 */
function withUnknownField(body: string): string {
  return `${body.slice(0, -1)},"unknown_field":{"number":1.0,"text":"caf\\u00e9 / <"}}`;
}

/** Changes the last digit of the transfer's id, so that the body stays valid JSON of the same length. */
function changeOneByte(body: string): string {
  const { id } = (JSON.parse(body) as { data: { id: string } }).data;
  return body.replace(id, id.slice(0, -1) + (id.endsWith('0') ? '1' : '0'));
}

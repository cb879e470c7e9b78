import { headersRowId } from '../auth/master-key.js';
import type { MasterKeys } from '../platform/database/encryption.js';
import { Refusal, type ValidationError } from '../platform/refusal.js';
import { Secret } from '../platform/secret.js';

// The headers that an endpoint's owner adds to each request, such as the API key that a gateway asks for. Their values
// are secrets: sealed as one envelope of the endpoint's row, and never shown.

export interface EndpointHeader {
  /** As it is sent. Receivers ignore the case, and so does the comparison of two names. */
  name: string;
  value: Secret;
}

/** A header as the owner gives it; without a value, the stored one stays. */
export interface WantedHeader {
  name: string;
  value?: Secret | undefined;
}

/** Headers of the connection, of the delivery itself, and of its signatures and traces. */
const RESERVED =
  /^(?:connection|keep-alive|te|trailers?|transfer-encoding|upgrade|http2-settings|host|user-agent|expect|traceparent|tracestate|baggage|(?:proxy|content|service|webhook)-.*|accept.*)$/i;

/** @throws Refusal header_not_allowed */
export function refuseReservedHeaders(headers: readonly { name: string }[]): void {
  const names = headers.map(({ name }) => name.toLowerCase());
  const errors = headers.flatMap(({ name }, i): ValidationError[] => {
    const pointer = `/headers/${i}/name`;
    if (RESERVED.test(name))
      return [{ pointer, code: NOT_ALLOWED, detail: `${name} is set by the service or reserved` }];
    if (names.indexOf(name.toLowerCase()) === i) return [];
    return [{ pointer, code: NOT_ALLOWED, detail: `${name} occurs twice; names are compared without their case` }];
  });
  if (errors[0]) throw new Refusal(NOT_ALLOWED, `The header ${errors[0].detail}.`, errors);
}

const NOT_ALLOWED = 'header_not_allowed';

/** Takes the value of a header that has none from the stored ones. @throws Refusal invalid_request */
export function withStoredValues(wanted: readonly WantedHeader[], stored: readonly EndpointHeader[]): EndpointHeader[] {
  const values = new Map(stored.map(({ name, value }) => [name.toLowerCase(), value]));
  const errors: ValidationError[] = [];
  const headers = wanted.flatMap(({ name, value = values.get(name.toLowerCase()) }, i): EndpointHeader[] => {
    if (value) return [{ name, value }];
    errors.push({
      pointer: `/headers/${i}/value`,
      code: 'required',
      detail: `is required: ${name} has no stored value`,
    });
    return [];
  });
  if (errors.length > 0) throw new Refusal('invalid_request', 'A header has no value; see errors.', errors);
  return headers;
}

/** Whether both have the same headers in the same order. */
export const isSame = (one: readonly EndpointHeader[], other: readonly EndpointHeader[]) =>
  asText(one) === asText(other);

/** The columns of an endpoint that hold its headers. */
export function headerColumns(masterKeys: MasterKeys, endpointId: string, headers: readonly EndpointHeader[]) {
  const headersEnvelope =
    headers.length === 0 ? null : masterKeys.seal(new Secret(asText(headers)), headersRowId(endpointId));
  return { headerNames: headers.map(({ name }) => name), headersEnvelope };
}

/** @param envelope null: the endpoint has no headers. @throws EnvelopeError */
export function openHeaders(masterKeys: MasterKeys, endpointId: string, envelope: string | null): EndpointHeader[] {
  if (envelope === null) return [];
  const pairs = JSON.parse(masterKeys.open(envelope, headersRowId(endpointId)).reveal()) as [string, string][];
  return pairs.map(([name, value]) => ({ name, value: new Secret(value) }));
}

const asText = (headers: readonly EndpointHeader[]) =>
  JSON.stringify(headers.map(({ name, value }) => [name, value.reveal()]));

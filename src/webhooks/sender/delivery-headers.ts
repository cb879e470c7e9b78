/** The headers that every delivery has, beside its signature (spec §4). */
export const DELIVERY_HEADERS = [
  ['Content-Type', 'application/json'],
  ['User-Agent', 'Service-Webhooks/1.0'],
] as const;

/** The header of the signature (spec §4). */
export const SIGNATURE_HEADER = 'Service-Signature';

const FIXED_HEADERS = Object.fromEntries(DELIVERY_HEADERS);

/** All headers of a delivery. @param signature null: the header is missing */
export function deliveryHeaders(signature: string | null): Record<string, string> {
  return { ...FIXED_HEADERS, ...(signature !== null && { [SIGNATURE_HEADER]: signature }) };
}

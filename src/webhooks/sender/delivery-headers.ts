/** The headers that every delivery has, beside its signature (spec §4). */
export const DELIVERY_HEADERS = [
  ['Content-Type', 'application/json'],
  ['User-Agent', 'Service-Webhooks/1.0'],
] as const;

/** The header of the signature (spec §4). */
export const SIGNATURE_HEADER = 'Service-Signature';

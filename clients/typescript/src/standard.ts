import { createHmac } from 'node:crypto';

// The signature of Standard Webhooks 1.0 (standardwebhooks.com), which endpoints with `signatures: ["standard"]` get.

export interface StandardSignable {
  /** The endpoint's secret. */
  secret: string | Uint8Array;
  /** `webhook-id`: the event's id. */
  id: string;
  /** `webhook-timestamp`: Unix seconds. */
  timestamp: string;
  /** The body exactly as sent. */
  body: string | Uint8Array;
}

export function standardSignature({ secret, id, timestamp, body }: StandardSignable): Buffer {
  const key = whsecKey(secret) ?? secret;
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
}

/** The headers of a signature at the time `t`, in ISO 8601. */
export function standardHeaders(of: Omit<StandardSignable, 'timestamp'> & { t: string }): Record<string, string> {
  const timestamp = String(Math.floor(Date.parse(of.t) / 1000));
  const signature = standardSignature({ ...of, timestamp }).toString('base64');
  return { 'webhook-id': of.id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

/** The key of a secret in the standard's form, `whsec_` and base64 of 24 to 64 bytes. Another is a key as it is. */
export function whsecKey(secret: string | Uint8Array): Buffer | undefined {
  const [, encoded] = /^whsec_(.+)$/.exec(Buffer.from(secret).toString('latin1')) ?? [];
  const key = Buffer.from(encoded ?? '', 'base64');
  return key.length >= 24 && key.length <= 64 && key.toString('base64') === encoded ? key : undefined;
}

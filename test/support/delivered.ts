import { createHmac } from 'node:crypto';

/** A delivery that arrived over the network. The check of its signature shares no code with the service. */
export interface Delivered {
  id: string;
  transferId: string;
  status: string;
  validSignature: boolean;
}

/** Parses a raw request in Latin-1, the form that the raw receiver keeps. */
export function readDelivered(raw: string, secret: string): Delivered {
  const { head, body } = splitRequest(raw);
  const [, t, v0] = /^service-signature: t=([^,]+),v0=([0-9a-f]{64})$/im.exec(head) ?? [];
  const { id, data } = JSON.parse(body) as { id: string; data: { id: string; status: string } };
  const expected = createHmac('sha256', secret).update(`${t}.`).update(Buffer.from(body, 'latin1')).digest('hex');
  return { id, transferId: data.id, status: data.status, validSignature: v0 === expected };
}

export function splitRequest(raw: string): { head: string; body: string } {
  const end = raw.indexOf('\r\n\r\n');
  return { head: raw.slice(0, end), body: raw.slice(end + 4) };
}

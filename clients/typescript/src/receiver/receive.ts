import type { DeliveredEvent } from '../types.js';
import { SignatureError, type Verifiable, verify } from '../verify.js';

/** A secret as it was registered. */
export type WebhookSecret = string | Uint8Array;

/** What is known of a delivery, apart from its event. */
export interface ReceivedDelivery {
  /** When this attempt was signed. */
  signedAt: Date;
  /** When the event was made: its `created_at`, which is UTC although the text has no zone. */
  createdAt: Date;
  /** The body exactly as received. */
  body: Uint8Array;
}

/** The options of every adapter. */
export interface WebhookOptions {
  /** The endpoint's secret. While you switch to a new secret, give both. */
  secret: WebhookSecret | readonly WebhookSecret[];
  /**
   * Called with each verified event. The response is 204 when it returns, and an error that it throws goes to the
   * framework, which responds with 500: the service then retries. Return within 15 s: store the event, work later. The
   * same event may arrive more than once, and events may overtake each other. Ignore a `type` that you do not know.
   */
  onEvent(event: DeliveredEvent, delivery: ReceivedDelivery): void | Promise<void>;
  /** Called with the reason of each rejected request, which gets 400. */
  onRejected?(error: SignatureError): void;
}

/** The largest body that is read, in bytes. A delivery has less than 1 KiB. */
export const MAX_BODY = 64 * 1024;

/** The response of a receiver: a status, and for people the reason of a rejection. */
export interface ReceiverResponse {
  status: 204 | 400;
  reason?: string;
}

/** Verifies one request and passes its event on. Throws what `onEvent` throws. */
export async function receive(
  { secret, onEvent, onRejected }: WebhookOptions,
  { header, body }: { header: Verifiable['header']; body: Uint8Array },
): Promise<ReceiverResponse> {
  let signedAt: Date;
  try {
    signedAt = verifyWithAny(typeof secret === 'string' || secret instanceof Uint8Array ? [secret] : secret, {
      header,
      body,
    });
  } catch (error) {
    if (!(error instanceof SignatureError)) throw error;
    onRejected?.(error);
    return { status: 400, reason: `${error.code}: ${error.message}` };
  }
  const event = parseEvent(body);
  if (!event) return { status: 400, reason: 'the body is no event' };
  await onEvent(event, { signedAt, createdAt: new Date(`${event.created_at}Z`), body });
  return { status: 204 };
}

function verifyWithAny(
  secrets: readonly WebhookSecret[],
  delivery: { header: Verifiable['header']; body: Uint8Array },
): Date {
  const [secret, ...others] = secrets;
  if (secret === undefined) throw new TypeError('secret is an empty list');
  try {
    return verify({ ...delivery, secret }).t;
  } catch (error) {
    const another = error instanceof SignatureError && error.code === 'signature_mismatch' && others.length > 0;
    if (!another) throw error;
    return verifyWithAny(others, delivery);
  }
}

function parseEvent(body: Uint8Array): DeliveredEvent | undefined {
  try {
    const event = JSON.parse(new TextDecoder().decode(body)) as DeliveredEvent | null;
    return typeof event?.id === 'string' && typeof event.type === 'string' ? event : undefined;
  } catch {
    return undefined;
  }
}

import { isLoopback } from '../settings.js';
import { TIME_IS_UP, withTimeLimit } from '../time-limit.js';
import type { DeliveredEvent } from '../types.js';
import { signatureHeader } from '../verify.js';
import { UsageError } from './command.js';

/** The outcome of an event that was sent to the receiver. */
export interface Forwarded {
  /** Null if no response came. */
  status: number | null;
  error: string | null;
  milliseconds: number;
}

/** The service waits as long for a receiver. ms */
const LIMIT = 15_000;

/** The receiver's URL. @throws UsageError */
export function checkTarget(text: string, allowRemote: boolean): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError('--to must be a URL such as http://localhost:4000/hooks');
  }
  if (url.username !== '' || url.password !== '') throw new UsageError('--to must have no user name or password');
  if (!allowRemote && !isLoopback(url.hostname)) {
    throw new UsageError(`--to is not on this machine (${url.hostname}); add --allow-remote to send events there`);
  }
  return url;
}

/** Signs an event as the service does and posts it. No redirect is followed. */
export async function postEvent(
  event: DeliveredEvent,
  { url, secret, signal }: { url: URL; secret: Uint8Array; signal: AbortSignal },
): Promise<Forwarded> {
  const body = bodyOf(event);
  const startedAt = performance.now();
  const passed = () => Math.round(performance.now() - startedAt);
  try {
    const response = await withTimeLimit(LIMIT, signal, (limited) =>
      fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Service-Webhooks/1.0',
          'service-signature': signatureHeader({ secret, t: new Date().toISOString(), body }),
        },
        body,
        redirect: 'manual',
        signal: limited,
      }),
    );
    const milliseconds = passed();
    await response.body?.cancel();
    return { status: response.status, error: response.ok ? null : reasonOf(response.status), milliseconds };
  } catch (error) {
    signal.throwIfAborted();
    return { status: null, error: error === TIME_IS_UP ? 'timeout' : connectionError(error), milliseconds: passed() };
  }
}

/** The bytes that the service sends: these members in this order, as compact JSON. */
export function bodyOf({ id, version, type, data, created_at }: DeliveredEvent): string {
  return JSON.stringify({ id, version, type, data, created_at });
}

function reasonOf(status: number): string {
  return status >= 300 && status < 400 ? 'redirect' : 'status';
}

function connectionError(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : 'no response';
}

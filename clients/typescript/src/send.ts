import { type ConnectionErrorCode, TransferServiceError } from './error.js';
import { Failure } from './retry.js';
import type { Fetch } from './settings.js';
import { TIME_IS_UP, withTimeLimit } from './time-limit.js';
import { VERSION } from './version.js';

/** A complete response. */
export interface HttpResponse {
  status: number;
  headers: Headers;
  text: string;
}

export interface HttpRequest {
  method: string;
  url: string;
  /** Names the request in errors, without the query: `POST /transfers`. */
  title: string;
  headers: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Whether the request may be sent again after a broken connection. */
  repeatable: boolean;
}

/** The time for one try, ms: longer than REQUEST_DEADLINE of the service (15 s), so that its 503 arrives. */
const TRY_LIMIT = 20_000;
/** The service's responses have at most 1 MB; its documents are smaller than this limit too. In bytes. */
const MAX_RESPONSE = 8 * 1024 * 1024;

/**
 * Sends one request and reads the whole response.
 * @param deadline by `performance.now()`
 * @throws Failure if no complete response arrived, or the reason of `signal`
 */
export async function send(
  fetch: Fetch,
  { method, url, title, headers, json, repeatable }: HttpRequest,
  { deadline, signal }: { deadline: number; signal?: AbortSignal | undefined },
): Promise<HttpResponse> {
  const limit = Math.min(TRY_LIMIT, deadline - performance.now());
  try {
    return await withTimeLimit(limit, signal, async (limited) => {
      const response = await fetch(url, {
        method,
        headers: {
          accept: 'application/json, application/problem+json',
          'user-agent': `transfer-service-client/${VERSION}`,
          ...(json !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(json !== undefined && { body: JSON.stringify(json) }),
        // A redirect would take the token, and after a 307 the secret too, to another server.
        redirect: 'error',
        cache: 'no-store',
        signal: limited,
      });
      return { status: response.status, headers: response.headers, text: await readText(response) };
    });
  } catch (error) {
    signal?.throwIfAborted();
    const { code, detail, wasSent = true } = describe(error);
    // The original error is not kept as `cause`: it may contain headers.
    // The time limit of the call may end a moment before its deadline: timers count whole milliseconds.
    const mayRepeat = code === 'connection_failed' || (code === 'timeout' && limit === TRY_LIMIT);
    throw new Failure(
      new TransferServiceError(`${title}: ${detail}`, { code }),
      repeatable && mayRepeat ? 0 : undefined,
      { outcomeUnknown: wasSent },
    );
  }
}

class TooLarge extends Error {}

async function readText(response: Response): Promise<string> {
  if (!response.body) return '';
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > MAX_RESPONSE) {
      await reader.cancel();
      throw new TooLarge();
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** Errors before the first byte of a request: of the look-up, the connection and the certificate. */
const NEVER_SENT = /^(ECONNREFUSED|ConnectionRefused|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|\w*CERT\w*)$/;

interface SystemError {
  message?: unknown;
  code?: unknown;
  syscall?: unknown;
  /** Node's attempts at each address of a host. */
  errors?: readonly { syscall?: unknown }[];
}

function describe(error: unknown): { code: ConnectionErrorCode; detail: string; wasSent?: boolean } {
  if (error === TIME_IS_UP) return { code: 'timeout', detail: 'no response within the time limit' };
  if (error instanceof TooLarge) {
    return { code: 'invalid_response', detail: `the response has more than ${MAX_RESPONSE} bytes` };
  }
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: SystemError };
  // The texts of Node and of other platforms.
  if (/unexpected ?redirect|redirect mode/i.test(`${message} ${cause?.message}`)) {
    return { code: 'redirected', detail: 'the server responded with a redirect, which is not followed' };
  }
  const system = cause?.code ?? (error as SystemError | undefined)?.code;
  const isConnect = (cause?.syscall ?? cause?.errors?.[0]?.syscall) === 'connect';
  const known = typeof system === 'string' && /^[A-Z][A-Z0-9_]{1,40}$/.test(system) ? ` (${system})` : '';
  const wasSent = !isConnect && !NEVER_SENT.test(String(system));
  return { code: 'connection_failed', detail: `the connection failed${known}`, wasSent };
}

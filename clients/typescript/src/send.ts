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
        // A redirect would take the token, and after a 307 the secret too, to another server. Workers do not know the
        // mode `error`.
        redirect: 'manual',
        cache: 'no-store',
        signal: limited,
      });
      if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
        await response.body?.cancel();
        throw new Redirected();
      }
      return { status: response.status, headers: response.headers, text: await readText(response) };
    });
  } catch (error) {
    signal?.throwIfAborted();
    const { code, detail, wasSent = true, isLasting = false } = describe(error);
    // The original error is not kept as `cause`: it may contain headers.
    // The time limit of the call may end a moment before its deadline: timers count whole milliseconds.
    const mayRepeat = (code === 'connection_failed' && !isLasting) || (code === 'timeout' && limit === TRY_LIMIT);
    throw new Failure(
      new TransferServiceError(`${title}: ${withoutSecrets(detail, { url, title, headers, json })}`, { code }),
      repeatable && mayRepeat ? 0 : undefined,
      { outcomeUnknown: wasSent },
    );
  }
}

class TooLarge extends Error {}
class Redirected extends Error {}

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

/** Codes of what stays as it is for the time of a call: a request that cannot be sent, a server without TLS. */
const LASTING = /^(ERR_INVALID|UND_ERR_INVALID|ERR_SSL_WRONG_VERSION_NUMBER$)/;
/** Words of broken connections on platforms whose errors have no code. */
const BROKEN =
  /connect|network|socket|sending|reset|closed|terminated|lost|refused|unreachable|dns|resolve|tim(?:e|ed) ?out|handshake|\beof\b|^fetch failed$/i;
const MAX_WORDS = 200;

interface Described {
  code: ConnectionErrorCode;
  detail: string;
  /** Whether the server may have got the request. */
  wasSent?: boolean;
  /** Whether another try would fail in the same way. */
  isLasting?: boolean;
}

function describe(error: unknown): Described {
  if (error === TIME_IS_UP) return { code: 'timeout', detail: 'no response within the time limit' };
  if (error instanceof TooLarge) {
    return { code: 'invalid_response', detail: `the response has more than ${MAX_RESPONSE} bytes` };
  }
  if (error instanceof Redirected) {
    return { code: 'redirected', detail: 'the server responded with a redirect, which is not followed' };
  }
  const { message, cause } = (error ?? {}) as { message?: unknown; cause?: SystemError };
  const system = cause?.code ?? (error as SystemError | undefined)?.code;
  if (typeof system !== 'string') {
    // Without a code, the words alone say whether the connection broke, or the platform refuses such a request.
    const words = String(cause?.message || message || 'no reason given');
    const isLasting = error instanceof TypeError && !BROKEN.test(words);
    const because = words === 'fetch failed' ? '' : `: ${words}`;
    return { code: 'connection_failed', detail: `the connection failed${because}`, wasSent: !isLasting, isLasting };
  }
  const isConnect = (cause?.syscall ?? cause?.errors?.[0]?.syscall) === 'connect';
  const known = /^[A-Za-z][A-Za-z0-9_]{1,40}$/.test(system) ? ` (${system})` : '';
  const [wasSent, isLasting] = [!isConnect && !NEVER_SENT.test(system), LASTING.test(system)];
  return { code: 'connection_failed', detail: `the connection failed${known}`, wasSent, isLasting };
}

/** The words of a platform may quote the request: its URL, a header, the body. */
function withoutSecrets(
  detail: string,
  { url, title, headers, json }: Pick<HttpRequest, 'url' | 'title' | 'headers' | 'json'>,
): string {
  const texts = headers.authorization ? [headers.authorization.replace(/^Bearer /, '')] : [];
  JSON.stringify(json, (_, value: unknown) => {
    // A shorter text may be a word of the reason.
    if (typeof value === 'string' && value.length >= 6) texts.push(value, JSON.stringify(value).slice(1, -1));
    return value;
  });
  const clean = texts.reduce((left, text) => left.replaceAll(text, '[redacted]'), detail.replaceAll(url, title));
  return clean.replaceAll(/\p{Cc}/gu, ' ').slice(0, MAX_WORDS);
}

import { type FieldError, TransferServiceError } from './error.js';
import { Failure, parseRetryAfter } from './retry.js';
import type { HttpResponse } from './send.js';

const MOST_ERRORS = 50;

/**
 * A response that is no success, as a failure. 429 and 503 can be tried again, and so can the first request with the
 * same key, which is still running after its connection broke; with a key, also errors that leave the outcome unknown.
 * @param request.secrets texts that the error must not show even if the server returned them; no code is one
 */
export function refusalOf(
  response: HttpResponse,
  {
    title,
    secrets,
    idempotencyKey,
  }: { title: string; secrets: readonly string[]; idempotencyKey?: string | undefined },
): Failure {
  const { status, headers } = response;
  const body = parseObject(response);
  const clean = (text: string) =>
    secrets.reduce((left, secret) => (secret === '' ? left : left.replaceAll(secret, '[redacted]')), text);
  const textOf = (value: unknown) => (typeof value === 'string' ? clean(value.slice(0, 2_000)) : undefined);

  // `code` and `detail` are RFC 9457's; `error` and `error_description` are RFC 6749's.
  const code = codeOf(body?.code) ?? codeOf(body?.error);
  const detail = textOf(body?.detail) ?? textOf(body?.error_description);
  const errors = Array.isArray(body?.errors) ? body.errors.slice(0, MOST_ERRORS).map(fieldError) : [];
  const named = errors.map(({ pointer, parameter, detail }) => `${pointer ?? parameter ?? ''} ${detail}`.trim());
  const more = named.length > 5 ? ` and ${named.length - 5} more` : '';
  const message = [
    `${title}: ${status}${code ? ` ${code}` : ''}`,
    // The fields follow at once: the sentence that refers to them continues.
    ...(detail ? [named.length > 0 ? detail.replace(/(; see errors)?\.$/, '') : detail] : []),
    ...(named.length > 0 ? [named.slice(0, 5).join(', ') + more] : []),
  ].join(': ');

  const error = new TransferServiceError(message, {
    code: code ?? 'invalid_response',
    status,
    requestId: textOf(headers.get('x-request-id')),
    errors,
    idempotencyKey,
  });
  const repeats =
    status === 429 ||
    status === 503 ||
    (status === 409 && code === 'idempotency_key_in_use') ||
    (idempotencyKey !== undefined && [500, 502, 504].includes(status));
  return new Failure(error, repeats ? parseRetryAfter(headers.get('retry-after')) : undefined, {
    // A proxy may have stopped waiting. The service's own 503 means that nothing was done.
    outcomeUnknown: status >= 500 && code !== 'unavailable',
  });

  /** Codes are words of the service. One is left out, not changed, if it is a secret that the server returned. */
  function codeOf(value: unknown): string | undefined {
    return typeof value === 'string' && /^[a-z][a-z0-9_]{0,63}$/.test(value) && !secrets.includes(value)
      ? value
      : undefined;
  }

  function fieldError(entry: unknown): FieldError {
    const { pointer, parameter, code, detail } = (entry ?? {}) as Record<string, unknown>;
    return {
      ...(typeof pointer === 'string' && { pointer: clean(pointer) }),
      ...(typeof parameter === 'string' && { parameter: clean(parameter) }),
      code: codeOf(code) ?? '',
      detail: textOf(detail) ?? '',
    };
  }
}

/** The body as a JSON object; undefined if it is not one, such as the HTML page of a proxy. */
export function parseObject({ text }: HttpResponse): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

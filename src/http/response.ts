import type { Context } from 'koa';
import type { Refusal } from '../refusal.js';
import { PROBLEMS, toProblem } from './problem.js';

/**
 * The largest response (contract, Errors, limits, paging): each item has its own bounds, and a large page ends early.
 */
export const MAX_RESPONSE_BYTES = 1_000_000;

/** The response of a route; `body` is serialized as JSON, `json` is a body that is already serialized. */
export interface HttpResponse {
  status: number;
  headers?: Readonly<Record<string, string>>;
  body?: unknown;
  json?: string;
}

/** A response as it is sent, and as it is kept for an `Idempotency-Key`. */
export interface WrittenResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  text: string;
}

export function writeResponse({ status, headers, body, json }: HttpResponse): WrittenResponse {
  const text = json ?? (body === undefined ? '' : JSON.stringify(body));
  if (text === '') return { status, headers: { ...headers }, text };
  return { status, headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers }, text };
}

/** RFC 6750 has no error code for a forbidden network; `insufficient_scope` is its code for a 403. */
const NETWORK_CHALLENGE = 'Bearer realm="transfer-service", error="insufficient_scope"';

/** A refusal as RFC 9457 problem details. */
export function problemResponse(
  refusal: Refusal,
  where: { baseUrl: string; path: string; requestId: string },
): HttpResponse {
  const { status } = PROBLEMS[refusal.code];
  return {
    status,
    headers: {
      'Content-Type': 'application/problem+json',
      ...(status === 503 && { 'Retry-After': '2' }),
      ...(refusal.code === 'idempotency_key_in_use' && { 'Retry-After': '1' }),
      ...(refusal.retryAfter !== undefined && { 'Retry-After': String(refusal.retryAfter) }),
      ...(refusal.code === 'network_not_allowed' && { 'WWW-Authenticate': NETWORK_CHALLENGE }),
    },
    body: toProblem(refusal, where),
  };
}

export function send(ctx: Context, { status, headers, text }: WrittenResponse): void {
  ctx.body = text === '' ? null : text;
  // Setting the body makes Koa set the status to 200 or 204: the status is set after it.
  ctx.status = status;
  ctx.set({ ...headers });
}

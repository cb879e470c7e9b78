import type { Context } from 'koa';
import { isConflict, isUnreachable } from '../platform/database/faults.js';
import { DeadlinePassed } from '../platform/deadline.js';
import { PROBLEMS, Refusal, type RefusalCode } from '../platform/refusal.js';
import type { AppMiddleware } from './context.js';
import { etagOfJson, matches, tagOf } from './etag.js';

/**
 * The largest response: each item has its own bounds, and a large page ends early.
 */
export const MAX_RESPONSE_BYTES = 1_000_000;

/** A response as it is sent, and as it is kept for an `Idempotency-Key`. */
export interface HttpResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  text: string;
}

/** What a handler returns where the body is not all, or is already serialized. */
export class Reply {
  constructor(
    readonly json: string | undefined,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}
}

/** The response that presents what the request made. */
export const created = (url: string, body: object, headers = {}) =>
  new Reply(JSON.stringify(body), { Location: url, ...headers });

/** The response that presents a resource with its ETag. */
export function tagged(body: object, ETag?: string): Reply {
  const text = JSON.stringify(body);
  return new Reply(text, { ETag: ETag ?? etagOfJson(text) });
}

/** @param text JSON; empty: the response has no body */
export function jsonResponse(status: number, text = '', headers: Readonly<Record<string, string>> = {}): HttpResponse {
  const type = text !== '' && { 'Content-Type': 'application/json; charset=utf-8' };
  return { status, headers: { ...type, ...headers }, text };
}

export const REALM = 'Bearer realm="transfer-service"';
/**
 * The challenges of RFC 6750 §3.1. A missing token is challenged like an invalid one. A forbidden network has no code
 * there; `insufficient_scope` is that of a 403.
 */
const CHALLENGES: Readonly<Partial<Record<RefusalCode, string>>> = {
  unauthorized: `${REALM}, error="invalid_token"`,
  invalid_token: `${REALM}, error="invalid_token"`,
  network_not_allowed: `${REALM}, error="insufficient_scope"`,
};

/** The refused request: the API's base URL as clients know it, and the path if the request could be read. */
interface Refused {
  baseUrl: string;
  path: string | undefined;
  requestId: string;
}

/** A refusal as RFC 9457 problem details. @param members further members of the problem */
export function problemResponse(refusal: Refusal, where: Refused, members: object = {}): HttpResponse {
  const { code, errors, message: detail, retryAfter } = refusal;
  const { status, title } = PROBLEMS[code];
  const challenge = CHALLENGES[code];
  const problem = {
    // The guide's table of errors has an anchor for each code.
    type: `${where.baseUrl}/docs/guide#${code}`,
    ...{ title, status, detail },
    // A path that cannot be decoded is not a URI reference (RFC 3986 §2.1) until its stray % are escaped.
    instance: where.path?.replace(/%(?![0-9a-f]{2})/gi, '%25'),
    ...{ code, request_id: where.requestId },
    ...(errors.length > 0 && { errors }),
    ...members,
  };
  return jsonResponse(status, JSON.stringify(problem), {
    'Content-Type': 'application/problem+json',
    ...(status === 503 && { 'Retry-After': '2' }),
    ...(code === 'idempotency_key_in_use' && { 'Retry-After': '1' }),
    ...(retryAfter !== undefined && { 'Retry-After': String(retryAfter) }),
    ...(challenge !== undefined && { 'WWW-Authenticate': challenge }),
  });
}

/**
 * The refusal that a client gets for a fault: it states only whether a repeat can help. Where Postgres hung or the
 * connection broke during the commit, the outcome is unknown; the transaction took effect as a whole or not at all.
 */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (isUnreachable(error) || isConflict(error) || error instanceof DeadlinePassed) {
    return new Refusal(
      'unavailable',
      'The service cannot do this at the moment. Try again. A change was made as a whole or not at all: repeat it with the same Idempotency-Key; without one, first read whether it was made.',
    );
  }
  return new Refusal('internal_error', 'The service failed to process the request.');
}

export function send(ctx: Context, { status, headers, text }: HttpResponse): void {
  ctx.body = text === '' ? null : text;
  // Setting the body makes Koa set the status to 200 or 204: the status is set after it.
  ctx.status = status;
  ctx.set({ ...headers });
}

/**
 * Serves a document that does not change while the process runs. The bytes are made once, because the conversion of a
 * large string costs CPU at each request. A request whose `If-None-Match` has the document's ETag gets 304 (RFC 9110
 * §13.1.2); Koa's `fresh` never matches one with `Cache-Control: no-cache`, which fetch adds.
 */
export function staticDocument(
  type: string,
  content: string | Buffer,
  headers: Readonly<Record<string, string>> = {},
): AppMiddleware {
  const bytes = Buffer.from(content);
  const etag = tagOf(bytes);
  return (ctx) => {
    ctx.set({ 'Cache-Control': 'public, max-age=300', ...headers, ETag: etag });
    if (matches(ctx.get('If-None-Match'), etag, { weak: true })) {
      ctx.status = 304;
      return;
    }
    ctx.type = type;
    ctx.body = bytes;
  };
}

import { createHash } from 'node:crypto';
import type { AppMiddleware } from './state.js';

/**
 * Serves a document that does not change while the process runs. The bytes are made once, because the conversion of a
 * large string costs CPU at each request. A request whose `If-None-Match` has the document's ETag gets 304 (RFC 9110
 * §13.1.2).
 */
export function staticDocument(type: string, text: string, headers: Readonly<Record<string, string>>): AppMiddleware {
  const bytes = Buffer.from(text);
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`;
  return (ctx) => {
    ctx.set({ 'Cache-Control': 'public, max-age=300', ...headers, ETag: etag });
    if (namesTag(ctx.get('If-None-Match'), etag)) {
      ctx.status = 304;
      return;
    }
    ctx.type = type;
    ctx.body = bytes;
  };
}

/**
 * Koa's `fresh` never matches a request with `Cache-Control: no-cache`, which fetch adds to each conditional request.
 */
function namesTag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

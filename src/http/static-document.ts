import { createHash } from 'node:crypto';
import type { AppMiddleware } from './state.js';

/** The compressed forms of a document, made once. Every browser accepts `gzip`. */
export interface Compressed {
  br: Buffer;
  gzip: Buffer;
}

/**
 * Serves a document that does not change while the process runs. The bytes are made once, because the conversion of a
 * large string costs CPU at each request. A request whose `If-None-Match` has the document's ETag gets 304 (RFC 9110
 * §13.1.2).
 */
export function staticDocument(
  type: string,
  content: string | Compressed,
  headers: Readonly<Record<string, string>>,
): AppMiddleware {
  const compressed = typeof content !== 'string';
  const br = tagged(compressed ? content.br : Buffer.from(content));
  const gzip = compressed ? tagged(content.gzip) : br;
  return (ctx) => {
    // A request without Accept-Encoding accepts every coding (RFC 9110 §12.5.3).
    const coding = ctx.acceptsEncodings('br', 'gzip') === 'br' ? 'br' : 'gzip';
    const { bytes, etag } = coding === 'br' ? br : gzip;
    ctx.set({ 'Cache-Control': 'public, max-age=300', ...headers, ETag: etag });
    if (compressed) ctx.set({ 'Content-Encoding': coding, Vary: 'Accept-Encoding' });
    if (namesTag(ctx.get('If-None-Match'), etag)) {
      ctx.status = 304;
      return;
    }
    ctx.type = type;
    ctx.body = bytes;
  };
}

function tagged(bytes: Buffer): { bytes: Buffer; etag: string } {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
}

/**
 * Koa's `fresh` never matches a request with `Cache-Control: no-cache`, which fetch adds to each conditional request.
 */
function namesTag(ifNoneMatch: string, etag: string): boolean {
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { AppContext } from '../http/state.js';

/** No inline script or style, nothing from another origin, no frame (contract, The console). */
const POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** The headers of every response under `/console`. */
export const CONSOLE_HEADERS = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
};

/**
 * Sends a document. The renderer escapes every text and attribute.
 * @param prefix the path of BASE_URL, which a proxy strips; empty if it has none
 */
export function sendDocument(ctx: AppContext, document: VNode, { status = 200, prefix = '' } = {}): void {
  ctx.body = `<!doctype html>\n${withPrefix(renderToString(document), prefix)}`;
  ctx.status = status;
  ctx.type = 'text/html';
}

/** Puts the prefix before the console's own paths. The renderer escapes quotation marks, so that text never matches. */
function withPrefix(html: string, prefix: string): string {
  return prefix === '' ? html : html.replace(/ ((?:href|src|action|data-live)=")\/console/g, ` $1${prefix}/console`);
}

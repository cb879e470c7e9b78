import type { AppMiddleware } from '../state.js';

/** Two years, as the preload list of browsers asks for (RFC 6797). Other names of the domain stay as they are. */
const STRICT_TRANSPORT = `max-age=${2 * 365 * 24 * 3_600}`;

/**
 * Headers of every response, unless a route overrides them: no caching, no sniffing of the media type, and, where the API
 * is reached by https, nothing but https (RFC 6797 §7.2: a browser ignores the header over http).
 * @param baseUrl the public URL of the API
 */
export function secureHeaders(baseUrl: string): AppMiddleware {
  const headers = {
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(baseUrl.startsWith('https:') && { 'Strict-Transport-Security': STRICT_TRANSPORT }),
  };
  return (ctx, next) => {
    ctx.set(headers);
    return next();
  };
}

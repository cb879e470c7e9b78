/** URLs of receivers as they go onto the wire. */

/** A character of a path segment (RFC 3986 §3.3). A query may have `/` and `?` too (§3.4). */
const PCHAR = String.raw`[\w.~!$&'()*+,;=:@-]|%[\dA-Fa-f]{2}`;
const CANONICAL = new RegExp(
  String.raw`^https?://[^/?#\\\s]+(?<path>(?:/(?:${PCHAR})*)*)(?<query>(?:\?(?:${PCHAR}|[/?])*)?)$`,
  'i',
);
/** RFC 3986 §5.2.4. The URL standard takes an encoded dot for a dot. */
const DOT_SEGMENT = /\/(?:\.|%2e){1,2}(?=\/|$)/i;

/** Path and query of a URL that no client rewrites; undefined for any other URL. */
function partsOf(url: string): { path: string; query: string } | undefined {
  const groups = CANONICAL.exec(url)?.groups;
  const { path = '', query = '' } = groups ?? {};
  return groups && !DOT_SEGMENT.test(path) ? { path, query } : undefined;
}

/**
 * The origin that a request connects to, and the path and query that it sends: byte for byte as registered. A URL that
 * was registered before the service required the canonical form is sent as the URL standard writes it.
 */
export function requestTarget(url: string): { origin: string; path: string } {
  const { origin, pathname, search } = new URL(url);
  const parts = partsOf(url);
  return { origin, path: parts ? (parts.path || '/') + parts.query : pathname + search };
}

/** Removes what the URL standard ignores: blanks at both ends, tabs and line breaks. */
export function withoutBlanks(url: string): string {
  return url.replace(/^[\p{Cc} ]+|[\p{Cc} ]+$|[\t\n\r]/gu, '');
}

/**
 * The form of a URL that goes onto the wire unchanged: without dot segments, and with everything that RFC 3986 forbids
 * percent-encoded. A canonical URL is returned as it is.
 * @param url parsable, without a fragment and half surrogate pairs
 */
export function canonicalUrl(url: string): string {
  if (partsOf(url)) return url;
  const [before = '', ...query] = withoutBlanks(url).split('?');
  // The URL standard takes a backslash before the query for a slash.
  const address = before.replaceAll('\\', '/');
  const [origin = ''] = /^[^/]*\/\/[^/]*/.exec(address) ?? [];
  const path = origin === address ? '' : encode(new URL(address).pathname, '/');
  return origin + path + (query.length > 0 ? `?${encode(query.join('?'), '/?')}` : '');
}

/** Percent-encodes the bytes of each character that is neither a PCHAR nor one of `others`. */
function encode(text: string, others: string): string {
  const each = new RegExp(`${PCHAR}|[${others}]|(?<forbidden>.)`, 'gsu');
  return text.replace(each, (character, forbidden?: string) => (forbidden ? encodeURIComponent(forbidden) : character));
}

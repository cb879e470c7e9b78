/** The headers of a receiver's response that the record keeps (contract, Events and deliveries). */
export const KEPT_HEADERS = [
  'content-type',
  'retry-after',
  'date',
  'server',
  'location',
  'via',
  'x-request-id',
  'traceparent',
] as const;

export type KeptHeaders = Partial<Record<(typeof KEPT_HEADERS)[number], string>>;

const MAX_LENGTH = 256;

/**
 * Picks the kept headers. Control characters are removed, and a value is cut to 256 characters. User name, password,
 * query and fragment of `location` are removed, since they may contain a credential of the receiver.
 * @param headers by lower-case name, as undici passes them
 */
export function keepHeaders(headers: Readonly<Record<string, string | readonly string[] | undefined>>): KeptHeaders {
  const kept: KeptHeaders = {};
  for (const name of KEPT_HEADERS) {
    const value = headers[name];
    if (value === undefined) continue;
    const text = withoutControls(typeof value === 'string' ? value : value.join(', '));
    const shown = name === 'location' ? withoutCredentials(text) : text;
    // The value is cut by code points. Postgres refuses half of a surrogate pair, which is not valid Unicode.
    kept[name] = [...shown].slice(0, MAX_LENGTH).join('');
  }
  return kept;
}

/** Removes C0, DEL and C1, because they control terminals and Postgres does not accept U+0000. */
function withoutControls(text: string): string {
  return text.replace(/\p{Cc}/gu, '');
}

function withoutCredentials(location: string): string {
  const address = location.replace(/[?#].*$/s, '');
  // By the WHATWG URL standard, a backslash is a slash, and the last @ of the authority ends the user information.
  return address.replace(/^([a-z][a-z0-9+.-]*:)?([\\/]{2,})[^\\/]*@/i, '$1$2');
}

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
 * Picks the kept headers. Values have no control characters and at most 256 characters; `location` has neither user name
 * nor query nor fragment, since these may hold a credential of the receiver.
 * @param headers lower-case names, as undici hands them over
 */
export function keepHeaders(headers: Readonly<Record<string, string | readonly string[] | undefined>>): KeptHeaders {
  const kept: KeptHeaders = {};
  for (const name of KEPT_HEADERS) {
    const value = headers[name];
    if (value === undefined) continue;
    const text = withoutControls(typeof value === 'string' ? value : value.join(', '));
    const shown = name === 'location' ? withoutCredentials(text) : text;
    // By code points: half of a surrogate pair is no Unicode, and Postgres refuses it.
    kept[name] = [...shown].slice(0, MAX_LENGTH).join('');
  }
  return kept;
}

/** C0, DEL and C1: they steer terminals, and Postgres takes no U+0000. */
function withoutControls(text: string): string {
  return text.replace(/\p{Cc}/gu, '');
}

function withoutCredentials(location: string): string {
  const address = location.replace(/[?#].*$/s, '');
  // WHATWG URL reads a backslash as a slash, and the last @ of the authority ends the user information.
  return address.replace(/^([a-z][a-z0-9+.-]*:)?([\\/]{2,})[^\\/]*@/i, '$1$2');
}

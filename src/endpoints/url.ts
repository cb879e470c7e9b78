import type { Receiver } from '../../workflows/receiver.js';
import { canonicalUrl, withoutBlanks } from '../platform/receiver-url.js';
import type { ValidationError } from '../platform/refusal.js';

export interface EndpointUrlRules {
  /** True in production: only `https:` is allowed. */
  httpsOnly: boolean;
  /** Whether the hostname is a literal address that is blocked. A DNS name is checked only when a delivery connects. */
  blocksLiteral(hostname: string): boolean;
}

const MAX_LENGTH = 2048;

/** RFC 1123 §2.1 labels, and underscores, which some internal names have. */
const NAME =
  /^(?=.{1,253}\.?$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?$/i;

/**
 * Validates the URL of a webhook endpoint. The URL is stored and sent as given, so a URL
 * that a client would silently repair is refused.
 * @returns undefined if the URL is valid
 */
export function findUrlError(text: string, rules: EndpointUrlRules): ValidationError | undefined {
  const validationError = (code: string, detail: string) => ({ pointer: '/url', code, detail });
  // A code point has at most two UTF-16 units, so that a far too long text is refused without counting its code points.
  if (text.length > 2 * MAX_LENGTH || [...text].length > MAX_LENGTH)
    return validationError('too_long', `may have at most ${MAX_LENGTH} characters`);
  // As the URL standard reads it.
  const address = withoutBlanks(text).replaceAll('\\', '/');
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(address)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'https' && (rules.httpsOnly || scheme !== 'http')) {
    return validationError(
      'invalid_scheme',
      rules.httpsOnly ? 'must be an https: URL' : 'must be an https: or http: URL',
    );
  }
  if (!/^https?:\/\/[^/?#]/i.test(address) || !URL.canParse(text) || !text.isWellFormed()) {
    return validationError('invalid_url', 'must be an absolute URL, such as https://example.com/hooks');
  }
  if (text.includes('#')) return validationError('fragment', 'must not have a fragment');
  const url = new URL(text);
  if (/^[^/]*\/\/[^/?#]*@/.test(address))
    return validationError('credentials', 'must not contain a user name or password');
  if (url.port === '0') return validationError('invalid_url', 'has port 0, on which no server can listen');
  if (!url.hostname.startsWith('[') && !NAME.test(url.hostname)) {
    return validationError('invalid_url', 'has a host that is neither a name nor an address');
  }
  if (rules.blocksLiteral(url.hostname))
    return validationError('blocked_address', 'is an address that deliveries are not sent to');
  const canonical = canonicalUrl(text);
  if ([...canonical].length > MAX_LENGTH)
    return validationError('too_long', `may have at most ${MAX_LENGTH} characters in its canonical form`);
  if (canonical !== text) return validationError('url_not_canonical', `is not canonical; register it as ${canonical}`);
  return undefined;
}

/** Host and port of a receiver's URL. Logs and workflow histories show no other part of the URL. */
export function hostOf(url: string): string {
  return new URL(url).host;
}

/** What a workflow's history has of an endpoint. */
export function receiverOf({
  id,
  url,
  description,
}: {
  id: string;
  url: string;
  description: string | null;
}): Receiver {
  return { webhookId: id, host: hostOf(url), description: describedAs(description) };
}

/** Characters. */
const LONGEST_NAME = 32;
/** What may be a URL, a path of one, or a secret. */
const NOT_A_NAME = /:\/\/|\.\S*\/|\S{30}/;

/**
 * A client's description as Temporal's UI may show it: one line, without what Markdown would make a link, an image,
 * code, or the end of a table's cell.
 * @returns null if it is no name
 */
function describedAs(description: string | null): string | null {
  if (description === null || NOT_A_NAME.test(description)) return null;
  const characters = [...description.replace(/[\p{C}\p{Z}|[\]<>`\\*~]+/gu, ' ').trim()];
  if (characters.length === 0) return null;
  return characters.length > LONGEST_NAME ? `${characters.slice(0, LONGEST_NAME).join('')}…` : characters.join('');
}

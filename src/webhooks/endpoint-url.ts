import type { ValidationError } from '../refusal.js';

export interface EndpointUrlRules {
  /** Production: `https:` alone (spec §8). */
  httpsOnly: boolean;
  /** Whether a literal address is one that nothing is delivered to; a name is not judged here. */
  blocksLiteral(hostname: string): boolean;
}

const MAX_LENGTH = 2048;

/** RFC 1123 §2.1 labels, with the underscore that some internal names have. */
const NAME =
  /^(?=.{1,253}\.?$)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?$/i;

/**
 * What is wrong with the URL of a webhook endpoint (contract, Webhook endpoints); undefined where nothing is. It is kept
 * as given, so whatever the URL parser would quietly repair (blanks, backslashes, missing slashes) is refused.
 */
export function findUrlError(text: string, rules: EndpointUrlRules): ValidationError | undefined {
  const validationError = (code: string, detail: string) => ({ pointer: '/url', code, detail });
  // A code point is two UTF-16 units at most: what is far too long is not counted.
  if (text.length > 2 * MAX_LENGTH || [...text].length > MAX_LENGTH)
    return validationError('too_long', `may have at most ${MAX_LENGTH} characters`);
  if (/[\s\\\p{Cc}\p{Cs}]/u.test(text)) {
    return validationError('invalid_url', 'may hold no blanks, backslashes or control characters');
  }
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'https' && (rules.httpsOnly || scheme !== 'http')) {
    return validationError(
      'invalid_scheme',
      rules.httpsOnly ? 'must be an https: URL' : 'must be an https: or http: URL',
    );
  }
  if (!/^https?:\/\/[^/?#]/i.test(text) || !URL.canParse(text)) {
    return validationError('invalid_url', 'must be an absolute URL, such as https://example.com/hooks');
  }
  if (text.includes('#')) return validationError('fragment', 'may have no fragment');
  const url = new URL(text);
  if (/^[^/]*\/\/[^/?#]*@/.test(text)) return validationError('credentials', 'may hold no user name or password');
  if (url.port === '0') return validationError('invalid_url', 'names port 0, which nothing listens on');
  if (!url.hostname.startsWith('[') && !NAME.test(url.hostname)) {
    return validationError('invalid_url', 'has a host that is neither a name nor an address');
  }
  if (rules.blocksLiteral(url.hostname))
    return validationError('blocked_address', 'is an address that nothing is delivered to');
  return undefined;
}

/** Host and port of a receiver's URL, all of it that logs and workflow histories show. */
export function hostOf(url: string): string {
  return new URL(url).host;
}

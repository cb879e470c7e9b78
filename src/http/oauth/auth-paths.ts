/**
 * The paths at which a request to `path` below AUTH_URL may arrive: the path itself, where a proxy strips AUTH_URL's
 * own path, and AUTH_URL's path followed by it, where the proxy does not.
 */
export function authPaths(authUrl: string, path: string): string[] {
  return [...new Set([path, `${issuerPath(authUrl)}${path}`])];
}

/** The path component of the issuer; empty if it has none. */
export function issuerPath(authUrl: string): string {
  return new URL(authUrl).pathname.replace(/\/$/, '');
}

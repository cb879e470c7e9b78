/**
 * The paths of this process that a path below AUTH_URL may arrive at: the bare one, for a proxy that takes AUTH_URL's own
 * path off, and the whole one, for one that does not.
 */
export function authPaths(authUrl: string, path: string): string[] {
  return [...new Set([path, `${issuerPath(authUrl)}${path}`])];
}

/** The path component of the issuer; empty where it has none. */
export function issuerPath(authUrl: string): string {
  return new URL(authUrl).pathname.replace(/\/$/, '');
}

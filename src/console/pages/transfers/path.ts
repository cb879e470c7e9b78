import type { Visit } from '../../page.js';

/** The page of a transfer; undefined where the session may not read transfers. */
export function transferHref({ session }: Pick<Visit, 'session'>, id: string): string | undefined {
  return session.scopes.has('transfers:read') ? `/console/transfers/${id}` : undefined;
}

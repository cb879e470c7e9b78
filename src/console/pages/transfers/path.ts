import type { Visit } from '../../page.js';

/** The page of a transfer; undefined where the session may not read transfers. */
export function transferHref({ session }: Pick<Visit, 'session'>, id: string): string | undefined {
  return session.scopes.has('transfers:read') ? `/console/transfers/${id}` : undefined;
}

/** The form of a transfer in the sandbox that completes by itself. */
export const MOVING_TRANSFER = '/console/transfers/new?outcome=SANDBOX-COMPLETE';

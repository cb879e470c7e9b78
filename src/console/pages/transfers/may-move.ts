import { Refusal } from '../../../refusal.js';
import type { Visit } from '../../page.js';

/** Whether the session may make and move transfers here: in the sandbox only, so that no click moves real money. */
export function mayMove({ config, session }: Pick<Visit, 'config' | 'session'>): boolean {
  return config.environment === 'sandbox' && session.scopes.has('transfers:write');
}

/** @throws Refusal not_found */
export function refuseOutsideSandbox({ config }: Pick<Visit, 'config'>): void {
  if (config.environment === 'sandbox') return;
  throw new Refusal('not_found', 'The console makes and changes transfers in the sandbox only; use the API.');
}

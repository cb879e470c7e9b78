import { isNetwork } from '../networks.js';
import { type Mistake, Refusal } from '../refusal.js';
import { SCOPES } from './caller.js';

export function mistakesInName(name: string): Mistake[] {
  const good = name.trim() !== '' && name.length <= 255 && !name.includes('\0') && !/\p{Surrogate}/u.test(name);
  return good ? [] : [{ pointer: '/name', code: 'invalid', detail: 'The name must be 1 to 255 characters.' }];
}

export function mistakesInScopes(scopes: readonly string[]): Mistake[] {
  return scopes
    .filter((scope) => !(SCOPES as readonly string[]).includes(scope))
    .map((scope) => ({
      pointer: '/scopes',
      code: 'unknown_scope',
      detail: `${scope} is no scope; the scopes are ${SCOPES.join(', ')}.`,
    }));
}

export function mistakesInNetworks(networks: readonly string[]): Mistake[] {
  return networks
    .filter((network) => !isNetwork(network))
    .map((network) => ({
      pointer: '/networks',
      code: 'invalid_network',
      detail: `${network} is no network; give a CIDR such as 203.0.113.0/24 or 2001:db8::/32.`,
    }));
}

/** @throws Refusal invalid_request, where there are any */
export function refuse(mistakes: readonly Mistake[]): void {
  if (mistakes.length > 0) {
    throw new Refusal('invalid_request', mistakes.map((mistake) => mistake.detail).join(' '), mistakes);
  }
}

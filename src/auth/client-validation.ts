import { isNetwork } from '../networks.js';
import { Refusal, type ValidationError } from '../refusal.js';
import { SCOPES } from './caller.js';

export function errorsInName(name: string): ValidationError[] {
  const good = name.trim() !== '' && name.length <= 255 && !name.includes('\0') && !/\p{Surrogate}/u.test(name);
  return good ? [] : [{ pointer: '/name', code: 'invalid', detail: 'The name must be 1 to 255 characters.' }];
}

export function errorsInScopes(scopes: readonly string[]): ValidationError[] {
  return scopes
    .filter((scope) => !(SCOPES as readonly string[]).includes(scope))
    .map((scope) => ({
      pointer: '/scopes',
      code: 'unknown_scope',
      detail: `${scope} is not a scope; the scopes are ${SCOPES.join(', ')}.`,
    }));
}

export function errorsInNetworks(networks: readonly string[]): ValidationError[] {
  return networks
    .filter((network) => !isNetwork(network))
    .map((network) => ({
      pointer: '/networks',
      code: 'invalid_network',
      detail: `${network} is not a network; give a CIDR such as 203.0.113.0/24 or 2001:db8::/32.`,
    }));
}

/** @throws Refusal invalid_request if there is at least one validation error */
export function refuse(validationErrors: readonly ValidationError[]): void {
  if (validationErrors.length > 0) {
    throw new Refusal(
      'invalid_request',
      validationErrors.map((validationError) => validationError.detail).join(' '),
      validationErrors,
    );
  }
}

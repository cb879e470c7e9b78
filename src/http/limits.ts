import { z } from 'zod';
import { Refusal, type ValidationError } from '../refusal.js';
import { type Excess, MAX_DEPTH, MAX_MEMBERS } from './json-structure.js';
import { MAX_ERRORS, pointerTo, UNKNOWN_FIELD } from './validation-errors.js';

/** Parameters that a query may have; each repetition counts (contract, Errors, limits, paging). */
export const MAX_PARAMETERS = 20;

/**
 * Counts the parameters of a query or of a form before any of them is read. The length of a query needs no separate
 * limit: Node refuses a request whose head is larger than 16 KiB.
 * @param querystring as it was sent, without `?`
 * @throws Refusal too_many_parameters
 */
export function limitParameters(querystring: string, what: 'query' | 'form' = 'query'): void {
  let count = 0;
  for (let start = 0; start < querystring.length; ) {
    const end = querystring.indexOf('&', start);
    const next = end === -1 ? querystring.length : end;
    if (next > start && ++count > MAX_PARAMETERS) {
      throw new Refusal('too_many_parameters', `A ${what} may have at most ${MAX_PARAMETERS} parameters.`);
    }
    start = next + 1;
  }
}

/**
 * Refuses a body with more members or levels than any request allows. The body was not parsed: the errors are derived
 * from its names alone.
 * @throws Refusal invalid_request
 */
export function refuseExcess(schema: z.ZodType, excess: Excess): never {
  throw new Refusal('invalid_request', 'The body is invalid; see errors.', errorsOf(schema, excess), {
    oversized: true,
  });
}

function errorsOf(schema: z.ZodType, { of, names, within }: Excess): ValidationError[] {
  if (names === null) return [{ pointer: '', code: 'invalid_type', detail: 'must be an object' }];
  const pointer = pointerTo(within === undefined ? [] : [within]);
  if (of === 'depth') {
    return [{ pointer, code: 'too_deep', detail: `nests the body deeper than ${MAX_DEPTH} levels` }];
  }
  const known = schema instanceof z.ZodObject ? schema.shape : {};
  const unknown = names.filter((name) => !Object.hasOwn(known, name)).slice(0, MAX_ERRORS);
  if (unknown.length > 0) {
    return unknown.map((name) => ({ pointer: pointerTo([name]), ...UNKNOWN_FIELD }));
  }
  return [{ pointer, code: 'too_many', detail: `brings the body to more than ${MAX_MEMBERS} members` }];
}

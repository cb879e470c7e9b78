import { z } from 'zod';
import { Refusal, type ValidationError } from '../refusal.js';
import { type Excess, MAX_DEPTH, MAX_MEMBERS } from './json-structure.js';
import { MAX_MISTAKES, pointerTo, UNKNOWN_FIELD } from './validation-errors.js';

/** Parameters that a query may have (contract, Errors, limits, paging), repeated ones counted each. */
export const MAX_PARAMETERS = 20;

/**
 * Counts the query's parameters before any of them is read. The length of a query needs no limit of its own: Node refuses
 * a request whose head is larger than 16 KiB.
 * @param querystring as it was sent, without `?`
 * @throws Refusal too_many_parameters
 */
export function limitParameters(querystring: string): void {
  let count = 0;
  for (let start = 0; start < querystring.length; ) {
    const end = querystring.indexOf('&', start);
    const next = end === -1 ? querystring.length : end;
    if (next > start && ++count > MAX_PARAMETERS) {
      throw new Refusal('too_many_parameters', `A query may have at most ${MAX_PARAMETERS} parameters.`);
    }
    start = next + 1;
  }
}

/**
 * Refuses a body that has more members, or is deeper, than any request takes: it was not read, and its names alone say where
 * it is wrong.
 * @throws Refusal invalid_request
 */
export function refuseExcess(schema: z.ZodType, excess: Excess): never {
  throw new Refusal('invalid_request', 'The body is not right; see errors.', mistakesOf(schema, excess), {
    oversized: true,
  });
}

function mistakesOf(schema: z.ZodType, { of, names, within }: Excess): ValidationError[] {
  if (names === null) return [{ pointer: '', code: 'invalid_type', detail: 'must be an object' }];
  const pointer = pointerTo(within === undefined ? [] : [within]);
  if (of === 'depth') {
    return [{ pointer, code: 'too_deep', detail: `makes the body deeper than ${MAX_DEPTH} levels` }];
  }
  const known = schema instanceof z.ZodObject ? schema.shape : {};
  const unknown = names.filter((name) => !Object.hasOwn(known, name)).slice(0, MAX_MISTAKES);
  if (unknown.length > 0) {
    return unknown.map((name) => ({ pointer: pointerTo([name]), ...UNKNOWN_FIELD }));
  }
  return [{ pointer, code: 'too_many', detail: `makes the body larger than ${MAX_MEMBERS} members` }];
}

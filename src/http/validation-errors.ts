import { z } from 'zod';
import { Refusal, type ValidationError } from '../platform/refusal.js';
import { type Excess, MAX_DEPTH, MAX_MEMBERS } from './body.js';

/** The largest number of entries in `errors` of a problem. */
export const MAX_ERRORS = 50;

/** Characters of a name that `errors` quotes: a name may be as long as a body. */
const MAX_NAME_LENGTH = 128;

type Issue = z.core.$ZodIssue;

const unknown = (kind: 'field' | 'parameter') => ({
  code: `unknown_${kind}`,
  detail: `is not a ${kind} of this request`,
});

/**
 * The errors of a body, with RFC 6901 pointers to its fields, or of a query, with names of its parameters.
 * @param error of a parse with `reportInput`, which shows what is missing
 */
export function errorsOf({ issues }: z.ZodError, kind: 'field' | 'parameter'): ValidationError[] {
  const place = (path: readonly PropertyKey[]) =>
    kind === 'field' ? { pointer: pointerTo(path) } : { parameter: shortened(path[0] ?? '') };
  const errors = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ ...place([...issue.path, key]), ...unknown(kind) }))
      : [{ ...place(issue.path), ...describe(issue) }],
  );
  return errors.slice(0, MAX_ERRORS);
}

/** An RFC 6901 pointer; a name that is too long to quote is cut and ends in `…`. */
function pointerTo(path: readonly PropertyKey[]): string {
  return path.map((name) => `/${shortened(name).replace(/~/g, '~0').replace(/\//g, '~1')}`).join('');
}

/** A name as `errors` quotes it. */
export function shortened(name: PropertyKey): string {
  const text = String(name);
  return text.length > MAX_NAME_LENGTH ? `${text.slice(0, MAX_NAME_LENGTH).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

/** Every number of a request is an integer. `parseBody` returns NaN for one that JSON.parse may have rounded. */
const TYPES: Readonly<Record<string, string>> = {
  int: 'an integer',
  number: 'an integer',
  record: 'an object',
  object: 'an object',
  array: 'an array',
};

/** Never quotes the value: it may be a secret. */
function describe(issue: Issue): Pick<ValidationError, 'code' | 'detail'> {
  if ('input' in issue && issue.input === undefined) return { code: 'required', detail: 'is required' };
  switch (issue.code) {
    case 'custom':
      return { code: String(issue.params?.code ?? 'invalid_value'), detail: issue.message };
    case 'invalid_key': {
      const [inner] = issue.issues;
      return {
        code: inner ? describe(inner).code : 'invalid_name',
        detail: `the name ${inner?.message ?? 'is invalid'}`,
      };
    }
    case 'invalid_type':
      return { code: issue.code, detail: `must be ${TYPES[issue.expected] ?? `a ${issue.expected}`}` };
    case 'invalid_value':
      return { code: issue.code, detail: `must be one of ${issue.values.join(', ')}` };
    default:
      return { code: issue.code, detail: issue.message };
  }
}

/** Parameters that a query may have; each repetition counts. */
const MAX_PARAMETERS = 20;

/**
 * Counts the parameters of a query or of a form before any of them is read. It splits off no more of them than are
 * allowed. The length of a query needs no separate limit: Node refuses a request whose head is larger than 16 KiB.
 * @param querystring as it was sent, without `?`
 * @throws Refusal too_many_parameters
 */
export function limitParameters(querystring: string, what: 'query' | 'form' = 'query', most = MAX_PARAMETERS): void {
  // The first part is empty where the text begins with a separator.
  const parameters = querystring.split(/&+/, most + 2).filter((parameter) => parameter !== '');
  if (parameters.length > most) {
    throw new Refusal('too_many_parameters', `A ${what} may have at most ${most} parameters.`);
  }
}

/**
 * Refuses a body with more members or levels than any request allows. The body was not parsed: the errors are derived
 * from its names alone.
 * @throws Refusal invalid_request
 */
export function refuseExcess(schema: z.ZodType, excess: Excess): never {
  throw new Refusal('invalid_request', 'The body is invalid; see errors.', errorsOfExcess(schema, excess), {
    oversized: true,
  });
}

function errorsOfExcess(schema: z.ZodType, { of, names, within }: Excess): ValidationError[] {
  if (names === null) return [{ pointer: '', code: 'invalid_type', detail: 'must be an object' }];
  const pointer = pointerTo(within === undefined ? [] : [within]);
  if (of === 'depth') {
    return [{ pointer, code: 'too_deep', detail: `nests the body deeper than ${MAX_DEPTH} levels` }];
  }
  const known = schema instanceof z.ZodObject ? schema.shape : {};
  const others = names.filter((name) => !Object.hasOwn(known, name)).slice(0, MAX_ERRORS);
  if (others.length > 0) {
    return others.map((name) => ({ pointer: pointerTo([name]), ...unknown('field') }));
  }
  return [{ pointer, code: 'too_many', detail: `exceeds the limit of ${MAX_MEMBERS} members in a body` }];
}

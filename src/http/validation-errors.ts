import type { z } from 'zod';
import type { ValidationError } from '../refusal.js';

/** The largest number of entries in `errors` of a problem (contract, Errors, limits, paging). */
export const MAX_ERRORS = 50;

/** Characters of a name that `errors` quotes: a name may be as long as a body. */
const MAX_NAME_LENGTH = 128;

/** The error for a field that a request does not have. */
export const UNKNOWN_FIELD = { code: 'unknown_field', detail: 'is not a field of this request' };

type Issue = z.core.$ZodIssue;

/**
 * The errors of a body, with RFC 6901 pointers and stable codes.
 * @param error of a parse with `reportInput`, which shows what is missing
 */
export function bodyErrors(error: z.ZodError): ValidationError[] {
  return error.issues
    .flatMap((issue) =>
      namesOf(issue).map((path) => ({ pointer: pointerTo(path), code: codeOf(issue), detail: detailOf(issue) })),
    )
    .slice(0, MAX_ERRORS);
}

/** The errors of a query, with parameter names and stable codes. */
export function queryErrors(error: z.ZodError): ValidationError[] {
  const validationErrors = error.issues.flatMap((issue) => {
    const unknown = issue.code === 'unrecognized_keys';
    const code = unknown ? 'unknown_parameter' : codeOf(issue);
    const detail = unknown ? 'is not a parameter of this request' : detailOf(issue);
    return namesOf(issue).map((path) => ({ parameter: shortened(path[0] ?? ''), code, detail }));
  });
  return validationErrors.slice(0, MAX_ERRORS);
}

/** The path of an issue; for unknown names, one path for each name. */
function namesOf(issue: Issue): PropertyKey[][] {
  return issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
}

/** An RFC 6901 pointer; a name that is too long to quote is cut and ends in `…`. */
export function pointerTo(path: readonly PropertyKey[]): string {
  return path.map((name) => `/${shortened(name).replace(/~/g, '~0').replace(/\//g, '~1')}`).join('');
}

/** A name as `errors` quotes it. */
export function shortened(name: PropertyKey): string {
  const text = String(name);
  return text.length > MAX_NAME_LENGTH ? `${text.slice(0, MAX_NAME_LENGTH).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

function codeOf(issue: Issue): string {
  if ('input' in issue && issue.input === undefined) return 'required';
  switch (issue.code) {
    case 'unrecognized_keys':
      return UNKNOWN_FIELD.code;
    case 'invalid_type':
      return 'invalid_type';
    case 'invalid_key':
      return issue.issues[0] ? codeOf(issue.issues[0]) : 'invalid_name';
    case 'custom':
      return typeof issue.params?.code === 'string' ? issue.params.code : 'invalid_value';
    default:
      return issue.code;
  }
}

/** Never quotes the value: it may be a secret. */
function detailOf(issue: Issue): string {
  switch (codeOf(issue)) {
    case UNKNOWN_FIELD.code:
      return UNKNOWN_FIELD.detail;
    case 'required':
      return 'is required';
    case 'invalid_type':
      if (issue.code !== 'invalid_type') return 'has the wrong type';
      // `parseBody` returns NaN for a number that JSON.parse would round to an integer.
      return `must be ${article(issue.expected === 'number' && Number.isNaN(issue.input) ? 'int' : issue.expected)}`;
    default:
      if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`;
      return issue.code === 'invalid_key' ? `the name ${issue.issues[0]?.message ?? 'is invalid'}` : issue.message;
  }
}

function article(type: string): string {
  const word = type === 'int' ? 'integer' : type === 'record' ? 'object' : type;
  return `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`;
}

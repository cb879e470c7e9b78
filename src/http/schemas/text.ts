import { z } from 'zod';

/** A custom issue with a stable code for `errors` of the response. */
export function validationError(code: string, message: string) {
  return { error: message, params: { code } };
}

/**
 * Text of at most `max` characters, counted as Unicode code points, like JSON Schema does. U+0000 and lone surrogates
 * are refused: Postgres and UTF-8 cannot hold them.
 */
export function text({ min = 0, max }: { min?: number; max: number }) {
  return z
    .string()
    .refine(
      (value) => !/[\0\p{Cs}]/u.test(value),
      validationError('invalid_text', 'must not contain U+0000 or a lone surrogate'),
    )
    .refine(
      (value) => value.length >= min,
      validationError('too_short', `must have at least ${min} character${min === 1 ? '' : 's'}`),
    )
    .refine((value) => hasAtMost(value, max), validationError('too_long', `may have at most ${max} characters`))
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max });
}

/**
 * Whether a text has at most `max` code points. A text of more than twice as many UTF-16 units exceeds that and is not
 * counted.
 */
export function hasAtMost(text: string, max: number): boolean {
  return text.length <= 2 * max && [...text].length <= max;
}

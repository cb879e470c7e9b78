import { z } from 'zod';
import { EXAMPLE_ID, isId } from '../../platform/ids.js';
import { isWritable } from '../../platform/iso-time.js';

/** The named schemas of the OpenAPI document; each schema registers itself where it is declared. */
export const components = z.registry<{ id: string }>();

/** An object of a response, by its name in the OpenAPI document. */
export function view<Shape extends z.ZodRawShape>(id: string, shape: Shape) {
  return z.object(shape).register(components, { id });
}

/** The body of a request, by its name in the OpenAPI document. It has no other fields. */
export function requestBody<Shape extends z.ZodRawShape>(id: string, shape: Shape) {
  return z.strictObject(shape).register(components, { id });
}

/** A custom issue with a stable code for `errors` of the response. @param field the field of an object that has it */
export function validationError(code: string, message: string, field?: string) {
  return { error: message, params: { code }, ...(field && { path: [field] }) };
}

/**
 * Text of at most `max` characters, counted as Unicode code points, like JSON Schema does. U+0000 and lone surrogates
 * are refused: Postgres and UTF-8 cannot hold them.
 */
export function text({ min = 0, max }: { min?: number; max: number }) {
  return (
    z
      .string()
      .refine(
        (value) => !/[\0\p{Cs}]/u.test(value),
        validationError('invalid_text', 'must not contain U+0000 or a lone surrogate'),
      )
      .refine(
        (value) => value.length >= min,
        validationError('too_short', `must have at least ${min} character${min === 1 ? '' : 's'}`),
      )
      // A text of more than twice as many UTF-16 units has more code points and is not counted.
      .refine(
        (value) => value.length <= 2 * max && [...value].length <= max,
        validationError('too_long', `may have at most ${max} characters`),
      )
      .meta({ ...(min > 0 && { minLength: min }), maxLength: max })
  );
}

/** `abort`: later checks, such as a comparison with another time, are skipped for an invalid time. */
const WHEN = {
  ...validationError('invalid_time', 'must be an ISO 8601 time with a zone, such as 2026-11-21T10:00:00Z'),
  abort: true,
};

const withZone = z.iso.datetime({ offset: true });

/**
 * `T` and `Z` may be in lower case (RFC 3339, section 5.6), and an offset may have no colon, as generated Python
 * clients write it. A plus that a query does not encode arrives as a blank, and a blank has no other meaning before an
 * offset.
 */
const spelled = (text: string) =>
  text
    .toUpperCase()
    .replace(/(T\S*)[ +](\d\d):?(\d\d)$/, '$1+$2:$3')
    .replace(/(T\S*-\d\d)(\d\d)$/, '$1:$2');

/**
 * A time with a zone, parsed to ms since 1970 (a finer fraction is cut).
 * @param about its meaning and an example; zod shows them for the input only if they are set before the transform
 */
export function when(about: { description: string; example: string }) {
  return z
    .string()
    .refine((value) => withZone.safeParse(spelled(value)).success && isWritable(Date.parse(spelled(value))), WHEN)
    .meta({ format: 'date-time', description: about.description, examples: [about.example] })
    .transform((value) => Date.parse(spelled(value)));
}

/** The end of a window of time. */
export const until = when({
  description: 'The end of the window, exclusive; default: now.',
  example: '2026-11-22T00:00:00Z',
}).optional();

/** The filters of a list by creation time; both ends are exclusive. */
export const madeWithin = {
  created_after: when({
    description: 'Only items created after this time, to the millisecond.',
    example: '2026-11-21T10:00:00Z',
  }).optional(),
  created_before: when({
    description: 'Only items created before this time, to the millisecond.',
    example: '2026-11-22T10:00:00Z',
  }).optional(),
};

/** A filter of a list by an id. */
export const idFilter = z
  .string()
  .refine(isId, validationError('invalid_id', 'must be a UUID'))
  .meta({ format: 'uuid' })
  .transform((id) => id.toLowerCase())
  .optional();

/** A time in a response: UTC with milliseconds and `Z`. */
export const time = z.string().meta({
  format: 'date-time',
  examples: ['2026-11-21T10:00:00.123Z'],
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
});

/** A number of things in a response. */
export const count = z.int().nonnegative();

/** A UUID in a response. */
export const uuid = z.string().meta({ format: 'uuid', examples: [EXAMPLE_ID] });

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;
type ValueOf<Shown> = Shown extends string ? string | Date : Shown;
/** What a view is made of: its fields in camelCase, a time as a `Date`. */
type RowOf<View> = { [Name in keyof View & string as CamelCase<Name>]: ValueOf<View[Name]> };

/** `created_at` → `createdAt` */
const rowName = (name: string) => name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());

/** The fields of `view`, and no others, from a row. */
export function present<View extends z.ZodObject>(view: View, row: RowOf<z.output<View>>): z.output<View> {
  const shown: Record<string, unknown> = {};
  for (const name of Object.keys(view.shape)) {
    const value = (row as Readonly<Record<string, unknown>>)[rowName(name)];
    shown[name] = value instanceof Date ? value.toISOString() : value;
  }
  return shown as z.output<View>;
}

import { z } from 'zod';
import { EXAMPLE_ID } from '../../ids.js';
import { validationError } from './text.js';

/** `abort`: later checks, such as a comparison with another time, are skipped for an invalid time. */
const WHEN = {
  ...validationError('invalid_time', 'must be an ISO 8601 time with a zone, such as 2026-11-21T10:00:00Z'),
  abort: true,
};

/**
 * A time with a zone, parsed to ms since 1970 (a finer fraction is cut).
 * @param about its meaning and an example; zod shows them for the input only if they are set before the transform
 */
export function when(about: { description: string; example: string }) {
  return z
    .string()
    .refine((value) => z.iso.datetime({ offset: true }).safeParse(value).success, WHEN)
    .meta({ format: 'date-time', description: about.description, examples: [about.example] })
    .transform((value) => Date.parse(value));
}

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

/** A time in a response: UTC with milliseconds and `Z`. */
export const time = z.string().meta({
  format: 'date-time',
  examples: ['2026-11-21T10:00:00.123Z'],
  pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$',
});

/** A UUID in a response. */
export const uuid = z.string().meta({ format: 'uuid', examples: [EXAMPLE_ID] });

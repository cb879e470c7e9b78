import { z } from 'zod';
import { isTooLong, MAX_WINDOW_DAYS } from '../../webhooks/window.js';
import { components } from '../openapi/components.js';
import { TOO_LONG_WINDOW } from './statement.js';
import { validationError } from './text.js';
import { when } from './time.js';

export const recoverRequest = z
  .strictObject({
    since: when({ description: 'The start of the range, inclusive.', example: '2026-11-21T00:00:00Z' }),
    until: when({
      description: 'The end of the range, exclusive; default: now.',
      example: '2026-11-22T00:00:00Z',
    }).optional(),
    include_missing: z
      .boolean()
      .default(false)
      .meta({
        description: `Whether events without a delivery for this endpoint get one: they were made while it was disabled or before it was registered. The range may then be at most ${MAX_WINDOW_DAYS} days.`,
      }),
  })
  .refine(({ since, until }) => until === undefined || since < until, {
    path: ['until'],
    ...validationError('invalid_range', 'must be later than since'),
  })
  .refine(({ include_missing, ...window }) => !include_missing || !isTooLong(window), {
    path: ['since'],
    ...TOO_LONG_WINDOW,
  })
  .register(components, { id: 'RecoverRequest' });

export const recovered = z
  .object({
    count: z.int().nonnegative().meta({ description: 'The number of deliveries that start again.' }),
    missing: z.int().nonnegative().meta({
      description: 'The number of events that get the delivery that they lack; 0 without `include_missing`.',
    }),
  })
  .register(components, { id: 'Recovered' });

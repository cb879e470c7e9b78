import { z } from 'zod';
import { components } from '../openapi/components.js';
import { validationError } from './text.js';
import { when } from './time.js';

export const recoverRequest = z
  .strictObject({
    since: when({ description: 'The start of the range, inclusive.', example: '2026-11-21T00:00:00Z' }),
    until: when({
      description: 'The end of the range, exclusive; default: now.',
      example: '2026-11-22T00:00:00Z',
    }).optional(),
  })
  .refine(({ since, until }) => until === undefined || since < until, {
    path: ['until'],
    ...validationError('invalid_range', 'must be later than since'),
  })
  .register(components, { id: 'RecoverRequest' });

export const recovered = z
  .object({ count: z.int().nonnegative().meta({ description: 'The number of deliveries that start again.' }) })
  .register(components, { id: 'Recovered' });

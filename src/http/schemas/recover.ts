import { z } from 'zod';
import { components } from '../openapi/components.js';
import { validationError } from './text.js';
import { when } from './time.js';

export const recoverRequest = z
  .strictObject({
    since: when({ description: 'The first moment of the range.', example: '2026-11-21T00:00:00Z' }),
    until: when({ description: 'The moment after it; left out: now.', example: '2026-11-22T00:00:00Z' }).optional(),
  })
  .refine(({ since, until }) => until === undefined || since < until, {
    path: ['until'],
    ...validationError('invalid_range', 'must be later than since'),
  })
  .register(components, { id: 'RecoverRequest' });

export const recovered = z
  .object({ count: z.int().nonnegative().meta({ description: 'Deliveries that start again.' }) })
  .register(components, { id: 'Recovered' });

import { z } from 'zod';
import { isTooLong, MAX_WINDOW_DAYS } from '../../webhooks/window.js';
import { validationError } from './text.js';
import { when } from './time.js';

export const TOO_LONG_WINDOW = validationError('window_too_long', `the window may be at most ${MAX_WINDOW_DAYS} days`);

export const statementWindow = z
  .strictObject({
    since: when({ description: 'The start of the window, inclusive.', example: '2026-11-21T00:00:00Z' }),
    until: when({
      description: 'The end of the window, exclusive; default: now.',
      example: '2026-11-22T00:00:00Z',
    }).optional(),
  })
  .refine(({ since, until = Date.now() }) => since < until, {
    path: ['until'],
    ...validationError('invalid_range', 'must be later than since'),
  })
  .refine((window) => !isTooLong(window), { path: ['since'], ...TOO_LONG_WINDOW });

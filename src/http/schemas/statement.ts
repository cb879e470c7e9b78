import { z } from 'zod';
import { isTooLong, MAX_WINDOW_DAYS } from '../../webhooks/window.js';
import { validationError } from './text.js';
import { when } from './time.js';

export const TOO_LONG_WINDOW = validationError('window_too_long', `the window may be at most ${MAX_WINDOW_DAYS} days`);

export const statementWindow = z
  .strictObject({
    since: when({
      description:
        'The start of the window, inclusive; default: 24 hours ago, or the registration of the endpoint if that is later.',
      example: '2026-11-21T00:00:00Z',
    }).optional(),
    until: when({
      description: 'The end of the window, exclusive; default: now.',
      example: '2026-11-22T00:00:00Z',
    }).optional(),
  })
  .refine(({ since, until = Date.now() }) => since === undefined || since < until, {
    path: ['until'],
    ...validationError('invalid_range', 'must be later than since'),
  })
  .refine(({ since, until }) => since === undefined || !isTooLong({ since, until }), {
    path: ['since'],
    ...TOO_LONG_WINDOW,
  });

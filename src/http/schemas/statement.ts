import { z } from 'zod';
import { SHOWN_PERIODS } from '../../endpoints/window.js';
import { DISABLED_REASONS } from '../../platform/vocabulary.js';
import type { Statement } from '../../reports/statement.js';
import { count, present, time, until, view, when } from './fields.js';

export const statementWindow = z.strictObject({
  since: when({
    description:
      'The start of the window, inclusive; default: 24 hours ago, or the registration of the endpoint if that is later.',
    example: '2026-11-21T00:00:00Z',
  }).optional(),
  until,
});

const disabledPeriod = view('DisabledPeriod', {
  from: time,
  to: time.nullable().meta({ description: 'Null while the endpoint is still disabled.' }),
  reason: z.enum(DISABLED_REASONS),
});

/** The statement of an endpoint. */
export const statementView = view('Statement', {
  since: time,
  until: time,
  events: count.meta({
    description: 'Number of your events made in [`since`, `until`): the sum of the five numbers below.',
  }),
  succeeded: count,
  pending: count,
  failed: count,
  cancelled: count,
  missing: count.meta({
    description:
      'Events without a delivery for this endpoint: they were made while it was disabled or before it was registered. `recover` with `include_missing` delivers them.',
  }),
  complete: z.boolean().meta({ description: 'Whether every event was delivered successfully.' }),
  final: z.boolean().meta({
    description: 'True if `until` is more than 60 s ago. Before that, an event may still be added to the window.',
  }),
  digest: z.string().meta({
    description:
      'SHA-256 of the ids of these events, sorted, each followed by a line feed, in lower-case hexadecimal: your own list of ids has the same digest if it has the same events.',
    examples: ['e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  }),
  signature: z.string().nullable().meta({
    description:
      'A JWS (RS256, `typ: statement+jwt`) over this statement, the client and the endpoint, as proof for third parties; null until `final`. Its key is one of `/.well-known/jwks.json?retired=true` for 13 months.',
  }),
  disabled_periods: z.array(disabledPeriod).meta({
    description: `The periods in which the endpoint was disabled: the latest ${SHOWN_PERIODS} that touch the window, oldest first.`,
  }),
  periods_known_since: time.meta({ description: 'Periods before this time are not recorded.' }),
});

export function presentStatement(statement: Statement) {
  return present(statementView, {
    ...statement,
    disabledPeriods: statement.disabledPeriods.map((period) => present(disabledPeriod, period)),
  });
}

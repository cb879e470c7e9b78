import { z } from 'zod';
import { DISABLED_REASONS } from '../../disabled-reasons.js';
import { SHOWN_PERIODS, type Statement } from '../../webhooks/statement.js';
import { components } from '../openapi/components.js';
import { time } from '../schemas/time.js';

const count = z.int().nonnegative();

/** The statement of an endpoint (contract, Events and deliveries). */
export const statementView = z
  .object({
    since: time,
    until: time,
    events: count.meta({
      description: 'The number of your events made in [`since`, `until`). The five numbers below add up to it.',
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
    disabled_periods: z
      .array(
        z.object({
          from: time,
          to: time.nullable().meta({ description: 'Null for a period that lasts.' }),
          reason: z.enum(DISABLED_REASONS),
        }),
      )
      .meta({
        description: `The periods in which the endpoint was disabled: the latest ${SHOWN_PERIODS} that touch the window, oldest first.`,
      }),
    periods_known_since: time.meta({ description: 'Periods before this time are not recorded.' }),
  })
  .register(components, { id: 'Statement' });

export function presentStatement(statement: Statement): z.output<typeof statementView> {
  return {
    since: new Date(statement.since).toISOString(),
    until: new Date(statement.until).toISOString(),
    events: statement.events,
    succeeded: statement.succeeded,
    pending: statement.pending,
    failed: statement.failed,
    cancelled: statement.cancelled,
    missing: statement.missing,
    complete: statement.complete,
    final: statement.final,
    disabled_periods: statement.disabledPeriods.map(({ from, to, reason }) => ({
      from: from.toISOString(),
      to: to?.toISOString() ?? null,
      reason,
    })),
    periods_known_since: statement.periodsKnownSince.toISOString(),
  };
}

import { z } from 'zod';
import { MAX_WINDOW_DAYS } from '../../platform/limits.js';
import { RECOVERY_STATUSES } from '../../platform/vocabulary.js';
import type { RecoveryRecord } from '../../recoveries/recoveries.js';
import { components, count, present, time, until, uuid, validationError, view, when } from './fields.js';

export const recoverRequest = z
  .strictObject({
    since: when({ description: 'The start of the window, inclusive.', example: '2026-11-21T00:00:00Z' }),
    until,
    include_missing: z
      .boolean()
      .default(false)
      .meta({
        examples: [false],
        description: `Also deliver events that have no delivery for this endpoint, because they were made while it was disabled or before it was registered. The window may then be at most ${MAX_WINDOW_DAYS} days.`,
      }),
    include_pending: z
      .boolean()
      .default(false)
      .meta({
        examples: [false],
        description:
          'Also restart pending deliveries that wait for their next planned attempt, so that they are sent now. Those whose attempt is due or in flight stay as they are.',
      }),
  })
  .refine(
    ({ since, until }) => until === undefined || since < until,
    validationError('invalid_range', 'must be later than since', 'until'),
  )
  .register(components, { id: 'RecoveryRequest' });

const size = {
  count: count.meta({ description: 'Number of restarted deliveries.' }),
  missing: count.meta({
    description: 'Number of events that had no delivery and now get one; 0 without `include_missing`.',
  }),
  pending: count.meta({
    description: 'Number of restarted deliveries that waited for their next attempt; 0 without `include_pending`.',
  }),
};

export const recovered = view('Recovered', {
  id: uuid.nullable().meta({ description: 'The id of the recovery; null if there is nothing to recover.' }),
  ...size,
});

export const recoveryView = view('Recovery', {
  id: uuid,
  since: time,
  until: time,
  include_missing: z.boolean(),
  include_pending: z.boolean(),
  ...size,
  started: count.meta({
    description:
      'Number of deliveries that it has queued. Deliveries that fail while it runs are recovered too, so it can exceed `count`, `missing` and `pending` together.',
  }),
  status: z.enum(RECOVERY_STATUSES).meta({
    description: '`cancelled` too if the endpoint was disabled or deleted while it ran.',
    examples: ['running'],
  }),
  created_at: time,
  finished_at: time.nullable().meta({ description: 'Null while the recovery runs.' }),
});

export const presentRecovery = (recovery: RecoveryRecord) => present(recoveryView, recovery);

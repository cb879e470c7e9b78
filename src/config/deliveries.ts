import { z } from 'zod';
import { parseDuration } from '../duration.js';
import { DAY, duration, durationWithin, flag, list, networks, SECOND } from './forms.js';
import { setting } from './setting.js';

const delays = z.string().transform((text, context) => {
  const parsed = list(text).map(parseDuration);
  if (parsed.length > 50 || parsed.some((delay) => delay === undefined)) {
    context.addIssue({
      code: 'custom',
      message: 'give at most 50 durations, such as 0s,5m,30m,2h,6h,24h',
    });
    return z.NEVER;
  }
  return parsed as number[];
});

/** The events that get a workflow: every event, or only events with deliveries pending after their first attempts. */
export const WORKFLOW_MODES = ['every-event', 'retries-only'] as const;
export type WorkflowMode = (typeof WORKFLOW_MODES)[number];

/** Deliveries, their workflows and their receivers. */
export const deliverySettings = {
  DELIVERY_RETRY_DELAYS: setting(
    delays,
    '0s,5m,30m,2h,6h,24h',
    'The ladder: delays of the retries after the first attempt.',
  ),
  SANDBOX_STEP: setting(
    durationWithin(100, DAY),
    '2s',
    'Time between the automatic steps of a transfer to a `SANDBOX-…` account. Sandbox only.',
  ),
  DISABLE_AFTER: setting(
    duration,
    '5d',
    'An endpoint is disabled after this long without a success, if at least two deliveries are exhausted. 0: never.',
  ),
  WORKFLOWS: setting(
    z.enum(WORKFLOW_MODES, { error: `give ${WORKFLOW_MODES.join(' or ')}` }),
    'every-event',
    'Events that get a workflow: every event, or only events with a delivery that is pending after its first attempt.',
  ),
  WORKFLOWS_TRAIL: setting(
    durationWithin(SECOND, 3_650 * DAY),
    '1h',
    'With `every-event`, a delivered event that is older than this and whose workflow has not started gets none.',
  ),
  ALLOW_PRIVATE_RECEIVERS: setting(flag, 'false', 'Deliver to private addresses. Sandbox only (embedded stack: true).'),
  BLOCKED_RECEIVERS: setting(
    networks,
    '',
    "CIDRs that the service never delivers to, in addition to private networks: the operator's own public addresses.",
  ),
  EGRESS_ADDRESSES: setting(
    networks,
    '',
    'CIDRs that deliveries are sent from, for receivers that admit known addresses only. `GET /meta` shows them.',
  ),
} as const;

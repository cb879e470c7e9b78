import type { EndpointHealth } from '../../../webhooks/endpoint-health.js';
import { timeValue } from '../../components/time-field.js';
import type { Endpoint } from './endpoint.js';

/** The longest window of a statement and of a recover with missing events (contract), less a minute to fill a form, ms. */
const LONGEST = 31 * 86_400_000 - 60_000;

/**
 * The start of the window in which an endpoint may have missed events: its last success, or its registration. What was
 * before the last success arrived, or failed for a reason of its own.
 * @param retention ms; earlier events are removed
 * @returns the value of a field, in UTC
 */
export function missedSince(
  { created_at }: Endpoint,
  health: Pick<EndpointHealth, 'lastSuccessAt'> | undefined,
  retention: number,
  now = Date.now(),
): string {
  const since = health?.lastSuccessAt?.getTime() ?? Date.parse(created_at);
  return timeValue(new Date(Math.max(since, now - Math.min(LONGEST, retention - 60_000))));
}

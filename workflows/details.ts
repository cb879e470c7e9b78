import type { DeliveryProgress } from './deliver-event.input.js';

/** What Temporal's UI shows as the workflow's current details: a Markdown table, a line for each delivery. */
export function detailsOf(deliveries: readonly DeliveryProgress[]): string {
  if (deliveries.length === 0) return 'No endpoint was enabled when the event was made: nothing to deliver.';
  const rows = deliveries.map(
    (d) =>
      `| ${d.host} | ${d.status}${d.reason ? ` (${d.reason})` : ''} | ${d.attemptCount} | ${d.lastOutcome ?? '–'} | ${d.nextAttemptAt ?? '–'} |`,
  );
  return ['| receiver | delivery | attempts | last answer | next attempt |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

/** Why a workflow failed, in one line. */
export function failureOf(deliveries: readonly DeliveryProgress[]): string {
  return deliveries
    .filter(({ status }) => status === 'failed')
    .map(
      (d) =>
        `${d.host}: ${d.reason ?? 'failed'} after ${d.attemptCount} attempts, the last: ${d.lastOutcome ?? 'unknown'}`,
    )
    .join('; ');
}

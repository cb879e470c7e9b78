import type { DeliveryProgress } from './deliver-event.input.js';

/** What Temporal's UI shows as the workflow's current details: a Markdown table, a line for each delivery. */
export function detailsOf(deliveries: readonly DeliveryProgress[]): string {
  if (deliveries.length === 0) return 'No endpoint was enabled when the event was made: nothing to deliver.';
  const rows = deliveries.map(
    (d) =>
      `| ${d.host} | ${d.status}${d.reason ? ` (${d.reason})` : ''} | ${d.attemptCount} | ${d.lastOutcome ?? '–'} | ${d.nextAttemptAt === null ? '–' : toTheSecond(d.nextAttemptAt)} |`,
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
        `${d.host}: ${d.reason ?? 'failed'} after ${attempts(d.attemptCount)}, the last: ${d.lastOutcome ?? 'unknown'}`,
    )
    .join('; ');
}

const attempts = (count: number) => (count === 1 ? '1 attempt' : `${count} attempts`);

/** `2026-11-21 13:15:47 UTC`: the UI breaks a longer one over two lines. */
const toTheSecond = (iso: string) => `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;

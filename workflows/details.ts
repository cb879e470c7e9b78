import type { DeliveryProgress } from './deliver-event.input.js';
import { receiverName } from './receiver.js';

/** The workflow's current details in Temporal's UI: a Markdown table with a row for each delivery. */
export function detailsOf(deliveries: readonly DeliveryProgress[]): string {
  if (deliveries.length === 0) return 'No endpoint was enabled when the event was made: nothing to deliver.';
  const rows = deliveries.map(
    (d) =>
      `| ${receiverName(d)} | ${d.status}${d.reason ? ` (${d.reason})` : ''} | ${d.attemptCount} | ${d.lastOutcome ?? '–'} | ${d.nextAttemptAt === null ? '–' : toTheSecond(d.nextAttemptAt)} |`,
  );
  return ['| receiver | delivery | attempts | last response | next attempt |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

/** The failure message of a workflow: one line that names each failed delivery. */
export function failureOf(deliveries: readonly DeliveryProgress[]): string {
  return deliveries
    .filter(({ status }) => status === 'failed')
    .map(
      (d) =>
        `${receiverName(d)}: ${d.reason ?? 'failed'} after ${attempts(d.attemptCount)}, the last: ${d.lastOutcome ?? 'unknown'}`,
    )
    .join('; ');
}

const attempts = (count: number) => (count === 1 ? '1 attempt' : `${count} attempts`);

/** `2026-11-21 13:15:47 UTC`: the UI breaks a longer time over two lines. */
const toTheSecond = (iso: string) => `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;

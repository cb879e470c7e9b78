import type { LastAttempt } from '../webhooks/read-attempts.js';
import type { DeliveryRecord, DeliveryWithAttempts } from '../webhooks/read-deliveries.js';
import type { Table } from './view/table.js';
import type { View } from './view/view.js';

/** Characters of an answer's body; `--json` has all that was kept. */
const BODY_SHOWN = 120;

export function deliveryTable(deliveries: readonly DeliveryRecord[]): Table {
  return {
    columns: [
      { name: 'delivery' },
      { name: 'status' },
      { name: 'attempts' },
      { name: 'last' },
      { name: 'receiver', wraps: true },
      { name: 'next attempt' },
      { name: 'reason' },
      { name: 'made' },
    ],
    rows: deliveries.map((delivery) => {
      const last = delivery.lastAttempt;
      return [
        delivery.id,
        delivery.status,
        delivery.attemptCount,
        last ? answerTo(last) : null,
        new URL(delivery.endpoint.url).host,
        delivery.nextAttemptAt,
        delivery.reason,
        delivery.createdAt,
      ];
    }),
    none: 'no deliveries',
  };
}

export function deliveryDetails(delivery: DeliveryWithAttempts): View {
  return [
    {
      fields: [
        ['delivery', delivery.id],
        ['status', delivery.status + (delivery.reason ? ` (${delivery.reason})` : '')],
        ['client', delivery.clientId],
        ['event', delivery.eventId],
        ['endpoint', delivery.endpointId],
        ['url', delivery.endpoint.url],
        ['made', delivery.createdAt],
        ['attempts', delivery.attemptCount],
        ['next attempt', delivery.nextAttemptAt],
        ['finished', delivery.finishedAt],
      ],
    },
    {
      columns: [
        { name: 'attempt' },
        { name: 'trigger' },
        { name: 'started' },
        { name: 'answer' },
        { name: 'took' },
        { name: 'body', wraps: true },
      ],
      rows: delivery.attempts.map((attempt) => [
        attempt.number,
        attempt.trigger,
        attempt.startedAt,
        answerTo(attempt),
        `${attempt.durationMs} ms`,
        shortened(attempt.responseBody),
      ]),
      none: 'no attempt yet',
    },
  ];
}

/** `503`, or what went wrong before there was an answer: `timeout`. A redirect and its like are both. */
function answerTo({ responseStatus, error }: Pick<LastAttempt, 'responseStatus'> & { error: string | null }): string {
  const parts = [responseStatus, error === 'status' ? null : error];
  return parts.filter((part) => part !== null).join(' ');
}

function shortened(body: string | null): string | null {
  return body !== null && body.length > BODY_SHOWN ? `${body.slice(0, BODY_SHOWN)}…` : body;
}

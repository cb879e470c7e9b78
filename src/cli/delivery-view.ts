import { presentDelivery } from '../http/presenters/delivery.js';
import { eventTitle } from '../webhooks/event-catalogue.js';
import type { LastAttempt } from '../webhooks/read-attempts.js';
import type { DeliveryRecord, DeliveryWithAttempts } from '../webhooks/read-deliveries.js';
import type { Table } from './view/table.js';
import type { View } from './view/view.js';

/** Characters of a response body that are shown; `--json` has the whole stored body. */
const BODY_SHOWN = 120;

export function deliveryTable(deliveries: readonly DeliveryRecord[]): Table {
  return {
    columns: [
      { name: 'delivery' },
      { name: 'transfer' },
      { name: 'status' },
      { name: 'attempts' },
      { name: 'last' },
      { name: 'receiver', wraps: true },
      { name: 'next attempt' },
      { name: 'reason' },
      { name: 'created' },
    ],
    rows: deliveries.map((delivery) => {
      const last = delivery.lastAttempt;
      return [
        delivery.id,
        presentDelivery(delivery).transfer_status,
        delivery.status,
        delivery.attemptCount,
        last ? outcomeOf(last) : null,
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
        ['type', eventTitle(delivery.event.type, delivery.event.body)],
        ['transfer', delivery.event.transferId],
        ['endpoint', delivery.endpointId],
        ['url', delivery.endpoint.url],
        ['created', delivery.createdAt],
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
        { name: 'response' },
        { name: 'took' },
        { name: 'body', wraps: true },
      ],
      rows: delivery.attempts.map((attempt) => [
        attempt.number,
        attempt.trigger,
        attempt.startedAt,
        outcomeOf(attempt),
        `${attempt.durationMs} ms`,
        shortened(attempt.responseBody),
      ]),
      none: 'no attempt yet',
    },
    {
      columns: [{ name: 'planned' }, { name: 'at, if each attempt fails at once' }],
      rows: delivery.planned.map(({ number, at }) => [number, at]),
      none: 'no attempt is planned',
    },
  ];
}

/**
 * The status of the response (`503`), or the error where there was none (`timeout`); both for a refused redirect, for
 * example.
 */
function outcomeOf({ responseStatus, error }: Pick<LastAttempt, 'responseStatus'> & { error: string | null }): string {
  const parts = [responseStatus, error === 'status' ? null : error];
  return parts.filter((part) => part !== null).join(' ');
}

function shortened(body: string | null): string | null {
  return body !== null && body.length > BODY_SHOWN ? `${body.slice(0, BODY_SHOWN)}…` : body;
}
